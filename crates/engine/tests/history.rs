//! Histories of conversations: nothing that was taken in is ever lost, whatever is shown of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
#![allow(dead_code, reason = "each test uses its part of the support")]

#[path = "history/condensing.rs"]
mod condensing;
mod support;

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use retake_engine::model::{
    AgentId, DialogId, Event, EventKind, MAIN_AGENT, ModelMessage, RewindWhat, Role, ViewReason,
};
use retake_engine::{
    Added, HistoryError, KeptMessage, Project, Rewind, RewindHow, TakeBackOptions, TranscriptMark,
    ViewChange, ViewItem,
};
use retake_testkit::{TestProject, child};
use serde_json::{Value, json};
use support::assert_clean;

fn dialog() -> DialogId {
    DialogId::from("d1")
}

fn main_agent() -> AgentId {
    AgentId::from(MAIN_AGENT)
}

fn message(role: Role, text: &str, index: Option<u64>) -> ModelMessage {
    let content = vec![json!({ "type": "text", "text": text })];
    ModelMessage { role, content, ts: None, is_summary: false, index }
}

fn user(text: &str) -> ModelMessage {
    message(Role::User, text, None)
}

fn texts(messages: &[KeptMessage]) -> Vec<String> {
    let text = |kept: &KeptMessage| kept.message.content[0]["text"].as_str().unwrap().to_owned();
    messages.iter().map(text).collect()
}

fn shown(project: &Project) -> Vec<String> {
    texts(&project.model_messages(&dialog(), &main_agent()).unwrap())
}

fn numbered(from: u64, messages: &[ModelMessage]) -> Vec<(u64, ModelMessage)> {
    (from..).zip(messages.iter().cloned()).collect()
}

/// The view in force with its first messages replaced by a summary.
fn condense(project: &Project, count: usize, at: i64) -> Result<(), HistoryError> {
    let view = project.model_view(&dialog(), &main_agent()).unwrap();
    let summary = ModelMessage { is_summary: true, ..user(&format!("summary of {count}")) };
    let rest = view.messages[count..].iter().map(|kept| ViewItem::Kept(kept.place));
    let change = ViewChange {
        why: ViewReason::Condensed,
        items: [ViewItem::New(summary)].into_iter().chain(rest).collect(),
        open_from: view.next,
        from: view.view,
    };
    project.set_view(&dialog(), &main_agent(), &change, at).map(drop)
}

/// What the histories should be, kept in the simplest way.
#[derive(Default)]
struct Oracle {
    /// Every message with its place, in the order in which they came.
    log: Vec<(i64, ModelMessage)>,
    /// Views on top of each other: places, and where what was told goes on.
    views: Vec<(Vec<i64>, i64)>,
    /// The places of the agent's own record.
    line: Vec<i64>,
    next: i64,
    own: i64,
    said: u64,
}

impl Oracle {
    fn places(&self) -> Vec<i64> {
        let (listed, open) = self.views.last().cloned().unwrap_or_default();
        let mut told: Vec<_> = self.log.iter().map(|(place, _)| *place).collect();
        told.sort_unstable();
        told.retain(|place| *place >= open && !listed.contains(place));
        [listed, told].concat()
    }

    fn get(&self, place: i64) -> &ModelMessage {
        &self.log.iter().find(|(at, _)| *at == place).unwrap().1
    }

    fn new_message(&mut self, rng: &mut fastrand::Rng) -> ModelMessage {
        self.said += 1;
        let role = if rng.bool() { Role::User } else { Role::Assistant };
        // Some say the same.
        let text = if rng.u8(..6) == 0 { "go on".to_owned() } else { format!("m{}", self.said) };
        message(role, &text, Some(self.said))
    }

    fn tell(&mut self, message: ModelMessage) -> i64 {
        self.log.push((self.next, message));
        self.next += 1;
        self.next - 1
    }
}

