//! Every captured transcript, and the rules of reading one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use retake_agents::AgentKind;
use retake_agents::transcript::{
    self, MAX_TEXT_BYTES, Speaker, TranscriptCursor, TranscriptMessage,
};
use serde_json::{Value, json};

mod history;
mod support;
use support::read_at_once;

fn show(messages: &[TranscriptMessage]) -> String {
    let mut shown = String::new();
    for message in messages {
        let by = if message.by == Speaker::User { "user" } else { "assistant" };
        let calls = support::all(&message.calls);
        writeln!(shown, "{} {by}: {:?}{calls}", message.index, message.text).unwrap();
    }
    shown
}

fn check(agent: AgentKind, expected: &Expect) {
    let mut shown = String::new();
    for file in support::transcripts(agent) {
        writeln!(shown, "{}\n{}", file.name, show(&read_at_once(agent, &file.bytes))).unwrap();
    }
    expected.assert_eq(&shown);
}

fn check_lines(agent: AgentKind, lines: &[Value], expected: &Expect) {
    expected.assert_eq(&show(&read_at_once(agent, &jsonl(lines))));
}

fn jsonl(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

#[test]
fn claude_code() {
    check(
        AgentKind::ClaudeCode,
        &expect![[r#"
        transcript.jsonl
        0 user: "do the thing"
        1 assistant: "I will write a new file." #toolu_s0x0x8e86e
        2 assistant: "Reading the existing file first." #toolu_s1x0x3fadd
        3 assistant: "Now edit an existing file." #toolu_s2x0x643b7
        4 assistant: "Now a shell command." #toolu_s3x0xac000
        5 assistant: "Read it back." #toolu_s4x0x412f8
        6 assistant: "All done: wrote, edited, ran a shell command, read."

        transcript.subagent.jsonl
        0 user: "@@script:sub2@@ write a file"
        1 assistant: "sub2 writes." #toolu_s0x0x3a8d7
        2 assistant: "sub2 bash" #toolu_s1x0x8ee6b
        3 assistant: "sub2 finished"

    "#]],
    );
}

#[test]
fn codex() {
    check(
        AgentKind::Codex,
        &expect![[r#"
        transcript.codemode.jsonl
        0 user: "do the thing"
        1 assistant: "I will write a new file." #call_s0x0x4798d8 #exec-bb93388e-da
        2 assistant: "Now edit an existing file." #call_s1x0x1bffdb #exec-ef49fa8b-6c
        3 assistant: "Now a shell command." #call_s2x0x6a94d1 #exec-11037ca9-70
        4 assistant: "Read it back." #call_s3x0xef175e #exec-5be05143-15
        5 assistant: "All done: wrote, edited, ran a shell command, read."

        transcript.jsonl
        0 user: "do the thing"
        1 assistant: "I will write a new file." #call_s0x0x0e4667
        2 assistant: "Now edit an existing file." #call_s1x0x5911e9
        3 assistant: "Now a shell command." #call_s2x0xad7dab
        4 assistant: "Read it back." #call_s3x0x1884a4
        5 assistant: "All done: wrote, edited, ran a shell command, read."

    "#]],
    );
}

#[test]
fn gemini() {
    check(
        AgentKind::Gemini,
        &expect![[r#"
        transcript.jsonl
        0 user: "do the thing"
        1 assistant: "I will write a new file." write_file(content,file_path)
        2 assistant: "Now edit an existing file." replace(file_path,instruction,new_string,old_string)
        3 assistant: "Now a shell command." run_shell_command(command,description)
        4 assistant: "Read it back." read_file(file_path)
        5 assistant: "All done: wrote, edited, ran a shell command, read."

        transcript.subagent.jsonl
        0 user: "@@script:gsub1@@ go"
        1 assistant: "sub writes" write_file(content,file_path)
        2 assistant: "sub bash" run_shell_command(command,description)
        3 assistant: "complete" complete_task(response,result)
        4 assistant: "sub finished"
        5 user: "You have stopped calling tools without finishing. You have o…(269 characters)"
        6 assistant: "sub finished"

    "#]],
    );
}

#[test]
fn copilot() {
    check(
        AgentKind::Copilot,
        &expect![[r#"
        transcript.jsonl
        0 user: "do the thing"
        1 assistant: "I will write a new file." create(file_text,path)
        2 assistant: "Now edit an existing file." edit(new_str,old_str,path)
        3 assistant: "Now a shell command." bash(command,description)
        4 assistant: "Read it back." view(path)
        5 assistant: "All done: wrote, edited, ran a shell command, read."

    "#]],
    );
}

#[test]
fn cline() {
    check(
        AgentKind::Cline,
        &expect![[r#"
        transcript.messages.json
        0 user: "do the thing"
        1 assistant: "I will write a new file." #call_s0x0x2f886c
        2 assistant: "Now edit an existing file." #call_s1x0x448d4c
        3 assistant: "Now a shell command." #call_s2x0x136907
        4 assistant: "Read it back." #call_s3x0x16d74e
        5 assistant: "All done: wrote, edited, ran a shell command, read."

    "#]],
    );
}

#[test]
fn the_model_of_each_message_is_read_where_the_transcript_names_it() {
    for (agent, model) in [
        (AgentKind::ClaudeCode, Some("claude-opus-5-5")),
        (AgentKind::Gemini, Some("gemini-2.5-pro")),
        (AgentKind::Copilot, Some("claude-sonnet-4.5")),
        (AgentKind::Cline, Some("stub-model")),
        // Its hooks name it.
        (AgentKind::Codex, None),
    ] {
        for fixture in support::transcripts(agent) {
            let said = read_at_once(agent, &fixture.bytes);
            let said: Vec<_> =
                said.into_iter().filter(|one| one.by == Speaker::Assistant).collect();
            assert!(!said.is_empty(), "{agent}, {}", fixture.name);
            for message in said {
                assert_eq!(message.model.as_deref(), model, "{agent}, {}", fixture.name);
            }
        }
    }
    let line = |model: &str| {
        json!({"type": "assistant",
        "message": {"id": "m1", "model": model, "content": [{"type": "text", "text": "x"}]}})
    };
    let long = "x".repeat(1000);
    for odd in ["<synthetic>", "", &long] {
        let messages = read_at_once(AgentKind::ClaudeCode, &jsonl(&[line(odd)]));
        assert_eq!(messages[0].model, None);
    }
}

#[test]
fn agents_without_a_file_are_not_read() {
    for agent in [AgentKind::Opencode, AgentKind::Cursor] {
        let read = transcript::read(agent, &TranscriptCursor::default(), b"{}\n");
        assert_eq!(read, (vec![], TranscriptCursor::default()));
    }
}

fn claude_user(content: impl Into<Value>) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": content.into()}})
}

fn claude_says(id: &str, block: &Value) -> Value {
    json!({"type": "assistant", "message": {"id": id, "role": "assistant", "content": [block]}})
}

#[test]
fn what_claude_code_writes_itself_is_no_message() {
    let meta = |key: &str| {
        let mut line = claude_user("not a message");
        line[key] = true.into();
        line
    };
    let lines = [
        claude_user("first"),
        meta("isMeta"),
        meta("isCompactSummary"),
        meta("isSidechain"),
        claude_user("<task-notification>\n<task-id>b1</task-id></task-notification>"),
        claude_user("<local-command-stdout>ok</local-command-stdout>"),
        claude_user(json!([{"type": "text", "text": "[Request interrupted by user]"}])),
        claude_user(json!([{"type": "tool_result", "content": "x"}])),
        claude_user(
            "<command-message>deploy</command-message>\n<command-name>/deploy</command-name>\n<command-args>all</command-args>",
        ),
        claude_user("<command-name>/compact</command-name>\n<command-args></command-args>"),
        claude_user(json!([{"type": "image"}])),
        claude_user(json!([{"type": "text", "text": "two"}, {"type": "text", "text": "parts"}])),
        json!({"type": "user"}),
        json!({"type": "summary", "summary": "x"}),
        json!(7),
    ];
    check_lines(
        AgentKind::ClaudeCode,
        &lines,
        &expect![[r#"
        0 user: "first"
        1 user: "/deploy all"
        2 user: "/compact"
        3 user: ""
        4 user: "two\nparts"
    "#]],
    );
}

#[test]
fn a_message_grows_around_results_and_prompts() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
    let lines = [
        claude_says("m1", &json!({"type": "thinking", "thinking": "hm"})),
        claude_says("m1", &json!({"type": "text", "text": "both"})),
        claude_says("m1", &call("c1")),
        claude_user(json!([{"type": "tool_result", "tool_use_id": "c1", "content": "x"}])),
        claude_user("and hurry"),
        claude_says("m1", &call("c2")),
        claude_says("m2", &json!({"type": "text", "text": "done"})),
    ];
    check_lines(
        AgentKind::ClaudeCode,
        &lines,
        &expect![[r#"
        0 assistant: "both" #c1 #c2
        1 user: "and hurry"
        2 assistant: "done"
    "#]],
    );
}

#[test]
fn a_message_that_grew_is_returned_again_whole_and_only_then() {
    let mut file =
        jsonl(&[claude_user("go"), claude_says("m1", &json!({"type": "text", "text": "secret"}))]);
    let read = |file: &[u8], cursor: &TranscriptCursor| {
        let from = usize::try_from(cursor.offset()).unwrap();
        let (messages, cursor) = transcript::read(AgentKind::ClaudeCode, cursor, &file[from..]);
        let kept = serde_json::to_string(&cursor).unwrap();
        assert!(!kept.contains("secret"), "a cursor holds no words: {kept}");
        (messages, serde_json::from_str::<TranscriptCursor>(&kept).unwrap())
    };
    let (messages, cursor) = read(&file, &TranscriptCursor::default());
    assert_eq!((messages.len(), cursor.messages()), (2, 2));
    let (messages, cursor) = read(&file, &cursor);
    assert_eq!((messages.len(), cursor.messages()), (0, 2), "nothing is new");

    // What the person says meanwhile is told once, too.
    file.extend(jsonl(&[claude_user("hurry")]));
    let (messages, cursor) = read(&file, &cursor);
    assert_eq!((messages.len(), messages[0].index), (1, 2));
    file.extend(jsonl(&[claude_says("m1", &json!({"type": "tool_use", "id": "c1"}))]));
    let (messages, cursor) = read(&file, &cursor);
    expect![[r#"
        1 assistant: "secret" #c1
    "#]]
    .assert_eq(&show(&messages));

    file.extend(jsonl(&[claude_says("m2", &json!({"type": "text", "text": "b"}))]));
    let (messages, _) = read(&file, &cursor);
    expect![[r#"
        3 assistant: "b"
    "#]]
    .assert_eq(&show(&messages));
}

#[test]
fn a_line_that_is_cut_off_waits() {
    let bytes = jsonl(&[claude_user("one"), claude_user("two")]);
    let cut = bytes.len() - 5;
    let (messages, cursor) =
        transcript::read(AgentKind::ClaudeCode, &TranscriptCursor::default(), &bytes[..cut]);
    assert_eq!(messages.len(), 1);
    let from = usize::try_from(cursor.offset()).unwrap();
    assert!(from < cut);
    let (messages, cursor) = transcript::read(AgentKind::ClaudeCode, &cursor, &bytes[from..]);
    assert_eq!((messages[0].index, messages[0].text.as_str()), (1, "two"));
    assert_eq!(cursor.offset(), bytes.len() as u64);
}

#[test]
fn a_cursor_stays_small() {
    let long = "x".repeat(MAX_TEXT_BYTES);
    let mut lines = Vec::new();
    for at in 0..20 {
        let call = json!({"type": "tool_use", "id": format!("c{at}"), "input": {"text": long}});
        lines.push(claude_says("m", &json!({"type": "text", "text": long})));
        lines.push(claude_says("m", &call));
    }
    let (messages, cursor) =
        transcript::read(AgentKind::ClaudeCode, &TranscriptCursor::default(), &jsonl(&lines));
    assert_eq!((messages.len(), messages[0].calls.len()), (1, 20));
    assert!(serde_json::to_string(&cursor).unwrap().len() < 1024);

    let line = |at: usize| json!({"id": at.to_string(), "type": "gemini", "content": "x"});
    let lines: Vec<Value> = (0..600).map(line).collect();
    let (messages, cursor) =
        transcript::read(AgentKind::Gemini, &TranscriptCursor::default(), &jsonl(&lines));
    assert_eq!(messages.len(), 600);
    assert!(serde_json::to_string(&cursor).unwrap().len() < 16 * 1024);
    let again = jsonl(&[line(598)]);
    assert_eq!(transcript::read(AgentKind::Gemini, &cursor, &again).0[0].index, 598);
}

fn codex_item(item: &Value) -> Value {
    json!({"type": "response_item", "payload": item})
}

fn codex_event(event: &Value) -> Value {
    json!({"type": "event_msg", "payload": event})
}

#[test]
fn calls_in_code_mode_belong_to_the_message_whose_script_made_them() {
    let done = |id: &str| {
        codex_event(&json!({"type": "item_completed", "item": {"type": "FileChange", "id": id}}))
    };
    let lines = [
        done("exec-early"),
        codex_item(&json!({"type": "reasoning", "summary": []})),
        codex_item(
            &json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "both"}]}),
        ),
        codex_item(&json!({"type": "custom_tool_call", "call_id": "call_1", "name": "exec"})),
        done("exec-1"),
        done("call_9"),
        codex_item(&json!({"type": "custom_tool_call_output", "call_id": "call_1"})),
        done("exec-late"),
        codex_item(&json!({"type": "local_shell_call", "call_id": "call_2"})),
    ];
    check_lines(
        AgentKind::Codex,
        &lines,
        &expect![[r#"
        0 assistant: "both" #call_1 #exec-1 #exec-late
        1 assistant: "" #call_2
    "#]],
    );
}

#[test]
fn a_prompt_of_codex_is_counted_once() {
    let item = |text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        codex_event(
            &json!({"type": "item_completed", "item": {"type": "UserMessage", "content": content}}),
        )
    };
    let event = |text: &str| codex_event(&json!({"type": "user_message", "message": text}));
    let context = codex_item(&json!({"type": "message", "role": "user",
        "content": [{"type": "input_text", "text": "<environment_context>"}]}));
    let said = codex_item(&json!({"type": "message", "role": "assistant", "content": []}));
    let lines = [
        context,
        event("go"),
        item("go"),
        said.clone(),
        item("go"),
        said.clone(),
        event("go"),
        said,
        item("again"),
        item("again"),
        event("<task-notification>"),
    ];
    check_lines(
        AgentKind::Codex,
        &lines,
        &expect![[r#"
        0 user: "go"
        1 assistant: ""
        2 user: "go"
        3 assistant: ""
        4 user: "go"
        5 assistant: ""
        6 user: "again"
        7 user: "again"
    "#]],
    );
}

#[test]
fn a_message_of_gemini_replaces_itself() {
    let lines = [
        json!({"$set": {"messages": [
            {"id": "0", "type": "user", "content": [{"text": "<session_context>\nx"}]},
            {"id": "1", "type": "user", "content": "go"}]}}),
        json!({"id": "2", "type": "gemini", "content": "a"}),
        json!({"id": "1", "type": "user", "content": "go on"}),
        json!({"id": "2", "type": "gemini", "content": "a", "toolCalls": [{"name": "replace", "args": {"x": 1}}]}),
        json!({"id": "3", "type": "info", "content": "x"}),
        json!({"type": "gemini", "content": "no id"}),
    ];
    check_lines(
        AgentKind::Gemini,
        &lines,
        &expect![[r#"
        0 user: "go on"
        1 assistant: "a" replace(x)
    "#]],
    );
}

#[test]
fn copilot_is_matched_by_its_own_names() {
    let lines = [
        json!({"type": "user.message", "data": {"content": "go"}}),
        json!({"type": "user.message", "data": {"content": "a skill", "source": "skill-pdf"}}),
        json!({"type": "assistant.message", "data": {"content": "", "toolRequests": [
            {"name": "Write", "arguments": "{\"path\":\"a\"}"}, {"name": "create", "arguments": {"path": "a"}}]}}),
    ];
    let messages = read_at_once(AgentKind::Copilot, &jsonl(&lines));
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1].calls[0], messages[1].calls[1]);
}

#[test]
fn a_document_of_cline_is_read_on_and_read_again_when_rewritten() {
    let document = |count: usize| {
        let message = |at| json!({"role": "assistant", "content": format!("m{at}")});
        let messages: Vec<Value> = (0..count).map(message).collect();
        json!({"messages": messages}).to_string().into_bytes()
    };
    let indices =
        |messages: &[TranscriptMessage]| messages.iter().map(|one| one.index).collect::<Vec<_>>();
    let (messages, cursor) =
        transcript::read(AgentKind::Cline, &TranscriptCursor::default(), &document(3));
    assert_eq!(indices(&messages), [0, 1, 2]);
    assert_eq!((cursor.offset(), cursor.messages()), (0, 3));
    let (messages, cursor) = transcript::read(AgentKind::Cline, &cursor, &document(5));
    assert_eq!(indices(&messages), [3, 4]);
    let (messages, cursor) = transcript::read(AgentKind::Cline, &cursor, &document(5));
    assert_eq!(indices(&messages), [0; 0]);
    let grown = String::from_utf8(document(5)).unwrap().replace("m4", "m4 and more");
    let (messages, cursor) = transcript::read(AgentKind::Cline, &cursor, grown.as_bytes());
    assert_eq!(indices(&messages), [4]);
    assert_eq!(transcript::read(AgentKind::Cline, &cursor, b"{\"messages\":[{").1, cursor);
    let (messages, cursor) = transcript::read(AgentKind::Cline, &cursor, &document(2));
    assert_eq!((indices(&messages), cursor.messages()), (vec![0, 1], 2));
}

/// The messages after reading in slices, as one who sets them by index has them.
fn read_in_slices(
    agent: AgentKind,
    bytes: &[u8],
    random: &mut fastrand::Rng,
) -> Vec<TranscriptMessage> {
    let mut cursor = TranscriptCursor::default();
    let mut kept = BTreeMap::new();
    let mut end = 0;
    while end < bytes.len() {
        end = (end + random.usize(1..3000)).min(bytes.len());
        let from = usize::try_from(cursor.offset()).unwrap();
        let (messages, next) = transcript::read(agent, &cursor, &bytes[from..end]);
        kept.extend(messages.into_iter().map(|message| (message.index, message)));
        cursor = serde_json::from_str(&serde_json::to_string(&next).unwrap()).unwrap();
    }
    assert_eq!(cursor.messages(), kept.len() as u64);
    kept.into_values().collect()
}

#[test]
fn slices_make_no_difference() {
    let mut random = fastrand::Rng::with_seed(7);
    for agent in AgentKind::ALL {
        for file in support::transcripts(agent) {
            let whole = read_at_once(agent, &file.bytes);
            for _ in 0..20 {
                let sliced = read_in_slices(agent, &file.bytes, &mut random);
                assert_eq!(sliced, whole, "{agent} {}", file.name);
            }
        }
    }
}

#[test]
fn a_message_becomes_an_event() {
    let file = &support::transcripts(AgentKind::ClaudeCode)[0];
    let messages = read_at_once(AgentKind::ClaudeCode, &file.bytes);
    let dialog = "d".into();
    let main = messages[0].event(&dialog, None, AgentKind::ClaudeCode);
    let sub = messages[1].event(&dialog, Some(&"a1".into()), AgentKind::ClaudeCode);
    expect![[r#"
        user_message d index=0 "do the thing"
        assistant_message d agent=a1 parent=main model=claude-opus-5-5 index=1 "I will write a new file." #toolu_s0x0x8e86e"#]].assert_eq(&format!("{}\n{}", support::line(&main), support::line(&sub)));
}
