//! What stays on record of turns and calls: arguments in short, models, ends and sums.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use retake_engine::model::{
    Actor, CallId, CalledTool, ChangeStatus, Confidence, Event, EventKind, Millis,
};
use retake_engine::{
    CallPage, CallRecord, CallState, ChangeFilter, ChangeTotals, Project, TakeBackOptions,
    TranscriptMark, TurnRecord,
};
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

/// Two turns of d1, with a subagent, and one change that two dialogs share.
const STORY: &str = r"
    file a.txt: one\ntwo\n
    init
    say d1: first
    edit d1 w1 a.txt: two => TWO
    write d1 w2 new.txt: made\nby an agent\n
    turn-end d1
    say d1: second
    write d1/sub w3 sub.txt: x\n
    turn-end d1
";

fn calls(project: &Project, page: &CallPage) -> Vec<CallRecord> {
    let page = CallPage { limit: 100, ..page.clone() };
    project.call_records(&"d1".into(), &page).unwrap()
}

fn turns(project: &Project) -> Vec<TurnRecord> {
    let dialog = project.dialog(&"d1".into()).unwrap().unwrap();
    project.turns(&dialog, None, 100).unwrap()
}

fn end(call: &str, ok: bool, exit_code: Option<i64>) -> Event {
    let what = EventKind::ToolEnd {
        call: Some(call.into()),
        ok: Some(ok),
        exit_code,
        tool: None,
        input: Value::Null,
        background: false,
        task: None,
    };
    Event::new("d1", what)
}

#[test]
fn arguments_stay_in_short_after_the_end_of_the_dialog() {
    let test = TestProject::new();
    let project = test.init();
    let content = "line of the new file\n".repeat(100);
    let input = json!({ "file_path": "a.txt", "content": content });
    test.record(&TestProject::begin("d1", "w1", "Write", input));
    test.write("a.txt", &content);
    test.record(&TestProject::end("d1", "w1"));
    let input = json!({ "command": "exit 3", "description": "fail" });
    test.record(&TestProject::begin("d1", "s1", "Bash", input.clone()));
    test.record(&end("s1", false, Some(3)));
    test.record(&TestProject::begin("d1", "s2", "Bash", json!({ "command": "sleep 9" })));
    test.record(&Event::new("d1", EventKind::DialogEnd {}));

    let all = calls(&project, &CallPage::default());
    let names: Vec<_> = all.iter().map(|call| call.call.0.as_str()).collect();
    assert_eq!(names, ["w1", "s1", "s2"]);
    assert_eq!(all[0].arguments.arguments, json!({ "file_path": "a.txt", "content": "" }));
    let cut = &all[0].arguments.cut;
    assert_eq!((cut[0].at.as_str(), cut[0].bytes), ("/content", content.len() as u64));
    assert_eq!((all[0].changes, all[0].ok, all[0].state), (1, Some(true), CallState::Ended));
    assert_eq!(all[1].arguments.arguments, input);
    assert_eq!((all[1].ok, all[1].exit_code), (Some(false), Some(3)));
    assert!(all[1].begin_at < all[1].end_at.unwrap());
    assert_eq!((all[2].state, all[2].ok), (CallState::Abandoned, None));
    // The whole arguments are needed no longer.
    let row = project.store().call(&"d1".into(), &"w1".into()).unwrap().unwrap();
    assert!(row.input.is_none());
}

