//! Compressed data that is small and becomes large, written by hand: libraries make only what is
//! honest.

/// What a zstd frame says of its own length.
pub(crate) enum Claim {
    /// Nothing.
    Nothing,
    /// This.
    Bytes(u64),
}

const BLOCK: usize = 128 * 1024;

/// A zstd frame that becomes so many blocks of 128 KiB of zeros, at four bytes each.
pub(crate) fn zstd_zeros(blocks: usize, claim: &Claim) -> Vec<u8> {
    let mut frame = zstd_head(claim);
    for number in 1..=blocks {
        zstd_block(&mut frame, 1, BLOCK, number == blocks);
        frame.push(0);
    }
    frame
}

/// A zstd frame of these bytes as they are.
pub(crate) fn zstd_stored(bytes: &[u8]) -> Vec<u8> {
    let mut frame = zstd_head(&Claim::Nothing);
    let blocks = bytes.chunks(BLOCK).count();
    for (number, block) in (1..).zip(bytes.chunks(BLOCK)) {
        zstd_block(&mut frame, 0, block.len(), number == blocks);
        frame.extend(block);
    }
    frame
}

fn zstd_head(claim: &Claim) -> Vec<u8> {
    // A window of 1 MiB; a length of eight bytes, or none.
    let mut head = vec![0x28, 0xb5, 0x2f, 0xfd];
    match claim {
        Claim::Nothing => head.extend([0x00, 0x50]),
        Claim::Bytes(length) => {
            head.extend([0xc0, 0x50]);
            head.extend(length.to_le_bytes());
        }
    }
    head
}

fn zstd_block(frame: &mut Vec<u8>, kind: u32, size: usize, is_last: bool) {
    let size = u32::try_from(size).unwrap();
    let head = u32::from(is_last) | kind << 1 | size << 3;
    frame.extend(&head.to_le_bytes()[..3]);
}

/// A zlib stream of at least so many zeros, at 13 bits for 258 of them; without its checksum,
/// which is never reached.
pub(crate) fn zlib_zeros(at_least: usize) -> Vec<u8> {
    let mut bits = Bits { bytes: vec![0x78, 0x01], held: 0, count: 0 };
    // The last block, with the fixed codes; a zero by itself.
    bits.push(0b011, 3);
    bits.push(reversed(0b0011_0000, 8), 8);
    // "258 bytes of what stands one byte before", again and again.
    let again = reversed(0b1100_0101, 8);
    for _ in 0..at_least.div_ceil(258) {
        bits.push(again, 13);
    }
    bits.push(0, 7);
    bits.push(0, 8);
    bits.bytes
}

struct Bits {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl Bits {
    /// The lowest bits of a value, the first one lowest.
    fn push(&mut self, value: u64, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push((self.held & 0xff) as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }
}

/// Codes are written from their highest bit on.
fn reversed(code: u64, bits: u32) -> u64 {
    code.reverse_bits() >> (64 - bits)
}
