//! A throw-away project.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use retake_engine::model::{Change, ChangeStatus, Event, EventKind, Millis, ObjectId, PathState};
use retake_engine::{
    ChangeFilter, FeedbackMoments, InitOptions, Project, RecordOutcome, RefreshOutcome, Retake,
    Submission,
};
use serde_json::Value;

/// A project in a temporary folder, with a home and a clock of its own.
#[derive(Debug)]
pub struct TestProject {
    outer: PathBuf,
    pub(crate) now: Cell<Millis>,
    /// Whether agents pass on to their models what they are told.
    pub(crate) tell_agents: Cell<bool>,
    checkpoints: RefCell<HashMap<String, ObjectId>>,
    _temp: Option<tempfile::TempDir>,
}

impl Default for TestProject {
    fn default() -> Self {
        Self::new()
    }
}

impl TestProject {
    /// An empty folder that is not initialised.
    pub fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("retake-test-").tempdir().unwrap();
        let project = Self::at(temp.path());
        std::fs::create_dir(project.root()).unwrap();
        Self { _temp: Some(temp), ..project }
    }

    /// The same on a file system in memory, if there is one: many small projects, fast.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let temp = tempfile::Builder::new().prefix("retake-test-").tempdir_in(memory);
        let Ok(temp) = temp else { return Self::new() };
        let project = Self::at(temp.path());
        std::fs::create_dir(project.root()).unwrap();
        Self { _temp: Some(temp), ..project }
    }

    /// The project that another process made in `outer`.
    pub fn at(outer: &Path) -> Self {
        let outer = outer.canonicalize().unwrap();
        Self {
            outer,
            now: Cell::new(1_700_000_000_000),
            tell_agents: Cell::new(false),
            checkpoints: RefCell::default(),
            _temp: None,
        }
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.outer.join("project")
    }

    /// Retake's home.
    pub fn home(&self) -> PathBuf {
        self.outer.join("home")
    }

    /// The folder that holds root and home.
    pub fn outer(&self) -> &Path {
        &self.outer
    }

    /// The clock: each reading is one second later.
    pub fn tick(&self) -> Millis {
        self.now.set(self.now.get() + 1000);
        self.now.get()
    }

    /// Retake with this project's home.
    pub fn retake(&self) -> Retake {
        Retake::new(self.home())
            .user_home(Some(self.outer.join("person")))
            .config_home(Some(self.outer.join("config")))
    }

    /// Initialises the project, or catches up.
    pub fn init(&self) -> Project {
        let options = InitOptions::default();
        self.retake().init(&self.root(), options, self.tick(), &mut |_, _| {}).unwrap().project
    }

    /// Opens the project.
    pub fn open(&self) -> Project {
        self.retake().open(&self.root()).unwrap()
    }

    /// Records an event.
    pub fn record(&self, event: &Event) -> RecordOutcome {
        let (opened, at) = (self.open(), self.tick());
        if !self.tell_agents.get() {
            return opened.record(event, at).unwrap();
        }
        let moments = FeedbackMoments { message: true, call_end: true };
        let submission = Submission::new(opened.spool_writer().new_key(at), event.clone(), at);
        opened.submit_all(&[submission.with_feedback_moments(moments)]).remove(0).unwrap()
    }

    /// Looks at the whole project.
    pub fn refresh(&self) -> RefreshOutcome {
        self.open().refresh(self.tick()).unwrap()
    }

    /// Every change, oldest first.
    pub fn changes(&self) -> Vec<Change> {
        let filter = ChangeFilter { oldest_first: true, ..ChangeFilter::default() };
        self.open().changes(&filter).unwrap()
    }

    /// Gives a checkpoint a name of the test's own.
    pub fn name_checkpoint(&self, name: &str, id: ObjectId) {
        self.checkpoints.borrow_mut().insert(name.to_owned(), id);
    }

    /// The id of a checkpoint by the test's own name.
    pub fn checkpoint_id(&self, name: &str) -> String {
        let checkpoints = self.checkpoints.borrow();
        checkpoints.get(name).unwrap_or_else(|| panic!("no checkpoint {name}")).to_string()
    }

    /// The checkpoint before a dialog's n-th message is called `D:n`.
    pub(crate) fn name_message(&self, dialog: &str, id: Option<ObjectId>) {
        let Some(id) = id else { return };
        let prefix = format!("{dialog}:");
        let said =
            self.checkpoints.borrow().keys().filter(|name| name.starts_with(&prefix)).count();
        self.name_checkpoint(&format!("{prefix}{}", said + 1), id);
    }

    /// Writes a file as a person would.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Reads a file.
    pub fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root().join(path)).unwrap()
    }

    /// Runs a shell command in the root; it must succeed.
    pub fn shell(&self, command: &str) {
        let mut sh = Command::new("sh");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GIT_")) {
            sh.env_remove(name);
        }
        let output = sh
            .args(["-c", command])
            .current_dir(self.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Test")
            .env("GIT_AUTHOR_EMAIL", "test@example.org")
            .env("GIT_COMMITTER_NAME", "Test")
            .env("GIT_COMMITTER_EMAIL", "test@example.org")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{command}`: {stderr}");
    }

    /// The begin of a call of the main agent.
    pub fn begin(dialog: &str, call: &str, tool: &str, input: Value) -> Event {
        Event::new(
            dialog,
            EventKind::ToolBegin { call: Some(call.into()), tool: tool.to_owned(), input },
        )
    }

    /// The end of a call.
    pub fn end(dialog: &str, call: &str) -> Event {
        let (tool, input) = (None, Value::Null);
        Event::new(
            dialog,
            EventKind::ToolEnd {
                call: Some(call.into()),
                ok: Some(true),
                exit_code: None,
                tool,
                input,
                background: false,
                task: None,
            },
        )
    }
}

/// One line about a change: `a.txt modify by agent d1/main w1 certain +1 -0`.
pub(crate) fn describe_change(change: &Change) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    if let Some(old) = &change.old_path {
        let _ = write!(text, "{old:?} -> ");
    }
    let _ = write!(text, "{:?} {} by {}", change.path, change.change_type, change.actor);
    match change.candidates.as_slice() {
        [] => {}
        calls => {
            let name = |c: &retake_engine::model::CandidateCall| {
                format!("{}/{}:{}", c.dialog, c.agent, c.call)
            };
            let names: Vec<_> = calls.iter().map(name).collect();
            let _ = write!(text, " {} {}", names.join("|"), change.confidence);
        }
    }
    match &change.lines {
        Some(lines) => {
            let _ = write!(text, " +{} -{}", lines.added, lines.removed);
        }
        None => text.push_str(" no-lines"),
    }
    if matches!(change.before, PathState::Unknown) {
        text.push_str(" before-unknown");
    }
    if matches!(change.after, PathState::Unknown) {
        text.push_str(" after-unknown");
    }
    if change.joins.is_some() {
        text.push_str(" joins");
    }
    if change.status != ChangeStatus::Pending {
        let _ = write!(text, " {}", change.status);
    }
    text
}