#[test]
fn the_model_of_a_call_comes_with_it_or_later_with_the_transcript() {
    let test = TestProject::new();
    let project = test.init();
    let told = |event: Event| Event { model: Some("told-1".to_owned()), ..event };
    let input = json!({ "file_path": "a.txt", "content": "a\n" });
    test.record(&told(TestProject::begin("d1", "w1", "Write", input)));
    test.write("a.txt", "a\n");
    let change = test.record(&TestProject::end("d1", "w1")).changes.remove(0);
    assert_eq!(project.change(change.id).unwrap().unwrap().model.as_deref(), Some("told-1"));
    // Told at the end only, and by the transcript only: with an id, and without.
    test.record(&TestProject::begin("d1", "s1", "Bash", json!({ "command": "true" })));
    test.record(&told(end("s1", true, Some(0))));
    test.record(&TestProject::begin("d1", "s2", "Bash", json!({ "command": "true" })));
    let input = json!({ "command": "./make" });
    let unnamed =
        EventKind::ToolBegin { call: None, tool: "bash".to_owned(), input: input.clone() };
    test.record(&Event::new("d1", unnamed));
    let named = CalledTool { call: Some("s2".into()), tool: None, input: Value::Null };
    let unnamed = CalledTool { call: None, tool: Some("bash".to_owned()), input };
    let what = EventKind::AssistantMessage { text: String::new(), calls: vec![named, unnamed] };
    let said =
        Event { message_index: Some(1), model: Some("x".repeat(300)), ..Event::new("d1", what) };
    let mark = TranscriptMark {
        dialog: "d1".into(),
        agent: "main".into(),
        from: None,
        cursor: "1".to_owned(),
    };
    assert!(project.record_conversation(&[said], &mark, test.tick()).unwrap());
    let models: Vec<_> =
        calls(&project, &CallPage::default()).into_iter().filter_map(|call| call.model).collect();
    // A name is kept as it is given, up to a bound.
    assert_eq!(models, ["told-1", "told-1", &"x".repeat(256), &"x".repeat(256)]);
    let agents = &turns(&project)[0].agents;
    assert_eq!(agents[0].models, ["told-1".to_owned(), "x".repeat(256)]);
}

#[test]
fn a_turn_has_its_message_its_agents_and_its_sums() {
    let test = TestProject::new();
    play(&test, STORY);
    let project = test.open();
    let [second, first] = turns(&project).try_into().unwrap();
    assert_eq!((first.number, second.number), (1, 2));
    assert_eq!(first.message.as_ref().unwrap().text, "first");
    assert_eq!(
        first.message.as_ref().unwrap().checkpoint.as_deref(),
        Some(test.checkpoint_id("d1:1").as_str())
    );
    let sums = ChangeTotals {
        changes: 2,
        files: 2,
        added: 3,
        removed: 1,
        pending: 2,
        ..ChangeTotals::default()
    };
    assert_eq!((first.calls, first.totals), (2, sums));
    let agents = |turn: &TurnRecord| -> Vec<String> {
        turn.agents.iter().map(|agent| agent.id.0.clone()).collect()
    };
    assert_eq!(
        (agents(&first), agents(&second)),
        (vec!["main".to_owned()], vec!["sub".to_owned()])
    );
    assert!(first.began_at < first.ended_at && first.ended_at < second.began_at);
    assert!(!second.is_open && second.ended_at.is_some());
    assert_eq!(calls(&project, &CallPage { turn: Some(2), ..CallPage::default() }).len(), 1);
    let of_sub = CallPage { agent: Some("sub".into()), ..CallPage::default() };
    assert_eq!(calls(&project, &of_sub).len(), 1);

    // One page after the other.
    let dialog = project.dialog(&"d1".into()).unwrap().unwrap();
    assert_eq!(project.turns(&dialog, None, 1).unwrap(), std::slice::from_ref(&second));
    assert_eq!(project.turns(&dialog, Some(2), 1).unwrap(), std::slice::from_ref(&first));
    assert_eq!(project.turns(&dialog, Some(1), 1).unwrap(), []);
    assert_eq!(project.turn(&dialog, 1).unwrap(), Some(first));
    assert_eq!(project.turn(&dialog, 3).unwrap(), None);

    // Undone, and under way again.
    let (plan, _) = project.plan_undo(TakeBackOptions::default(), test.tick()).unwrap();
    project.apply(&plan, test.tick()).unwrap();
    play(&test, "say d1: third");
    let all = turns(&project);
    assert_eq!((all[1].totals.reverted, all[1].totals.pending), (1, 0));
    assert!(all[0].is_open && all[0].ended_at.is_none());
}

#[test]
fn what_happens_before_any_message_is_turn_0() {
    let test = TestProject::new();
    play(&test, "init\nwrite d1 w1 a.txt: a");
    let all = turns(&test.open());
    assert_eq!((all.len(), all[0].number, all[0].calls, all[0].totals.changes), (1, 0, 1, 1));
    assert!(all[0].began_at.is_some() && all[0].message.is_none());
}

