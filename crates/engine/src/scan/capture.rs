//! Captures the content of files from the workspace into the store.
//!
//! Many files are read, hashed and compressed by two threads; the caller's thread inserts. Memory
//! stays bounded whatever the files' sizes: large ones travel in chunks.

use std::collections::HashSet;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use retake_model::{FileState, Gap, GapReason, ObjectId, ProjectPath};
use retake_store::{
    Batch, BorrowedPacks, CHUNK_THRESHOLD_BYTES, EncodedObject, ObjectKind, PackWriter,
    PackedObject, StoreError, encode, encode_packed, encode_stream, hash_blob, hash_stream,
};
use retake_workspace::{FileStat, ReadError, Workspace};

/// Minimum number of files for which threads pay off.
const MIN_PARALLEL_FILES: usize = 16;
const CAPTURE_THREADS: usize = 2;
/// Maximum messages queued between the threads. Each is at most 256 KiB, so this bounds the memory.
const MAX_QUEUED_MESSAGES: usize = 64;

/// Result of capturing one file.
#[derive(Debug)]
pub(crate) enum CaptureResult {
    /// Its content is in the batch.
    Stored {
        /// Its state.
        state: FileState,
        /// The stat under which it was read.
        stat: FileStat,
    },
    /// It exists, but its content cannot be stored at all.
    Unstorable(Gap),
    /// It could not be read this time; its known state stays.
    Unread(Gap),
    /// It went away.
    Gone,
}

/// Destination of captured content.
#[derive(Clone, Copy)]
pub(crate) enum CaptureTarget<'a> {
    /// A row each.
    Rows,
    /// New content goes into one new pack; large content becomes rows all the same, whose chunks
    /// are shared by its later versions.
    Pack(&'a BorrowedPacks),
}

enum CaptureMessage {
    Object(EncodedObject),
    Packed(PackedObject),
    Done(usize, Result<CaptureResult, StoreError>),
}

/// Options of a capture.
#[derive(Clone, Copy)]
pub(crate) struct CaptureOptions<'a> {
    /// Maximum bytes of a file.
    pub(crate) max_bytes: u64,
    /// Contents that are not captured.
    pub(crate) refused: &'a RefusedContents,
    pub(crate) target: CaptureTarget<'a>,
}

/// Reads the files and puts their content into the batch. Results are in the order of `paths`.
pub(crate) fn capture(
    workspace: &Workspace,
    batch: &mut Batch<'_>,
    paths: &[ProjectPath],
    options: CaptureOptions<'_>,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<CaptureResult>, StoreError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let pack = match options.target {
        CaptureTarget::Rows => None,
        CaptureTarget::Pack(_) => Some(PackWriter::new(batch)?),
    };
    let results = paths.iter().map(|_| None).collect();
    let mut sink = CaptureSink { batch, pack, results, done: 0, progress };
    if paths.len() < MIN_PARALLEL_FILES {
        capture_sequential(workspace, paths, options, &mut sink)?;
    } else {
        capture_parallel(workspace, paths, options, &mut sink)?;
    }
    let CaptureSink { pack, results, batch, .. } = sink;
    if let Some(pack) = pack {
        pack.finish(batch)?;
    }
    Ok(results.into_iter().flatten().collect())
}

/// Receives the messages of the readers and inserts them.
struct CaptureSink<'i, 'b> {
    batch: &'i mut Batch<'b>,
    pack: Option<PackWriter>,
    results: Vec<Option<CaptureResult>>,
    done: usize,
    progress: &'i mut dyn FnMut(usize),
}

impl CaptureSink<'_, '_> {
    fn handle_message(&mut self, message: CaptureMessage) -> Result<(), StoreError> {
        match message {
            CaptureMessage::Object(object) => {
                self.batch.put_object(&object)?;
                self.batch.commit_ahead()?;
            }
            CaptureMessage::Packed(object) => {
                if let Some(pack) = &mut self.pack {
                    pack.add(&object)?;
                }
            }
            CaptureMessage::Done(at, result) => {
                self.results[at] = Some(result?);
                self.done += 1;
                (self.progress)(self.done);
            }
        }
        Ok(())
    }
}

fn capture_sequential(
    workspace: &Workspace,
    paths: &[ProjectPath],
    options: CaptureOptions<'_>,
    sink: &mut CaptureSink<'_, '_>,
) -> Result<(), StoreError> {
    for (at, path) in paths.iter().enumerate() {
        let mut failure = None;
        let result = capture_one(workspace, path, options, &mut |message| {
            let not_stored = |error| {
                failure = Some(error);
                io::Error::other("not stored")
            };
            sink.handle_message(message).map_err(not_stored)
        });
        failure.map_or(Ok(()), Err)?;
        sink.handle_message(CaptureMessage::Done(at, result))?;
    }
    Ok(())
}

fn capture_parallel(
    workspace: &Workspace,
    paths: &[ProjectPath],
    options: CaptureOptions<'_>,
    sink: &mut CaptureSink<'_, '_>,
) -> Result<(), StoreError> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel(MAX_QUEUED_MESSAGES);
    std::thread::scope(|scope| {
        for _ in 0..CAPTURE_THREADS {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || run_capture_worker(workspace, paths, options, next, &sender));
        }
        drop(sender);
        receiver.into_iter().try_for_each(|message| sink.handle_message(message))
    })
}

