//! A project with a story, and a server for it.

use std::net::SocketAddr;
use std::sync::Arc;

use retake_server::ProjectPool;
use retake_server::http::{HttpOptions, HttpServer, serve};
use retake_testkit::{TestProject, play};
use serde_json::Value;

use crate::client::{Answer, Ask};

/// What an agent did in dialog d1; the person edited a file after it.
pub(crate) const STORY: &str = r"
    file a.txt: one\ntwo\nthree\nfour\nfive\n
    file keep.txt: keep\n
    init
    say d1: make it better
    edit d1 w1 a.txt: two => TWO
    write d1 w2 new.txt: made by an agent\n
    edit d1 w3 a.txt: TWO => Two
    turn-end d1
";

/// A running server.
pub(crate) struct Stage {
    pub(crate) project: TestProject,
    pub(crate) running: HttpServer,
    pub(crate) id: String,
}

impl Stage {
    /// A server for a project in which a story was played.
    pub(crate) fn new(story: &str) -> Self {
        let project = TestProject::new();
        play(&project, story);
        Self::of(project)
    }

    pub(crate) fn of(project: TestProject) -> Self {
        let pool = ProjectPool::new(project.retake(), || 1_700_000_900_000);
        let running = serve(Arc::new(pool), &HttpOptions::default()).unwrap();
        let id = project.retake().projects().unwrap().first().unwrap().id.clone();
        Self { project, running, id }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.running.addresses()[0]
    }

    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.home().join("run").join(name)).unwrap()
    }

    pub(crate) fn human(&self) -> String {
        self.file("token")
    }

    pub(crate) fn agent(&self) -> String {
        self.file("agent-token")
    }

    pub(crate) fn send(&self, ask: &Ask) -> Answer {
        ask.send(self.address())
    }

    /// Asks as the person; `path` is beneath the project's if it does not start with a slash.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&Ask::new("GET", &self.path(path)).token(&self.human()))
    }

    /// Sends as the person.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(&Ask::new("POST", &self.path(path)).token(&self.human()).json(body))
    }

    pub(crate) fn path(&self, path: &str) -> String {
        if path.starts_with('/') {
            return path.to_owned();
        }
        format!("/api/projects/{}/{path}", self.id)
    }

    /// Asks as the person, and expects an answer.
    #[track_caller]
    pub(crate) fn got(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    /// Sends as the person, and expects it to be done.
    #[track_caller]
    pub(crate) fn done(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }
}
