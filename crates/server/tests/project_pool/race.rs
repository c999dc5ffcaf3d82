//! An agent and a person who write the same file at the same time, with the watcher on.
//!
//! Whatever the order: no write of the agent is called another's, and each write of the
//! person that was done before the agent asked is on record when it gets its answer, and is the
//! reason why it is denied. (What the person writes while the agent's edit is open is on record as
//! the edit's; the agent is told of it all the same.)
//!
//! `RETAKE_LONG=1` plays ten thousand rounds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use retake_engine::model::{Actor, Change, Event, EventKind, Millis, PathState};
use retake_engine::{
    ChangeFilter, InitOptions, RecordOutcome, ReplySupport, Retake, StaleReaction,
};
use retake_server::{ProjectHandle, ProjectPool};
use retake_service::request::{Submission, new_idempotency_key};
use serde_json::{Value, json};

const FILE: &str = "shared.txt";

fn rounds() -> usize {
    if std::env::var_os("RETAKE_LONG").is_some() { 10_000 } else { 1_000 }
}

/// What the person has begun, and what is done.
#[derive(Default)]
struct Person {
    begun: AtomicUsize,
    done: AtomicUsize,
    leaves: AtomicBool,
}

#[test]
fn no_write_is_taken_for_another_one_s() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("project"));
    std::fs::DirBuilder::new().create(&project).unwrap();
    let path = project.join(FILE);
    put(&path, "start\n");
    let retake = Retake::new(&home);
    retake.init(&project, InitOptions::default(), now(), &mut |_, _| {}).unwrap();
    let pool = ProjectPool::new(retake, now);
    let room = pool.open(&project).unwrap();
    let person = Person::default();
    let agent = thread::scope(|scope| {
        scope.spawn(|| person.write_on(&path));
        scope.spawn(|| look_around(&room, &person));
        // Whatever fails, the others go home.
        let leaves = Leaves(&person);
        let agent = AgentAtWork {
            room: &room,
            path: path.clone(),
            calls: 0,
            knows: None,
            surely: true,
            denied: 0,
        };
        let agent = agent.work(&person);
        drop(leaves);
        agent
    });
    assert!(agent.denied > rounds() / 100, "the two hardly ever met: {}", agent.denied);
    nothing_is_mistaken(&room);
}

struct Leaves<'a>(&'a Person);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.leaves.store(true, Ordering::SeqCst);
    }
}

impl Person {
    fn write_on(&self, path: &Path) {
        let mut rng = Rng::with_seed(1);
        while !self.leaves.load(Ordering::SeqCst) {
            let number = self.begun.fetch_add(1, Ordering::SeqCst);
            put(path, &format!("user {number}\n"));
            self.done.fetch_add(1, Ordering::SeqCst);
            // Often just before or after the agent, and now and then not for a while.
            let pause = if rng.u8(0..4) == 0 { rng.u64(0..60_000) } else { rng.u64(0..15_000) };
            thread::sleep(Duration::from_micros(pause));
        }
    }

    /// How many writes have begun, and how many of them are done.
    fn count(&self) -> (usize, usize) {
        let done = self.done.load(Ordering::SeqCst);
        (self.begun.load(Ordering::SeqCst), done)
    }
}

/// More often than the daemon would.
fn look_around(room: &ProjectHandle, person: &Person) {
    let mut rng = Rng::with_seed(2);
    while !person.leaves.load(Ordering::SeqCst) {
        room.run_job(|project| project.refresh_in_background(now()).unwrap()).unwrap();
        thread::sleep(Duration::from_micros(rng.u64(0..20_000)));
    }
}

struct AgentAtWork<'a> {
    room: &'a ProjectHandle,
    path: PathBuf,
    calls: usize,
    /// The content that it saw or wrote last.
    knows: Option<String>,
    /// Nobody wrote while it looked. Else it counts as having seen what was there before.
    surely: bool,
    denied: usize,
}