fn run_capture_worker(
    workspace: &Workspace,
    paths: &[ProjectPath],
    options: CaptureOptions<'_>,
    next: &AtomicUsize,
    sender: &SyncSender<CaptureMessage>,
) {
    let mut emit =
        |message| sender.send(message).map_err(|_| io::Error::other("the writer stopped"));
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(path) = paths.get(at) else { return };
        let result = capture_one(workspace, path, options, &mut emit);
        if emit(CaptureMessage::Done(at, result)).is_err() {
            return; // the other side failed and says why
        }
    }
}

/// Receives the parts of a content.
type EmitMessage<'e> = &'e mut dyn FnMut(CaptureMessage) -> io::Result<()>;

fn capture_one(
    workspace: &Workspace,
    path: &ProjectPath,
    options: CaptureOptions<'_>,
    emit: EmitMessage<'_>,
) -> Result<CaptureResult, StoreError> {
    let CaptureOptions { max_bytes, refused, .. } = options;
    if refused.has_large() && is_refused(workspace, path, max_bytes, refused) {
        return Ok(CaptureResult::Unstorable(purged_gap(path)));
    }
    let mut oid = None;
    let mut failure = None;
    let read = workspace.read(path, max_bytes, &mut |reader, stat| {
        // The result of an earlier attempt at a changing file does not count.
        (oid, failure) = (None, None);
        match store_content(reader, stat.size, options, emit) {
            Ok(content) => oid = Some(content),
            // A length that does not fit means that the file changed: `read` detects that too and
            // retries.
            Err(StoreError::Write(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(StoreError::Write(error)) => return Err(error),
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
            return Ok(CaptureResult::Unread(gap(GapReason::Unreadable, error.to_string())));
        }
        Some(error) => return Err(error),
    }
    match (read, oid) {
        (Ok(_), Some(oid)) if refused.contains(&oid) => {
            Ok(CaptureResult::Unstorable(purged_gap(path)))
        }
        (Ok(stat), Some(oid)) => Ok(CaptureResult::Stored { state: file_state(&stat, oid), stat }),
        (Ok(_), None) | (Err(ReadError::Unstable), _) => {
            let detail = "it changed each time it was read".to_owned();
            Ok(CaptureResult::Unread(gap(GapReason::Unstable, detail)))
        }
        (Err(ReadError::Gone | ReadError::NotAFile), _) => Ok(CaptureResult::Gone),
        (Err(error @ ReadError::TooLarge { .. }), _) => {
            Ok(CaptureResult::Unstorable(gap(GapReason::TooLarge, error.to_string())))
        }
        (Err(error), _) => {
            let reason = error.gap_reason().unwrap_or(GapReason::Unreadable);
            Ok(CaptureResult::Unread(gap(reason, error.to_string())))
        }
    }
}

fn file_state(stat: &FileStat, oid: ObjectId) -> FileState {
    FileState { kind: stat.file_kind(), mode: stat.mode, oid, size: stat.size }
}

fn store_content(
    reader: &mut dyn io::Read,
    size: u64,
    options: CaptureOptions<'_>,
    emit: EmitMessage<'_>,
) -> Result<ObjectId, StoreError> {
    if size > CHUNK_THRESHOLD_BYTES {
        return encode_stream(reader, size, &mut |object| emit(CaptureMessage::Object(object)));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    reader.take(CHUNK_THRESHOLD_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let (oid, message) = match options.target {
        CaptureTarget::Rows => {
            let object = encode(ObjectKind::Blob, &bytes)?;
            (object.oid, Some(CaptureMessage::Object(object)))
        }
        CaptureTarget::Pack(borrowed) => {
            let oid = hash_blob(&bytes)?;
            let pack = || encode_packed(ObjectKind::Blob, oid, &bytes).map(CaptureMessage::Packed);
            (oid, if borrowed.has(&oid) { None } else { Some(pack()?) })
        }
    };
    if let Some(message) = message.filter(|_| !options.refused.contains(&oid)) {
        emit(message)?;
    }
    Ok(oid)
}

/// Contents that were purged: they are not captured again.
pub(crate) struct RefusedContents {
    oids: HashSet<ObjectId>,
    sizes: HashSet<u64>,
}

impl RefusedContents {
    pub(crate) fn load(batch: &Batch<'_>) -> Result<Self, StoreError> {
        let purged = batch.purged()?;
        Ok(Self {
            oids: purged.iter().map(|content| content.oid).collect(),
            sizes: purged.iter().map(|content| content.size).collect(),
        })
    }

    pub(crate) fn contains(&self, oid: &ObjectId) -> bool {
        self.oids.contains(oid)
    }

    /// Large contents go into the store in parts, before their id is known.
    fn has_large(&self) -> bool {
        self.sizes.iter().any(|size| *size > CHUNK_THRESHOLD_BYTES)
    }
}

/// Returns true if a file as long as a purged content has that very content.
fn is_refused(
    workspace: &Workspace,
    path: &ProjectPath,
    max_bytes: u64,
    refused: &RefusedContents,
) -> bool {
    let mut found = None;
    let read = workspace.read(path, max_bytes, &mut |reader, stat| {
        found = None;
        if stat.size > CHUNK_THRESHOLD_BYTES && refused.sizes.contains(&stat.size) {
            found = hash_stream(reader, stat.size).ok();
        }
        Ok(())
    });
    read.is_ok() && found.is_some_and(|oid| refused.contains(&oid))
}

fn purged_gap(path: &ProjectPath) -> Gap {
    let detail = "its content was purged; it is captured again once it changes".to_owned();
    Gap { path: path.clone(), reason: GapReason::Purged, detail }
}
