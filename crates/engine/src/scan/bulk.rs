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
use retake_store::{Batch, BorrowedPacks, InflateScratch, StoreError};
use retake_workspace::git::{GitAttributes, GitIndex, GitIndexEntry};
use retake_workspace::{FileStat, SuspectFile, Workspace};

use crate::attribution::repository::ProjectRepository;
use crate::scan::capture::{
    CaptureOptions, CaptureResult, CaptureTarget, RefusedContents, capture,
};
use crate::scan::request::ScanRequest;

/// Minimum number of files for which it pays to read git's index, and to write a pack.
const MIN_BULK_FILES: usize = 400;
/// Maximum bytes of a borrowed blob: reading one takes its whole length of memory.
const MAX_BORROWED_BLOB_BYTES: u64 = 16 << 20;
/// Maximum bytes of a `.gitattributes` file that is parsed.
const MAX_ATTRIBUTES_BYTES: u64 = 16 << 20;
const LOOKUP_THREADS: usize = 2;

/// Captures the content of these files.
pub(crate) fn capture_files(
    batch: &mut Batch<'_>,
    request: &ScanRequest<'_>,
    suspects: Vec<SuspectFile>,
    index: Option<&GitIndex>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<(ProjectPath, CaptureResult)>, StoreError> {
    let refused = RefusedContents::load(batch)?;
    let max_bytes = request.settings.limits.max_file_bytes;
    let to = |target| CaptureOptions { max_bytes, refused: &refused, target };
    let total = suspects.len();
    let mut done = |done| progress(done, total);
    if suspects.len() < MIN_BULK_FILES {
        let paths: Vec<_> = suspects.into_iter().map(|suspect| suspect.path).collect();
        let captured =
            capture(request.workspace, batch, &paths, to(CaptureTarget::Rows), &mut done)?;
        return Ok(paths.into_iter().zip(captured).collect());
    }
    let repository = ProjectRepository::find_around(request.workspace.root());
    let folders = match (&repository, index) {
        (Some(repository), Some(_)) => repository.pack_folders(),
        _ => Vec::new(),
    };
    let borrowed = batch.borrow_packs(&folders)?;
    let blobs = match (&repository, index) {
        (Some(repository), Some(index)) => {
            let (borrowed, refused) = (&borrowed, &refused);
            BlobLookup { request, repository, index, borrowed, refused }.find_blobs(&suspects)
        }
        _ => suspects.iter().map(|_| None).collect(),
    };
    let (mut results, mut rest) = (Vec::with_capacity(total), Vec::new());
    for (suspect, blob) in suspects.into_iter().zip(blobs) {
        match blob {
            Some(state) => {
                let stored = CaptureResult::Stored { state, stat: suspect.stat };
                results.push((suspect.path, stored));
            }
            None => rest.push(suspect.path),
        }
    }
    let before = results.len();
    let target = if rest.len() < MIN_BULK_FILES {
        CaptureTarget::Rows
    } else {
        CaptureTarget::Pack(&borrowed)
    };
    let mut done = |more| progress(before + more, total);
    let captured = capture(request.workspace, batch, &rest, to(target), &mut done)?;
    batch.keep_borrowed(&borrowed)?;
    results.extend(rest.into_iter().zip(captured));
    Ok(results)
}

/// Lookup of a file's blob without reading the file.
struct BlobLookup<'a> {
    request: &'a ScanRequest<'a>,
    repository: &'a ProjectRepository,
    index: &'a GitIndex,
    borrowed: &'a BorrowedPacks,
    refused: &'a RefusedContents,
}

impl BlobLookup<'_> {
    /// The states of those files whose blob exists, in the order of `suspects`.
    fn find_blobs(&self, suspects: &[SuspectFile]) -> Vec<Option<FileState>> {
        let Some(attributes) = self.attributes(suspects) else {
            return suspects.iter().map(|_| None).collect();
        };
        let part = suspects.len().div_ceil(LOOKUP_THREADS).max(1);
        let found: Vec<_> = std::thread::scope(|scope| {
            let find = |part| scope.spawn(move || self.find_blobs_in_chunk(part));
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
    fn find_blobs_in_chunk(&self, suspects: &[SuspectFile]) -> Vec<Option<FileState>> {
        let mut scratch = InflateScratch::default();
        let found = |suspect: &SuspectFile| {
            let entry = self.index.entries.get(&suspect.path)?;
            let FileStat { mode, size, .. } = suspect.stat;
            let is_it = self.may_borrow(entry, &suspect.stat)
                && self.borrowed.has_blob(&entry.oid, size, &mut scratch);
            is_it.then(|| FileState { kind: suspect.stat.file_kind(), mode, oid: entry.oid, size })
        };
        suspects.iter().map(found).collect()
    }

    fn may_borrow(&self, entry: &GitIndexEntry, stat: &FileStat) -> bool {
        let max_bytes = self.request.settings.limits.max_file_bytes;
        self.index.is_clean(entry, stat)
            && stat.size <= MAX_BORROWED_BLOB_BYTES.min(max_bytes)
            && !self.refused.contains(&entry.oid)
    }

    /// The files that git converts; `None` if that is not known, or if it does not matter.
    fn attributes(&self, suspects: &[SuspectFile]) -> Option<GitAttributes> {
        if self.borrowed.is_empty() {
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
    suspects: &[SuspectFile],
    index: &GitIndex,
) -> Option<Vec<(ProjectPath, Vec<u8>)>> {
    const NAME: &[u8] = b".gitattributes";
    let paths = suspects.iter().map(|suspect| &suspect.path).chain(index.entries.keys());
    let paths = paths.filter(|path| path.file_name() == NAME);
    let mut paths: Vec<_> = paths.collect();
    paths.sort_by_key(|path| (path.components().count(), path.as_bytes()));
    paths.dedup();
    paths
        .into_iter()
        .map(|path| Some((path.clone(), read_attributes_file(workspace, path)?)))
        .collect()
}

fn read_attributes_file(workspace: &Workspace, path: &ProjectPath) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let read = workspace.read(path, MAX_ATTRIBUTES_BYTES, &mut |reader, _| {
        text.clear();
        reader.read_to_end(&mut text).map(drop)
    });
    read.ok().map(|_| text)
}
