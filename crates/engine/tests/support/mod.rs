//! Dialogs with work sessions, made by what makes them for a person: events and verbs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use retake_engine::model::{Checkpoint, DialogId, Event, EventKind, ObjectId};
use retake_engine::{Project, TakeBackOptions};
use retake_testkit::TestProject;
use serde_json::json;

/// A dialog and its work sessions.
pub(crate) struct Work<'t> {
    pub(crate) test: &'t TestProject,
    pub(crate) project: Project,
    pub(crate) dialog: DialogId,
    calls: std::cell::Cell<u32>,
}

impl<'t> Work<'t> {
    /// A dialog with its first message, and so with an initial checkpoint, one before the message
    /// and its first work session.
    pub(crate) fn begin(test: &'t TestProject, dialog: &str) -> Self {
        let dialog = DialogId(dialog.to_owned());
        let work = Self { test, project: test.open(), dialog, calls: 0.into() };
        work.say(&format!("work in {}", work.dialog));
        work
    }

    fn record(&self, event: Event) -> Option<ObjectId> {
        let event = Event { dialog: self.dialog.clone(), ..event };
        self.project.record(&event, self.test.tick()).unwrap().checkpoint
    }

    /// The person's message; gives the checkpoint before it.
    pub(crate) fn say(&self, text: &str) -> Checkpoint {
        let what = EventKind::UserMessage { text: text.to_owned() };
        let id = self.record(Event::new("x", what)).unwrap();
        self.project.store().checkpoint(&id).unwrap().unwrap()
    }

    /// The agent writes a file.
    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        self.calls.set(self.calls.get() + 1);
        let call = format!("{}-{}", self.dialog, self.calls.get());
        let text = String::from_utf8_lossy(content);
        let input = json!({ "file_path": path, "content": text });
        self.record(TestProject::begin("x", &call, "Write", input));
        self.test.write(path, content);
        self.record(TestProject::end("x", &call));
    }

    /// A checkpoint in the active work session.
    pub(crate) fn point(&self, message: &str) -> Checkpoint {
        self.project.checkpoint(Some(message), Some(&self.dialog), self.test.tick()).unwrap()
    }

    /// Approves the active work session; the next one is open then.
    pub(crate) fn approve(&self, message: &str) -> ObjectId {
        self.project.approve(&self.dialog, Some(message), self.test.tick()).unwrap().commit
    }

    /// Takes back what was not approved; the work session is abandoned and the next one open.
    pub(crate) fn reset(&self) {
        let options = TakeBackOptions::default();
        let plan = self.project.plan_reset(&self.dialog, false, options, self.test.tick()).unwrap();
        let applied = self.project.apply(&plan, self.test.tick()).unwrap();
        assert!(applied.is_whole(), "{applied:?}");
    }
}

/// Everything on record can be read.
pub(crate) fn assert_clean(project: &Project) {
    let found = project.check_health(true, &mut |_, _| {}).unwrap().verification;
    assert_eq!(found.problems, []);
}
