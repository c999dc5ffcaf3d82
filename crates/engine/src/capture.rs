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
    Batch, CHUNK_ABOVE, Encoded, Lender, ObjectKind, PackWriter, Packed, StoreError, encode,
    encode_packed, encode_stream, hash_blob, hash_stream,
};
use retake_workspace::{ReadError, Stat, Workspace};

/// Minimum number of files for which threads pay off.
const WORTH_THREADS: usize = 16;
const THREADS: usize = 2;
/// Maximum messages queued between the threads. Each is at most 256 KiB, so this bounds the memory.
const IN_FLIGHT: usize = 64;

/// Result of capturing one file.
#[derive(Debug)]
pub(crate) enum Captured {
    /// Its content is in the batch.
    Kept {
        /// Its state.
        state: FileState,
        /// The stat under which it was read.
        stat: Stat,
    },
    /// It exists, but its content cannot be stored at all.
    Unknown(Gap),
    /// It could not be read this time; its known state stays.
    Unread(Gap),
    /// It went away.
    Gone,
}

/// Destination of captured content.
#[derive(Clone, Copy)]
pub(crate) enum Keep<'a> {
    /// A row each.
    Rows,
    /// New content goes into one new pack; large content becomes rows all the same, whose chunks
    /// are shared by its later versions.
    Pack(&'a Lender),
}

enum Message {
    Object(Encoded),
    Packed(Packed),
    Done(usize, Result<Captured, StoreError>),
}

/// Maximum bytes of a file, the contents to refuse, and the destination.
type How<'a> = ((u64, &'a Refused), Keep<'a>);

/// Reads the files and puts their content into the batch. Results are in the order of `paths`.
pub(crate) fn capture(
    workspace: &Workspace,
    batch: &mut Batch<'_>,
    paths: &[ProjectPath],
    limits: (u64, &Refused),
    keep: Keep<'_>,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Captured>, StoreError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let pack = match keep {
        Keep::Rows => None,
        Keep::Pack(_) => Some(PackWriter::new(batch)?),
    };
    let results = paths.iter().map(|_| None).collect();
    let mut inlet = Inlet { batch, pack, results, done: 0, progress };
    if paths.len() < WORTH_THREADS {
        alone(workspace, paths, (limits, keep), &mut inlet)?;
    } else {
        together(workspace, paths, (limits, keep), &mut inlet)?;
    }
    let Inlet { pack, results, batch, .. } = inlet;
    if let Some(pack) = pack {
        pack.finish(batch)?;
    }
    Ok(results.into_iter().flatten().collect())
}

/// Receives the messages of the readers and inserts them.
struct Inlet<'i, 'b> {
    batch: &'i mut Batch<'b>,
    pack: Option<PackWriter>,
    results: Vec<Option<Captured>>,
    done: usize,
    progress: &'i mut dyn FnMut(usize),
}

impl Inlet<'_, '_> {
    fn take(&mut self, message: Message) -> Result<(), StoreError> {
        match message {
            Message::Object(object) => {
                self.batch.put(&object)?;
                self.batch.commit_ahead()?;
            }
            Message::Packed(object) => {
                if let Some(pack) = &mut self.pack {
                    pack.add(&object)?;
                }
            }
            Message::Done(at, result) => {
                self.results[at] = Some(result?);
                self.done += 1;
                (self.progress)(self.done);
            }
        }
        Ok(())
    }
}

fn alone(
    workspace: &Workspace,
    paths: &[ProjectPath],
    how: How<'_>,
    inlet: &mut Inlet<'_, '_>,
) -> Result<(), StoreError> {
    for (at, path) in paths.iter().enumerate() {
        let mut failure = None;
        let result = capture_one(workspace, path, how, &mut |message| {
            let not_stored = |error| {
                failure = Some(error);
                io::Error::other("not stored")
            };
            inlet.take(message).map_err(not_stored)
        });
        failure.map_or(Ok(()), Err)?;
        inlet.take(Message::Done(at, result))?;
    }
    Ok(())
}

