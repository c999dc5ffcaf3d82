//! One turn of each agent: every change is on record once, with all that is known of it, and
//! `undo` brings back the tree as it was.

use expect_test::{Expect, expect};
use retake_e2e::AgentCli;
use retake_e2e::script::{ModelScript, delete, edit, raw, read, shell, write};

use crate::world::{World, assert_same, distinct, lines};

pub(crate) const PROMPT: &str = "Tidy up, please.";

pub(crate) fn script() -> ModelScript {
    ModelScript::new()
        .step("I will write a new file.", [write("new.txt", "alpha\nbeta\n")])
        .step("Now I edit one.", [edit("existing.txt", "line 2\n", "line TWO\n")])
        .step(
            "Now a command.",
            [shell("sed -i 's/line 15/line FIFTEEN/' existing.txt && echo made > made.txt && rm doomed.txt && chmod 755 run.sh")],
        )
        .step("I look at it.", [read("existing.txt")])
        .step("And away with it.", [delete("gone.txt")])
        .last_words("All done.")
}

#[track_caller]
fn check(agent: AgentCli, model: Option<&'static str>, seen: &Expect) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let before = world.disk();
    world.play("all", script());
    let run = world.agent_with(agent, model).turn("all", PROMPT).expect_success();
    assert!(world.read("existing.txt").contains("FIFTEEN"), "{}", run.report());

    let mut changes = world.log();
    seen.assert_eq(&lines(&changes));
    assert!(changes.iter().all(|change| change.kind == agent.name()), "{changes:?}");
    assert!(changes.iter().all(|change| change.agent == "main"), "{changes:?}");
    assert_eq!(distinct(&changes, |change| &change.call).len(), 4, "a call for each step");
    let dialogs = world.dialogs();
    assert_eq!(dialogs.len(), 1, "{dialogs:?}");
    assert!(changes.iter().all(|change| change.dialog == dialogs[0]["id"]), "{changes:?}");
    assert_eq!((&dialogs[0]["kind"], &dialogs[0]["turns"]), (&agent.name().into(), &1.into()));

    if agent == AgentCli::Copilot {
        // It names the model in its transcript only, which it writes a moment after its hooks: what a
        // quick turn left unread is read with the next message.
        world.play("more", ModelScript::new().last_words("Yes."));
        world.agent_with(agent, model).resume_and_wait("more", "Is that all?").expect_success();
        changes = world.log();
    }
    let models = distinct(&changes, |change| &change.model);
    match model.or(default_model(agent)) {
        Some(model) => assert_eq!(models.into_iter().collect::<Vec<_>>(), [model], "{changes:?}"),
        None => {
            assert!(models.len() == 1 && models.iter().all(|model| *model != "-"), "{changes:?}");
        }
    }
    let turns = world.json(&["dialogs", "--turns", &changes[0].dialog]);
    let turn = turns["turns"].as_array().and_then(|turns| turns.last()).unwrap();
    assert_eq!((&turn["turn"], &turn["totals"]["changes"]), (&1.into(), &7.into()), "{turns:#}");
    assert_eq!(turn["agents"][0]["models"][0], changes[0].model.as_str(), "{turns:#}");

    let blame = world.json(&["blame", "new.txt"]);
    let message = blame["changes"][0]["message"]["text"].as_str().unwrap_or_default();
    // opencode puts a prompt of several words into quotes itself.
    assert!(message.contains(PROMPT), "{blame:#}");

    world.is_sound();
    world.undo();
    assert_same(&world.disk(), &before, run.report());
}

/// The model that an agent is told to use; none if it chooses one itself.
fn default_model(agent: AgentCli) -> Option<&'static str> {
    match agent {
        AgentCli::ClaudeCode => None,
        AgentCli::Codex => Some("gpt-5.5"),
        AgentCli::Gemini => Some("gemini-2.5-pro"),
        AgentCli::Opencode => Some("plain"),
        AgentCli::Copilot => Some("claude-sonnet-4.5"),
        AgentCli::Cline => Some("scripted"),
    }
}

