//! Exports the record as plain JSON files, for people and programs without Retake (C-4,
//! DM-1…DM-11).
//!
//! ```text
//! DIR/sessions/<dialog>/index.json               the dialog's changes, without content (DM-11)
//! DIR/sessions/<dialog>/snapshots/<change>.json  one change with both contents (DM-9, DM-10)
//! DIR/file-changes.json                          agents' changes by file (DM-1…DM-7)
//! ```
//!
//! Everything is streamed: memory is bounded by one chunk of content and the list of change ids.
//! Nothing is written outside of DIR, whatever symlinks are in it.

mod content;
mod documents;
mod names;
mod records;

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use retake_model::{Change, DialogId};
use retake_seam::dir::ConfinedDir;
use retake_store::{ChangeFilter, Dialog, StoreError};

use crate::project::Project;
use content::SnapshotWriter;
use retake_model::iso_8601;

/// Changes read per page.
const CHANGES_PER_PAGE: usize = 256;

/// Choices of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// Only this dialog.
    pub dialog: Option<DialogId>,
    /// Write into a folder that is not empty.
    pub force: bool,
    /// Also write the content of files that usually hold secrets.
    pub with_secrets: bool,
}

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotCounts {
    /// Dialogs.
    pub dialogs: u64,
    /// Changes, counted once for each dialog that they belong to.
    pub changes: u64,
    /// Contents that were left out because files of that name usually hold secrets.
    pub masked: u64,
    /// Contents that were not captured, or are damaged.
    pub missing: u64,
}

/// Why nothing, or not all, was written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The folder holds something.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// The folder lies in the project, where it would be recorded itself.
    #[error("{} lies in the project, and would be recorded itself", .0.display())]
    InProject(PathBuf),
    /// The folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Project {
    /// Writes the record as plain JSON files into a folder.
    pub fn export_snapshots(
        &self,
        folder: &Path,
        options: &SnapshotOptions,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SnapshotCounts, SnapshotError> {
        let failed = |source| SnapshotError::Write { path: folder.to_owned(), source };
        let dir = ConfinedDir::open(folder).map_err(failed)?;
        let resolved = folder.canonicalize().map_err(failed)?;
        if resolved.starts_with(self.root()) {
            return Err(SnapshotError::InProject(folder.to_owned()));
        }
        if !options.force && !dir.is_empty().map_err(failed)? {
            return Err(SnapshotError::NotEmpty(folder.to_owned()));
        }
        let mut export = SnapshotExport { project: self, options, done: SnapshotCounts::default() };
        match export.write(&dir, progress) {
            Ok(()) => Ok(export.done),
            // The seam's and the disk's errors come as steps; here they are about the folder.
            Err(StoreError::Write(source)) => Err(failed(source)),
            Err(error) => Err(error.into()),
        }
    }
}

struct SnapshotExport<'a> {
    project: &'a Project,
    options: &'a SnapshotOptions,
    done: SnapshotCounts,
}

impl SnapshotExport<'_> {
    fn write(
        &mut self,
        dir: &ConfinedDir,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let wanted =
            |dialog: &Dialog| self.options.dialog.as_ref().is_none_or(|id| *id == dialog.id);
        let mut dialogs = self.project.store().dialogs()?;
        dialogs.retain(wanted);
        let all = self.project.store().change_count()?;
        let sessions = dir.folder("sessions")?;
        let mut names = HashSet::new();
        for dialog in &dialogs {
            let folder = sessions.folder(&names::unique_name(&dialog.id.0, &mut names))?;
            self.write_dialog(&folder, dialog, &mut |done| progress(done.min(all), all))?;
            self.done.dialogs += 1;
        }
        records::write_file_changes(self, dir)?;
        progress(all, all);
        Ok(())
    }

    fn write_dialog(
        &mut self,
        folder: &ConfinedDir,
        dialog: &Dialog,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let snapshots = folder.folder("snapshots")?;
        let mut index = folder.file("index.json")?;
        write!(
            index,
            "{{\n\"sessionId\":{},\n\"createdAt\":{},\n\"changes\":[",
            documents::json_string(&dialog.id.0),
            documents::json_string(&iso_8601(dialog.started_at)),
        )?;
        let filter = ChangeFilter { dialogs: vec![dialog.id.clone()], ..ChangeFilter::default() };
        let mut comma = "\n";
        self.project.each_change(filter, &mut |change| {
            let mut file = snapshots.file(&format!("{}.json", change.id))?;
            documents::write_snapshot(&mut self.content_writer(), dialog, change, &mut file)?;
            file.finish()?;
            write!(index, "{comma}{}", documents::index_row(change))?;
            comma = ",\n";
            self.done.changes += 1;
            progress(self.done.changes);
            Ok(())
        })?;
        index.write_all(b"\n]\n}\n")?;
        Ok(index.finish()?)
    }

    fn content_writer(&mut self) -> SnapshotWriter<'_> {
        SnapshotWriter {
            store: self.project.store(),
            with_secrets: self.options.with_secrets,
            done: &mut self.done,
        }
    }
}

impl Project {
    /// Calls `visit` for each change that matches a filter, oldest first, page by page.
    fn each_change(
        &self,
        filter: ChangeFilter,
        visit: &mut dyn FnMut(&Change) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut filter =
            ChangeFilter { oldest_first: true, limit: Some(CHANGES_PER_PAGE), ..filter };
        loop {
            let changes = self.store().changes(&filter)?;
            for change in &changes {
                visit(change)?;
            }
            match changes.last() {
                Some(last) => filter.after = Some(last.id.0),
                None => return Ok(()),
            }
        }
    }
}
