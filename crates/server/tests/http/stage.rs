//! A project with a story, and a server for it.

use std::net::SocketAddr;
use std::sync::Arc;

use retake_engine::InitOptions;
use retake_engine::model::Millis;
use retake_server::ProjectPool;
use retake_server::http::{HttpOptions, HttpServer, serve};
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

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
    pub(crate) pool: Arc<ProjectPool>,
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

    /// The same beside another, empty project, whose id comes with it.
    pub(crate) fn beside_another_project() -> (Self, String) {
        let project = TestProject::new();
        play(&project, STORY);
        let other = project.outer().join("other");
        std::fs::create_dir(&other).unwrap();
        let made = project.retake().init(&other, InitOptions::default(), 1, &mut |_, _| {});
        let id = made.unwrap().project.id().to_owned();
        (Self::of(project), id)
    }

    pub(crate) fn of(project: TestProject) -> Self {
        Self::with_clock(project, || 1_700_000_900_000)
    }

    pub(crate) fn with_clock(project: TestProject, clock: fn() -> Millis) -> Self {
        let pool = Arc::new(ProjectPool::new(project.retake(), clock));
        let running = serve(Arc::clone(&pool), &HttpOptions::default()).unwrap();
        let known = project.retake().projects().unwrap();
        let id = known.iter().find(|known| known.root == project.root()).unwrap().id.clone();
        Self { project, pool, running, id }
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

    /// Mints a token for an agent of the project, bound to a dialog if one is named.
    pub(crate) fn mint(&self, dialog: Option<&str>) -> String {
        let minted = self.done("agent-tokens", &json!({ "dialog": dialog }));
        minted["token"].as_str().unwrap().to_owned()
    }

    /// The same project with a server that was started again.
    pub(crate) fn restarted(self) -> Self {
        let Self { project, running, .. } = self;
        running.stop(true);
        Self::of(project)
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
