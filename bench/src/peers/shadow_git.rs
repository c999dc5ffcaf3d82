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
use crate::files::{self, Space};
use crate::process::{Run, Watch, run};
use crate::tools::Tools;
use crate::trees::Site;

/// Settings that a shadow repository may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuning {
    Plain,
    ManyFiles,
    /// With the watcher that git brings along.
    Watcher,
}

impl Tuning {
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
    tools: Tools,
    name: String,
    site: Site,
    tuning: Tuning,
}

impl ShadowGit {
    pub(crate) fn new(tools: &Tools, name: &str, site: Site, tuning: Tuning) -> Self {
        Self { tools: tools.clone(), name: name.to_owned(), site, tuning }
    }

    fn git(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.git(&self.site.root, arguments);
        command.env("GIT_DIR", &self.site.side).env("GIT_WORK_TREE", &self.site.root);
        command
    }

    fn take(&self, watch: &mut Watch) -> Result<()> {
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

    fn first(&mut self) -> Result<Run> {
        self.stop()?;
        self.site.clear_side()?;
        let mut watch = Watch::start();
        watch.run(&mut self.git(&["init", "--quiet"]))?;
        for setting in self.tuning.settings() {
            let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
            watch.run(&mut self.git(&["config", key, value]))?;
        }
        self.take(&mut watch)?;
        Ok(watch.stop())
    }

    fn checkpoint(&mut self) -> Result<Run> {
        let mut watch = Watch::start();
        self.take(&mut watch)?;
        Ok(watch.stop())
    }

    fn restore(&mut self, _changed: &[PathBuf]) -> Result<Run> {
        let mut watch = Watch::start();
        watch.run(&mut self.git(&["checkout", "--quiet", "HEAD", "--", "."]))?;
        Ok(watch.stop())
    }

    fn space(&mut self) -> Result<Space> {
        files::space(&self.site.side, None)
    }

    fn packed_space(&mut self) -> Result<Option<Space>> {
        run(&mut self.git(&["gc", "--quiet"]))?;
        self.space().map(Some)
    }

    fn stop(&mut self) -> Result<()> {
        if self.tuning == Tuning::Watcher && self.site.side.exists() {
            run(&mut self.git(&["fsmonitor--daemon", "stop"])).ok();
        }
        Ok(())
    }
}