#[test]
fn claude_code() {
    check(
        AgentCli::ClaudeCode,
        None,
        &expect![[r#"
        new.txt create by agent Write toolu_s0x0xall certain
        existing.txt modify by agent Edit toolu_s1x0xall certain
        doomed.txt delete by agent Bash toolu_s2x0xall window
        existing.txt modify by agent Bash toolu_s2x0xall window
        made.txt create by agent Bash toolu_s2x0xall window
        run.sh mode by agent Bash toolu_s2x0xall window
        gone.txt delete by agent Bash toolu_s4x0xall window
    "#]],
    );
}

#[test]
fn codex() {
    check(
        AgentCli::Codex,
        None,
        &expect![[r#"
        new.txt create by agent apply_patch call_s0x0xall certain
        existing.txt modify by agent apply_patch call_s1x0xall certain
        doomed.txt delete by agent Bash call_s2x0xall window
        existing.txt modify by agent Bash call_s2x0xall window
        made.txt create by agent Bash call_s2x0xall window
        run.sh mode by agent Bash call_s2x0xall window
        gone.txt delete by agent apply_patch call_s4x0xall certain
    "#]],
    );
}

/// All models but the oldest run JavaScript that calls the tools; ids are of the inner calls.
#[test]
fn codex_in_code_mode() {
    check(
        AgentCli::Codex,
        Some("gpt-6-sol"),
        &expect![[r#"
        new.txt create by agent apply_patch ID certain
        existing.txt modify by agent apply_patch ID certain
        doomed.txt delete by agent Bash ID window
        existing.txt modify by agent Bash ID window
        made.txt create by agent Bash ID window
        run.sh mode by agent Bash ID window
        gone.txt delete by agent apply_patch ID certain
    "#]],
    );
}

/// Gemini has no ids for calls: Retake makes them.
#[test]
fn gemini() {
    check(
        AgentCli::Gemini,
        None,
        &expect![[r#"
        new.txt create by agent write_file ID certain
        existing.txt modify by agent replace ID certain
        doomed.txt delete by agent run_shell_command ID window
        existing.txt modify by agent run_shell_command ID window
        made.txt create by agent run_shell_command ID window
        run.sh mode by agent run_shell_command ID window
        gone.txt delete by agent run_shell_command ID window
    "#]],
    );
}

#[test]
fn opencode() {
    check(
        AgentCli::Opencode,
        None,
        &expect![[r#"
        new.txt create by agent write call_s0x0xall certain
        existing.txt modify by agent edit call_s1x0xall certain
        doomed.txt delete by agent bash call_s2x0xall window
        existing.txt modify by agent bash call_s2x0xall window
        made.txt create by agent bash call_s2x0xall window
        run.sh mode by agent bash call_s2x0xall window
        gone.txt delete by agent bash call_s4x0xall window
    "#]],
    );
}

#[test]
fn opencode_with_patches() {
    check(
        AgentCli::Opencode,
        Some("gpt-5.5"),
        &expect![[r#"
        new.txt create by agent apply_patch call_s0x0xall certain
        existing.txt modify by agent apply_patch call_s1x0xall certain
        doomed.txt delete by agent bash call_s2x0xall window
        existing.txt modify by agent bash call_s2x0xall window
        made.txt create by agent bash call_s2x0xall window
        run.sh mode by agent bash call_s2x0xall window
        gone.txt delete by agent apply_patch call_s4x0xall certain
    "#]],
    );
}

/// Copilot does not tell its hooks the ids.
#[test]
fn copilot() {
    check(
        AgentCli::Copilot,
        None,
        &expect![[r#"
        new.txt create by agent create ID certain
        existing.txt modify by agent edit ID certain
        doomed.txt delete by agent bash ID window
        existing.txt modify by agent bash ID window
        made.txt create by agent bash ID window
        run.sh mode by agent bash ID window
        gone.txt delete by agent bash ID window
    "#]],
    );
}

#[test]
fn cline() {
    check(
        AgentCli::Cline,
        None,
        &expect![[r#"
        new.txt create by agent editor call_s0x0xall certain
        existing.txt modify by agent editor call_s1x0xall certain
        doomed.txt delete by agent run_commands call_s2x0xall window
        existing.txt modify by agent run_commands call_s2x0xall window
        made.txt create by agent run_commands call_s2x0xall window
        run.sh mode by agent run_commands call_s2x0xall window
        gone.txt delete by agent run_commands call_s4x0xall window
    "#]],
    );
}

/// One call of Codex may create, change, move and remove files.
#[test]
fn codex_with_many_files_in_a_patch() {
    if !AgentCli::Codex.is_available() {
        return;
    }
    let world = World::with(&[AgentCli::Codex]);
    let before = world.disk();
    let patch = "*** Begin Patch
*** Add File: new.txt
+new
*** Update File: run.sh
@@
-echo hi
+echo hello
*** Update File: existing.txt
*** Move to: moved.txt
@@
-line 2
+line TWO
*** Delete File: gone.txt
*** End Patch";
    world.play("many", ModelScript::new().step("All in one.", [raw("apply_patch", patch)]));
    let run = world.agent(AgentCli::Codex).turn("many", PROMPT).expect_success();
    let mut changes = world.log();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    expect![[r#"
        gone.txt delete by agent apply_patch call_s0x0xmany certain
        moved.txt rename by agent apply_patch call_s0x0xmany certain
        new.txt create by agent apply_patch call_s0x0xmany certain
        run.sh modify by agent apply_patch call_s0x0xmany certain
    "#]]
    .assert_eq(&lines(&changes));
    world.undo();
    assert_same(&world.disk(), &before, run.report());
}

/// Without the person's review Codex runs no hook; the agent works, and nothing is claimed for it.
#[test]
fn codex_without_trust() {
    if !AgentCli::Codex.is_available() {
        return;
    }
    let world = World::with(&[AgentCli::Codex]);
    world.ok(&["init"]);
    world.play("all", script());
    let driver = world.untrusted(AgentCli::Codex);
    driver.turn("all", PROMPT).expect_success();
    assert_eq!(world.dialogs().len(), 0);
    let changes = world.log();
    assert!(!changes.is_empty());
    assert!(changes.iter().all(|change| change.actor == "user"), "{changes:?}");
}