/// Does one random thing to both.
fn act(project: &Project, oracle: &mut Oracle, rng: &mut fastrand::Rng, at: i64) {
    let (dialog, agent) = (dialog(), main_agent());
    let add = |messages: &[(u64, ModelMessage)]| {
        project.add_model_messages(&dialog, &agent, messages, at).unwrap();
    };
    let places = oracle.places();
    match rng.u8(..8) {
        0 | 1 => {
            let count = rng.usize(1..4);
            let new: Vec<_> = (0..count).map(|_| oracle.new_message(rng)).collect();
            add(&numbered(oracle.line.len() as u64, &new));
            for message in new {
                let place = oracle.tell(message);
                oracle.line.push(place);
            }
        }
        2 => {
            let Some(&last) = oracle.line.last() else { return };
            let mut grown = oracle.get(last).clone();
            grown.content.push(json!({ "type": "text", "text": format!("and {at}") }));
            add(&[(oracle.line.len() as u64 - 1, grown.clone())]);
            oracle.log.iter_mut().find(|(place, _)| *place == last).unwrap().1 = grown;
        }
        3 if !oracle.line.is_empty() => {
            // The agent's own record was rewritten from some message on.
            let keep = rng.usize(..oracle.line.len());
            let kept = oracle.line[..keep].iter().map(|place| oracle.get(*place).clone());
            let mut whole: Vec<_> = kept.collect();
            let left = oracle.line.split_off(keep);
            for _ in 0..rng.usize(1..3) {
                let mut message = oracle.new_message(rng);
                message.content[0] = json!({ "type": "text", "text": format!("other {at}") });
                message.role = Role::User;
                whole.push(message.clone());
                let place = oracle.tell(message);
                oracle.line.push(place);
            }
            add(&numbered(0, &whole));
            let shown = oracle.places();
            if shown.iter().any(|place| left.contains(place)) {
                let stays = shown.into_iter().filter(|place| !left.contains(place)).collect();
                oracle.views.push((stays, oracle.next));
            }
        }
        4 => {
            // A program saves its own list: some are left out, some are new.
            let mut list: Vec<i64> = places.iter().copied().filter(|_| rng.u8(..5) > 0).collect();
            let mut messages: Vec<_> = list.iter().map(|at| oracle.get(*at).clone()).collect();
            if rng.bool() {
                let new = oracle.new_message(rng);
                let new = ModelMessage { ts: Some(at), index: None, ..new };
                messages.push(new.clone());
                list.push(oracle.tell(new));
            }
            project.save_model_messages(&dialog, &agent, &messages, at).unwrap();
            // Which of two that say the same is left out cannot be told.
            let saved = project.model_messages(&dialog, &agent).unwrap();
            let content = |message: &ModelMessage| message.content.clone();
            let says: Vec<_> = saved.iter().map(|kept| content(&kept.message)).collect();
            assert_eq!(says, messages.iter().map(content).collect::<Vec<_>>());
            let list: Vec<_> = saved.iter().map(|kept| kept.place).collect();
            if list != oracle.places() {
                oracle.views.push((list, oracle.next));
            }
        }
        5 if places.len() > 1 => {
            let count = rng.usize(1..places.len());
            condense(project, count, at).unwrap();
            oracle.own -= 1;
            let summary = ModelMessage { is_summary: true, ..user(&format!("summary of {count}")) };
            oracle.log.push((oracle.own, summary));
            oracle.views.push(([&[oracle.own], &places[count..]].concat(), oracle.next));
        }
        6 => {
            let index = rng.u64(..=oracle.said + 1);
            let behind = |place: &i64| oracle.get(*place).index.is_some_and(|at| at >= index);
            let to = Rewind::Message(index);
            let rewound = project.rewind_conversation(&dialog, &agent, to, None, at);
            match places.iter().position(behind) {
                Some(start) => {
                    let rewound = rewound.unwrap();
                    let counts = (rewound.kept as usize, rewound.hidden as usize);
                    assert_eq!(counts, (start, places.len() - start));
                    oracle.views.push((places[..start].to_vec(), oracle.next));
                }
                None => assert!(matches!(rewound, Err(HistoryError::NoMessage { .. }))),
            }
        }
        7 => {
            let back = project.bring_back(&dialog, &agent, at);
            let is_nothing = matches!(back, Err(HistoryError::NothingHidden(_)));
            assert_eq!(oracle.views.pop().is_none(), is_nothing, "{back:?}");
        }
        _ => {}
    }
}

