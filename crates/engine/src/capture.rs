//! Brings the content of files from the workspace into the store.
//!
//! Two threads read, hash and compress; the caller's thread inserts. Memory stays
//! bounded whatever the files' sizes: large ones travel in chunks.

use std::io::{self, Read as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use retake_model::{FileState, Gap, GapReason, ObjectId, ProjectPath};
use retake_store::{Batch, CHUNK_ABOVE, Encoded, ObjectKind, StoreError, encode, encode_stream};
use retake_workspace::{ReadError, Stat, Workspace};

/// Below this many files a second thread costs more than it gives.
const WORTH_A_THREAD: usize = 16;
const THREADS: usize = 2;
/// Chunks are at most 256 KiB, so this bounds the memory between the threads.
const IN_FLIGHT: usize = 64;

/// What became of one file.
#[derive(Debug)]
pub(crate) enum Captured {
    /// Its content is in the batch.
    Kept {
        /// Its state.
        state: FileState,
        /// The stat under which it was read.
        stat: Stat,
    },
    /// It is there, but its content cannot be kept at all.
    Unknown(Gap),
    /// It could not be read this time; what is known of it stays as it is.
    Unread(Gap),
    /// It went away.
    Gone,
}

enum Message {
    Object(Encoded),
    Done(usize, Result<Captured, StoreError>),
}

/// Reads the files and puts their content into the batch. Results are in the order of `paths`.
pub(crate) fn capture(
    workspace: &Workspace,
    batch: &mut Batch<'_>,
    paths: &[ProjectPath],
    max_bytes: u64,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Captured>, StoreError> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel(IN_FLIGHT);
    let threads = if paths.len() < WORTH_A_THREAD { 1 } else { THREADS };
    let mut results: Vec<Option<Captured>> = paths.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || work(workspace, paths, max_bytes, next, &sender));
        }
        drop(sender);
        let mut done = 0;
        for message in receiver {
            match message {
                Message::Object(object) => {
                    batch.put(&object)?;
                    batch.commit_ahead()?;
                }
                Message::Done(at, result) => {
                    results[at] = Some(result?);
                    done += 1;
                    progress(done);
                }
            }
        }
        Ok(results.into_iter().flatten().collect())
    })
}

fn work(
    workspace: &Workspace,
    paths: &[ProjectPath],
    max_bytes: u64,
    next: &AtomicUsize,
    sender: &SyncSender<Message>,
) {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(path) = paths.get(at) else { return };
        let result = capture_one(workspace, path, max_bytes, sender);
        if sender.send(Message::Done(at, result)).is_err() {
            return; // the other side failed and says why
        }
    }
}

fn capture_one(
    workspace: &Workspace,
    path: &ProjectPath,
    max_bytes: u64,
    sender: &SyncSender<Message>,
) -> Result<Captured, StoreError> {
    let mut oid = None;
    let mut failure = None;
    let read = workspace.read(path, max_bytes, &mut |reader, stat| {
        // What an earlier attempt at a changing file came to does not count.
        (oid, failure) = (None, None);
        match store_content(reader, stat.size, sender) {
            Ok(content) => oid = Some(content),
            // A length that does not fit means that the file changed: `read` sees
            // that too and tries again.
            Err(StoreError::Step(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(StoreError::Step(error)) => return Err(error),
            Err(error) => {
                failure = Some(error);
                return Err(io::Error::other("not stored"));
            }
        }
        Ok(())
    });
    let gap = |reason, detail: String| Gap { path: path.clone(), reason, detail };
    match failure {
        None => {}
        Some(error @ StoreError::Collision(_)) => {
            return Ok(Captured::Unread(gap(GapReason::Unreadable, error.to_string())));
        }
        Some(error) => return Err(error),
    }
    match (read, oid) {
        (Ok(stat), Some(oid)) => Ok(Captured::Kept { state: state_of(&stat, oid), stat }),
        (Ok(_), None) | (Err(ReadError::Unstable), _) => {
            let detail = "it changed each time it was read".to_owned();
            Ok(Captured::Unread(gap(GapReason::Unstable, detail)))
        }
        (Err(ReadError::Gone | ReadError::NotAFile), _) => Ok(Captured::Gone),
        (Err(error @ ReadError::TooLarge { .. }), _) => {
            Ok(Captured::Unknown(gap(GapReason::TooLarge, error.to_string())))
        }
        (Err(error), _) => {
            let reason = error.gap_reason().unwrap_or(GapReason::Unreadable);
            Ok(Captured::Unread(gap(reason, error.to_string())))
        }
    }
}

fn state_of(stat: &Stat, oid: ObjectId) -> FileState {
    FileState { kind: stat.file_kind(), mode: stat.mode, oid, size: stat.size }
}

fn store_content(
    reader: &mut dyn io::Read,
    size: u64,
    sender: &SyncSender<Message>,
) -> Result<ObjectId, StoreError> {
    let gone = |_| io::Error::other("the writer stopped");
    if size > CHUNK_ABOVE {
        let emit = &mut |object| sender.send(Message::Object(object)).map_err(gone);
        return encode_stream(reader, size, emit);
    }
    let mut bytes = Vec::with_capacity(size as usize);
    reader.take(CHUNK_ABOVE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let object = encode(ObjectKind::Blob, &bytes)?;
    let oid = object.oid;
    sender.send(Message::Object(object)).map_err(gone)?;
    Ok(oid)
}
