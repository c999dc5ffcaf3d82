//! Two agents at once in one project: told apart, and each undone alone.

use std::collections::BTreeSet;

use retake_e2e::script::{ModelScript, edit, write};
use retake_e2e::{AgentCli, AgentDriver};

use crate::world::{Change, World, assert_same, lines};

/// A turn in three steps, at each of which both agents are at work; in one of them it edits the
/// file that they share.
fn script(agent: AgentCli, line: &str, shared_at: usize) -> ModelScript {
    let own = format!("{agent}.txt");
    let mut calls = vec![write(&own, "one\n"), edit(&own, "one\n", "two\n")];
    calls.insert(shared_at, edit("existing.txt", line, &format!("by {agent}\n")));
    let mut script = ModelScript::new();
    for (number, call) in calls.into_iter().enumerate() {
        script = script.step("My part.", [call]).meet_at(&format!("step-{number}"), 2);
    }
    script.last_words("All done.")
}

/// The agents work at the same time, though not on the same file at the same moment.
#[track_caller]
fn check(left: AgentCli, right: AgentCli) {
    if !left.is_available() || !right.is_available() {
        return;
    }
    let world = World::with(&[left, right]);
    let before = world.disk();
    world.play("left", script(left, "line 3\n", 1));
    world.play("right", script(right, "line 17\n", 2));
    let runs = both(&world, left, right);
    let after = world.disk();

    let changes = world.log();
    for agent in [left, right] {
        let own: Vec<_> = changes.iter().filter(|change| change.kind == agent.name()).collect();
        let names: BTreeSet<_> = own.iter().map(|change| change.path.clone()).collect();
        let wanted = BTreeSet::from([format!("{agent}.txt"), "existing.txt".to_owned()]);
        assert_eq!(names, wanted, "{}\n{runs}", lines(&changes));
        assert!(own.iter().all(|change| change.confidence == "certain"), "{}", lines(&changes));
    }
    assert_eq!(changes.len(), 6, "{}", lines(&changes));

    let (left_dialog, right_dialog) = (dialog_of(&changes, left), dialog_of(&changes, right));
    world.ok(&["rollback", "--dialog", &left_dialog, "--yes"]);
    let text = world.read("existing.txt");
    assert!(text.contains("line 3\n") && text.contains(&format!("by {right}\n")), "{text}");
    assert_eq!(world.read(&format!("{left}.txt")), "(absent)");
    assert_eq!(world.read(&format!("{right}.txt")), "two\n");
    world.ok(&["undo", "--yes"]);
    assert_same(&world.disk(), &after, "the rollback is undone");
    world.ok(&["rollback", "--dialog", &right_dialog, "--yes"]);
    assert_eq!(world.read(&format!("{left}.txt")), "two\n");
    assert_eq!(world.read(&format!("{right}.txt")), "(absent)");
    world.ok(&["rollback", "--dialog", &left_dialog, "--yes"]);
    assert_same(&world.disk(), &before, "both are undone");
    world.is_sound();
}

/// Both edit one file in the same moment: even if one look finds both edits, what the tools
/// announced tells them apart.
#[track_caller]
fn check_collision(left: AgentCli, right: AgentCli) {
    if !left.is_available() || !right.is_available() {
        return;
    }
    let world = World::with(&[left, right]);
    let before = world.disk();
    world.play("left", script(left, "line 3\n", 1));
    world.play("right", script(right, "line 17\n", 1));
    let runs = both(&world, left, right);

    let changes = world.log();
    let told = |change: &Change| change.actor == "agent" && change.confidence != "shared";
    assert!(changes.iter().all(told), "{}\n{runs}", lines(&changes));
    for dialog in [dialog_of(&changes, right), dialog_of(&changes, left)] {
        world.ok(&["rollback", "--dialog", &dialog, "--yes"]);
    }
    assert_same(&world.disk(), &before, &lines(&changes));
    world.is_sound();
}

fn both(world: &World, left: AgentCli, right: AgentCli) -> String {
    let (one, other) = (world.agent(left), world.agent(right));
    let runs =
        AgentDriver::turns_at_once([(&one, "left", "Go left."), (&other, "right", "Go right.")]);
    runs.map(|run| run.expect_success().report().to_owned()).join("\n")
}

fn dialog_of(changes: &[Change], agent: AgentCli) -> String {
    let change = changes.iter().find(|change| change.kind == agent.name());
    change.unwrap_or_else(|| panic!("nothing by {agent}: {}", lines(changes))).dialog.clone()
}

#[test]
fn claude_code_and_codex() {
    check(AgentCli::ClaudeCode, AgentCli::Codex);
}

#[test]
fn gemini_and_copilot() {
    check(AgentCli::Gemini, AgentCli::Copilot);
}

#[test]
fn claude_code_and_codex_at_the_same_moment() {
    check_collision(AgentCli::ClaudeCode, AgentCli::Codex);
}

#[test]
fn gemini_and_copilot_at_the_same_moment() {
    check_collision(AgentCli::Gemini, AgentCli::Copilot);
}