#[test]
fn a_random_walk_loses_nothing_and_shows_what_a_simple_model_shows() {
    for seed in 0..24 {
        let test = TestProject::in_memory();
        let (project, mut oracle) = (test.init(), Oracle::default());
        let mut rng = fastrand::Rng::with_seed(seed);
        let first = user("first");
        project.add_model_messages(&dialog(), &main_agent(), &[(0, first.clone())], 1).unwrap();
        let place = oracle.tell(first);
        oracle.line.push(place);
        for step in 0..60 {
            act(&project, &mut oracle, &mut rng, test.tick());
            let pairs = |kept: Vec<KeptMessage>| -> Vec<(i64, ModelMessage)> {
                kept.into_iter().map(|kept| (kept.place, kept.message)).collect()
            };
            let log = pairs(project.model_log(&dialog(), &main_agent()).unwrap());
            assert_eq!(log, oracle.log, "seed {seed}, step {step}: the log");
            let view = pairs(project.model_messages(&dialog(), &main_agent()).unwrap());
            let expected: Vec<_> =
                oracle.places().iter().map(|at| (*at, oracle.get(*at).clone())).collect();
            assert_eq!(view, expected, "seed {seed}, step {step}: the view");
        }
        assert_clean(&project);
    }
}

#[test]
fn taking_in_a_file_again_adds_nothing_and_another_conversation_is_refused() {
    let test = TestProject::new();
    let project = test.init();
    let (dialog, agent) = (dialog(), main_agent());
    let all = ["a", "b", "c", "d"].map(user);
    let display = [json!({ "ts": 1, "say": "text", "text": "a" })];
    let import = |messages: &[ModelMessage]| {
        project.import_messages(&dialog, &agent, Some("cline"), (messages, &display), test.tick())
    };
    assert_eq!(import(&all[..2]).unwrap(), Added { added: 3, known: 0 });
    assert_eq!(import(&all).unwrap(), Added { added: 2, known: 2 });
    let seq = project.store().last_seq().unwrap();
    let events = || project.store().events_after(seq, 10).unwrap();
    for again in [&all[..], &all[..3]] {
        assert_eq!(import(again).unwrap(), Added { added: 0, known: again.len() as u64 });
    }
    assert_eq!(events(), []);
    let other = [user("a"), user("b"), user("x")];
    let error = import(&other).unwrap_err();
    assert!(matches!(&error, HistoryError::Diverges { place: 2, .. }), "{error}");
    assert!(error.to_string().contains("d1") && error.to_string().contains("message 2"));
    assert_eq!(shown(&project), ["a", "b", "c", "d"]);
    assert_eq!(project.display_messages(&dialog, &agent).unwrap(), display);
    // It was not live: it has ended, and has no turns.
    let known = project.dialog(&dialog).unwrap().unwrap();
    assert!(known.ended_at.is_some() && known.turns == 0 && !known.turn_open);
    assert_eq!(known.kind.as_deref(), Some("cline"));
    // A summary of Retake's own does not make it another conversation.
    condense(&project, 2, test.tick()).unwrap();
    assert_eq!(import(&all).unwrap().added, 0);
    // What a program saved has no numbers, but an order.
    let saved = DialogId::from("d2");
    project.save_model_messages(&saved, &agent, &all[..2], test.tick()).unwrap();
    let import = |messages: &[ModelMessage]| {
        project.import_messages(&saved, &agent, None, (messages, &[]), test.tick())
    };
    assert_eq!(import(&all).unwrap(), Added { added: 2, known: 2 });
    assert_eq!(import(&all).unwrap(), Added { added: 0, known: 4 });
}

#[test]
fn a_view_that_was_planned_on_another_one_is_refused() {
    let test = TestProject::new();
    let project = test.init();
    let messages = ["a", "b", "c"].map(user);
    let (dialog, agent) = (dialog(), main_agent());
    project.save_model_messages(&dialog, &agent, &messages, test.tick()).unwrap();
    let change = ViewChange {
        why: ViewReason::Condensed,
        items: vec![ViewItem::Kept(2)],
        open_from: 3,
        from: None,
    };
    condense(&project, 1, test.tick()).unwrap();
    let set = |change: &ViewChange| project.set_view(&dialog, &agent, change, test.tick());
    assert!(matches!(set(&change), Err(HistoryError::Moved(_))));
    assert_eq!(shown(&project), ["summary of 1", "b", "c"]);
    let from = project.model_view(&dialog, &agent).unwrap().view;
    let unknown = ViewChange { items: vec![ViewItem::Kept(9)], from, ..change.clone() };
    assert!(matches!(set(&unknown), Err(HistoryError::UnknownPlace { place: 9, .. })));
    let view = set(&ViewChange { from, ..change }).unwrap();
    assert_eq!((view.shown, view.hidden), (1, 2));
    // What is told later is shown behind it.
    let later = [(0, user("later"))];
    project.add_model_messages(&dialog, &agent, &later, test.tick()).unwrap();
    assert_eq!(shown(&project), ["c", "later"]);
    project.bring_back(&dialog, &agent, test.tick()).unwrap();
    assert_eq!(shown(&project), ["summary of 1", "b", "c", "later"]);
    let stands: Vec<_> =
        project.views(&dialog, &agent).unwrap().iter().map(|view| view.stands).collect();
    assert_eq!(stands, [true, false, false]);
}