fn together(
    workspace: &Workspace,
    paths: &[ProjectPath],
    how: How<'_>,
    inlet: &mut Inlet<'_, '_>,
) -> Result<(), StoreError> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel(IN_FLIGHT);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || work(workspace, paths, how, next, &sender));
        }
        drop(sender);
        receiver.into_iter().try_for_each(|message| inlet.take(message))
    })
}

fn work(
    workspace: &Workspace,
    paths: &[ProjectPath],
    how: How<'_>,
    next: &AtomicUsize,
    sender: &SyncSender<Message>,
) {
    let mut emit =
        |message| sender.send(message).map_err(|_| io::Error::other("the writer stopped"));
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(path) = paths.get(at) else { return };
        let result = capture_one(workspace, path, how, &mut emit);
        if emit(Message::Done(at, result)).is_err() {
            return; // the other side failed and says why
        }
    }
}

/// Receives the parts of a content.
type Emit<'e> = &'e mut dyn FnMut(Message) -> io::Result<()>;

fn capture_one(
    workspace: &Workspace,
    path: &ProjectPath,
    ((max_bytes, purged), keep): How<'_>,
    emit: Emit<'_>,
) -> Result<Captured, StoreError> {
    if purged.has_large() && is_purged(workspace, path, max_bytes, purged) {
        return Ok(Captured::Unknown(purged_gap(path)));
    }
    let mut oid = None;
    let mut failure = None;
    let read = workspace.read(path, max_bytes, &mut |reader, stat| {
        // The result of an earlier attempt at a changing file does not count.
        (oid, failure) = (None, None);
        match store_content(reader, stat.size, (purged, keep), emit) {
            Ok(content) => oid = Some(content),
            // A length that does not fit means that the file changed: `read` detects that too and
            // retries.
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
        (Ok(_), Some(oid)) if purged.has(&oid) => Ok(Captured::Unknown(purged_gap(path))),
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
    (purged, keep): (&Refused, Keep<'_>),
    emit: Emit<'_>,
) -> Result<ObjectId, StoreError> {
    if size > CHUNK_ABOVE {
        return encode_stream(reader, size, &mut |object| emit(Message::Object(object)));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    reader.take(CHUNK_ABOVE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let (oid, message) = match keep {
        Keep::Rows => {
            let object = encode(ObjectKind::Blob, &bytes)?;
            (object.oid, Some(Message::Object(object)))
        }
        Keep::Pack(lender) => {
            let oid = hash_blob(&bytes)?;
            let pack = || encode_packed(ObjectKind::Blob, oid, &bytes).map(Message::Packed);
            (oid, if lender.has(&oid) { None } else { Some(pack()?) })
        }
    };
    if let Some(message) = message.filter(|_| !purged.has(&oid)) {
        emit(message)?;
    }
    Ok(oid)
}

/// Contents that were purged: they are not captured again.
pub(crate) struct Refused {
    oids: HashSet<ObjectId>,
    sizes: HashSet<u64>,
}

impl Refused {
    pub(crate) fn load(batch: &Batch<'_>) -> Result<Self, StoreError> {
        let purged = batch.purged()?;
        Ok(Self {
            oids: purged.iter().map(|content| content.oid).collect(),
            sizes: purged.iter().map(|content| content.size).collect(),
        })
    }

    pub(crate) fn has(&self, oid: &ObjectId) -> bool {
        self.oids.contains(oid)
    }

    /// Large contents go into the store in parts, before their id is known.
    fn has_large(&self) -> bool {
        self.sizes.iter().any(|size| *size > CHUNK_ABOVE)
    }
}

/// Returns true if a file as long as a purged content has that very content.
fn is_purged(workspace: &Workspace, path: &ProjectPath, max_bytes: u64, purged: &Refused) -> bool {
    let mut found = None;
    let read = workspace.read(path, max_bytes, &mut |reader, stat| {
        found = None;
        if stat.size > CHUNK_ABOVE && purged.sizes.contains(&stat.size) {
            found = hash_stream(reader, stat.size).ok();
        }
        Ok(())
    });
    read.is_ok() && found.is_some_and(|oid| purged.has(&oid))
}

fn purged_gap(path: &ProjectPath) -> Gap {
    let detail = "its content was purged; it is captured again once it changes".to_owned();
    Gap { path: path.clone(), reason: GapReason::Purged, detail }
}