/// Collections remove the oldest messages; turns count all of them.
#[test]
fn turns_keep_their_messages_when_the_first_ones_are_gone() {
    let test = TestProject::new();
    play(&test, STORY);
    let project = test.open();
    let db = rusqlite::Connection::open(project.store().folder().join("retake.db")).unwrap();
    let sql = "DELETE FROM event WHERE seq =
        (SELECT min(seq) FROM event WHERE kind = 'user_message')";
    assert_eq!(db.execute(sql, []).unwrap(), 1);
    let prompt =
        |turn| project.message_of_turn(&"d1".into(), turn).unwrap().map(|message| message.text);
    assert_eq!((prompt(1), prompt(2)), (None, Some("second".to_owned())));
    let all = turns(&project);
    assert_eq!(all[0].message.as_ref().unwrap().text, "second");
    assert_eq!((all[1].number, &all[1].message), (1, &None));
}

#[test]
fn a_change_that_two_turns_share_counts_in_both() {
    let test = TestProject::new();
    play(
        &test,
        r#"
        init
        say d1: one
        say d2: two
        begin d1 s1 Bash {"command": "./a"}
        begin d2 s2 Bash {"command": "./b"}
        file shared.txt: x
        end d1 s1
        end d2 s2
        "#,
    );
    let project = test.open();
    let change = test.changes().remove(0);
    assert_eq!(change.confidence, Confidence::Shared);
    for dialog in ["d1", "d2"] {
        let dialog = project.dialog(&dialog.into()).unwrap().unwrap();
        assert_eq!(project.turn(&dialog, 1).unwrap().unwrap().totals.changes, 1, "{}", dialog.id);
    }
}

#[test]
fn filters_take_several_values_and_add_up_all_pages() {
    let test = TestProject::new();
    play(&test, STORY);
    play(
        &test,
        r"
        say d2: other
        write d2 x1 other.txt: y\n
        turn-end d2
        file mine.txt: mine\n
        ",
    );
    test.refresh();
    let project = test.open();
    let paths = |filter: ChangeFilter| -> Vec<String> {
        let filter = ChangeFilter { oldest_first: true, ..filter };
        project.changes(&filter).unwrap().iter().map(|change| change.path.to_string()).collect()
    };
    let all = ChangeFilter::default;
    let both = vec!["d1".into(), "d2".into()];
    assert_eq!(paths(all()), ["a.txt", "new.txt", "sub.txt", "other.txt", "mine.txt"]);
    assert_eq!(
        paths(ChangeFilter { dialogs: both.clone(), ..all() }),
        ["a.txt", "new.txt", "sub.txt", "other.txt"]
    );
    let limited = ChangeFilter { dialogs: both.clone(), limit: Some(2), after: Some(1), ..all() };
    assert_eq!(paths(limited.clone()), ["a.txt", "new.txt"]);
    let sums = project.change_page(&limited, true, usize::MAX).unwrap();
    assert_eq!(sums.totals.unwrap().changes, 4, "of all pages");
    assert_eq!(sums.last_seq, project.last_seq().unwrap());
    let agents = vec!["sub".into(), "main".into()];
    assert_eq!(paths(ChangeFilter { agents, dialogs: vec!["d1".into()], ..all() }).len(), 3);
    assert_eq!(paths(ChangeFilter { agents: vec!["sub".into()], ..all() }), ["sub.txt"]);
    let actors = vec![Actor::User, Actor::Git];
    assert_eq!(paths(ChangeFilter { actors, ..all() }), ["mine.txt"]);
    let confidences = vec![Confidence::Assumed, Confidence::Late];
    assert_eq!(paths(ChangeFilter { confidences, ..all() }), ["mine.txt"]);
    let statuses = vec![ChangeStatus::Pending, ChangeStatus::Accepted];
    assert_eq!(paths(ChangeFilter { statuses, ..all() }).len(), 4);
    let of_call = |call: &str| ChangeFilter { call: Some(CallId::from(call)), ..all() };
    assert_eq!(paths(of_call("x1")), ["other.txt"]);
    assert_eq!(paths(ChangeFilter { dialogs: vec!["d1".into()], ..of_call("x1") }).len(), 0);
    let of_turn = ChangeFilter { dialogs: both, turn: Some(1), ..all() };
    assert_eq!(paths(of_turn), ["a.txt", "new.txt", "other.txt"]);
    let since: Millis = test.tick() + 1_000_000;
    assert_eq!(
        project
            .change_page(&ChangeFilter { since: Some(since), ..all() }, true, usize::MAX)
            .unwrap()
            .totals,
        Some(ChangeTotals::default())
    );
}
