//! Writes the files of a checkpoint, or of the last recorded state, into a new folder.
//!
//! The way back for a project whose own folder is gone, or is another one now: the record alone is
//! read, and the project's root is not touched.
//!
//! Invariants:
//! - Nothing that exists is overwritten: the folder is absent or empty at the start, and each file
//!   is placed where nothing stands.
//! - Writes stay beneath that folder, through no link (promise 6).
//! - A file that cannot be written is named with the reason, and does not stop the others.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use retake_model::{Checkpoint, FileState, PathState, ProjectPath};
use retake_store::{ChangeFilter, RootPresence, StoreError};
use retake_workspace::{OpenError, StagedFile, Workspace, WriteError, WriteFault, git};

use crate::project::Project;

/// Files that are staged and synced together.
const FILES_PER_SYNC: usize = 256;
/// Maximum files that are listed as left out; all of them are counted.
const MAX_LISTED_LEFT: usize = 1000;

/// Selection of a rescue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RescueOptions {
    /// The state; without a checkpoint it is the last one on record.
    pub checkpoint: Option<Checkpoint>,
    /// Only these files, and what is beneath these folders; none means everything.
    pub paths: Vec<ProjectPath>,
}

/// What a rescue wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RescueReport {
    /// Files and links written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were not written.
    pub left_count: u64,
    /// The first of them, with the reasons.
    pub left: Vec<UnrescuedFile>,
}

/// A file that was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrescuedFile {
    /// Its path.
    pub path: ProjectPath,
    /// The reason, for people.
    pub reason: String,
}

/// Why nothing was rescued.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    /// Something is in the folder.
    #[error("{} is not empty, and nothing is ever written over", .0.display())]
    NotEmpty(PathBuf),
    /// Something else than a folder stands there.
    #[error("{} is no folder", .0.display())]
    NotAFolder(PathBuf),
    /// The folder would be recorded itself.
    #[error("{} lies in the project, and would be recorded itself", .0.display())]
    InProject(PathBuf),
    /// The folder lies in Retake's home or in a git directory.
    #[error("{} lies in {what}, where no project's files belong", path.display())]
    OffLimits {
        /// The folder.
        path: PathBuf,
        /// Description of the place.
        what: &'static str,
    },
    /// The state has no such file.
    #[error("{0}")]
    Nothing(String),
    /// There is not enough room.
    #[error("{needed} bytes are to be written, but only {free} are free in {}", path.display())]
    NoSpace {
        /// The folder.
        path: PathBuf,
        /// Bytes to be written.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The folder cannot be made.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The folder cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

type FileStates = BTreeMap<ProjectPath, PathState>;

impl Project {
    /// Writes the files of a state into a folder, which is absent or empty. Its parent exists.
    pub fn rescue(
        &self,
        into: &Path,
        options: &RescueOptions,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<RescueReport, RescueError> {
        let states = self.states_to_rescue(options)?;
        let folder = self.check_rescue_folder(into)?;
        let is_new = !folder.is_dir();
        let failed = |source| RescueError::Write { path: folder.clone(), source };
        if is_new {
            retake_seam::fs::create_folder(&folder).map_err(failed)?;
        }
        let done = self.rescue_into(&folder, &states, progress);
        if is_new && done.is_err() {
            // Only if nothing is in it; the error tells more than this one could.
            let _ = retake_seam::fs::remove_empty_folder(&folder);
        }
        done
    }

    /// Returns the states of the selected files.
    fn states_to_rescue(&self, options: &RescueOptions) -> Result<FileStates, RescueError> {
        let mut states = self.states_at(options.checkpoint.as_ref().map(|point| point.seq))?;
        let is_wanted = |path: &ProjectPath| {
            options.paths.is_empty() || options.paths.iter().any(|one| path.is_beneath(one))
        };
        states.retain(|path, state| !state.is_absent() && is_wanted(path));
        if states.is_empty() {
            let state = match &options.checkpoint {
                Some(checkpoint) => format!("checkpoint {}", checkpoint.id),
                None => "the last recorded state".to_owned(),
            };
            let names: Vec<_> = options.paths.iter().map(|path| format!("'{path}'")).collect();
            let what = if names.is_empty() { "file".to_owned() } else { names.join(" or ") };
            return Err(RescueError::Nothing(format!("{state} has no {what}")));
        }
        Ok(states)
    }

    /// Returns the state of every path at a place in the project's order, else the last one: a
    /// path's state before its first change since.
    fn states_at(&self, seq: Option<u64>) -> Result<FileStates, StoreError> {
        let _snapshot = self.store().snapshot()?;
        let entries = self.store().manifest()?.into_iter();
        let mut states: FileStates =
            entries.map(|entry| (entry.path, entry.state.into())).collect();
        let Some(seq) = seq else { return Ok(states) };
        let mut then = FileStates::new();
        let since =
            ChangeFilter { after: Some(seq), oldest_first: true, ..ChangeFilter::default() };
        self.store().for_each_change(&since, &mut |change| match change.old_path {
            Some(old) => {
                then.entry(old).or_insert(change.before);
                then.entry(change.path).or_insert(PathState::Absent);
            }
            None => {
                then.entry(change.path).or_insert(change.before);
            }
        })?;
        states.extend(then);
        Ok(states)
    }

    /// Returns the canonical folder, if it is absent or empty and no place of something else.
    fn check_rescue_folder(&self, into: &Path) -> Result<PathBuf, RescueError> {
        let failed = |source| RescueError::Write { path: into.to_owned(), source };
        let (Some(parent), Some(name)) = (into.parent(), into.file_name()) else {
            return Err(RescueError::NotEmpty(into.to_owned()));
        };
        let folder = parent.canonicalize().map_err(failed)?.join(name);
        match folder.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
            Ok(data) if !data.is_dir() => return Err(RescueError::NotAFolder(folder)),
            Ok(_) => {
                if std::fs::read_dir(&folder).map_err(failed)?.next().is_some() {
                    return Err(RescueError::NotEmpty(folder));
                }
            }
        }
        if self.root_presence() == RootPresence::Present && folder.starts_with(self.root()) {
            return Err(RescueError::InProject(folder));
        }
        // HOME/projects/<id>
        let home = self.folder().ancestors().nth(2).and_then(|home| home.canonicalize().ok());
        let what = if home.is_some_and(|home| folder.starts_with(home)) {
            "Retake's own folder"
        } else if git::enclosing_git_dir(&folder).is_some() {
            "git's own directory"
        } else {
            return Ok(folder);
        };
        Err(RescueError::OffLimits { path: folder, what })
    }

    fn rescue_into(
        &self,
        folder: &Path,
        states: &FileStates,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<RescueReport, RescueError> {
        let workspace = Workspace::open(folder)?;
        let needed = states.values().filter_map(PathState::known).map(|state| state.size).sum();
        if let Some(free) = workspace.free_bytes()
            && free < needed
        {
            return Err(RescueError::NoSpace { path: folder.to_owned(), needed, free });
        }
        let mut rescue = RescueWriter {
            project: self,
            workspace: &workspace,
            report: RescueReport::default(),
            written: Vec::new(),
            full: None,
        };
        let all = states.len() as u64;
        let states: Vec<_> = states.iter().collect();
        for (number, part) in states.chunks(FILES_PER_SYNC).enumerate() {
            rescue.write_part(number * FILES_PER_SYNC, part);
            progress(rescue.report.files + rescue.report.left_count, all);
        }
        let names = rescue.written.iter();
        let synced = workspace.sync_folders(names).map_err(io::Error::other);
        synced.map_err(|source| RescueError::Write { path: folder.to_owned(), source })?;
        Ok(rescue.report)
    }
}

/// Writes files into the new folder.
struct RescueWriter<'a> {
    project: &'a Project,
    workspace: &'a Workspace,
    report: RescueReport,
    /// Files and folders that were made, whose names must be synced.
    written: Vec<ProjectPath>,
    /// The reason why nothing more is tried: the disk is full.
    full: Option<String>,
}

/// A file that is staged, and not yet in its place.
struct StagedRescue<'a> {
    path: &'a ProjectPath,
    size: u64,
    staged: StagedFile,
}

