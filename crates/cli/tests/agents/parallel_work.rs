//! Agents that do several things at once: parallel calls, subagents, background commands.

use expect_test::{Expect, expect};
use retake_e2e::AgentCli;
use retake_e2e::script::{ModelScript, background, edit, read, shell, spawn, wait, write};

use crate::world::{Change, World, assert_same, lines};

/// The model of Codex that calls tools from JavaScript.
const CODE_MODE: Option<&str> = Some("gpt-6-sol");

/// Several calls in one message. Some agents announce all of them before they begin with the first,
/// some run them side by side.
#[track_caller]
fn check_parallel(agent: AgentCli, model: Option<&'static str>, seen: &Expect) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let before = world.disk();
    let calls = [
        write("new.txt", "new\n"),
        edit("existing.txt", "line 2\n", "line TWO\n"),
        edit("run.sh", "echo hi\n", "echo hello\n"),
        shell("echo made > made.txt"),
    ];
    world.play("parallel", ModelScript::new().step("All at once.", calls));
    let run = world.agent_with(agent, model).turn("parallel", "Hurry.").expect_success();
    let mut changes = world.log();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    seen.assert_eq(&lines(&changes));
    world.undo();
    assert_same(&world.disk(), &before, run.report());
}

#[test]
fn claude_code_parallel() {
    check_parallel(
        AgentCli::ClaudeCode,
        None,
        &expect![[r#"
        existing.txt modify by agent Edit toolu_s0x1xparallel certain
        made.txt create by agent Bash toolu_s0x3xparallel window
        new.txt create by agent Write toolu_s0x0xparallel certain
        run.sh modify by agent Edit toolu_s0x2xparallel certain
    "#]],
    );
}

#[test]
fn codex_parallel() {
    check_parallel(
        AgentCli::Codex,
        None,
        &expect![[r#"
        existing.txt modify by agent apply_patch call_s0x1xparallel certain
        made.txt create by agent Bash call_s0x3xparallel window
        new.txt create by agent apply_patch call_s0x0xparallel certain
        run.sh modify by agent apply_patch call_s0x2xparallel certain
    "#]],
    );
}

#[test]
fn codex_in_code_mode_parallel() {
    check_parallel(
        AgentCli::Codex,
        CODE_MODE,
        &expect![[r#"
        existing.txt modify by agent apply_patch ID certain
        made.txt create by agent Bash ID window
        new.txt create by agent apply_patch ID certain
        run.sh modify by agent apply_patch ID certain
    "#]],
    );
}

#[test]
fn gemini_parallel() {
    check_parallel(
        AgentCli::Gemini,
        None,
        &expect![[r#"
        existing.txt modify by agent replace ID certain
        made.txt create by agent run_shell_command ID window
        new.txt create by agent write_file ID certain
        run.sh modify by agent replace ID certain
    "#]],
    );
}

#[test]
fn opencode_parallel() {
    check_parallel(
        AgentCli::Opencode,
        None,
        &expect![[r#"
        existing.txt modify by agent edit call_s0x1xparallel certain
        made.txt create by agent bash call_s0x3xparallel window
        new.txt create by agent write call_s0x0xparallel certain
        run.sh modify by agent edit call_s0x2xparallel certain
    "#]],
    );
}

#[test]
fn copilot_parallel() {
    check_parallel(
        AgentCli::Copilot,
        None,
        &expect![[r#"
        existing.txt modify by agent edit ID certain
        made.txt create by agent bash ID window
        new.txt create by agent create ID certain
        run.sh modify by agent edit ID certain
    "#]],
    );
}

#[test]
fn cline_parallel() {
    check_parallel(
        AgentCli::Cline,
        None,
        &expect![[r#"
        existing.txt modify by agent editor call_s0x1xparallel certain
        made.txt create by agent run_commands call_s0x3xparallel window
        new.txt create by agent editor call_s0x0xparallel certain
        run.sh modify by agent editor call_s0x2xparallel certain
    "#]],
    );
}

/// Two subagents write at the same time; each has an id, and the main agent for a parent.
#[track_caller]
fn check_subagents(agent: AgentCli, model: Option<&'static str>) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let before = world.disk();
    let part = |name: &str| {
        ModelScript::new()
            .step("My part.", [write(&format!("{name}.txt"), "part\n")])
            .meet_at("start", 2)
            .step("I look around.", [read("existing.txt")])
            .meet_at("parts", 3)
            .last_words("Part done.")
    };
    world.play(
        "crowd",
        ModelScript::new()
            .step("Two of you.", [spawn("left", part("left")), spawn("right", part("right"))])
            .step("I wait.", [wait()])
            .meet_at("parts", 3)
            .step("My own part.", [write("main.txt", "main\n")]),
    );
    let run = world.agent_with(agent, model).turn("crowd", "Share the work.").expect_success();

    let changes = world.log();
    let of = |path: &str| -> Change {
        let mut found = changes.iter().filter(|change| change.path == path);
        match (found.next(), found.next()) {
            (Some(change), None) => change.clone(),
            _ => panic!("{path} is not there once:\n{}\n{}", lines(&changes), run.report()),
        }
    };
    let (left, right, main) = (of("left.txt"), of("right.txt"), of("main.txt"));
    assert_eq!(main.agent, "main");
    assert!(left.agent != right.agent, "{left:?} {right:?}");
    assert!([&left, &right].iter().all(|change| change.agent != "main"), "{left:?} {right:?}");
    assert!(changes.iter().all(|change| change.confidence == "certain"), "{}", lines(&changes));
    let dialogs = world.dialogs();
    assert_eq!(dialogs.len(), 1, "{dialogs:?}");
    let agents = dialogs[0]["agents"].as_array().unwrap();
    for change in [&left, &right] {
        let known = agents.iter().find(|known| known["id"] == change.agent.as_str()).unwrap();
        assert_eq!(known["parent"], "main", "{dialogs:?}");
    }
    world.ok(&["rollback", "--agent", &left.agent, "--yes"]);
    assert_eq!(world.read("left.txt"), "(absent)");
    assert_eq!(world.read("right.txt"), "part\n");
    world.ok(&["rollback", "--dialog", &main.dialog, "--yes"]);
    assert_same(&world.disk(), &before, run.report());
}

#[test]
fn claude_code_subagents() {
    check_subagents(AgentCli::ClaudeCode, None);
}

#[test]
fn codex_subagents() {
    check_subagents(AgentCli::Codex, None);
}

#[test]
fn codex_in_code_mode_subagents() {
    check_subagents(AgentCli::Codex, CODE_MODE);
}

/// Whether it is the model's call; calls from within JavaScript have ids of Codex's own.
fn is_call(change: &Change, id: &str) -> bool {
    change.call.ends_with(id) || change.call.starts_with("exec-")
}

/// A command in the background changes a file while the agent does other things.
#[track_caller]
fn check_background(agent: AgentCli, model: Option<&'static str>) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    world.play(
        "later",
        ModelScript::new()
            .step("A slow one.", [background("sleep 1; echo late > late.txt")])
            .step("Meanwhile.", [write("meanwhile.txt", "m\n")])
            .step("I wait.", [wait()]),
    );
    let run = world.agent_with(agent, model).turn("later", "Take your time.").expect_success();
    let changes = world.log();
    let late = changes.iter().find(|change| change.path == "late.txt");
    let late = late.unwrap_or_else(|| panic!("{}\n{}", lines(&changes), run.report()));
    assert_eq!(late.actor, "agent", "{}", lines(&changes));
    assert!(is_call(late, "_s0x0xlater"), "{}", lines(&changes));
    assert!(["late", "window"].contains(&late.confidence.as_str()), "{}", late.line());
    let meanwhile = changes.iter().find(|change| change.path == "meanwhile.txt").unwrap();
    assert!(
        is_call(meanwhile, "_s1x0xlater") && late.call != meanwhile.call,
        "{}",
        meanwhile.line()
    );
    world.undo();
    assert_eq!(world.read("late.txt"), "(absent)");
    world.is_sound();
}

#[test]
fn claude_code_background() {
    check_background(AgentCli::ClaudeCode, None);
}

#[test]
fn codex_background() {
    check_background(AgentCli::Codex, None);
}

#[test]
fn codex_in_code_mode_background() {
    check_background(AgentCli::Codex, CODE_MODE);
}