/// Two turns that changed a file, with messages of both histories.
fn two_turns(test: &TestProject) -> Project {
    test.write("a.txt", "zero\n");
    let project = test.init();
    let said = |index: u64, text: &str| {
        let what = EventKind::UserMessage { text: text.to_owned() };
        test.record(&Event { message_index: Some(index), ..Event::new("d1", what) });
    };
    let answer = |index: u64, text: &str| {
        let input = json!({ "file_path": "a.txt", "content": format!("{text}\n") });
        test.record(&TestProject::begin("d1", text, "Write", input));
        test.write("a.txt", format!("{text}\n"));
        test.record(&TestProject::end("d1", text));
        let words = EventKind::AssistantMessage { text: text.to_owned(), calls: Vec::new() };
        let event = Event { message_index: Some(index), ..Event::new("d1", words) };
        test.record(&event);
        let number = index - 1;
        let messages = [
            message(Role::User, if number == 0 { "do one" } else { "do two" }, Some(number)),
            message(Role::Assistant, text, Some(index)),
        ];
        let new = numbered(number, &messages);
        project.add_model_messages(&dialog(), &main_agent(), &new, test.tick()).unwrap();
    };
    said(0, "do one");
    answer(1, "one");
    said(2, "do two");
    answer(3, "two");
    project
}

fn spoken(project: &Project) -> usize {
    project.spoken(&dialog()).unwrap().iter().filter(|(_, hidden)| !hidden).count()
}

#[test]
fn messages_of_the_person_carry_checkpoint_and_session() {
    let test = TestProject::new();
    let project = two_turns(&test);
    let log = project.model_log(&dialog(), &main_agent()).unwrap();
    assert_eq!(texts(&log), ["do one", "one", "do two", "two"]);
    for kept in &log {
        let is_user = kept.message.role == Role::User;
        assert_eq!(kept.checkpoint.is_some(), is_user, "{kept:?}");
        assert_eq!(kept.session, is_user.then_some(1));
    }
    assert_ne!(log[0].checkpoint, log[2].checkpoint);
}