impl RescueWriter<'_> {
    fn write_part(&mut self, first: usize, part: &[(&ProjectPath, &PathState)]) {
        let mut staged = Vec::new();
        for (number, (path, state)) in (first..).zip(part) {
            if let Some(full) = self.full.clone() {
                self.leave(path, full);
                continue;
            }
            let Some(known) = state.known() else {
                self.leave(path, "it was not captured".to_owned());
                continue;
            };
            match self.stage(path, known, number) {
                Ok(file) => staged.push(StagedRescue { path, size: known.size, staged: file }),
                Err(error) => self.fail(path, &error),
            }
        }
        let temps: Vec<_> = staged.iter().map(|one| one.staged.clone()).collect();
        let synced = self.workspace.sync_staged(&temps);
        for one in staged {
            let placed = match &synced {
                Ok(()) => self.workspace.place_new(&one.staged.temp, one.path),
                Err(error) => {
                    self.discard(&one.staged.temp);
                    self.leave(one.path, error.to_string());
                    continue;
                }
            };
            match placed {
                Ok(folders) => {
                    self.written.extend(folders);
                    self.written.push(one.path.clone());
                    self.report.files += 1;
                    self.report.bytes += one.size;
                }
                Err(error) => {
                    self.discard(&one.staged.temp);
                    self.fail(one.path, &error);
                }
            }
        }
    }

    fn stage(
        &self,
        path: &ProjectPath,
        state: &FileState,
        number: usize,
    ) -> Result<StagedFile, WriteError> {
        let temp = self.workspace.temp_for(path, &format!("rescue-{number}"))?;
        let mut fill = |out: &mut dyn io::Write| {
            let read = self.project.store().read_into(&state.oid, out);
            read.map(drop).map_err(io::Error::other)
        };
        self.workspace.stage(&temp, state.kind, state.mode, &mut fill)
    }

    fn discard(&self, temp: &ProjectPath) {
        if let Err(error) = self.workspace.remove_temp(temp) {
            tracing::warn!(%temp, %error, "a temporary file stays behind");
        }
    }

    fn fail(&mut self, path: &ProjectPath, error: &WriteError) {
        let reason = error.to_string();
        if matches!(&error.why, WriteFault::Io(io) if io.kind() == io::ErrorKind::StorageFull) {
            self.full = Some(reason.clone());
        }
        self.leave(path, reason);
    }

    fn leave(&mut self, path: &ProjectPath, reason: String) {
        self.report.left_count += 1;
        if self.report.left.len() < MAX_LISTED_LEFT {
            self.report.left.push(UnrescuedFile { path: path.clone(), reason });
        }
    }
}
