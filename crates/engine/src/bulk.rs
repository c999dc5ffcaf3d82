//! Captures the content of files, whether they are few or many.
//!
//! Occasional changes become rows. Files that come by the thousands are looked up in git first: the
//! user's index names the blobs of files that it finds clean, and the repository's packs hold them,
//! so neither is anything read nor stored twice. The rest goes into one pack.
//!
//! Invariant: a blob stands for a file only if git's own rules call the file clean, no attribute
//! lets git convert it, and the blob is as long as the file (line endings, and filters that are no
//! longer configured, change the length); otherwise the file is read.

use retake_model::{FileState, ProjectPath};
use retake_store::{Batch, Lender, Scratch, StoreError};
use retake_workspace::git::{Attributes, Index, IndexEntry};
use retake_workspace::{Stat, Suspect, Workspace};

use crate::capture::{Captured, Keep, Refused, capture};
use crate::observe::Request;
use crate::repository::Repository;

/// Minimum number of files for which it pays to read git's index, and to write a pack.
const BULK: usize = 400;
/// Maximum bytes of a borrowed blob: reading one takes its whole length of memory.
const LENT_BYTES: u64 = 16 << 20;
/// Maximum bytes of a `.gitattributes` file that is parsed.
const ATTRIBUTES_BYTES: u64 = 16 << 20;
const THREADS: usize = 2;

/// Captures the content of these files.
pub(crate) fn take(
    batch: &mut Batch<'_>,
    request: &Request<'_>,
    suspects: Vec<Suspect>,
    index: Option<&Index>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<(ProjectPath, Captured)>, StoreError> {
    let refused = Refused::load(batch)?;
    let limits = (request.settings.limits.max_file_bytes, &refused);
    let total = suspects.len();
    let mut done = |done| progress(done, total);
    if suspects.len() < BULK {
        let paths: Vec<_> = suspects.into_iter().map(|suspect| suspect.path).collect();
        let taken = capture(request.workspace, batch, &paths, limits, Keep::Rows, &mut done)?;
        return Ok(paths.into_iter().zip(taken).collect());
    }
    let repository = Repository::around(request.workspace.root());
    let folders = match (&repository, index) {
        (Some(repository), Some(_)) => repository.pack_folders(),
        _ => Vec::new(),
    };
    let lender = batch.borrow_packs(&folders)?;
    let lent = match (&repository, index) {
        (Some(repository), Some(index)) => {
            let lending = Lending { request, repository, index, lender: &lender, limits };
            lending.lent(&suspects)
        }
        _ => suspects.iter().map(|_| None).collect(),
    };
    let (mut taken, mut rest) = (Vec::with_capacity(total), Vec::new());
    for (suspect, lent) in suspects.into_iter().zip(lent) {
        match lent {
            Some(state) => {
                let kept = Captured::Kept { state, stat: suspect.stat };
                taken.push((suspect.path, kept));
            }
            None => rest.push(suspect.path),
        }
    }
    let before = taken.len();
    let keep = if rest.len() < BULK { Keep::Rows } else { Keep::Pack(&lender) };
    let mut done = |more| progress(before + more, total);
    let captured = capture(request.workspace, batch, &rest, limits, keep, &mut done)?;
    batch.keep_borrowed(&lender)?;
    taken.extend(rest.into_iter().zip(captured));
    Ok(taken)
}

/// Lookup of a file's blob without reading the file.
struct Lending<'a> {
    request: &'a Request<'a>,
    repository: &'a Repository,
    index: &'a Index,
    lender: &'a Lender,
    limits: (u64, &'a Refused),
}

impl Lending<'_> {
    /// The states of those files whose blob exists, in the order of `suspects`.
    fn lent(&self, suspects: &[Suspect]) -> Vec<Option<FileState>> {
        let Some(attributes) = self.attributes(suspects) else {
            return suspects.iter().map(|_| None).collect();
        };
        let part = suspects.len().div_ceil(THREADS).max(1);
        let found: Vec<_> = std::thread::scope(|scope| {
            let find = |part| scope.spawn(move || self.found(part));
            let parts: Vec<_> = suspects.chunks(part).map(find).collect();
            let converted: Vec<_> =
                suspects.iter().map(|suspect| attributes.converts(&suspect.path)).collect();
            let joined = parts.into_iter().flat_map(|part| {
                part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.zip(converted).collect()
        });
        found.into_iter().map(|(state, converted)| state.filter(|_| !converted)).collect()
    }

    /// The states of those files whose blob exists and is as long, if git does not convert them.
    fn found(&self, suspects: &[Suspect]) -> Vec<Option<FileState>> {
        let mut scratch = Scratch::default();
        let found = |suspect: &Suspect| {
            let entry = self.index.entries.get(&suspect.path)?;
            let Stat { mode, size, .. } = suspect.stat;
            let is_it = self.may_stand(entry, &suspect.stat)
                && self.lender.has_blob(&entry.oid, size, &mut scratch);
            is_it.then(|| FileState { kind: suspect.stat.file_kind(), mode, oid: entry.oid, size })
        };
        suspects.iter().map(found).collect()
    }

    fn may_stand(&self, entry: &IndexEntry, stat: &Stat) -> bool {
        let (max_bytes, refused) = self.limits;
        self.index.is_clean(entry, stat)
            && stat.size <= LENT_BYTES.min(max_bytes)
            && !refused.has(&entry.oid)
    }

    /// The files that git converts; `None` if that is not known, or if it does not matter.
    fn attributes(&self, suspects: &[Suspect]) -> Option<Attributes> {
        if self.lender.is_empty() {
            return None;
        }
        let files = attribute_files(self.request.workspace, suspects, self.index)?;
        self.repository.attributes(self.request.global_attributes, &files)
    }
}

/// The `.gitattributes` files of the project, those of deeper folders later; `None` if one cannot
/// be read.
fn attribute_files(
    workspace: &Workspace,
    suspects: &[Suspect],
    index: &Index,
) -> Option<Vec<(ProjectPath, Vec<u8>)>> {
    const NAME: &[u8] = b".gitattributes";
    let paths = suspects.iter().map(|suspect| &suspect.path).chain(index.entries.keys());
    let paths = paths.filter(|path| path.file_name() == NAME);
    let mut paths: Vec<_> = paths.collect();
    paths.sort_by_key(|path| (path.components().count(), path.as_bytes()));
    paths.dedup();
    paths.into_iter().map(|path| Some((path.clone(), text_of(workspace, path)?))).collect()
}

fn text_of(workspace: &Workspace, path: &ProjectPath) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let read = workspace.read(path, ATTRIBUTES_BYTES, &mut |reader, _| {
        text.clear();
        reader.read_to_end(&mut text).map(drop)
    });
    read.ok().map(|_| text)
}
