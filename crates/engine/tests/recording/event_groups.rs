//! Events that are recorded in groups: as if they had come one by one, with one commit.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test plays the user, and fails loudly"
)]

use std::cell::Cell;
use std::rc::Rc;

use fastrand::Rng;
use retake_engine::model::{Actor, Event, EventKind};
use retake_engine::{JournalEvent, NoticeCode, Project, RecordOutcome, Submission};
use retake_testkit::TestProject;
use serde_json::json;

const ENOSPC: i32 = 28;
const DIALOGS: &[&str] = &["d1", "d2", "d3"];
const FILES: &[&str] = &["a.txt", "b.txt", "c.hid", "d/e.txt"];

#[test]
fn groups_are_recorded_as_single_events_are() {
    for seed in 0..40 {
        let (single, grouped) = (Twin::new(), Twin::new());
        let mut story = Story { rng: Rng::with_seed(seed), ..Story::default() };
        for _ in 0..8 {
            for (path, content) in story.edits() {
                single.test.write(&path, &content);
                grouped.test.write(&path, &content);
            }
            let group = story.group();
            let one_by_one = |parcel: &Submission| {
                single.project.record_once(&parcel.key, &parcel.event, parcel.at).unwrap()
            };
            let expected: Vec<_> = group.iter().map(one_by_one).collect();
            assert_eq!(grouped.record(&group), expected, "seed {seed}: {group:#?}");
        }
        assert_eq!(grouped.test.changes(), single.test.changes(), "seed {seed}");
        let events = |twin: &Twin| twin.project.store().events_after(0, 10_000).unwrap();
        assert_eq!(events(&grouped), events(&single), "seed {seed}");
        let manifest = |twin: &Twin| {
            let entries = twin.project.store().manifest().unwrap();
            entries.into_iter().map(|entry| (entry.path, entry.state)).collect::<Vec<_>>()
        };
        assert_eq!(manifest(&grouped), manifest(&single), "seed {seed}");
        let found = grouped.project.check_health(true, &mut |_, _| {}).unwrap();
        assert_eq!(found.verification.problems, []);
    }
}

#[test]
fn a_group_is_one_commit_and_sees_itself() {
    let twin = Twin::new();
    let begin = |n: usize| TestProject::begin("d1", &format!("c{n}"), "Bash", json!({}));
    let end = |n: usize| TestProject::end("d1", &format!("c{n}"));
    let over = Event::new("d1", EventKind::ToolsOver { calls: vec!["c1".into(), "c2".into()] });
    let mut parcels = twin.parcels([begin(1), begin(2), end(1), end(2), over]);
    parcels.push(parcels[0].clone());
    let commits = count_steps("commit");
    let recorded = twin.record(&parcels);
    assert_eq!(commits(), 1);
    let places: Vec<_> = recorded.iter().map(|recorded| recorded.seq.is_some()).collect();
    let nothing_new = "all of these calls have ended, and the first event has come twice";
    assert_eq!(places, [true, true, true, true, false, false], "{nothing_new}");
    assert!(recorded.iter().all(|recorded| recorded.notices.is_empty()), "{recorded:?}");
    assert!(twin.project.store().live_calls().unwrap().is_empty());
}

#[test]
fn an_event_that_fails_waits_alone_and_keeps_its_place() {
    let twin = Twin::new();
    retake_seam::fail_once("release", 3, ENOSPC);
    let recorded = twin.record(&twin.parcels((0..5).map(say)));
    let waits: Vec<_> = recorded.iter().map(|recorded| recorded.seq.is_none()).collect();
    assert_eq!(waits, [false, false, true, false, false]);
    assert_eq!(recorded[2].notices[0].code, NoticeCode::Spooled);
    assert_eq!(twin.said(), ["0", "1", "2", "3", "4"], "it was taken in before the next one");
    assert_eq!(twin.project.status().unwrap().spooled, 0);
}

#[test]
fn a_group_whose_commit_fails_waits_as_a_whole() {
    let twin = Twin::new();
    retake_seam::fail_once("commit", 1, ENOSPC);
    let kept = twin.record(&twin.parcels((0..5).map(say)));
    assert!(kept.iter().all(|kept| kept.notices[0].code == NoticeCode::Spooled), "{kept:?}");
    assert!(twin.said().is_empty(), "nothing of it was recorded");
    assert_eq!(twin.project.status().unwrap().spooled, 5);
    twin.project.refresh(twin.test.tick()).unwrap();
    assert_eq!(twin.said(), ["0", "1", "2", "3", "4"]);
}

