//! A project that is served, and what happens to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use retake_engine::model::{Event, EventKind, Millis};
use retake_engine::{InitOptions, JournalEvent, Project};
use retake_server::http::{self, HttpOptions, HttpServer};
use retake_server::stream::StreamTiming;
use retake_server::{ProjectHandle, ProjectPool};
use retake_service::ApiError;
use retake_service::request::{ProjectCommand, RecordEvents, Submission};
use retake_testkit::TestProject;
use serde_json::json;

use crate::client::Door;

static NOW: AtomicI64 = AtomicI64::new(1_700_000_000_000);

/// Each reading is one second later.
pub(crate) fn now() -> Millis {
    NOW.fetch_add(1000, Ordering::Relaxed)
}

/// Nothing in a test waits for a heartbeat of the real pace.
pub(crate) const LIVELY: StreamTiming =
    StreamTiming { heartbeat: Duration::from_millis(100), read_timeout: Duration::from_secs(60) };

/// A project, a server, and another process that works on the same project.
pub(crate) struct Served {
    pub(crate) test: TestProject,
    pub(crate) pool: Arc<ProjectPool>,
    pub(crate) room: Arc<ProjectHandle>,
    /// As another process has it open: the server hears nothing of what it does.
    pub(crate) other: Project,
    pub(crate) door: Door,
    running: Option<HttpServer>,
}

impl Served {
    pub(crate) fn new(pace: StreamTiming) -> Self {
        Self::with_clock(pace, now)
    }

    /// The server has a clock of its own.
    pub(crate) fn with_clock(pace: StreamTiming, clock: fn() -> Millis) -> Self {
        let test = TestProject::in_memory();
        test.write("a.txt", "one\n");
        let other = test.init();
        let pool = Arc::new(ProjectPool::new(test.retake(), clock));
        let room = pool.open(&test.root()).unwrap();
        let options = HttpOptions { timing: pace, ..HttpOptions::default() };
        let running = http::serve(Arc::clone(&pool), &options).unwrap();
        let token = std::fs::read_to_string(test.home().join("run/token")).unwrap();
        let door = Door { address: running.addresses()[0], token };
        Self { test, pool, room, other, door, running: Some(running) }
    }

    /// The path of the project's stream.
    pub(crate) fn events(&self, query: &str) -> String {
        format!("/api/projects/{}/events{query}", self.room.id())
    }

    /// Another project in the same home, as another process has it open.
    pub(crate) fn second(&self, name: &str) -> Project {
        let root = self.test.outer().join(name);
        std::fs::create_dir_all(&root).unwrap();
        let options = InitOptions::default();
        self.test.retake().init(&root, options, now(), &mut |_, _| {}).unwrap().project
    }

    /// Every event on record.
    pub(crate) fn table(&self) -> Vec<JournalEvent> {
        self.table_after(0)
    }

    pub(crate) fn table_after(&self, seq: u64) -> Vec<JournalEvent> {
        self.other.events_after(seq, 1_000_000).unwrap()
    }

    /// Has a verb carried out, by the server or by the other process.
    pub(crate) fn ask<V>(&self, here: bool, verb: V) -> Result<V::Answer, ApiError>
    where
        V: ProjectCommand + Send + 'static,
        V::Answer: Send + 'static,
    {
        if here { self.room.run(verb) } else { verb.run(&self.other, now(), &mut |_, _| {}) }
    }

    pub(crate) fn record(&self, here: bool, event: Event) {
        let at = now();
        let submissions = vec![Submission::new(format!("test-{at}"), event, at)];
        let recorded = self.ask(here, RecordEvents { submissions }).unwrap();
        assert!(recorded.iter().all(Result::is_ok), "{recorded:?}");
    }

    /// An agent writes a file.
    pub(crate) fn edit(&self, here: bool, dialog: &str, path: &str, content: &str) {
        let call = format!("call-{}", now());
        let input = json!({ "file_path": path, "content": content });
        self.record(here, TestProject::begin(dialog, &call, "Write", input));
        self.test.write(path, content);
        self.record(here, TestProject::end(dialog, &call));
    }

    pub(crate) fn say(&self, here: bool, dialog: &str, text: &str) {
        self.record(here, Event::new(dialog, EventKind::UserMessage { text: text.to_owned() }));
    }
}

/// A message of the person, recorded by another process.
pub(crate) fn say_in(project: &Project, dialog: &str, text: &str) {
    let at = now();
    let event = Event::new(dialog, EventKind::UserMessage { text: text.to_owned() });
    let submissions = vec![Submission::new(format!("test-{at}"), event, at)];
    let recorded = RecordEvents { submissions }.run(project, at, &mut |_, _| {}).unwrap();
    assert!(recorded.iter().all(Result::is_ok), "{recorded:?}");
}

impl Drop for Served {
    fn drop(&mut self) {
        self.pool.close_streams();
        drop(self.running.take());
    }
}