#[test]
fn a_conversation_goes_back_with_the_files_and_comes_back_with_them() {
    let test = TestProject::new();
    let project = two_turns(&test);
    let plan = |what| {
        let options = TakeBackOptions::default();
        let (plan, step) = project.plan_undo(options, test.tick()).unwrap();
        project.rewind_along(plan, what, step.rewind()).unwrap()
    };
    // The conversation alone changes no file and no status.
    let statuses = || test.changes().iter().map(|change| change.status).collect::<Vec<_>>();
    let before = statuses();
    let alone = plan(RewindWhat::Conversation);
    assert!(alone.is_conversation_only());
    let done = project.apply(&alone, test.tick()).unwrap();
    assert!(done.operation.is_none());
    let rewind = done.plan.rewind.unwrap();
    assert_eq!((rewind.done, rewind.rewound.before.as_str()), (Some(true), "do two"));
    assert_eq!((rewind.rewound.hidden, rewind.rewound.unsaid), (2, 2));
    assert_eq!((shown(&project), spoken(&project)), (vec!["do one".into(), "one".into()], 2));
    assert_eq!((test.read("a.txt"), statuses()), (b"two\n".to_vec(), before));
    project.bring_back(&dialog(), &main_agent(), test.tick()).unwrap();
    assert_eq!((shown(&project).len(), spoken(&project)), (4, 4));
    // With the files, it is one step that undo and redo take together.
    let done = project.apply(&plan(RewindWhat::Both), test.tick()).unwrap();
    let undo = done.operation.unwrap();
    assert_eq!(
        (test.read("a.txt"), shown(&project).len(), spoken(&project)),
        (b"one\n".to_vec(), 2, 2)
    );
    let views = project.views(&dialog(), &main_agent()).unwrap();
    assert_eq!(views.last().unwrap().operation, Some(undo.id));
    for (content, count) in [(b"two\n", 4), (b"one\n", 2)] {
        let taking = TakeBackOptions::default();
        let plan = if count == 4 {
            let (plan, undone) = project.plan_redo(taking, test.tick()).unwrap();
            let how = RewindHow::TakeBack(undone.id);
            project.rewind_along(plan, RewindWhat::Both, how).unwrap()
        } else {
            let redo = project.operations(1).unwrap().remove(0);
            let (plan, _) = project.plan_undo(taking, test.tick()).unwrap();
            let how = RewindHow::TakeBack(redo.id);
            project.rewind_along(plan, RewindWhat::Both, how).unwrap()
        };
        let done = project.apply(&plan, test.tick()).unwrap();
        assert_eq!(done.plan.rewind.unwrap().done, Some(true));
        assert_eq!(test.read("a.txt"), content);
        assert_eq!((shown(&project).len(), spoken(&project)), (count, count));
    }
    assert_eq!(project.model_log(&dialog(), &main_agent()).unwrap().len(), 4);
}

#[test]
fn a_checkpoint_cuts_before_the_message_that_came_after_it() {
    let test = TestProject::new();
    let project = two_turns(&test);
    let log = project.model_log(&dialog(), &main_agent()).unwrap();
    let rewind =
        |id| project.plan_rewind(&dialog(), &main_agent(), Rewind::Checkpoint(id)).unwrap();
    let first = rewind(log[0].checkpoint.unwrap());
    assert_eq!(
        (first.before.as_str(), first.kept, first.hidden, first.unsaid),
        ("do one", 0, 4, 4)
    );
    let second = rewind(log[2].checkpoint.unwrap());
    assert_eq!((second.before.as_str(), second.kept, second.hidden), ("do two", 2, 2));
    let now = project.checkpoint(None, Some(&dialog()), test.tick()).unwrap();
    let last = rewind(now.id);
    assert_eq!((last.kept, last.hidden, last.unsaid), (4, 0, 0));
    assert_eq!(shown(&project).len(), 4, "a plan only reads");
}

#[test]
fn a_message_that_cannot_be_read_says_so_and_the_others_are_there() {
    let test = TestProject::new();
    let project = test.init();
    let messages = ["a", "b"].map(user);
    project.save_model_messages(&dialog(), &main_agent(), &messages, test.tick()).unwrap();
    let db = rusqlite::Connection::open(project.store().folder().join("retake.db")).unwrap();
    db.execute("UPDATE message SET body = x'00' WHERE place = 0", []).unwrap();
    let texts = shown(&project);
    assert!(texts[0].contains("cannot be read") && texts[1] == "b", "{texts:?}");
    let found = project.check_up(true, &mut |_, _| {}).unwrap().verification;
    let problem = format!("{:?}", found.problems);
    assert!(found.problems.len() == 1 && problem.contains("message 0 of dialog d1"), "{problem}");
}

#[test]
fn what_people_are_shown_is_saved_by_place_and_can_become_shorter() {
    let test = TestProject::new();
    let project = test.init();
    let (dialog, agent) = (dialog(), main_agent());
    let entry = |text: &str| json!({ "ts": 1, "type": "say", "say": "text", "text": text });
    let save = |texts: &[&str]| {
        let list: Vec<Value> = texts.iter().map(|text| entry(text)).collect();
        let added = project.save_display_messages(&dialog, &agent, &list, test.tick()).unwrap();
        assert_eq!(project.display_messages(&dialog, &agent).unwrap(), list);
        added
    };
    assert_eq!(save(&["a", "b"]), Added { added: 2, known: 0 });
    assert_eq!(save(&["a", "b", "c"]), Added { added: 1, known: 2 });
    assert_eq!(save(&["a"]), Added { added: 0, known: 1 });
    assert_eq!(save(&["a", "x"]), Added { added: 1, known: 1 });
    assert_eq!(project.display_log(&dialog, &agent).unwrap().len(), 3);
}

