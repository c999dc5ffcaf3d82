//! Tables of callers and who they are.

use retake_engine::model::{AgentId, CallId, ProcessKey};
use serde_json::json;

use super::*;

fn key(pid: u32) -> ProcessKey {
    ProcessKey { pid, started: format!("s{pid}") }
}

/// The caller's own process first: `pid word|word`.
fn process(lines: &[&str]) -> CallerProcess {
    let parse = |line: &&str| {
        let (pid, words) = line.split_once(' ').unwrap_or((line, ""));
        let words = words.split('|').map(ToOwned::to_owned).collect();
        ProcessInfo { key: key(pid.parse().unwrap_or(0)), words }
    };
    CallerProcess { ancestors: lines.iter().map(parse).collect(), is_peer: true }
}

/// An open shell call of the main agent of a dialog, which is process 9.
fn call(dialog: &str, command: &str) -> AgentCall {
    AgentCall {
        dialog: dialog.into(),
        agent: "main".into(),
        call: CallId(format!("{dialog}-call")),
        command: Some(command.to_owned()),
        process: Some(key(9)),
        is_open: true,
    }
}

fn agent(dialog: &str, agent: Option<&str>) -> CallerScope {
    CallerScope::Agent { dialog: dialog.into(), agent: agent.map(AgentId::from) }
}

#[track_caller]
fn check(calls: &[AgentCall], lines: &[&str], scope: &CallerScope) {
    let hints = CallerHints::new(CallerChannel::CommandLine);
    let found = resolve_caller(&hints, calls, &process(lines));
    let evidence = match scope {
        CallerScope::Person => CallerEvidence::Peer,
        _ => CallerEvidence::AncestorProcess,
    };
    assert_eq!((&found.scope, found.evidence), (scope, evidence), "{lines:?}");
}

#[test]
fn what_an_open_shell_call_runs_is_the_agents() {
    let own = agent("d1", Some("main"));
    // A shell that replaced itself by its only command.
    check(&[call("d1", "retake undo")], &["1 retake|undo", "9 claude"], &own);
    let eval = "2 /bin/bash|-c|source /s.sh && eval 'retake undo' < /dev/null";
    check(&[call("d1", "retake undo")], &["1 retake|undo", eval, "9 claude"], &own);
    // The command names a program that runs it.
    let make = ["1 retake|undo", "2 sh|-c|retake undo", "3 make|check", "9 codex", "8 bash"];
    check(&[call("d1", "cd sub && make check")], &make, &own);
    let script = ["1 retake|undo", "2 /bin/sh|./tidy.sh|a b", "9 codex"];
    check(&[call("d1", "./tidy.sh 'a b'")], &script, &own);
    // A terminal that the agent keeps and types into.
    check(&[call("d1", "/usr/bin/retake undo")], &["1 retake|undo", "2 bash", "9 copilot"], &own);
}

#[test]
fn what_a_person_types_is_the_persons() {
    let person = CallerScope::Person;
    let typed = ["1 retake|undo", "2 /bin/zsh|-c|eval 'retake undo'", "9 claude", "7 zsh"];
    check(&[], &typed, &person);
    // The call was interrupted, and its end was never heard.
    check(&[call("d1", "npm test")], &typed, &person);
    check(&[call("d1", "zsh run.sh")], &typed, &person);
    // A task in the background goes on.
    check(&[AgentCall { is_open: false, ..call("d1", "npm start") }], &typed, &person);
    // An edit is no shell call.
    check(&[AgentCall { command: None, ..call("d1", "") }], &typed, &person);
    // In another terminal, and in the same one below the agent's parent.
    check(&[call("d1", "retake undo")], &["1 retake|undo", "7 zsh", "6 tmux"], &person);
    // A later process with the agent's pid.
    let reused = AgentCall {
        process: Some(ProcessKey { started: "later".into(), ..key(9) }),
        ..call("d1", "retake undo")
    };
    check(&[reused], &typed, &person);
    // Nothing is known of the agent's process, or of the caller's.
    check(&[AgentCall { process: None, ..call("d1", "retake undo") }], &typed, &person);
    check(&[call("d1", "retake undo")], &[], &person);
}

