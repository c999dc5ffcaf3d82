//! The exported bare repository, written by running git.
//!
//! Every git process runs without the environment's `GIT_*`, without the machine's
//! and the person's configuration, and without hooks: what is exported depends on
//! the store alone. Packs and refs are git's own atomic acts, so a kill at any
//! moment leaves a repository that the next export completes.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use retake_model::ObjectId;

use crate::{ExportError, StoreError};

/// A bare repository.
#[derive(Debug)]
pub(crate) struct ExportRepo {
    folder: PathBuf,
}

impl ExportRepo {
    /// The repository in this folder, made if it is not there.
    pub(crate) fn open(folder: &Path) -> Result<Self, ExportError> {
        let bare = Self { folder: folder.to_owned() };
        let mut init = isolated_git();
        init.args(["init", "--quiet", "--bare", "--template=", "--object-format=sha1"]);
        init.arg("--").arg(folder);
        run_git("make the repository", &mut init, "")?;
        // A folder that an earlier version made has the umask's permissions.
        retake_seam::fs::make_private(folder).map_err(StoreError::io("chmod", folder))?;
        Ok(bare)
    }

    fn git(&self) -> Command {
        let mut git = isolated_git();
        git.arg("--git-dir").arg(&self.folder);
        git
    }

    /// Every object that it has.
    pub(crate) fn objects(&self) -> Result<HashSet<ObjectId>, ExportError> {
        let mut list = self.git();
        list.args(["cat-file", "--batch-all-objects", "--unordered"]);
        list.arg("--batch-check=%(objectname)");
        let text = run_git("list its objects", &mut list, "")?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// Its refs, by full name.
    pub(crate) fn refs(&self) -> Result<Vec<(String, ObjectId)>, ExportError> {
        let mut list = self.git();
        list.args(["for-each-ref", "--format=%(objectname) %(refname)"]);
        let text = run_git("list its refs", &mut list, "")?;
        let parse = |line: &str| {
            let (oid, name) = line.split_once(' ')?;
            Some((name.to_owned(), oid.parse().ok()?))
        };
        Ok(text.lines().filter_map(parse).collect())
    }

    /// Imports one pack, atomically.
    pub(crate) fn import_pack(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<(), ExportError> {
        let act = "take in a pack";
        let mut index = self.git();
        // `--promisor`: `fsck` can then be told that purged content may be missing.
        index.args(["index-pack", "--stdin", "--promisor"]);
        let mut child = spawn_git(act, &mut index)?;
        let written = match child.stdin.take() {
            Some(pipe) => {
                let mut pipe = io::BufWriter::with_capacity(64 * 1024, pipe);
                write(&mut pipe).and_then(|()| Ok(pipe.flush()?))
            }
            None => Ok(()),
        };
        let output = child.wait_with_output().map_err(StoreError::from)?;
        match written {
            // git exited early; its stderr has the reason.
            Err(StoreError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => return Err(error.into()),
            Ok(()) if output.status.success() => return Ok(()),
            Ok(()) => {}
        }
        Err(git_error(act, &output.stderr))
    }

    /// Marks commits as shallow: git does not look for their parents.
    pub(crate) fn add_shallow(&self, commits: &[ObjectId]) -> Result<(), ExportError> {
        if commits.is_empty() {
            return Ok(());
        }
        let file = self.folder.join("shallow");
        let mut text = std::fs::read_to_string(&file).unwrap_or_default();
        for commit in commits {
            let _ = writeln!(text, "{commit}");
        }
        retake_seam::fs::replace_durably(&file, text.as_bytes())
            .map_err(StoreError::io("write", &file))?;
        Ok(())
    }

    /// Replaces these missing contents by a note (`refs/replace`).
    pub(crate) fn add_replacements(
        &self,
        contents: &[ObjectId],
        note: &str,
    ) -> Result<(), ExportError> {
        if contents.is_empty() {
            return Ok(());
        }
        let mut hash = self.git();
        hash.args(["hash-object", "-w", "--stdin"]);
        let note = run_git("write a note", &mut hash, note)?;
        let mut orders = String::new();
        for oid in contents {
            let _ = writeln!(orders, "update refs/replace/{oid} {}", note.trim());
        }
        self.update_refs(&orders)
    }

    /// Makes these its only branches; HEAD names the first.
    pub(crate) fn set_branches(
        &self,
        found: &[(String, ObjectId)],
        wanted: &[(String, ObjectId)],
    ) -> Result<(), ExportError> {
        let is_foreign = |name: &str| {
            name.starts_with("refs/heads/") && wanted.iter().all(|(keep, _)| keep != name)
        };
        let mut orders = String::new();
        for (name, _) in found.iter().filter(|(name, _)| is_foreign(name)) {
            let _ = writeln!(orders, "delete {name}");
        }
        // Apart from the updates: a branch may lie where another one is a folder.
        self.update_refs(&orders)?;
        orders.clear();
        for (name, oid) in wanted.iter().filter(|branch| !found.contains(branch)) {
            let _ = writeln!(orders, "update {name} {oid}");
        }
        self.update_refs(&orders)?;
        let Some((head, _)) = wanted.first() else { return Ok(()) };
        let mut set = self.git();
        set.args(["symbolic-ref", "HEAD", head]);
        run_git("set HEAD", &mut set, "").map(drop)
    }

    fn update_refs(&self, orders: &str) -> Result<(), ExportError> {
        if orders.is_empty() {
            return Ok(());
        }
        let mut update = self.git();
        update.args(["update-ref", "--no-deref", "--stdin"]);
        run_git("set its branches", &mut update, orders).map(drop)
    }
}

/// A git command isolated from environment, configuration and hooks.
fn isolated_git() -> Command {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            git.env_remove(name);
        }
    }
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("LC_ALL", "C");
    git.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    // For the owner alone, whatever the umask lets through.
    git.args(["-c", "core.sharedRepository=0600"]);
    // Unreferenced objects of other dialogs must stay.
    git.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]);
    git
}

fn spawn_git(act: &'static str, git: &mut Command) -> Result<std::process::Child, ExportError> {
    retake_seam::step(act).map_err(StoreError::from)?;
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    git.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ExportError::GitMissing,
        _ => StoreError::from(error).into(),
    })
}

/// Runs git with a small input and returns its stdout.
fn run_git(act: &'static str, git: &mut Command, input: &str) -> Result<String, ExportError> {
    let mut child = spawn_git(act, git)?;
    if let Some(mut pipe) = child.stdin.take() {
        match pipe.write_all(input.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(StoreError::from(error).into());
            }
            _ => {}
        }
    }
    let output = child.wait_with_output().map_err(StoreError::from)?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(git_error(act, &output.stderr))
    }
}

fn git_error(act: &'static str, stderr: &[u8]) -> ExportError {
    let text = String::from_utf8_lossy(stderr);
    ExportError::Git { act, stderr: text.trim().to_owned() }
}
