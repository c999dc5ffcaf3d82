//! The measured trees, and the copies of them for each peer.
//!
//! A tree that was given is cloned once and never touched. Every peer has a copy of that clone for
//! itself; only the objects of its repository, which git never changes, are the same files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::measurements::TreeFacts;
use crate::process::run;
use crate::tools::BenchTools;
use crate::{files, generate};

/// A clean clone, to be copied.
#[derive(Clone, Debug)]
pub(crate) struct TreeTemplate {
    pub(crate) facts: TreeFacts,
    pub(crate) root: PathBuf,
    /// Files that a person would edit: text, not large, spread over the tree.
    pub(crate) editable: Vec<PathBuf>,
}

/// One peer's copy of a tree, and a folder beside it for the peer's own data.
#[derive(Clone, Debug)]
pub(crate) struct TreeCopy {
    pub(crate) root: PathBuf,
    pub(crate) peer_folder: PathBuf,
    /// The repository that its own was copied from; none if it is a plain folder.
    pub(crate) repository: Option<PathBuf>,
}

impl TreeTemplate {
    /// Clones a work tree of git.
    pub(crate) fn clone_of(tools: &BenchTools, tree: &Path, scratch: &Path) -> Result<Self> {
        let tree = tree.canonicalize().with_context(|| format!("{} is missing", tree.display()))?;
        ensure!(tree.join(".git").exists(), "{} is no work tree of git", tree.display());
        let name = tree.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let root = scratch.join(&name).join("template");
        let (from, to) = (tree.to_string_lossy(), root.to_string_lossy());
        run(&mut tools.git(scratch, &["clone", "--quiet", &from, &to]))?;
        Self::of(tools, name, root)
    }

    /// Generates a tree of `count` files, as a clone.
    pub(crate) fn generated(tools: &BenchTools, count: u64, scratch: &Path) -> Result<Self> {
        let name = format!("generated-{count}");
        let root = scratch.join(&name).join("template");
        generate::project(&root, count)?;
        for arguments in [
            &["init", "--quiet"][..],
            &["add", "-A"],
            &["commit", "--quiet", "-m", "generated"],
            &["repack", "--quiet", "-a", "-d"],
        ] {
            run(tools.git(&root, arguments).env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"))?;
        }
        Self::of(tools, name, root)
    }

    fn of(tools: &BenchTools, name: String, root: PathBuf) -> Result<Self> {
        let listed = run(&mut tools.git(&root, &["ls-files", "-z"]))?;
        let (mut count, mut bytes, mut editable) = (0, 0, Vec::new());
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            let about = root.join(path).symlink_metadata()?;
            count += 1;
            bytes += about.len();
            if about.is_file() && (200..20_000).contains(&about.len()) && is_text(&root.join(path))
            {
                editable.push(PathBuf::from(path));
            }
        }
        ensure!(editable.len() >= 200, "{name} has too few text files to measure on");
        let step = editable.len() / 200;
        let editable = editable.into_iter().step_by(step.max(1)).take(200).collect();
        Ok(Self { facts: TreeFacts { name, files: count, bytes }, root, editable })
    }

    /// A copy with its repository, which git knows to be clean.
    pub(crate) fn copy(&self, tools: &BenchTools, name: &str) -> Result<TreeCopy> {
        let site = self.place(name);
        files::copy_tree(&self.root, &site.root, &[], &[".git/objects"])?;
        run(&mut tools.git(&site.root, &["update-index", "-q", "--refresh"]))?;
        Ok(site)
    }

    /// A copy of the files alone.
    pub(crate) fn copy_plain(&self, name: &str) -> Result<TreeCopy> {
        let site = self.place(name);
        files::copy_tree(&self.root, &site.root, &[".git"], &[])?;
        Ok(TreeCopy { repository: None, ..site })
    }

    fn place(&self, name: &str) -> TreeCopy {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let folder = self.root.with_file_name(name);
        let (root, side) = (folder.join("project"), folder.join("side"));
        TreeCopy { root, peer_folder: side, repository: Some(self.root.join(".git")) }
    }

    /// Removes the clone and all copies.
    pub(crate) fn remove(&self) -> Result<()> {
        files::remove(self.root.parent().context("a clone is in a folder of its own")?)
    }
}

impl TreeCopy {
    /// Clears the peer's own data, as before the first time.
    pub(crate) fn clear_peer_folder(&self) -> Result<()> {
        files::remove(&self.peer_folder)?;
        files::make_folder(&self.peer_folder)
    }

    /// Restores the copy's repository as it was cloned, if it had one.
    pub(crate) fn renew_repository(&self) -> Result<()> {
        let git = self.root.join(".git");
        files::remove(&git)?;
        if let Some(repository) = &self.repository {
            files::copy_tree(repository, &git, &[], &["objects"])?;
        }
        Ok(())
    }

    /// The objects of the user's repository.
    pub(crate) fn objects(&self) -> PathBuf {
        self.root.join(".git/objects")
    }
}

fn is_text(file: &Path) -> bool {
    std::fs::read(file).is_ok_and(|bytes| !bytes.contains(&0))
}
