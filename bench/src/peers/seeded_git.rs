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
use super::shadow_git::Tuning;
use crate::files::{self, Space};
use crate::process::{Run, Watch};
use crate::tools::Tools;
use crate::trees::Site;

pub(crate) struct SeededGit {
    tools: Tools,
    name: String,
    site: Site,
    tuning: Tuning,
    latest: Option<String>,
}

impl SeededGit {
    pub(crate) fn new(tools: &Tools, name: &str, site: Site, tuning: Tuning) -> Self {
        Self { tools: tools.clone(), name: name.to_owned(), site, tuning, latest: None }
    }

    fn git(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.command(Path::new("git"), &self.site.root);
        for setting in self.tuning.settings() {
            command.args(["-c", setting]);
        }
        command.arg("--git-dir").arg(&self.site.side).arg("--work-tree").arg(&self.site.root);
        command.args(arguments);
        command
    }

    /// Adds changed and new files, then writes the index as a tree.
    fn take(&self, watch: &mut Watch) -> Result<String> {
        let (changed, new) = watch.both(
            &mut self.git(&["diff-files", "--name-only", "-z", "--", "."]),
            &mut self.git(&["ls-files", "--others", "--exclude-standard", "-z", "--", "."]),
        )?;
        if !(changed.is_empty() && new.is_empty()) {
            let mut list = tempfile::tempfile_in(&self.site.side)?;
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

    fn first(&mut self) -> Result<Run> {
        self.site.clear_side()?;
        let mut watch = Watch::start();
        watch.run(&mut self.git(&["init", "--quiet"]))?;
        let objects = format!("{}\n", self.site.objects().display());
        files::write(&self.site.side.join("objects/info/alternates"), objects.as_bytes())?;
        let index = std::fs::read(self.site.root.join(".git/index"))?;
        files::write(&self.site.side.join("index"), &index)?;
        self.latest = Some(self.take(&mut watch)?);
        Ok(watch.stop())
    }

    fn checkpoint(&mut self) -> Result<Run> {
        let mut watch = Watch::start();
        self.latest = Some(self.take(&mut watch)?);
        Ok(watch.stop())
    }

    fn restore(&mut self, changed: &[PathBuf]) -> Result<Run> {
        let Some(tree) = &self.latest else { bail!("there is no state to go back to") };
        let mut watch = Watch::start();
        if changed.len() > 1 {
            let mut list = self.git(&["ls-tree", "--name-only", tree, "--"]);
            watch.run(list.args(changed))?;
        }
        watch.run(self.git(&["checkout", "--quiet", tree, "--"]).args(changed))?;
        Ok(watch.stop())
    }

    fn space(&mut self) -> Result<Space> {
        files::space(&self.site.side, None)
    }
}
