//! What goes wrong: a record that is busy, and an agent that dies.

use std::fs::File;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use retake_e2e::AgentCli;
use retake_e2e::script::{ModelScript, edit, shell, write};

use crate::world::{World, assert_same, lines};

impl World {
    /// The folder of the project's record.
    fn store(&self) -> PathBuf {
        PathBuf::from(self.json(&["status"])["store"].as_str().unwrap())
    }

    /// The lock of the record, which a test may keep from everybody else.
    fn lock(&self) -> File {
        let lock = File::options().write(true).open(self.store().join("lock")).unwrap();
        lock.lock().unwrap();
        lock
    }
}

/// Another process locks the record for the whole turn: the agent is not disturbed, and nothing
/// is lost.
#[track_caller]
fn check_busy(agent: AgentCli, seen: &Expect) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    world.ok(&["init"]);
    let before = world.disk();
    // The agent is not to wait long for what cannot be had.
    let store = world.store();
    let spool = store.join("spool.jsonl");
    std::fs::write(store.join("config.toml"), "[hook]\nbudget_ms = 300\n").unwrap();
    world.play(
        "busy",
        ModelScript::new()
            .step("A file.", [write("new.txt", "new\n")])
            .step("An edit.", [edit("existing.txt", "line 2\n", "line TWO\n")]),
    );
    let lock = world.lock();
    let run = world.agent(agent).turn("busy", "Never mind.").expect_success();
    assert_eq!(world.read("new.txt"), "new\n", "{}", run.report());
    assert!(!std::fs::read(&spool).unwrap().is_empty(), "events wait: {}", run.report());
    drop(lock);

    assert_eq!(world.json(&["status"])["spooled"], 0, "{}", run.report());
    let mut changes = world.log();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    seen.assert_eq(&lines(&changes));
    world.is_sound();
    world.undo();
    assert_same(&world.disk(), &before, run.report());
}

#[test]
fn claude_code_goes_on_while_the_record_is_busy() {
    check_busy(
        AgentCli::ClaudeCode,
        &expect![[r#"
        existing.txt modify by agent Edit toolu_s1x0xbusy certain
        new.txt create by agent Write toolu_s0x0xbusy certain
    "#]],
    );
}

#[test]
fn copilot_goes_on_while_the_record_is_busy() {
    check_busy(
        AgentCli::Copilot,
        &expect![[r#"
        existing.txt modify by agent edit ID certain
        new.txt create by agent create ID certain
    "#]],
    );
}

/// The agent is killed in the middle of a command: the next turn and undo work all the same.
#[track_caller]
fn check_killed(agent: AgentCli, seen: &Expect) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let before = world.disk();
    world.play(
        "killed",
        ModelScript::new()
            .step("A file.", [write("new.txt", "new\n")])
            // It outlives some agents, and ends when its file is gone.
            .step(
                "A long command.",
                [shell("echo half > half.txt; while [ -e half.txt ]; do sleep 0.2; done")],
            ),
    );
    world.play("after", ModelScript::new().step("Another.", [write("other.txt", "other\n")]));
    let driver = world.agent(agent);
    let mut running = driver.start("killed", "Work long.");
    let half = world.root().join("half.txt");
    running.wait_until("the command runs", || half.exists());
    let run = running.kill();
    world.is_sound();

    driver.turn("after", "Go on.").expect_success();
    seen.assert_eq(&lines(&world.log()));
    world.is_sound();
    world.undo();
    assert_eq!(world.read("other.txt"), "(absent)");
    world.undo();
    assert_same(&world.disk(), &before, run.report());
}

#[test]
fn claude_code_killed() {
    check_killed(
        AgentCli::ClaudeCode,
        &expect![[r#"
        new.txt create by agent Write toolu_s0x0xkilled certain
        half.txt create by agent Bash toolu_s1x0xkilled window
        other.txt create by agent Write toolu_s0x0xafter certain
    "#]],
    );
}

#[test]
fn codex_killed() {
    check_killed(
        AgentCli::Codex,
        &expect![[r#"
        new.txt create by agent apply_patch call_s0x0xkilled certain
        half.txt create by agent Bash call_s1x0xkilled window
        other.txt create by agent apply_patch call_s0x0xafter certain
    "#]],
    );
}
