//! Commands of `retake` that real agents run in their shell calls: they have the agent's scope.

use retake_e2e::AgentCli;
use retake_e2e::script::{ModelScript, shell, write};

use crate::world::World;

/// The agent tries to approve its own work, and then takes it back.
#[track_caller]
fn check(agent: AgentCli) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let retake = env!("CARGO_BIN_EXE_retake");
    let approve = format!("{retake} approve > ../approve.txt 2>&1; echo code $? >> ../approve.txt");
    let undo = format!("{retake} undo --yes > ../undo.txt 2>&1; echo code $? >> ../undo.txt");
    let script = ModelScript::new()
        .step("A new file.", [write("new.txt", "alpha\n")])
        .step("I approve it.", [shell(&approve)])
        .step("I take it back.", [shell(&undo)])
        .last_words("All done.");
    world.play("approve", script);
    let run = world.agent(agent).turn("approve", "Go.").expect_success();
    let told = |name: &str| {
        std::fs::read_to_string(world.root().join("..").join(name)).unwrap_or_default()
    };
    let approved = told("approve.txt");
    assert!(approved.contains("ask the person to run: cd "), "{approved}{}", run.report());
    assert!(approved.ends_with("code 1\n"), "{approved}");
    assert!(told("undo.txt").ends_with("code 0\n"), "{}", told("undo.txt"));
    let operation = &world.json(&["ops"])["operations"][0];
    assert_eq!(operation["said_by"]["scope"], "agent", "{operation:#}");
    assert_eq!(operation["said_by"]["evidence"], "ancestor_process", "{operation:#}");
    assert_eq!(world.read("new.txt"), "(absent)");
}

#[test]
fn claude_code() {
    check(AgentCli::ClaudeCode);
}

#[test]
fn codex() {
    check(AgentCli::Codex);
}

#[test]
fn gemini() {
    check(AgentCli::Gemini);
}

#[test]
fn opencode() {
    check(AgentCli::Opencode);
}

#[test]
fn copilot() {
    check(AgentCli::Copilot);
}

#[test]
fn cline() {
    check(AgentCli::Cline);
}
