//! A shadow repository, as Gemini CLI and Cline before 2026 have it: a git folder of its own, the
//! user's files as its work tree, `add -A` and `commit` for a state, `checkout` to bring it back.
//!
//! Left out, in its favour: `clean -fd` after a restore. It collects nothing by itself here
//! (`gc.auto=0`): otherwise git would pack in the background while others are measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::Peer;
use crate::cases;
use crate::files::{self, DiskSpace};
use crate::process::{Measurement, ProcessTimer, run};
use crate::tools::BenchTools;
use crate::trees::TreeCopy;

/// Settings that a shadow repository may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitTuning {
    Plain,
    ManyFiles,
    /// With the watcher that git brings along.
    Watcher,
}

impl GitTuning {
    /// Returns the names of a shadow repository and of a seeded one with it.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain => (cases::SHADOW, cases::SEEDED),
            Self::ManyFiles => (cases::SHADOW_MANY, cases::SEEDED_MANY),
            Self::Watcher => (cases::SHADOW_WATCHER, cases::SEEDED_WATCHER),
        }
    }

    pub(super) fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &["gc.auto=0"],
            Self::ManyFiles => &["gc.auto=0", "feature.manyFiles=true"],
            Self::Watcher => &["gc.auto=0", "feature.manyFiles=true", "core.fsmonitor=true"],
        }
    }
}

pub(crate) struct ShadowGit {
    tools: BenchTools,
    name: String,
    site: TreeCopy,
    tuning: GitTuning,
}

impl ShadowGit {
    pub(crate) fn new(tools: &BenchTools, name: &str, site: TreeCopy, tuning: GitTuning) -> Self {
        Self { tools: tools.clone(), name: name.to_owned(), site, tuning }
    }

    fn git(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.git(&self.site.root, arguments);
        command.env("GIT_DIR", &self.site.peer_folder).env("GIT_WORK_TREE", &self.site.root);
        command
    }

    fn commit_all(&self, watch: &mut ProcessTimer) -> Result<()> {
        watch.run(&mut self.git(&["add", "-A"]))?;
        let commit = ["commit", "--quiet", "--allow-empty", "--no-verify", "-m", "checkpoint"];
        watch.run(&mut self.git(&commit))?;
        Ok(())
    }
}

impl Peer for ShadowGit {
    fn name(&self) -> &str {
        &self.name
    }

    fn root(&self) -> &Path {
        &self.site.root
    }

    fn first_checkpoint(&mut self) -> Result<Measurement> {
        self.stop()?;
        self.site.clear_peer_folder()?;
        let mut watch = ProcessTimer::start();
        watch.run(&mut self.git(&["init", "--quiet"]))?;
        for setting in self.tuning.settings() {
            let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
            watch.run(&mut self.git(&["config", key, value]))?;
        }
        self.commit_all(&mut watch)?;
        Ok(watch.stop())
    }

    fn checkpoint(&mut self) -> Result<Measurement> {
        let mut watch = ProcessTimer::start();
        self.commit_all(&mut watch)?;
        Ok(watch.stop())
    }

    fn restore(&mut self, _changed: &[PathBuf]) -> Result<Measurement> {
        let mut watch = ProcessTimer::start();
        watch.run(&mut self.git(&["checkout", "--quiet", "HEAD", "--", "."]))?;
        Ok(watch.stop())
    }

    fn space(&mut self) -> Result<DiskSpace> {
        files::space(&self.site.peer_folder, None)
    }

    fn packed_space(&mut self) -> Result<Option<DiskSpace>> {
        run(&mut self.git(&["gc", "--quiet"]))?;
        self.space().map(Some)
    }

    fn stop(&mut self) -> Result<()> {
        if self.tuning == GitTuning::Watcher && self.site.peer_folder.exists() {
            run(&mut self.git(&["fsmonitor--daemon", "stop"])).ok();
        }
        Ok(())
    }
}
