//! What real agents wrote.

use std::fmt::Write as _;

use expect_test::{expect, expect_file};
use retake_agents::history::{HistoryFormat, detect_format, display_messages, read, write};
use retake_agents::transcript;
use retake_agents::{AgentKind, history};
use serde_json::{Value, json};

use super::{read_whole, samples, show};
use crate::support;

#[test]
fn messages() {
    let mut shown = String::new();
    for sample in samples() {
        let read = read_whole(sample.form, &sample.bytes);
        let subagent = read.subagent.map(|id| id.0).unwrap_or_default();
        let (dialog, cwd) = (read.dialog.unwrap_or_default(), read.cwd.unwrap_or_default());
        let messages = show(&read.messages);
        let (form, name) = (sample.form, sample.name);
        writeln!(shown, "{form} {name} [{dialog} {subagent} {cwd}]\n{messages}").unwrap();
    }
    expect_file!["messages.txt"].assert_eq(&shown);
}

/// A message of the model history and of the spoken one are the same if their index is.
#[test]
fn indices_are_those_of_the_transcript() {
    for sample in samples().into_iter().filter(|sample| sample.form != HistoryFormat::Opencode) {
        let agent: AgentKind = sample.form.as_str().parse().unwrap();
        let spoken = support::read_at_once(agent, &sample.bytes);
        let read = read_whole(sample.form, &sample.bytes);
        let counted = read.messages.iter().filter(|message| message.index.is_some());
        for (message, spoken) in counted.clone().zip(&spoken) {
            let by = if spoken.by == transcript::Speaker::User { "user" } else { "assistant" };
            assert_eq!((message.index, message.role.as_str()), (Some(spoken.index), by));
            let text: String =
                message.content.iter().filter_map(|one| one["text"].as_str()).collect();
            assert!(text.contains(&spoken.text), "{}: {text} {}", sample.name, spoken.text);
        }
        assert_eq!(counted.count(), spoken.len(), "{} {}", sample.form, sample.name);
    }
}

#[test]
fn what_is_written_is_read_again_and_is_the_same_each_time() {
    for sample in samples() {
        let whole = read_whole(sample.form, &sample.bytes);
        let written = write(sample.form, &whole, 7);
        assert_eq!(written, write(sample.form, &whole, 7));
        assert_eq!(read_whole(sample.form, written.as_bytes()), whole, "{}", sample.form);
        assert!(!written.contains("retake\":["), "said in its own words: {written}");
    }
}

/// Agents pair a result with its call by its kind, and give their model each one that they find.
#[test]
fn a_result_is_written_once_and_as_its_call_was() {
    for sample in samples() {
        let whole = read_whole(sample.form, &sample.bytes);
        let results = whole.messages.iter().flat_map(|message| &message.content);
        let results = results.filter(|block| block["type"] == "tool_result").count();
        let gemini = write(HistoryFormat::Gemini, &whole, 7);
        assert_eq!(gemini.matches("\"functionResponse\"").count(), results, "{}", sample.form);
        let codex = write(HistoryFormat::Codex, &whole, 7);
        let count = |kind: &str| codex.matches(&format!("\"type\":\"{kind}\"")).count();
        assert_eq!(count("custom_tool_call"), count("custom_tool_call_output"), "{}", sample.form);
        assert_eq!(count("function_call"), count("function_call_output"), "{}", sample.form);
    }
}

/// A file of Claude Code with more than messages in it.
fn claude() -> String {
    let user =
        |content: Value| json!({"type": "user", "message": {"role": "user", "content": content}});
    let with = |mut line: Value, key: &str| {
        line[key] = true.into();
        format!("{line}\n")
    };
    let result = json!([{"type": "tool_result", "tool_use_id": "c", "content": "of a subagent"}]);
    with(user("go".into()), "isNothing")
        + &with(user("for the model".into()), "isMeta")
        + &with(user(result), "isSidechain")
        + &with(user("<task-notification>done".into()), "isNothing")
        + &with(user("[Request interrupted by user]".into()), "isNothing")
        + &with(json!({"type": "attachment", "uuid": "u", "content": "x"}), "isNothing")
}