#[test]
fn a_long_result_of_an_agent_is_shortened_and_still_known() {
    let test = TestProject::new();
    test.init();
    std::fs::write(test.home().join("config.toml"), "[history]\nmax_message_bytes = 1000\n")
        .unwrap();
    let project = test.open();
    let long = json!({ "type": "tool_result", "tool_use_id": "t", "content": "x".repeat(5000) });
    let said = ModelMessage { content: vec![long.clone()], ..user("") };
    let add = |message: &ModelMessage| {
        let new = [(0, message.clone())];
        project.add_model_messages(&dialog(), &main_agent(), &new, test.tick()).unwrap()
    };
    assert_eq!(add(&said).added, 1);
    let kept = project.model_log(&dialog(), &main_agent()).unwrap().remove(0).message;
    assert!(kept.content[0]["content"][0]["text"].as_str().unwrap().ends_with("bytes not kept]"));
    assert_eq!(kept.content[0]["tool_use_id"], "t");
    assert_eq!(add(&said), Added { added: 0, known: 1 });
    // A person's own act keeps all of it.
    let other = DialogId::from("d2");
    project.import_messages(&other, &main_agent(), None, (&[said], &[]), test.tick()).unwrap();
    assert_eq!(project.model_log(&other, &main_agent()).unwrap()[0].message.content, [long]);
}

#[test]
fn kill_between_any_two_writes_of_a_history() {
    let name = "kill_between_any_two_writes_of_a_history";
    if child::role().is_some() {
        return tell(&TestProject::at(Path::new(&std::env::var("RETAKE_TEST_OUTER").unwrap())));
    }
    for step in 1.. {
        let test = TestProject::new();
        test.init();
        let output = child::command(name, "tell")
            .env("RETAKE_TEST_OUTER", test.outer())
            .env("RETAKE_COUNT_STEPS", test.outer().join("steps"))
            .env("RETAKE_KILL_AT", step.to_string())
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        let acknowledged = out.matches("ack ").count();
        let project = test.open();
        assert_clean(&project);
        // Each act is there whole or not at all, and so is how far the record was read.
        let cursor = project.history_cursor(&dialog(), &main_agent()).unwrap();
        let (shown, log) = (shown(&project), project.model_log(&dialog(), &main_agent()).unwrap());
        let states: [(&[&str], usize, bool); 5] = [
            (&[], 0, false),
            (&["a", "b"], 2, true),
            (&["summary of 1", "b"], 3, true),
            (&[], 3, true),
            (&["summary of 1", "b"], 3, true),
        ];
        let fits = |state: &(&[&str], usize, bool)| {
            *state
                == (
                    shown.iter().map(String::as_str).collect::<Vec<_>>().as_slice(),
                    log.len(),
                    cursor.is_some(),
                )
        };
        let fit = states.iter().skip(acknowledged).take(2).any(fits);
        assert!(fit, "step {step}, {acknowledged} acknowledged: {shown:?}");
        let steps = std::fs::read_to_string(test.outer().join("steps")).unwrap();
        if (steps.lines().count() as u64) < step {
            assert!(output.status.success() && acknowledged == 4, "{out}");
            assert!(step > 15, "only {step} steps: does the seam still see the writes?");
            return;
        }
        assert_eq!(output.status.signal(), Some(9), "step {step}: {out}");
    }
}

fn tell(test: &TestProject) {
    let (project, dialog, agent) = (test.open(), dialog(), main_agent());
    let ack = || {
        let mut out = std::io::stdout().lock();
        writeln!(out, "ack ").unwrap();
        out.flush().unwrap();
    };
    let messages = [message(Role::User, "a", Some(0)), message(Role::Assistant, "b", Some(1))];
    let cursor = "somewhere".to_owned();
    let mark = TranscriptMark { dialog: dialog.clone(), agent: agent.clone(), from: None, cursor };
    assert!(project.record_model_messages(&numbered(0, &messages), &mark, test.tick()).unwrap());
    ack();
    condense(&project, 1, test.tick()).unwrap();
    ack();
    project.save_model_messages(&dialog, &agent, &[], test.tick()).unwrap();
    ack();
    project.bring_back(&dialog, &agent, test.tick()).unwrap();
    ack();
}
