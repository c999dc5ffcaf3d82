//! What an agent may send to a hook: too much, too deep, of the wrong kind, about other places.
//! It ends with 0, within its memory and its time, and nothing outside of the project is recorded.

use std::io::Write as _;
use std::process::{Command, Stdio};

use retake_testkit::machine::{MachineRequirement, has_all};
use serde_json::{Value, json};

use super::bounded::{MEMORY, assert_ended_well, command};
use crate::support::{Ran, World, ran};

const AGENTS: [&str; 8] =
    ["claude-code", "codex", "gemini", "opencode", "copilot", "cline", "cursor", "copilot-vscode"];
const NEEDS: [MachineRequirement; 2] =
    [MachineRequirement::Program("prlimit"), MachineRequirement::Program("timeout")];

fn hook(world: &World, agent: &str, payload: &[u8]) -> Ran {
    // A payload of nearly 64 MiB, which is heard, takes five times of that while it is.
    let memory = if super::is_long() { 2 * MEMORY } else { MEMORY };
    let mut child = command(world, &["hook", agent], memory);
    child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // One that has read enough closes its end.
    let _ = input.write_all(payload);
    drop(input);
    let done = ran(child.wait_with_output().unwrap());
    let start = String::from_utf8_lossy(&payload[..payload.len().min(100)]).into_owned();
    assert_eq!(done.code, 0, "{agent} {start}: {}", done.stderr);
    assert_ended_well(&done, &format!("{agent} {start}"));
    done
}

/// A call as Claude Code tells it.
fn call(world: &World, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": "s1", "cwd": world.root(), "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_use_id": "u1", "tool_input": input,
    })
}

/// A payload that every agent's reader finds something in.
fn payload(world: &World, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": "s1", "sessionId": "s1", "taskId": "t1", "conversation_id": "s1",
        "cwd": world.root(), "workspaceRoots": [world.root()], "workspace_roots": [world.root()],
        "hook_event_name": "PreToolUse", "hookName": "tool_call", "event": "tool.execute.before",
        "tool_name": tool, "toolName": tool, "tool": tool, "tool_use_id": "u1",
        "tool_input": input, "toolArgs": input, "args": input,
        "tool_call": { "id": "u1", "name": tool, "input": input },
        "preToolUse": { "toolName": tool, "parameters": input },
    })
}

#[test]
fn threat_hook_input_of_any_form_ends_with_0() {
    if !has_all(&NEEDS) {
        return;
    }
    let world = World::with(&[("a.txt", "one\n")]);
    let deep =
        |open: &str, close: &str, times: usize| open.repeat(times) + "1" + &close.repeat(times);
    let mut forms: Vec<Vec<u8>> = [
        "",
        " ",
        "null",
        "[]",
        "1e999",
        "\"x\"",
        "{",
        "{}",
        "{\"a\":}",
        "\u{feff}{}",
        "{}{}",
        "nul\0l",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    forms.push(b"\xff\xfe\x00".to_vec());
    forms.push(deep("[", "]", 200_000).into_bytes());
    forms.push(deep("{\"a\":", "}", 200_000).into_bytes());
    forms.push(format!("{{\"cwd\":{}}}", deep("[", "]", 5_000)).into_bytes());
    for agent in AGENTS {
        for form in &forms {
            hook(&world, agent, form);
        }
    }
    assert_eq!(world.run(&["doctor"]).code, 0);
}

#[test]
fn threat_hook_input_of_wrong_kinds() {
    if !has_all(&NEEDS) {
        return;
    }
    let world = World::with(&[("a.txt", "one\n")]);
    let good = payload(&world, "Write", &json!({ "file_path": "a.txt", "content": "x" }));
    let wrong = [json!(null), json!(-1), json!([[]]), json!({ "x": 1 }), json!("\u{0}/..")];
    for (number, agent) in AGENTS.iter().enumerate() {
        for (place, key) in good.as_object().unwrap().keys().enumerate() {
            // Each key is of each wrong kind, over all agents.
            let mut bad = good.clone();
            bad[key] = wrong[(number + place) % wrong.len()].clone();
            hook(&world, agent, bad.to_string().as_bytes());
        }
    }
    assert_eq!(world.run(&["doctor"]).code, 0);
    assert_eq!(world.read("a.txt"), "one\n");
}

#[test]
fn threat_hook_input_that_is_huge() {
    if !has_all(&NEEDS) {
        return;
    }
    let world = World::with(&[("a.txt", "one\n")]);
    let megabytes = |count: usize| "x".repeat(count << 20);
    // Within the limit it is heard, above it is not read: in both cases memory is bounded.
    let sizes: &[usize] = if super::is_long() { &[16, 60, 65, 400] } else { &[16, 65] };
    for size in sizes {
        let call =
            call(&world, "Write", &json!({ "file_path": "a.txt", "content": megabytes(*size) }));
        let done = hook(&world, "claude-code", call.to_string().as_bytes());
        assert_eq!(done.stderr.contains("larger than"), *size > 64, "{size}: {}", done.stderr);
    }
    let many: Vec<_> =
        (0..200_000).map(|number| json!({ "file_path": format!("f{number}") })).collect();
    let edits = json!({ "file_path": "a.txt", "edits": many });
    hook(&world, "claude-code", call(&world, "MultiEdit", &edits).to_string().as_bytes());
    assert_eq!(world.run(&["doctor"]).code, 0);
}

#[test]
fn threat_hook_input_about_other_places() {
    const SECRET: &str = "not-of-the-project-93aa";
    if !has_all(&NEEDS) {
        return;
    }
    let world = World::with(&[("a.txt", "one\n")]);
    let outside = world.outer().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), SECRET).unwrap();
    std::os::unix::fs::symlink("../outside", world.root().join("link")).unwrap();
    let fifo = world.outer().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let absolute = outside.join("secret.txt").display().to_string();
    for path in [
        &absolute,
        "../outside/secret.txt",
        "link/secret.txt",
        "a.txt/../../outside/secret.txt",
        "a\u{0}b",
    ] {
        for (tool, input) in [
            ("Write", json!({ "file_path": path, "content": "x" })),
            ("Read", json!({ "file_path": path })),
            ("Bash", json!({ "command": format!("rm -rf {path}") })),
        ] {
            for agent in ["claude-code", "codex"] {
                hook(&world, agent, payload(&world, tool, &input).to_string().as_bytes());
            }
        }
    }
    // An agent's own record of the conversation may be anywhere, and anything.
    for record in
        ["/dev/zero", "/dev/stdin", "/proc/self/mem", "/", fifo.to_str().unwrap(), &absolute]
    {
        let mut stop = payload(&world, "Write", &json!({}));
        stop["hook_event_name"] = json!("Stop");
        stop["transcript_path"] = json!(record);
        for agent in ["claude-code", "codex", "gemini"] {
            hook(&world, agent, stop.to_string().as_bytes());
        }
    }
    super::walk(&world.home(), &mut |path, found| {
        if found.is_file() {
            let bytes = std::fs::read(path).unwrap_or_default();
            assert!(super::find(&bytes, SECRET.as_bytes()).is_none(), "{}", path.display());
        }
    });
    assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), SECRET);
}