/// Forms that agents had before, or write only now and then.
#[test]
fn rare_lines() {
    let gemini = json!({"sessionId": "s", "projectHash": "h", "messages": [
        {"id": "1", "type": "user", "content": "go"},
        {"id": "2", "type": "gemini", "content": [{"text": "a"}, {"text": "hm", "thought": true}],
            "thoughts": [{"subject": "x"}],
            "toolCalls": [{"id": "c", "name": "ls", "args": {}, "result": "out"}]},
        {"id": "3", "type": "info", "content": "x"}]});
    let gemini = format!("{gemini:#}");
    let item = |item: Value| format!("{}\n", json!({"type": "response_item", "payload": item}));
    let codex = [
        json!({"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        json!({"type": "local_shell_call", "call_id": "a", "action": {"type": "exec", "command": ["ls"]}}),
        json!({"type": "function_call", "call_id": "b", "name": "echo", "namespace": "mcp__probe", "arguments": "not json"}),
        json!({"type": "web_search_call", "id": "w"}),
        json!({"type": "function_call_output", "call_id": "a", "output": {"content": "old", "success": true}}),
        json!({"type": "ghost_snapshot", "ghost_commit": {}}),
    ];
    let codex = codex.map(item).concat();
    let event = |kind: &str, data: Value| format!("{}\n", json!({"type": kind, "data": data}));
    let copilot = event("user.message", json!({"content": "a skill", "source": "skill-pdf"}))
        + &event(
            "assistant.message",
            json!({"content": "", "reasoningText": "hm", "toolRequests": [
            {"toolCallId": "c", "name": "ls", "arguments": "{\"path\":\"a\"}"}]}),
        )
        + &event(
            "tool.execution_complete",
            json!({"toolCallId": "c", "success": false, "error": {"message": "no"}}),
        )
        + &event(
            "session.compaction_complete",
            json!({"success": true, "summaryContent": "so far"}),
        );
    let mut shown = String::new();
    for text in [claude(), gemini, codex, copilot] {
        let form = detect_format("x", text.as_bytes()).unwrap();
        let whole = read_whole(form, text.as_bytes());
        let again = read_whole(form, write(form, &whole, 7).as_bytes());
        assert_eq!(show(&again.messages), show(&whole.messages), "{form}");
        write!(shown, "{form}\n{}", show(&whole.messages)).unwrap();
    }
    expect![[r#"
        claude-code
        0 user: go
        - user: <task-notification>done
        - user: [Request interrupted by user]
        gemini
        0 user: go
        1 assistant: opaque {"thoughts":[{"subject":"x"}]} | a | opaque {"part":{"text":"hm","thought":true}} | ls({})
        - user: → out
        codex
        0 assistant: opaque {"encrypted_content":"x","summary":[],"t | local_shell({"command":["ls"],"type":"exec"}) | echo({"input":"not json"}) | opaque {"id":"w","type":"web_search_call"}
        - user: → old
        - user: opaque {"ghost_commit":{},"type":"ghost_snapsho
        copilot
        - user: opaque {"content":"a skill","source":"skill-pdf
        0 assistant: opaque {"reasoningText":"hm"} | ls({"path":"a"})
        - user: →! no
        - user summary: so far
    "#]].assert_eq(&shown);
}

#[test]
fn every_form_gives_texts_calls_and_results_back() {
    for sample in samples() {
        let whole = read_whole(sample.form, &sample.bytes);
        let api = write(HistoryFormat::ApiHistory, &whole, 7);
        assert!(!api.contains("opaque"));
        let plain = read_whole(HistoryFormat::ApiHistory, api.as_bytes());
        for form in HistoryFormat::ALL.into_iter().filter(|form| *form != HistoryFormat::UiMessages)
        {
            let there = read_whole(form, write(form, &plain, 7).as_bytes());
            let back = write(HistoryFormat::ApiHistory, &there, 7);
            assert_eq!(back, api, "{} by {form}", sample.form);
        }
    }
}

#[test]
fn a_form_is_told_by_its_content_and_then_by_its_name() {
    for sample in samples() {
        let whole = read_whole(sample.form, &sample.bytes);
        assert_eq!(detect_format("x", &sample.bytes), Some(sample.form), "{}", sample.name);
        for form in HistoryFormat::ALL {
            assert_eq!(detect_format("x", write(form, &whole, 7).as_bytes()), Some(form), "{form}");
            assert_eq!(form.as_str().parse(), Ok(form));
            assert_eq!(json!(form), form.as_str());
            let name = form.file_name("8a721139-1fba-46df-9f93-b50021aab146");
            assert_eq!(detect_format(&name, b""), Some(form), "{name}");
        }
    }
    assert_eq!(
        detect_format("/t/claude_messages.json", b"[{\"role\""),
        Some(HistoryFormat::ApiHistory)
    );
    assert_eq!(detect_format("notes.txt", b"hello"), None);
    assert_eq!(detect_format("notes.jsonl", b"{}\n"), None);
    assert!("word".parse::<HistoryFormat>().unwrap_err().to_string().contains("'word' is no form"));
    let path = HistoryFormat::ClaudeCode.file_name("../../x");
    assert!(!path.contains('/'), "an id is no path: {path}");
}

#[test]
fn a_person_sees_words_and_one_line_for_a_call() {
    let mut shown = String::new();
    for sample in samples() {
        writeln!(shown, "{} {}", sample.form, sample.name).unwrap();
        for one in read_whole(sample.form, &sample.bytes).display {
            writeln!(shown, "  {}: {}", one.say.unwrap(), one.text.unwrap()).unwrap();
        }
    }
    expect_file!["display.txt"].assert_eq(&shown);
}

#[test]
fn an_api_history_has_exactly_its_keys() {
    let text = r#"[{"role":"user","content":"go","more":1},
        {"role":"user","content":[],"ts":5,"isSummary":true}]"#;
    let read = read_whole(HistoryFormat::ApiHistory, text.as_bytes());
    expect![[r#"
        [
          {
            "role": "user",
            "content": [
              {
                "text": "go",
                "type": "text"
              }
            ]
          },
          {
            "role": "user",
            "content": [],
            "ts": 5,
            "isSummary": true
          }
        ]
    "#]]
    .assert_eq(&write(HistoryFormat::ApiHistory, &read, 7));
}

#[test]
fn display_messages_keep_what_is_not_known() {
    let entries = json!([
        {"ts": 1, "type": "say", "say": "text", "text": "task", "images": ["data:…"]},
        {"ts": 2, "type": "ask", "ask": "followup", "text": "which?", "partial": false},
        {"ts": 3, "type": "say", "say": "api_req_started", "new": {"a": [1]}},
        {"ts": 4, "type": "shout"},
    ]);
    let read = read(HistoryFormat::UiMessages, entries.to_string().as_bytes()).unwrap();
    assert_eq!((read.display.len(), read.messages.len()), (3, 0));
    assert_eq!(read.problems[0].place, "message 3");
    let written: Value = serde_json::from_str(&write(HistoryFormat::UiMessages, &read, 7)).unwrap();
    assert_eq!(written, json!(entries.as_array().unwrap()[..3]));
}

/// What Claude Code compacted starts over with a summary.
#[test]
fn summaries_are_marked_in_every_form() {
    let line = |content: &str, summary: bool| {
        json!({"type": "user", "sessionId": "s", "isCompactSummary": summary,
            "isVisibleInTranscriptOnly": summary, "message": {"role": "user", "content": content}})
    };
    let lines = format!("{}\n{}\n{}\n", line("go", false), line("so far", true), line("on", false));
    let whole = read_whole(HistoryFormat::ClaudeCode, lines.as_bytes());
    expect![[r"
        0 user: go
        - user summary: so far
        1 user: on
    "]]
    .assert_eq(&show(&whole.messages));
    assert_eq!(display_messages(&whole.messages).len(), 2);
    for form in HistoryFormat::ALL.into_iter().filter(|form| *form != HistoryFormat::UiMessages) {
        let again = read_whole(form, write(form, &whole, 7).as_bytes());
        assert_eq!(show(&again.messages), show(&whole.messages), "{form}");
    }
}

#[test]
fn opencode_brings_its_conversation_with_the_hook() {
    let payload = support::payloads(AgentKind::Opencode);
    let payload = payload.iter().find(|one| one.name == "wire.session.idle.json").unwrap();
    let payload: Value = serde_json::from_slice(&payload.bytes).unwrap();
    expect![[r#"
        0 user: "do the thing"
        1 assistant: opaque {"snapshot":"cd9da289649d1f0428a0a63f8df | delegate | task({"description":"sub one","prompt":"@@scr) | task({"description":"sub two","prompt":"@@scr) | opaque {"cost":0,"reason":"tool-calls","snapsho | opaque {"files":["/home/dev/project/sub1.txt","
        - user: →  | → 
        2 assistant: opaque {"snapshot":"c015e79379951ded85a00bb74dd | fail edit | edit({"filePath":"/home/dev/project/README.md) | opaque {"cost":0,"reason":"tool-calls","snapsho
        - user: →! 
        3 assistant: opaque {"snapshot":"c015e79379951ded85a00bb74dd
    "#]].assert_eq(&show(&history::opencode_messages(&payload["messages"])));
}