#[test]
fn a_group_with_much_content_is_committed_in_parts() {
    let twin = Twin::new();
    let write = |n: usize| {
        let (call, path) = (format!("w{n}"), format!("large{n}.bin"));
        TestProject::begin("d1", &call, "Write", json!({ "file_path": path }))
    };
    twin.record(&twin.parcels([write(1), write(2)]));
    let mut noise = vec![0; 33 * 1024 * 1024];
    Rng::with_seed(1).fill(&mut noise);
    twin.test.write("large1.bin", &noise);
    twin.test.write("large2.bin", "small\n");
    let commits = count_steps("commit");
    let recorded =
        twin.record(&twin.parcels([TestProject::end("d1", "w1"), TestProject::end("d1", "w2")]));
    assert_eq!(commits(), 2);
    assert!(recorded.iter().all(|recorded| recorded.changes[0].actor == Actor::Agent));
    assert_eq!(twin.project.content(&recorded[0].changes[0].after).unwrap(), Some(noise));
}

#[test]
fn a_group_that_finds_the_project_locked_waits_in_the_spool_in_order() {
    let twin = Twin::new();
    let lock = std::fs::File::open(twin.project.store().folder().join("lock")).unwrap();
    lock.lock().unwrap();
    let kept = twin.record(&twin.parcels((0..5).map(say)));
    assert!(kept.iter().all(|kept| kept.notices[0].code == NoticeCode::Spooled), "{kept:?}");
    drop(lock);
    twin.record(&twin.parcels((5..8).map(say)));
    assert_eq!(twin.said(), ["0", "1", "2", "3", "4", "5", "6", "7"]);
}

#[test]
fn a_group_for_a_folder_that_is_gone_is_kept_and_refused() {
    let twin = Twin::new();
    let parcels = twin.parcels((0..2).map(say));
    let (root, away) = (twin.test.root(), twin.test.outer().join("away"));
    std::fs::rename(&root, &away).unwrap();
    let refused = twin.project.submit_all(&parcels);
    assert!(refused.iter().all(Result::is_err), "{refused:?}");
    std::fs::rename(&away, &root).unwrap();
    twin.project.refresh(twin.test.tick()).unwrap();
    let dialog = twin.project.dialog(&"d1".into()).unwrap().unwrap();
    assert_eq!(dialog.turns, 2, "both were kept");
}

/// What a project keeps of open calls counts only while their rows say the same.
#[test]
fn what_open_calls_aim_at_follows_their_rows_whoever_writes_them() {
    let twin = Twin::new();
    let input = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "1" });
    let other = TestProject::begin("d2", "c2", "Read", json!({ "file_path": "c.txt" }));
    twin.record(&twin.parcels([TestProject::begin("d1", "c1", "Edit", input), other]));
    let by = |content: &str| {
        twin.test.write("b.txt", content);
        twin.project.refresh(twin.test.tick()).unwrap().changes[0].actor
    };
    assert_eq!(by("by hand\n"), Actor::User, "the edit is at work on another file");
    let foreign = twin.test.open();
    let batch = foreign.store().batch().unwrap();
    batch.drop_all_inputs(&"d1".into()).unwrap();
    batch.commit().unwrap();
    assert_eq!(by("again\n"), Actor::Agent, "an edit that names nothing may change anything");
}

/// A link may lead elsewhere by the end of a call than when it was last read what that aims at.
#[test]
fn a_call_that_ends_aims_at_what_its_links_lead_to_by_then() {
    let twin = Twin::new();
    twin.test.shell("ln -s a.txt link.txt");
    let input = json!({ "file_path": "link.txt", "old_string": "two", "new_string": "2" });
    let other = TestProject::begin("d2", "c2", "Read", json!({ "file_path": "c.txt" }));
    twin.record(&twin.parcels([say(1), TestProject::begin("d1", "c1", "Edit", input), other]));
    twin.test.shell("ln -sf b.txt link.txt && sed -i s/two/2/ b.txt");
    let ended = twin.record(&twin.parcels([TestProject::end("d1", "c1")]));
    let found: Vec<_> = ended[0].changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(found, ["b.txt", "link.txt"]);
}

#[test]
fn what_finds_nothing_writes_nothing_and_a_long_log_is_cut_when_nobody_waits() {
    let twin = Twin::new();
    let log = || twin.project.store().folder().join("retake.db-wal").metadata().unwrap().len();
    let look = || twin.project.refresh(twin.test.tick()).unwrap();
    let (before, looked) = (log(), look());
    assert_eq!((log(), looked.changes.len()), (before, 0));
    let much = |seed| {
        let mut noise = vec![0; 6 * 1024 * 1024];
        Rng::with_seed(seed).fill(&mut noise);
        twin.test.write("large.bin", &noise);
    };
    much(1);
    look();
    assert_eq!(log(), 0, "whoever commits cuts it");
    twin.project.defer_maintenance();
    much(2);
    look();
    assert!(log() > 6 * 1024 * 1024, "nobody has to wait for that");
    twin.project.run_maintenance();
    assert_eq!(log(), 0);
}