#[test]
fn a_background_task_that_runs_retake_is_the_agents() {
    let task = AgentCall { is_open: false, ..call("d1", "sleep 9; retake approve") };
    let lines = ["1 retake|approve", "2 bash|-c|sleep 9; retake approve", "9 claude"];
    check(&[task], &lines, &agent("d1", Some("main")));
}

#[test]
fn the_nearest_agent_counts_and_several_of_one_process_are_told_apart_or_bound_to_none() {
    let lines = ["1 retake|undo", "9 codex", "2 bash|-c|codex exec", "8 claude"];
    let outer = AgentCall { process: Some(key(8)), ..call("outer", "codex exec") };
    let inner = call("inner", "retake undo");
    check(&[outer.clone(), inner.clone()], &lines, &agent("inner", Some("main")));
    // The inner one runs nothing that is known: the outer one's call runs all of it.
    check(&[outer], &lines, &agent("outer", Some("main")));
    let other = AgentCall { agent: "sub".into(), ..inner.clone() };
    check(&[inner.clone(), other], &lines, &agent("inner", None));
    check(&[inner, call("second", "retake log")], &lines, &CallerScope::Program);
}

#[test]
fn meta_names_an_open_call_or_its_dialog() {
    let calls = [call("d1", "x"), call("d2", "y")];
    let cases = [
        (json!({ "claudecode/toolUseId": "d1-call" }), Some(agent("d1", Some("main")))),
        (json!({ "callId": "d2-call", "threadId": "d2" }), Some(agent("d2", Some("main")))),
        // An id of another layer: the dialog is known all the same.
        (json!({ "callId": "inner", "threadId": "d2" }), Some(agent("d2", Some("main")))),
        // A call of another dialog than the one that is named is no evidence for it.
        (json!({ "callId": "d1-call", "threadId": "d2" }), Some(agent("d2", Some("main")))),
        (json!({ "claudecode/toolUseId": "never heard" }), None),
        (json!({ "threadId": "d3" }), None),
        (json!({ "callId": 7 }), None),
        (json!(null), None),
    ];
    for (meta, scope) in cases {
        let hints = CallerHints::new(CallerChannel::Mcp).with_meta(&meta);
        let found = resolve_caller(&hints, &calls, &CallerProcess::default());
        let evidence = scope.as_ref().map_or(CallerEvidence::None, |_| CallerEvidence::Meta);
        assert_eq!(found.scope, scope.unwrap_or(CallerScope::Program), "{meta}");
        assert_eq!(found.evidence, evidence, "{meta}");
    }
    let closed = [AgentCall { is_open: false, ..call("d1", "x") }];
    let hints = CallerHints::new(CallerChannel::Mcp);
    let hints = hints.with_meta(&json!({ "claudecode/toolUseId": "d1-call" }));
    let found = resolve_caller(&hints, &closed, &CallerProcess::default());
    assert_eq!(found.scope, CallerScope::Program, "that call is over");
}

#[test]
fn the_environment_binds_a_server_of_the_agent_but_no_command() {
    let variable = |name: &str| (name == "CLAUDE_CODE_SESSION_ID").then(|| "d1".to_owned());
    let calls = [call("d1", "x")];
    for (channel, scope) in [
        (CallerChannel::Mcp, agent("d1", Some("main"))),
        (CallerChannel::CommandLine, CallerScope::Person),
        (CallerChannel::Run, CallerScope::Person),
        (CallerChannel::Event, CallerScope::Program),
    ] {
        let hints = CallerHints::new(channel).with_environment(variable);
        let found = resolve_caller(&hints, &calls, &process(&["1 retake", "7 zsh"]));
        assert_eq!(found.scope, scope, "{channel}");
    }
}
