//! A seeded shadow repository, as opencode has it: the user's index is copied and the user's
//! objects are alternates, so that nothing has to be hashed again. A state is a tree (`write-tree`)
//! that nothing refers to; files are brought back by `checkout TREE -- FILE…`.
//!
//! It needs the user's `.git` as long as it lives. The settings that opencode makes by one process
//! each are given to `git init` here, in its favour.

use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::Peer;
use super::shadow_git::GitTuning;
use crate::files::{self, DiskSpace};
use crate::process::{Measurement, ProcessTimer};
use crate::tools::BenchTools;
use crate::trees::TreeCopy;

pub(crate) struct SeededGit {
    tools: BenchTools,
    name: String,
    site: TreeCopy,
    tuning: GitTuning,
    latest: Option<String>,
}

impl SeededGit {
    pub(crate) fn new(tools: &BenchTools, name: &str, site: TreeCopy, tuning: GitTuning) -> Self {
        Self { tools: tools.clone(), name: name.to_owned(), site, tuning, latest: None }
    }

    fn git(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.command(Path::new("git"), &self.site.root);
        for setting in self.tuning.settings() {
            command.args(["-c", setting]);
        }
        command
            .arg("--git-dir")
            .arg(&self.site.peer_folder)
            .arg("--work-tree")
            .arg(&self.site.root);
        command.args(arguments);
        command
    }

    /// Adds changed and new files, then writes the index as a tree.
    fn write_tree(&self, watch: &mut ProcessTimer) -> Result<String> {
        let (changed, new) = watch.run_both(
            &mut self.git(&["diff-files", "--name-only", "-z", "--", "."]),
            &mut self.git(&["ls-files", "--others", "--exclude-standard", "-z", "--", "."]),
        )?;
        if !(changed.is_empty() && new.is_empty()) {
            let mut list = tempfile::tempfile_in(&self.site.peer_folder)?;
            for path in changed.split('\0').chain(new.split('\0')).filter(|path| !path.is_empty()) {
                write!(list, ":(top,literal){path}\0")?;
            }
            list.rewind()?;
            let add = ["add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
            watch.run(self.git(&add).stdin(list))?;
        }
        let tree = watch.run(&mut self.git(&["write-tree"]))?;
        Ok(tree.trim().to_owned())
    }
}

impl Peer for SeededGit {
    fn name(&self) -> &str {
        &self.name
    }

    fn root(&self) -> &Path {
        &self.site.root
    }

    fn first_checkpoint(&mut self) -> Result<Measurement> {
        self.site.clear_peer_folder()?;
        let mut watch = ProcessTimer::start();
        watch.run(&mut self.git(&["init", "--quiet"]))?;
        let objects = format!("{}\n", self.site.objects().display());
        files::write(&self.site.peer_folder.join("objects/info/alternates"), objects.as_bytes())?;
        let index = std::fs::read(self.site.root.join(".git/index"))?;
        files::write(&self.site.peer_folder.join("index"), &index)?;
        self.latest = Some(self.write_tree(&mut watch)?);
        Ok(watch.stop())
    }

    fn checkpoint(&mut self) -> Result<Measurement> {
        let mut watch = ProcessTimer::start();
        self.latest = Some(self.write_tree(&mut watch)?);
        Ok(watch.stop())
    }

    fn restore(&mut self, changed: &[PathBuf]) -> Result<Measurement> {
        let Some(tree) = &self.latest else { bail!("there is no state to go back to") };
        let mut watch = ProcessTimer::start();
        if changed.len() > 1 {
            let mut list = self.git(&["ls-tree", "--name-only", tree, "--"]);
            watch.run(list.args(changed))?;
        }
        watch.run(self.git(&["checkout", "--quiet", tree, "--"]).args(changed))?;
        Ok(watch.stop())
    }

    fn space(&mut self) -> Result<DiskSpace> {
        files::space(&self.site.peer_folder, None)
    }
}