fn say(n: usize) -> Event {
    Event::new("d1", EventKind::UserMessage { text: n.to_string() })
}

/// Counts the steps with this name in this thread, from now until the answer is asked for.
fn count_steps(name: &'static str) -> impl FnOnce() -> usize {
    let count = Rc::new(Cell::new(0));
    let counter = Rc::clone(&count);
    retake_seam::on_step(Some(Box::new(move |step| {
        counter.set(counter.get() + usize::from(step == name));
    })));
    move || {
        retake_seam::on_step(None);
        count.get()
    }
}

struct Twin {
    test: TestProject,
    project: Project,
}

impl Twin {
    fn new() -> Self {
        let test = TestProject::in_memory();
        test.write(".gitignore", "*.hid\n");
        for path in FILES {
            test.write(path, format!("{path}\none\ntwo\nthree\n"));
        }
        let project = test.init();
        Self { test, project }
    }

    fn parcels(&self, events: impl IntoIterator<Item = Event>) -> Vec<Submission> {
        let parcel = |event| {
            let at = self.test.tick();
            Submission::new(self.project.spool_writer().new_key(at), event, at)
        };
        events.into_iter().map(parcel).collect()
    }

    /// The messages on record, in order.
    fn said(&self) -> Vec<String> {
        let events = self.project.store().events_after(0, 100).unwrap();
        let text = |event: &JournalEvent| event.body["text"].as_str().map(ToOwned::to_owned);
        events.iter().filter_map(text).collect()
    }

    fn record(&self, parcels: &[Submission]) -> Vec<RecordOutcome> {
        self.project.submit_all(parcels).into_iter().map(Result::unwrap).collect()
    }
}

/// Agents and a person at work, as far as a recorder can see them.
#[derive(Default)]
struct Story {
    rng: Rng,
    keys: u32,
    /// Calls that have begun at some time, and their dialogs.
    calls: Vec<(&'static str, String)>,
    /// What tools have said that they will write.
    announced: Vec<(String, String)>,
    last: Option<Submission>,
}

impl Story {
    /// What happens to files before the next group.
    fn edits(&mut self) -> Vec<(String, String)> {
        let mut edits: Vec<_> = self.announced.drain(..).collect();
        self.rng.shuffle(&mut edits);
        if self.rng.bool() {
            let content = format!("by hand {}\n", self.rng.u16(..));
            edits.push((self.path(), content));
        }
        edits
    }

    fn group(&mut self) -> Vec<Submission> {
        (0..self.rng.usize(1..9)).map(|_| self.parcel()).collect()
    }

    fn parcel(&mut self) -> Submission {
        if let Some(last) = self.last.clone().filter(|_| self.rng.u8(0..12) == 0) {
            return last; // a host that did not hear the answer
        }
        self.keys += 1;
        let at = 1_800_000_000_000 + i64::from(self.keys) * 100;
        let parcel = Submission::new(format!("key-{}", self.keys), self.event(), at);
        self.last = Some(parcel.clone());
        parcel
    }

    fn event(&mut self) -> Event {
        let dialog = *self.rng.choice(DIALOGS).unwrap();
        let unknown = (dialog, "never-begun".to_owned());
        let (dialog, call) = self.rng.choice(&self.calls).cloned().unwrap_or(unknown);
        match self.rng.u8(0..12) {
            0..3 => self.begin_write(),
            3 => {
                let command = *self.rng.choice(&["make", "rm -f a.txt", "git switch x"]).unwrap();
                let ((dialog, call), input) = (self.begin(), json!({ "command": command }));
                TestProject::begin(dialog, &call, "Bash", input)
            }
            4..8 => TestProject::end(dialog, &call),
            8 => Event::new(dialog, EventKind::ToolsOver { calls: vec![call.as_str().into()] }),
            9 => Event::new(dialog, EventKind::UserMessage { text: format!("after {call}") }),
            10 => Event::new(dialog, EventKind::TurnEnd { background: Vec::new() }),
            _ => Event::new(dialog, EventKind::DialogStart { title: None }),
        }
    }

    fn begin_write(&mut self) -> Event {
        let ((dialog, call), path) = (self.begin(), self.path());
        let content = format!("{call} {}\n", self.rng.u16(..));
        self.announced.push((path.clone(), content.clone()));
        let input = json!({ "file_path": path, "content": content });
        TestProject::begin(dialog, &call, "Write", input)
    }

    fn begin(&mut self) -> (&'static str, String) {
        let call = format!("c{}", self.calls.len());
        self.calls.push((self.rng.choice(DIALOGS).unwrap(), call));
        self.calls[self.calls.len() - 1].clone()
    }

    fn path(&mut self) -> String {
        (*self.rng.choice(FILES).unwrap()).to_owned()
    }
}
