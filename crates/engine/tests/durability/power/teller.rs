//! The child: an agent, a person and Retake's verbs, each step told of.

use retake_engine::model::{DialogId, Event, EventKind, ObjectId, OperationState};
use retake_engine::{AppliedPlan, OperationError, Plan, Project};
use retake_testkit::{TestProject, lossy_fs};
use serde_json::{Value, json};

use super::told::{Told, files, id, kept_files, tell, tree_files, tree_of};

/// Tells a story in a project that was prepared.
pub(crate) struct Teller {
    pub(crate) test: TestProject,
}

impl Teller {
    pub(crate) fn new(test: TestProject) -> Self {
        let teller = Self { test };
        teller.state();
        teller
    }

    pub(crate) fn project(&self) -> Project {
        self.test.open()
    }

    /// Says what the files are.
    pub(crate) fn state(&self) {
        tell(&Told::State(files(&self.test.root())));
    }

    pub(crate) fn init(&self) {
        self.test.init();
        tell(&Told::Init);
    }

    /// What the user's programs write is durable as soon as they are done: only what Retake does
    /// is put to the test.
    fn user_does(&self, act: impl FnOnce(&TestProject)) {
        act(&self.test);
        lossy_fs::sync_all(&self.test.root()).unwrap();
    }

    /// A message of the person, with the checkpoint before it.
    pub(crate) fn say(&self, dialog: &str, text: &str) {
        let what = EventKind::UserMessage { text: text.to_owned() };
        let recorded = self.test.record(&Event::new(dialog, what));
        tell(&Told::Message { dialog: dialog.to_owned(), text: text.to_owned() });
        if let Some(id) = recorded.checkpoint {
            self.tell_checkpoint(Some(dialog), id);
        }
    }

    pub(crate) fn tell_checkpoint(&self, dialog: Option<&str>, id: ObjectId) {
        let files = kept_files(&self.test.root());
        let (dialog, id) = (dialog.map(ToOwned::to_owned), id.to_string());
        tell(&Told::Checkpoint { dialog, id, files });
    }

    /// A checkpoint that the person asks for; gives its id.
    pub(crate) fn checkpoint(&self, name: &str) -> ObjectId {
        let made = self.project().checkpoint(Some(name), None, self.test.tick()).unwrap();
        self.tell_checkpoint(None, made.id);
        made.id
    }

    /// An agent writes a file with a tool.
    pub(crate) fn write(&self, dialog: &str, call: &str, path: &str, content: &[u8]) {
        let before = std::fs::read(self.test.root().join(path)).ok().map(|old| id(&old));
        let input = json!({ "file_path": path, "content": String::from_utf8_lossy(content) });
        self.call(dialog, call, "Write", input, |test| test.write(path, content));
        let (dialog, after) = (Some(dialog.to_owned()), Some(id(content)));
        tell(&Told::Change { dialog, path: path.to_owned(), before, after });
    }

    /// An agent runs a command.
    pub(crate) fn shell(&self, dialog: &str, call: &str, command: &str) {
        self.call(dialog, call, "Bash", json!({ "command": command }), |test| test.shell(command));
    }

    fn call(
        &self,
        dialog: &str,
        call: &str,
        tool: &str,
        input: Value,
        act: impl FnOnce(&TestProject),
    ) {
        self.test.record(&TestProject::begin(dialog, call, tool, input));
        self.user_does(act);
        self.test.record(&TestProject::end(dialog, call));
        self.state();
    }

    /// The person writes a file, and a look finds it.
    pub(crate) fn by_hand(&self, path: &str, content: &[u8]) {
        let before = std::fs::read(self.test.root().join(path)).ok().map(|old| id(&old));
        self.user_does(|test| test.write(path, content));
        self.test.refresh();
        self.state();
        let after = Some(id(content));
        tell(&Told::Change { dialog: None, path: path.to_owned(), before, after });
    }

    pub(crate) fn end_turn(&self, dialog: &str) {
        self.test.record(&Event::new(dialog, EventKind::TurnEnd { background: Vec::new() }));
    }

    /// Messages that come while somebody else holds the project, and are taken in afterwards.
    pub(crate) fn spool(&self, dialog: &str, texts: &[&str]) {
        let project = self.project();
        let lock = std::fs::File::open(project.store().folder().join("lock")).unwrap();
        lock.lock().unwrap();
        for text in texts {
            let what = EventKind::UserMessage { text: (*text).to_owned() };
            let recorded = project.record(&Event::new(dialog, what), self.test.tick()).unwrap();
            assert_eq!(recorded.seq, None, "it is in the spool");
            tell(&Told::Message { dialog: dialog.to_owned(), text: (*text).to_owned() });
        }
        drop(lock);
        self.test.refresh();
    }

    /// A message that a hook leaves behind because it has no time to wait.
    pub(crate) fn leave_behind(&self, dialog: &str, text: &str) {
        let (keeper, at) = (self.test.retake().spool_writer(&self.test.root()), self.test.tick());
        let keeper = keeper.unwrap().unwrap();
        let what = EventKind::UserMessage { text: text.to_owned() };
        keeper.push(&keeper.new_key(at), &Event::new(dialog, what), at).unwrap();
        tell(&Told::Message { dialog: dialog.to_owned(), text: text.to_owned() });
    }

    pub(crate) fn approve(&self, dialog: &str) {
        let id = DialogId::from(dialog);
        let approved = self.project().approve(&id, Some("good"), self.test.tick()).unwrap();
        let project = self.project();
        let files = tree_files(&project, &tree_of(&project, &approved.commit));
        let (dialog, commit) = (dialog.to_owned(), approved.commit.to_string());
        tell(&Told::Approval { dialog, commit, files });
    }

    /// A verb that writes the user's files.
    pub(crate) fn verb(
        &self,
        name: &str,
        plan: impl FnOnce(&Project, i64) -> Result<Plan, OperationError>,
    ) {
        tell(&Told::Verb(name.to_owned()));
        let project = self.project();
        let plan = plan(&project, self.test.tick()).unwrap();
        let AppliedPlan { operation, checkpoint, plan } =
            project.apply(&plan, self.test.tick()).unwrap();
        let operation = operation.unwrap();
        assert!(operation.state == OperationState::Done, "{name}: {plan:?}");
        self.state();
        tell(&Told::Operation(operation.id.to_string()));
        if let Some(id) = checkpoint {
            self.tell_checkpoint(None, id);
        }
    }
}
