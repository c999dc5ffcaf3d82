//! Calls of agents that give them no ids, calls that never ran, background tasks by their names,
//! and calls in the messages of the conversation.

use retake_engine::model::{CalledTool, Event, EventKind};
use retake_engine::{ConversationMessage, TranscriptMark};
use retake_testkit::{TestProject, check, expect};
use serde_json::json;

#[test]
fn ends_without_ids_find_their_begins_by_tool_and_arguments() {
    check(
        r#"
        init
        begin d1 - sh: ./one
        begin d1 - write_file {"file_path": "b.txt", "content": "b\n"}
        file a.txt: a\n
        file b.txt: b\n
        end d1 - write_file {"content": "b\n", "file_path": "b.txt"}
        end d1 - sh: ./one
        file c.txt: by hand\n
        look
        "#,
        &expect![[r#"
            "b.txt" create by agent d1/main:write_file-2616514b certain +1 -0
            "a.txt" create by agent d1/main:Bash-c5672e88 window +1 -0
            "c.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn equal_calls_without_ids_are_two_calls_and_the_window_closes_with_the_second() {
    check(
        r"
        init
        begin d1 - sh: ./same
        begin d1 - sh: ./same
        file a.txt: a\n
        end d1 - sh: ./same
        file b.txt: b\n
        end d1 - sh: ./same
        file c.txt: by hand\n
        look
        begin d1 - sh: ./same
        file d.txt: d\n
        end d1 - sh: ./same
        ",
        &expect![[r#"
            "a.txt" create by agent d1/main:Bash-06551373|d1/main:Bash-06551373-2 shared +1 -0
            "b.txt" create by agent d1/main:Bash-06551373-2 window +1 -0
            "c.txt" create by user +1 -0
            "d.txt" create by agent d1/main:Bash-06551373-3 window +1 -0
        "#]],
    );
}

#[test]
fn an_end_without_id_and_tool_ends_nothing_and_says_so() {
    check(
        r"
        init
        begin d1 - sh: ./one
        file a.txt: a\n
        end d1 -
        ",
        &expect![[r#"
            "a.txt" create by agent d1/main:Bash-c5672e88 window +1 -0
            ! unknown_call
        "#]],
    );
}

#[test]
fn a_call_that_was_denied_owns_nothing_of_what_the_person_did_meanwhile() {
    check(
        r"
        init
        begin d1 s1 sh: ./deploy
        file a.txt: by hand, while asked\n
        over d1 s1 s2
        file b.txt: by hand\n
        look
        ",
        &expect![[r#"
            "a.txt" create by user +1 -0
            "b.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn a_batch_whose_calls_have_all_ended_says_nothing_new() {
    let test = TestProject::new();
    test.init();
    test.record(&TestProject::begin("d1", "s1", "Bash", json!({ "command": "./x" })));
    test.record(&TestProject::end("d1", "s1"));
    let over = EventKind::ToolsOver { calls: vec!["s1".into(), "never".into()] };
    let recorded = test.record(&Event::new("d1", over));
    assert_eq!(recorded.seq, None);
}

#[test]
fn a_task_with_a_name_lives_until_its_end_is_told_and_does_not_own_what_the_person_writes() {
    check(
        r"
        init
        say d1: watch it
        begin d1 s1 sh: npm run watch
        end-task d1 s1 t7
        file out.js: built\n
        turn-end d1 t7
        file mine.txt: by hand, while the server runs\n
        look
        say d1: go on
        file out.js: built again\n
        file mine.txt: by hand again\n
        look
        file out.js: built once more\n
        task-end d1 t7
        file out.js: by hand\n
        look
        ",
        &expect![[r#"
            "out.js" create by agent d1/main:s1 late +1 -0
            "mine.txt" create by user +1 -0
            "mine.txt" modify by user +1 -1
            "out.js" modify by agent d1/main:s1 late +1 -1
            "out.js" modify by agent d1/main:s1 late +1 -1
            "out.js" modify by user +1 -1
        "#]],
    );
}

#[test]
fn a_task_that_the_turn_s_end_does_not_list_is_not_known_to_live() {
    check(
        r"
        init
        begin d1 s1 sh: npm run watch
        end-task d1 s1 t7
        turn-end d1 other
        file out.js: by hand\n
        look
        ",
        &expect![[r#"
            "out.js" create by user +1 -0
        "#]],
    );
}

#[test]
fn a_subagent_that_lives_on_keeps_its_window_through_the_next_message() {
    check(
        r"
        init
        say d1: go
        subagent d1/a2 of main
        subagent d1/a3 of main
        begin d1/a2 s2 sh: ./long
        begin d1/a3 s3 sh: ./killed
        turn-end d1 a2
        file a.txt: by a2, while the main agent is at rest\n
        say d1: meanwhile
        file b.txt: by a2\n
        end d1/a2 s2
        file c.txt: by hand\n
        look
        ",
        &expect![[r#"
            "a.txt" create by agent d1/a2:s2 window +1 -0
            "b.txt" create by agent d1/a2:s2 window +1 -0
            "c.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn a_message_into_a_turn_that_never_ended_closes_the_windows_of_subagents_too() {
    check(
        r"
        init
        say d1: go
        begin d1 s1 sh: ./x
        subagent d1/a2 of main
        begin d1/a2 s2 sh: ./long
        say d1: stop that
        file a.txt: by hand\n
        look
        ",
        &expect![[r#"
            "a.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn a_subagent_whose_end_is_told_by_its_name_has_no_window_any_more() {
    check(
        r"
        init
        say d1: go
        subagent d1/a2 of main
        begin d1/a2 s2 sh: ./killed
        turn-end d1 a2
        task-end d1 a2
        file a.txt: by hand\n
        look
        ",
        &expect![[r#"
            "a.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn edits_of_two_dialogs_that_one_look_finds_together_are_told_apart() {
    check(
        r#"
        file a.txt: one\ntwo\nthree\nfour\n
        init
        begin d1 e1 Edit {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"}
        begin d2 e2 Edit {"file_path": "a.txt", "old_string": "four", "new_string": "FOUR\nfive"}
        file a.txt: ONE\ntwo\nthree\nFOUR\nfive\n
        end d1 e1
        end d2 e2
        begin d1 e3 Edit {"file_path": "a.txt", "old_string": "ONE", "new_string": "1"}
        begin d2 e4 Edit {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
        file a.txt: 1\n2\nthree, by hand\nFOUR\nfive\n
        end d1 e3
        end d2 e4
        "#,
        &expect![[r#"
            "a.txt" modify by agent d1/main:e1 certain +1 -1
            "a.txt" modify by agent d2/main:e2 certain +2 -1
            "a.txt" modify by agent d1/main:e3|d2/main:e4 shared +3 -3
        "#]],
    );
}

/// A message of the agent that carries calls.
fn said(index: u64, text: &str, calls: Vec<CalledTool>) -> Event {
    let what = EventKind::AssistantMessage { text: text.to_owned(), calls };
    Event { message_index: Some(index), ..Event::new("d1", what) }
}

fn with_id(call: &str) -> CalledTool {
    CalledTool { call: Some(call.into()), tool: None, input: json!(null) }
}

fn without_id(command: &str) -> CalledTool {
    let input = json!({ "command": command });
    CalledTool { call: None, tool: Some("bash".to_owned()), input }
}

#[test]
fn calls_get_the_place_of_the_message_that_carried_them_once() {
    let test = TestProject::new();
    let project = test.init();
    let make = |call: Option<&str>, tool: &str, command: &str, file: &str| {
        let input = json!({ "command": command });
        let call = call.map(Into::into);
        let begin = EventKind::ToolBegin {
            call: call.clone(),
            tool: tool.to_owned(),
            input: input.clone(),
        };
        test.record(&Event::new("d1", begin));
        test.write(file, "x\n");
        let (ok, tool, background, task) = (Some(true), Some(tool.to_owned()), false, None);
        let end = EventKind::ToolEnd { call, ok, exit_code: None, tool, input, background, task };
        test.record(&Event::new("d1", end)).changes[0].id
    };
    let changes = [
        make(Some("c1"), "Bash", "./a", "1"),
        make(None, "bash", "./same", "2"),
        make(None, "bash", "./same", "3"),
        make(None, "bash", "./same", "4"),
    ];
    let mark = |cursor: &str| TranscriptMark {
        dialog: "d1".into(),
        agent: "main".into(),
        from: project.transcript_cursor(&"d1".into(), &"main".into()).unwrap(),
        cursor: cursor.to_owned(),
    };
    let messages =
        [said(1, "first", vec![with_id("c1"), without_id("./same")]), said(3, "again", Vec::new())];
    assert!(project.record_conversation(&messages, &mark("one"), test.tick()).unwrap());
    // The last message has grown, so it is told again.
    let messages = [said(1, "first", vec![without_id("./same")])];
    assert!(project.record_conversation(&messages, &mark("two"), test.tick()).unwrap());
    let messages = [said(3, "again", vec![without_id("./same"), without_id("./same")])];
    assert!(project.record_conversation(&messages, &mark("three"), test.tick()).unwrap());
    let places = changes.map(|id| project.change(id).unwrap().unwrap().message_index);
    assert_eq!(places, [Some(1), Some(1), Some(3), Some(3)]);
    let cursor = project.transcript_cursor(&"d1".into(), &"main".into()).unwrap();
    assert_eq!(cursor.as_deref(), Some("three"));
    // Somebody else has read on meanwhile.
    let stale = TranscriptMark { from: Some("two".to_owned()), ..mark("five") };
    assert!(!project.record_conversation(&messages, &stale, test.tick()).unwrap());
    // What is read after the end does not open the dialog again.
    test.record(&Event::new("d1", EventKind::DialogEnd {}));
    assert!(project.record_conversation(&messages, &mark("four"), test.tick()).unwrap());
    assert!(project.dialog(&"d1".into()).unwrap().unwrap().ended_at.is_some());
}

#[test]
fn a_message_that_was_told_without_words_gets_them_from_the_transcript() {
    let test = TestProject::new();
    let project = test.init();
    let told = |text: &str| {
        let what = EventKind::UserMessage { text: text.to_owned() };
        Event { message_index: Some(0), ..Event::new("d1", what) }
    };
    test.record(&told(""));
    let mark = |from: Option<&str>| TranscriptMark {
        dialog: "d1".into(),
        agent: "main".into(),
        from: from.map(ToOwned::to_owned),
        cursor: "1".to_owned(),
    };
    for (text, mark) in [("do it\nplease", mark(None)), ("something else", mark(Some("1")))] {
        assert!(project.record_conversation(&[told(text)], &mark, test.tick()).unwrap());
    }
    let dialog = project.dialog(&"d1".into()).unwrap().unwrap();
    assert_eq!((dialog.turns, dialog.title.as_deref()), (1, Some("do it")));
    assert!(!project.complete_message(&"d1".into(), "another").unwrap(), "it has its words");
    let message = project.store().message_of_turn(&"d1".into(), 1).unwrap().unwrap();
    assert_eq!((message.text.as_str(), message.index), ("do it\nplease", Some(0)));
    assert!(message.checkpoint.is_some());
}

#[test]
fn an_event_that_was_recorded_and_kept_counts_once() {
    let test = TestProject::new();
    let project = test.init();
    let (keeper, at) = (project.spool_writer(), test.tick());
    let key = keeper.new_key(at);
    let event = Event::new("d1", EventKind::UserMessage { text: "hello".to_owned() });
    project.record_once(&key, &event, at).unwrap();
    keeper.push(&key, &event, at).unwrap();
    project.refresh(test.tick()).unwrap();
    assert_eq!(project.dialog(&"d1".into()).unwrap().unwrap().turns, 1);
    let other = keeper.new_key(at);
    for _ in 0..2 {
        keeper.push(&other, &event, at).unwrap();
    }
    project.refresh(test.tick()).unwrap();
    assert_eq!(project.dialog(&"d1".into()).unwrap().unwrap().turns, 2);
}

#[test]
fn answers_stay_under_their_questions_when_the_agent_counts_anew() {
    let test = TestProject::new();
    let project = test.init();
    let say = |by_person: bool, index: u64, words: &str| {
        let words = words.to_owned();
        let what = if by_person {
            EventKind::UserMessage { text: words }
        } else {
            EventKind::AssistantMessage { text: words, calls: Vec::new() }
        };
        test.record(&Event { message_index: Some(index), ..Event::new("d1", what) });
    };
    for (by_person, index, text) in [
        (true, 0, "one?"),
        (false, 1, "o"),
        (false, 1, "one"),
        (true, 2, "two?"),
        (false, 3, "two"),
        // The person went back to before the second question.
        (true, 2, "three?"),
        (false, 1, "one!"),
        (false, 3, "three"),
    ] {
        say(by_person, index, text);
    }
    let said = project.store().conversation(&"d1".into()).unwrap();
    let texts: Vec<_> = said
        .iter()
        .map(|spoken| match spoken {
            ConversationMessage::Person(message) => message.text.as_str(),
            ConversationMessage::Agent { text, .. } => text,
        })
        .collect();
    assert_eq!(texts, ["one?", "one!", "two?", "two", "three?", "three"]);
}
