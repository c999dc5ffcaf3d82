//! A page that people leave open: it loads documents, follows all projects in one stream, loses its
//! connection again and again, resumes, and in the end shows exactly what the server would tell it.
//!
//! Two agents work meanwhile in two projects, each with a token of its own, and the person decides.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use retake_engine::model::Millis;
use retake_server::ProjectPool;
use retake_server::http::{HttpOptions, HttpServer, serve};
use retake_testkit::TestProject;
use serde_json::{Value, json};

use crate::client::{Answer, Ask};

const AGENTS: [&str; 2] = ["claude", "codex"];
const TURNS: usize = 3;
const EDITS_PER_TURN: usize = 4;
/// Text of the last message in each project, after which no event comes.
const LAST_WORDS: &str = "that was all";
/// Maximum time that a step waits for, on the slowest machine.
const DEADLINE: Duration = Duration::from_secs(120);

fn now() -> Millis {
    static NOW: AtomicI64 = AtomicI64::new(1_700_000_000_000);
    NOW.fetch_add(1000, Ordering::Relaxed)
}

/// A server of two projects in one home.
struct House {
    projects: Vec<HouseProject>,
    running: HttpServer,
    token: String,
}

#[derive(Clone)]
struct HouseProject {
    id: String,
    root: PathBuf,
}

impl HouseProject {
    /// The dialog of an agent here: a token speaks for one dialog of all projects.
    fn dialog(&self, agent: &str) -> String {
        format!("{agent}-{}", self.root.file_name().unwrap().display())
    }
}

