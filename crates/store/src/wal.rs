//! Detects and repairs damage in the middle of the database's WAL file.
//!
//! SQLite takes the first invalid frame for the log's end. After a crash that is right, and what
//! follows was never acknowledged. After damage everything that was acknowledged later is silently
//! gone, and overwritten by the next commit. The two can be told apart: each commit is synced
//! before the next one begins, so a commit with another frame behind it had been acknowledged.
//!
//! Only the log is ever opened here: a process that closes the database or the log's index gives up
//! all the locks that SQLite holds on it for this process.

use std::path::Path;

/// Bytes of the file's header.
const HEADER_BYTES: usize = 32;
/// Bytes of a frame's header.
const FRAME_HEADER_BYTES: usize = 24;
/// SQLite's page size.
const PAGE_BYTES: usize = 4096;
/// Magic number of a WAL; its lowest bit is the byte order of the checksums.
const WAL_MAGIC: u32 = 0x377f_0682;

/// Describes the damage of a database's log, if there is any.
pub(crate) fn describe_damage(log: &Path) -> Option<String> {
    let mut bytes = std::fs::read(log).ok()?;
    let found = WalBytes::of(&mut bytes)?.repair();
    (found.unseen > 0).then(|| {
        let (frame, unseen) = (found.first_bad, found.unseen);
        format!("the log is damaged at frame {frame}: {unseen} later commits cannot be seen")
    })
}

/// Length in bytes of a log with this many frames.
pub(crate) fn length_of_frames(frames: u64) -> u64 {
    (HEADER_BYTES as u64) + frames * (FRAME_HEADER_BYTES + PAGE_BYTES) as u64
}

/// Rewrites all checksums, so that SQLite reads every frame of the log.
pub(crate) fn repair(bytes: &mut Vec<u8>) {
    if let Some(mut log) = WalBytes::of(bytes) {
        log.repair();
    }
}

#[derive(Default)]
struct WalDamage {
    /// From 1; 0 is the header.
    first_bad: usize,
    /// Commits behind it that had been acknowledged.
    unseen: usize,
}

struct WalBytes<'b> {
    bytes: &'b mut Vec<u8>,
    sum: (u32, u32),
}

impl<'b> WalBytes<'b> {
    /// Returns `None` if the log has no frame.
    fn of(bytes: &'b mut Vec<u8>) -> Option<Self> {
        (bytes.len() >= HEADER_BYTES + FRAME_HEADER_BYTES + PAGE_BYTES)
            .then_some(Self { bytes, sum: (0, 0) })
    }

    /// Recomputes all checksums, and returns what did not match.
    fn repair(&mut self) -> WalDamage {
        let mut bad = None;
        // The salts of a damaged header are in the frames.
        let salts = self.bytes[HEADER_BYTES + 8..HEADER_BYTES + 16].to_vec();
        let magic = self.word(0) & !1;
        let is_sound = magic == WAL_MAGIC && self.bytes[16..24] == salts[..];
        let big = if is_sound { self.word(0) & 1 } else { 0 };
        self.put(0, WAL_MAGIC | big);
        self.put(4, 3_007_000);
        self.put(8, PAGE_BYTES as u32);
        self.bytes[16..24].copy_from_slice(&salts);
        self.sum = (0, 0);
        self.add(0, 24);
        if !self.write_checksum(24) || !is_sound {
            bad = Some(0);
        }
        let size = FRAME_HEADER_BYTES + PAGE_BYTES;
        let (mut unseen, mut commit) = (0, false);
        for frame in 0..(self.bytes.len() - HEADER_BYTES) / size {
            let start = HEADER_BYTES + frame * size;
            if self.bytes[start + 8..start + 16] != salts[..] {
                break;
            }
            unseen += usize::from(commit && bad.is_some());
            self.add(start, 8);
            self.add(start + FRAME_HEADER_BYTES, PAGE_BYTES);
            if !self.write_checksum(start + 16) && bad.is_none() {
                bad = Some(frame + 1);
            }
            commit = self.word(start + 4) != 0;
        }
        WalDamage { first_bad: bad.unwrap_or(0), unseen }
    }

    fn word(&self, at: usize) -> u32 {
        let bytes = &self.bytes[at..at + 4];
        u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    fn put(&mut self, at: usize, word: u32) {
        self.bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }

    /// Adds to the sum, as SQLite's file format has it.
    fn add(&mut self, start: usize, length: usize) {
        let is_big = self.word(0) & 1 == 1;
        let word = |at: usize| {
            let word = self.word(at);
            if is_big { word } else { word.swap_bytes() }
        };
        let (mut one, mut two) = self.sum;
        for at in (start..start + length).step_by(8) {
            one = one.wrapping_add(word(at)).wrapping_add(two);
            two = two.wrapping_add(word(at + 4)).wrapping_add(one);
        }
        self.sum = (one, two);
    }

    /// Writes the checksum; returns whether it was there already.
    fn write_checksum(&mut self, at: usize) -> bool {
        let is_valid = (self.word(at), self.word(at + 4)) == self.sum;
        self.put(at, self.sum.0);
        self.put(at + 4, self.sum.1);
        is_valid
    }
}
