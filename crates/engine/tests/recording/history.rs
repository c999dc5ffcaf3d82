//! Histories of conversations: nothing that was taken in is ever lost, whatever is shown of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

mod condensing;
mod walk;

use retake_engine::model::{
    AgentId, DialogId, Event, EventKind, MAIN_AGENT, MessageRole, ModelMessage, RewindScope,
    ViewReason,
};
use retake_engine::{
    AddedMessages, HistoryError, HistoryMessage, ImportedMessages, Project, RewindAction,
    RewindTarget, TakeBackOptions, TranscriptMark, ViewChange, ViewItem,
};
use retake_testkit::sweep::{ALL_FAULTS, FaultSweep, SweepRun};
use retake_testkit::{TestProject, child};
use serde_json::{Value, json};

use crate::support::assert_clean;

fn dialog() -> DialogId {
    DialogId::from("d1")
}

fn main_agent() -> AgentId {
    AgentId::from(MAIN_AGENT)
}

fn message(role: MessageRole, text: &str, index: Option<u64>) -> ModelMessage {
    let content = vec![json!({ "type": "text", "text": text })];
    ModelMessage { role, content, ts: None, is_summary: false, index }
}

fn user(text: &str) -> ModelMessage {
    message(MessageRole::User, text, None)
}

fn texts(messages: &[HistoryMessage]) -> Vec<String> {
    let text = |kept: &HistoryMessage| kept.message.content[0]["text"].as_str().unwrap().to_owned();
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

#[test]
fn taking_in_a_file_again_adds_nothing_and_another_conversation_is_refused() {
    let test = TestProject::new();
    let project = test.init();
    let (dialog, agent) = (dialog(), main_agent());
    let all = ["a", "b", "c", "d"].map(user);
    let display = [json!({ "ts": 1, "say": "text", "text": "a" })];
    let import = |messages: &[ModelMessage]| {
        let imported = ImportedMessages { kind: Some("cline"), messages, display: &display };
        project.import_messages(&dialog, &agent, imported, test.tick())
    };
    assert_eq!(import(&all[..2]).unwrap(), AddedMessages { added: 3, known: 0 });
    assert_eq!(import(&all).unwrap(), AddedMessages { added: 2, known: 2 });
    let seq = project.store().last_seq().unwrap();
    let events = || project.store().events_after(seq, 10).unwrap();
    for again in [&all[..], &all[..3]] {
        assert_eq!(import(again).unwrap(), AddedMessages { added: 0, known: again.len() as u64 });
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
        let imported = ImportedMessages { kind: None, messages, display: &[] };
        project.import_messages(&saved, &agent, imported, test.tick())
    };
    assert_eq!(import(&all).unwrap(), AddedMessages { added: 2, known: 2 });
    assert_eq!(import(&all).unwrap(), AddedMessages { added: 0, known: 4 });
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
            message(MessageRole::User, if number == 0 { "do one" } else { "do two" }, Some(number)),
            message(MessageRole::Assistant, text, Some(index)),
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
    project.spoken_messages(&dialog()).unwrap().iter().filter(|(_, hidden)| !hidden).count()
}

#[test]
fn messages_of_the_person_carry_checkpoint_and_session() {
    let test = TestProject::new();
    let project = two_turns(&test);
    let log = project.model_log(&dialog(), &main_agent()).unwrap();
    assert_eq!(texts(&log), ["do one", "one", "do two", "two"]);
    for kept in &log {
        let is_user = kept.message.role == MessageRole::User;
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
        project.plan_with_rewind(plan, what, step.rewind_action()).unwrap()
    };
    // The conversation alone changes no file and no status.
    let statuses = || test.changes().iter().map(|change| change.status).collect::<Vec<_>>();
    let before = statuses();
    let alone = plan(RewindScope::Conversation);
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
    let done = project.apply(&plan(RewindScope::Both), test.tick()).unwrap();
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
            let how = RewindAction::TakeBack(undone.id);
            project.plan_with_rewind(plan, RewindScope::Both, how).unwrap()
        } else {
            let redo = project.operations(1).unwrap().remove(0);
            let (plan, _) = project.plan_undo(taking, test.tick()).unwrap();
            let how = RewindAction::TakeBack(redo.id);
            project.plan_with_rewind(plan, RewindScope::Both, how).unwrap()
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
        |id| project.plan_rewind(&dialog(), &main_agent(), RewindTarget::Checkpoint(id)).unwrap();
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
    assert!(texts[0].contains("can no longer be read") && texts[1] == "b", "{texts:?}");
    let found = project.check_health(true, &mut |_, _| {}).unwrap().verification;
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
    assert_eq!(save(&["a", "b"]), AddedMessages { added: 2, known: 0 });
    assert_eq!(save(&["a", "b", "c"]), AddedMessages { added: 1, known: 2 });
    assert_eq!(save(&["a"]), AddedMessages { added: 0, known: 1 });
    assert_eq!(save(&["a", "x"]), AddedMessages { added: 1, known: 1 });
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
    assert_eq!(add(&said), AddedMessages { added: 0, known: 1 });
    // A person's own act keeps all of it.
    let other = DialogId::from("d2");
    let imported = ImportedMessages { kind: None, messages: &[said], display: &[] };
    project.import_messages(&other, &main_agent(), imported, test.tick()).unwrap();
    assert_eq!(project.model_log(&other, &main_agent()).unwrap()[0].message.content, [long]);
}

#[test]
fn a_fault_at_any_write_of_a_history() {
    if child::role().is_some() {
        return tell(&child::project());
    }
    let test = TestProject::in_memory();
    test.init();
    let sweep = FaultSweep::new("history", &test);
    for faults in ALL_FAULTS {
        sweep.run_each(faults, |done| verify_history(&test, done));
    }
}

/// Each act is there whole or not at all, and so is how far the record was read.
fn verify_history(test: &TestProject, done: &SweepRun) {
    let project = test.open();
    assert_clean(&project);
    let cursor = project.history_cursor(&dialog(), &main_agent()).unwrap();
    let (shown, log) = (shown(&project), project.model_log(&dialog(), &main_agent()).unwrap());
    let states: [(&[&str], usize, bool); 5] = [
        (&[], 0, false),
        (&["a", "b"], 2, true),
        (&["summary of 1", "b"], 3, true),
        (&[], 3, true),
        (&["summary of 1", "b"], 3, true),
    ];
    let shown: Vec<_> = shown.iter().map(String::as_str).collect();
    let now = (shown.as_slice(), log.len(), cursor.is_some());
    let acknowledged = done.acks.len();
    let fits = states.iter().skip(acknowledged).take(2).any(|state| *state == now);
    assert!(fits, "{acknowledged} acknowledged, {now:?}: {done}");
}

fn tell(test: &TestProject) {
    let (project, dialog, agent) = (test.open(), dialog(), main_agent());
    let ack = || child::acknowledge("");
    let messages =
        [message(MessageRole::User, "a", Some(0)), message(MessageRole::Assistant, "b", Some(1))];
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

#[test]
fn a_foreign_message_takes_no_place_and_one_that_is_told_again_does() {
    let test = TestProject::new();
    test.init();
    let project = test.open();
    let (dialog, agent) = (dialog(), main_agent());
    let add = |from: u64, messages: &[ModelMessage]| {
        project.add_model_messages(&dialog, &agent, &numbered(from, messages), 1).unwrap()
    };
    let at = |ts: i64, text: &str| ModelMessage { ts: Some(ts), ..user(text) };
    add(0, &[at(1, "a"), at(2, "b"), at(3, "c")]);
    add(1, &[at(2, "B")]);
    assert_eq!(shown(&project), ["a", "B", "c"]);
    add(1, &[at(9, "x"), at(10, "y")]);
    assert_eq!(shown(&project), ["a", "x", "y"]);
    let log = texts(&project.model_log(&dialog, &agent).unwrap());
    assert!(log.contains(&"B".to_owned()) && log.contains(&"c".to_owned()), "{log:?}");
}

#[test]
fn a_summary_does_not_outlive_what_is_rewound() {
    let test = TestProject::new();
    test.init();
    let project = test.open();
    let (dialog, agent) = (dialog(), main_agent());
    let messages: Vec<_> =
        (0..6).map(|index| message(MessageRole::User, &format!("m{index}"), Some(index))).collect();
    project.add_model_messages(&dialog, &agent, &numbered(0, &messages), 1).unwrap();
    condense(&project, 4, 2).unwrap();
    assert_eq!(shown(&project), ["summary of 4", "m4", "m5"]);
    let rewind = |index: u64| {
        project.rewind_conversation(&dialog, &agent, RewindTarget::Message(index), None, 3).unwrap()
    };
    // What the summary is of stays, and so does it.
    assert_eq!((rewind(5).hidden, shown(&project)), (1, vec!["summary of 4".into(), "m4".into()]));
    let rewound = rewind(2);
    assert_eq!((rewound.kept, rewound.hidden), (2, 2));
    assert_eq!(shown(&project), ["m0", "m1"]);
    project.bring_back(&dialog, &agent, 4).unwrap();
    assert_eq!(shown(&project), ["summary of 4", "m4"]);
}

#[test]
fn what_people_saw_of_another_conversation_is_not_mixed_in() {
    let test = TestProject::new();
    test.init();
    let project = test.open();
    let (dialog, agent) = (dialog(), main_agent());
    let import = |display: &[Value]| {
        let imported = ImportedMessages { kind: None, messages: &[], display };
        project.import_messages(&dialog, &agent, imported, 1)
    };
    let entry = |ts: i64, say: &str, text: &str| json!({ "ts": ts, "type": "say", "say": say, "text": text });
    let known = [entry(1, "text", "hello"), entry(2, "text", "wor")];
    import(&known).unwrap();
    for (place, other) in [
        (1, [entry(1, "text", "hello there"), entry(3, "text", "wor")]),
        (1, [entry(1, "text", "hello"), entry(2, "tool", "wor")]),
        (0, [entry(1, "text", "hell"), entry(2, "text", "wor")]),
    ] {
        let refused = import(&other);
        assert!(matches!(refused, Err(HistoryError::Diverges { place: at, .. }) if at == place));
        assert_eq!(project.display_messages(&dialog, &agent).unwrap(), known);
    }
    let grown = [known[0].clone(), entry(2, "text", "world"), entry(3, "text", "!")];
    assert_eq!(import(&grown).unwrap().added, 2);
    assert_eq!(project.display_messages(&dialog, &agent).unwrap(), grown);
}