impl House {
    fn new(test: &TestProject) -> Self {
        let (retake, mut projects) = (test.retake(), Vec::new());
        for name in ["front", "back"] {
            let root = test.outer().join(name);
            std::fs::create_dir(&root).unwrap();
            std::fs::write(root.join("shared.txt"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
            let id = retake.open_or_create(&root, now()).unwrap().id().to_owned();
            projects.push(HouseProject { id, root });
        }
        let pool = Arc::new(ProjectPool::new(test.retake(), now));
        let running = serve(pool, &HttpOptions::default()).unwrap();
        let token = std::fs::read_to_string(test.home().join("run/token")).unwrap();
        Self { projects, running, token }
    }

    fn person(&self) -> Client {
        Client { address: self.running.addresses()[0], token: self.token.clone() }
    }

    /// A client with a token for an agent's work in a project.
    fn agent(&self, project: &HouseProject) -> Client {
        let path = format!("/api/projects/{}/agent-tokens", project.id);
        let minted = self.person().post(&path, &json!({}));
        let token = minted["token"].as_str().unwrap_or_else(|| panic!("no token: {minted}"));
        Client { address: self.running.addresses()[0], token: token.to_owned() }
    }
}

/// Sends requests with one token.
#[derive(Clone)]
struct Client {
    address: SocketAddr,
    token: String,
}

impl Client {
    fn send(&self, ask: Ask) -> Answer {
        ask.token(&self.token).send(self.address)
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let answer = self.send(Ask::new("GET", path));
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.send(Ask::new("POST", path).json(body));
        assert!([200, 201].contains(&answer.status), "{path}: {}", answer.body);
        answer.json()
    }

    fn record(&self, project: &HouseProject, events: &[Value]) {
        let path = format!("/api/projects/{}/events", project.id);
        let recorded = self.post(&path, &json!({ "events": events }));
        for reply in recorded["replies"].as_array().unwrap() {
            assert_eq!(reply["ok"], true, "{reply}");
        }
    }
}

/// An agent's work in one project: some turns of edits, by a tool and by the shell.
fn work(client: &Client, project: &HouseProject, agent: &str) {
    let dialog = project.dialog(agent);
    for turn in 0..TURNS {
        client.record(project, &[say(&dialog, agent, &format!("turn {turn}, please"))]);
        for edit in 0..EDITS_PER_TURN {
            let call = format!("{agent}-{turn}-{edit}");
            let (path, content) =
                (format!("{agent}/{edit}.txt"), format!("{agent} wrote this in turn {turn}\n"));
            let (tool, input) = if edit % 2 == 0 {
                ("Write", json!({ "file_path": path, "content": content }))
            } else {
                ("Bash", json!({ "command": format!("printf '{}' > {path}", content.trim_end()) }))
            };
            client.record(
                project,
                &[json!({
                    "event": "tool_begin", "dialog": dialog, "kind": agent, "call": call,
                    "tool": tool, "input": input, "cwd": project.root,
                })],
            );
            std::fs::create_dir_all(project.root.join(agent)).unwrap();
            std::fs::write(project.root.join(&path), &content).unwrap();
            client.record(
                project,
                &[json!({ "event": "tool_end", "dialog": dialog, "call": call, "ok": true })],
            );
        }
        client.record(project, &[json!({ "event": "turn_end", "dialog": dialog })]);
    }
}

fn say(dialog: &str, agent: &str, text: &str) -> Value {
    json!({ "event": "user_message", "dialog": dialog, "kind": agent, "text": text })
}

/// What the page shows of a project.
#[derive(Clone, Debug, Default, PartialEq)]
struct Shown {
    /// Changes by id.
    changes: BTreeMap<String, Value>,
    /// Turns and calls by dialog.
    turns: BTreeMap<String, Value>,
    calls: BTreeMap<String, Value>,
    /// The difference of each file that agents changed.
    diffs: BTreeMap<String, Value>,
}

impl Shown {
    /// Loads everything, as a page does when it is opened.
    fn load(client: &Client, project: &str) -> Self {
        let mut shown = Self::default();
        let mut after = 0;
        loop {
            let path = format!("/api/projects/{project}/changes?after={after}&limit=7");
            let page = client.get(&path);
            for change in page["changes"].as_array().unwrap() {
                shown.changes.insert(change["id"].as_str().unwrap().to_owned(), change.clone());
            }
            match page["next"].as_u64() {
                Some(next) => after = next,
                None => break,
            }
        }
        let dialogs = client.get(&format!("/api/projects/{project}/dialogs"));
        for dialog in dialogs["dialogs"].as_array().unwrap() {
            shown.load_dialog(client, project, dialog["id"].as_str().unwrap());
        }
        let paths: BTreeSet<_> = shown.changes.values().filter_map(agents_path).collect();
        for path in paths {
            shown.load_diff(client, project, &path);
        }
        shown
    }

    fn load_dialog(&mut self, client: &Client, project: &str, dialog: &str) {
        let dialogs = format!("/api/projects/{project}/dialogs/{dialog}");
        let turns = client.get(&format!("{dialogs}/turns?limit=1000"));
        let calls = client.get(&format!("{dialogs}/calls?limit=1000"));
        self.turns.insert(dialog.to_owned(), turns["turns"].clone());
        self.calls.insert(dialog.to_owned(), calls["calls"].clone());
    }

    fn load_diff(&mut self, client: &Client, project: &str, path: &str) {
        let route = format!("/api/projects/{project}/diff/file?actor=agent&path={path}");
        // A file whose changes were all taken back has no difference; the page shows that.
        let answer = client.send(Ask::new("GET", &route));
        let shown = if answer.status == 200 { answer.json() } else { answer.code().into() };
        self.diffs.insert(path.to_owned(), shown);
    }
}

fn agents_path(change: &Value) -> Option<String> {
    (change["actor"] == "agent").then(|| change["path"].as_str().unwrap().to_owned())
}

/// What has to be loaded again since frames told of it.
#[derive(Default)]
struct Outdated {
    changes: BTreeSet<(String, String)>,
    dialogs: BTreeSet<(String, String)>,
    paths: BTreeSet<(String, String)>,
}

/// The page: what it shows, and where its stream stands.
struct Page {
    client: Client,
    shown: BTreeMap<String, Shown>,
    outdated: Outdated,
    last_id: Option<String>,
    /// Projects whose last message has come.
    ended: BTreeSet<String>,
    /// How often an event came, by project and `seq`.
    events: BTreeMap<(String, u64), usize>,
    connections: usize,
}

impl Page {
    /// Takes the place of the stream first, then loads: what is told twice does no harm.
    fn open(house: &House) -> Self {
        let mut page = Self {
            client: house.person(),
            shown: BTreeMap::new(),
            outdated: Outdated::default(),
            last_id: None,
            ended: BTreeSet::new(),
            events: BTreeMap::new(),
            connections: 0,
        };
        page.follow(&|page| page.last_id.is_some());
        for project in &house.projects {
            page.shown.insert(project.id.clone(), Shown::load(&page.client, &project.id));
        }
        page
    }

    /// Follows until something holds, or the connection is cut after some bytes.
    fn follow(&mut self, until: &dyn Fn(&Self) -> bool) {
        self.connections += 1;
        // Cut at ever other places, also in the middle of a frame.
        let budget = 500 + self.connections * 997 % 7919;
        let mut socket = TcpStream::connect(self.client.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let resume = self.last_id.as_ref().map(|id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET /api/events HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{}\r\n",
            self.client.address,
            self.client.token,
            resume.unwrap_or_default()
        );
        socket.write_all(request.as_bytes()).unwrap();
        let (mut bytes, mut part, mut is_body) = (Vec::new(), [0; 512], false);
        let (started, mut received) = (Instant::now(), 0);
        while !until(self) && received < budget {
            assert!(started.elapsed() < DEADLINE, "nothing more comes");
            match socket.read(&mut part) {
                Ok(0) => break,
                Ok(count) => {
                    received += count;
                    bytes.extend_from_slice(&part[..count]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    // The page loads what is out of date when there is nothing else to do.
                    self.reload();
                    continue;
                }
                Err(error) => panic!("the stream fails: {error}"),
            }
            if !is_body {
                let Some(end) = find(&bytes, b"\r\n\r\n") else { continue };
                let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
                assert!(head.contains(" 200 "), "{head}");
                bytes.drain(..end + 4);
                is_body = true;
            }
            while let Some(end) = find(&bytes, b"\n\n") {
                let frame = String::from_utf8(bytes.drain(..end + 2).collect()).unwrap();
                self.take_frame(&frame);
            }
        }
        let _ = socket.shutdown(Shutdown::Both);
    }

    fn take_frame(&mut self, frame: &str) {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
            self.take_event(name, &serde_json::from_str(data).unwrap(), field("id: ").is_some());
        }
        if let Some(id) = field("id: ") {
            self.last_id = Some(id.to_owned());
        }
    }

    fn take_event(&mut self, name: &str, data: &Value, has_id: bool) {
        let text = |key: &str| data[key].as_str().map(ToOwned::to_owned);
        let project = text("project").unwrap_or_else(|| panic!("no project: {name} {data}"));
        assert!(!["failure", "reset"].contains(&name), "{name} {data}");
        if has_id && let Some(seq) = data["seq"].as_u64() {
            *self.events.entry((project.clone(), seq)).or_default() += 1;
        }
        match name {
            "file_changed" => {
                let change = &data["change"];
                let id = change["id"].as_str().unwrap().to_owned();
                if let Some(path) = agents_path(change) {
                    self.outdated.paths.insert((project.clone(), path));
                }
                self.outdated.changes.insert((project.clone(), id));
            }
            "file_change_status" => {
                self.outdated.changes.insert((project.clone(), text("change").unwrap()));
                self.outdated.paths.insert((project.clone(), text("path").unwrap()));
            }
            "user" if data["content"] == LAST_WORDS => {
                self.ended.insert(project.clone());
            }
            _ => {}
        }
        // Turns count changes and their statuses, so each event of a dialog concerns them.
        if let Some(dialog) = text("dialog") {
            self.outdated.dialogs.insert((project, dialog));
        }
    }

    /// Loads again what frames told of.
    fn reload(&mut self) {
        let Outdated { changes, dialogs, paths } = std::mem::take(&mut self.outdated);
        let client = &self.client;
        for (project, id) in changes {
            let change = client.get(&format!("/api/projects/{project}/changes/{id}"));
            let shown = self.shown.entry(project).or_default();
            shown.changes.insert(id, change["change"].clone());
        }
        for (project, dialog) in dialogs {
            self.shown.entry(project.clone()).or_default().load_dialog(client, &project, &dialog);
        }
        for (project, path) in paths {
            self.shown.entry(project.clone()).or_default().load_diff(client, &project, &path);
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|found| found == wanted)
}

/// The person rejects a change of each agent and takes back the last turn, in both projects.
fn decide(house: &House) {
    let person = house.person();
    for project in &house.projects {
        let base = format!("/api/projects/{}", project.id);
        let changes = person.get(&format!("{base}/changes?actor=agent&status=pending&limit=1000"));
        let first = &changes["changes"].as_array().unwrap()[0];
        person.post(&format!("{base}/reject"), &json!({ "changes": [first["id"]], "yes": true }));
        person.post(&format!("{base}/undo"), &json!({ "yes": true }));
    }
}

#[test]
fn a_page_that_loses_its_connection_ends_with_exactly_the_servers_state() {
    let test = TestProject::in_memory();
    let house = House::new(&test);
    let mut page = Page::open(&house);
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for project in &house.projects {
            for agent in AGENTS {
                let client = house.agent(project);
                workers.push(scope.spawn(move || work(&client, project, agent)));
            }
        }
        let person = scope.spawn(|| {
            for worker in workers {
                worker.join().unwrap();
            }
            decide(&house);
            for project in &house.projects {
                let client = house.person();
                let dialog = project.dialog("claude");
                client.record(project, &[say(&dialog, "claude", LAST_WORDS)]);
            }
        });
        while page.ended.len() < house.projects.len() {
            page.follow(&|page| page.ended.len() == house.projects.len());
        }
        person.join().unwrap();
    });
    page.reload();
    assert!(page.connections > 5, "it lost its connection {} times", page.connections);
    let twice: Vec<_> = page.events.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "told twice: {twice:?}");
    for project in &house.projects {
        let shown = &page.shown[&project.id];
        assert_eq!(shown, &Shown::load(&house.person(), &project.id), "{}", project.id);
        let turns = shown.turns[&project.dialog("claude")].as_array().unwrap();
        assert_eq!(turns.len(), TURNS + 1, "and the last words: {turns:?}");
        let calls = shown.calls[&project.dialog("codex")].as_array().unwrap();
        assert_eq!(calls.len(), TURNS * EDITS_PER_TURN);
    }
}
