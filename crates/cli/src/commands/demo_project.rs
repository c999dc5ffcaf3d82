//! The demo's throw-away project, in which a person and an agent really work.
//!
//! Files are written, shell commands run and events are recorded just as they
//! would be by a real agent; nothing about the outcome is made up.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use retake_engine::model::{Change, Event, EventKind};
use retake_engine::{AppliedPlan, InitOptions, Project, Retake, TakeBackOptions, UndoStep};
use serde_json::{Value, json};

use crate::time::now;

/// Dialog id of the demo's agent.
pub(super) const DEMO_DIALOG: &str = "demo";

/// A project with a person and an agent.
pub(super) struct DemoProject {
    folder: tempfile::TempDir,
    project: Project,
    calls: u32,
}

impl DemoProject {
    /// A project that holds these files.
    pub(super) fn create(files: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("retake-demo-").tempdir()?;
        let root = folder.path().join("shop");
        std::fs::DirBuilder::new().create(&root)?;
        for (name, text) in files {
            write(&root.join(name), text)?;
        }
        let retake = Retake::new(folder.path().join("retake-home"));
        let done = retake.init(&root, InitOptions::default(), now(), &mut |_, _| {})?;
        Ok(Self { folder, project: done.project, calls: 0 })
    }

    /// The project.
    pub(super) fn project(&self) -> &Project {
        &self.project
    }

    /// Where its record is.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("retake-home")
    }

    /// The person asks the agent for something.
    pub(super) fn person_asks(&self, text: &str) -> Result<Vec<Change>> {
        self.record(EventKind::UserMessage { text: text.to_owned() })
    }

    /// The agent replaces a text with its tool Edit.
    pub(super) fn agent_edits(&mut self, name: &str, old: &str, new: &str) -> Result<Vec<Change>> {
        let input = json!({ "file_path": name, "old_string": old, "new_string": new });
        self.run_call("Edit", input, |root| {
            let text = std::fs::read_to_string(root.join(name))?;
            write(&root.join(name), &text.replacen(old, new, 1))
        })
    }

    /// The agent runs a shell command with its tool Bash.
    pub(super) fn agent_runs(&mut self, command: &str) -> Result<Vec<Change>> {
        self.run_call("Bash", json!({ "command": command }), |root| {
            let status = Command::new("sh").args(["-c", command]).current_dir(root).status();
            let status = status.context("the demo needs the shell `sh`")?;
            ensure!(status.success(), "`{command}` failed");
            Ok(())
        })
    }

    /// The person replaces a text in a file, with an editor of theirs.
    pub(super) fn person_edits(&self, name: &str, old: &str, new: &str) -> Result<Vec<Change>> {
        let text = self.read(name)?;
        write(&self.project.root().join(name), &text.replacen(old, new, 1))?;
        Ok(self.project.refresh(now())?.changes)
    }

    /// Reads a file.
    pub(super) fn read(&self, name: &str) -> Result<String> {
        Ok(std::fs::read_to_string(self.project.root().join(name))?)
    }

    /// The person takes the agent's turn back.
    pub(super) fn undo(&self) -> Result<(AppliedPlan, UndoStep)> {
        let (plan, step) = self.project.plan_undo(TakeBackOptions::default(), now())?;
        Ok((self.project.apply(&plan, now())?, step))
    }

    /// The person brings it back.
    pub(super) fn redo(&self) -> Result<AppliedPlan> {
        let (plan, _) = self.project.plan_redo(TakeBackOptions::default(), now())?;
        Ok(self.project.apply(&plan, now())?)
    }

    /// The end of the turn.
    pub(super) fn end_turn(&self) -> Result<Vec<Change>> {
        self.record(EventKind::TurnEnd { background: Vec::new() })
    }

    /// Keeps the folder and gives its path.
    pub(super) fn into_folder(self) -> PathBuf {
        self.folder.keep()
    }

    fn run_call(
        &mut self,
        tool: &str,
        input: Value,
        work: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Vec<Change>> {
        self.calls += 1;
        let call = format!("call-{}", self.calls);
        self.record(EventKind::ToolBegin {
            call: Some(call.as_str().into()),
            tool: tool.to_owned(),
            input,
        })?;
        work(self.project.root())?;
        self.record(EventKind::ToolEnd {
            call: Some(call.as_str().into()),
            ok: Some(true),
            exit_code: None,
            tool: None,
            input: Value::Null,
            background: false,
            task: None,
        })
    }

    fn record(&self, what: EventKind) -> Result<Vec<Change>> {
        let mut event = Event::new(DEMO_DIALOG, what);
        event.kind = Some("demo-agent".to_owned());
        Ok(self.project.record(&event, now())?.changes)
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = File::create(path)?;
    Ok(file.write_all(text.as_bytes())?)
}