impl AgentAtWork<'_> {
    fn work(mut self, person: &Person) -> Self {
        for round in 0..rounds() {
            let text = format!("agent {round}\n");
            while !self.attempt(&text, person) {
                self.read(person);
            }
        }
        self
    }

    /// Writes the file, unless it is denied.
    fn attempt(&mut self, text: &str, person: &Person) -> bool {
        let before = person.count();
        let there = std::fs::read_to_string(&self.path).unwrap();
        let input = json!({ "file_path": FILE, "content": text });
        let begun = self.begin("Write", input);
        let denied = begun.reaction() == Some(StaleReaction::Deny);
        let idle = before.0 == before.1 && before == person.count();
        if there.starts_with("user") && self.knows.is_some() {
            let expected = self.knows.as_ref() != Some(&there);
            assert!(denied || !expected, "{there:?} was not told of; it knows {:?}", self.knows);
            assert!(!denied || expected || !idle || !self.surely, "{there:?} is what it knows");
            if expected && idle {
                assert!(self.is_on_record(&there), "{there:?} is not on record");
            }
        }
        self.denied += usize::from(denied);
        if !denied {
            put(&self.path, text);
            (self.knows, self.surely) = (Some(text.to_owned()), true);
            self.end();
        }
        !denied
    }

    fn read(&mut self, person: &Person) {
        let before = person.count();
        self.begin("Read", json!({ "file_path": FILE }));
        self.knows = Some(std::fs::read_to_string(&self.path).unwrap());
        self.end();
        self.surely = before.0 == before.1 && before == person.count();
    }

    fn begin(&mut self, tool: &str, input: Value) -> RecordOutcome {
        self.calls += 1;
        let call = Some(format!("c{}", self.calls).as_str().into());
        self.record(EventKind::ToolBegin { call, tool: tool.to_owned(), input })
    }

    fn end(&mut self) {
        let call = Some(format!("c{}", self.calls).as_str().into());
        let (ok, tool, input, background, task) = (Some(true), None, Value::Null, false, None);
        self.record(EventKind::ToolEnd {
            call,
            ok,
            exit_code: None,
            tool,
            input,
            background,
            task,
        });
    }

    fn record(&self, what: EventKind) -> RecordOutcome {
        let at = now();
        let submission = Submission::new(new_idempotency_key(at), Event::new("d", what), at);
        let submission = submission.with_reply_support(ReplySupport::Denials);
        self.room.record(vec![submission]).unwrap().remove(0).unwrap()
    }

    /// Looks among the latest changes: the person may have written again since.
    fn is_on_record(&self, text: &str) -> bool {
        let filter = ChangeFilter { limit: Some(100), ..ChangeFilter::default() };
        let contents = self.room.read(move |project| {
            let changes = project.changes(&filter)?;
            changes.iter().map(|change| Ok(project.content(&change.after)?)).collect()
        });
        let contents: Vec<Option<Vec<u8>>> = contents.unwrap();
        contents.iter().flatten().any(|content| content == text.as_bytes())
    }
}

/// Every content is of one of them alone, and so is the change that made it.
fn nothing_is_mistaken(room: &ProjectHandle) {
    let contents: Vec<(Change, Vec<u8>)> = room
        .read(|project| {
            let mut known: HashMap<PathState, Vec<u8>> = HashMap::new();
            let mut all = Vec::new();
            for change in project.changes(&ChangeFilter::default())? {
                let content = match known.get(&change.after) {
                    Some(content) => content.clone(),
                    None => project.content(&change.after)?.unwrap_or_default(),
                };
                known.insert(change.after, content.clone());
                all.push((change, content));
            }
            Ok(all)
        })
        .unwrap();
    let written = contents.iter().filter(|(_, content)| content.starts_with(b"agent"));
    let of_others: Vec<_> = written.filter(|(change, _)| change.actor != Actor::Agent).collect();
    assert!(of_others.is_empty(), "writes of the agent that are called others': {of_others:?}");
}

/// At once, as editors and agents write.
fn put(path: &Path, text: &str) {
    use std::io::Write as _;
    let folder = path.parent().unwrap().parent().unwrap();
    let mut file = tempfile::NamedTempFile::new_in(folder).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.persist(path).unwrap();
}

fn now() -> Millis {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}
