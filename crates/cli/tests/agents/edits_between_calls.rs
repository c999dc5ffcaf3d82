//! The person's own edits, between two turns of a conversation and between two calls of a turn.

use retake_e2e::AgentCli;
use retake_e2e::script::{ModelScript, edit, shell};

use crate::world::{World, lines};

#[track_caller]
fn check(agent: AgentCli) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let driver = world.agent(agent);
    let first =
        ModelScript::new().step("First.", [edit("existing.txt", "line 3\n", "line THREE\n")]);
    let second = ModelScript::new()
        .step("Second.", [edit("existing.txt", "line 18\n", "line EIGHTEEN\n")])
        .step("And more.", [shell("echo agent >> run.sh")]);
    world.play("first", first);
    world.play("second", second);

    driver.turn("first", "Do the first thing.").expect_success();
    world.edit("existing.txt", "line 10\n", "line ten, by hand\n");
    world.write("mine.txt", "mine\n");
    let run = driver.resume_and_wait("second", "Do the second thing.").expect_success();

    let changes = world.log();
    let by_person: Vec<_> = changes.iter().filter(|change| change.actor == "user").collect();
    let names: Vec<_> = by_person.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(names, ["existing.txt", "mine.txt"], "{}\n{}", lines(&changes), run.report());
    assert_eq!(changes.iter().filter(|change| change.actor == "agent").count(), 3);
    let dialogs = world.dialogs();
    let turns: Vec<_> = dialogs.iter().map(|dialog| dialog["turns"].as_u64().unwrap()).collect();
    assert_eq!(turns, if agent.can_resume() { vec![2] } else { vec![1, 1] }, "{dialogs:?}");

    world.undo();
    let text = world.read("existing.txt");
    assert!(text.contains("line THREE\n") && text.contains("line 18\n"), "{text}");
    assert_eq!(world.read("run.sh"), "echo hi\n");
    world.undo();
    let text = world.read("existing.txt");
    assert!(text.contains("line 3\n") && text.contains("line 18\n"), "{text}");
    assert!(text.contains("line ten, by hand\n"), "{text}");
    assert_eq!(world.read("mine.txt"), "mine\n");
    world.is_sound();
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

/// The person edits a file while the model thinks about its next edit of it.
#[track_caller]
fn check_thinking(agent: AgentCli) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let driver = world.agent(agent);
    let script = ModelScript::new()
        .step("First.", [edit("existing.txt", "line 3\n", "line THREE\n")])
        .step("Second.", [edit("existing.txt", "line 18\n", "line EIGHTEEN\n")])
        .meet_at("thinking", 2);
    world.play("slow", script);
    let mut running = driver.start("slow", "Take your time.");
    running.wait_until("the model thinks", || world.server.arrived_count("thinking") == 1);
    world.edit("existing.txt", "line 10\n", "line ten, by hand\n");
    world.write("mine.txt", "mine\n");
    world.server.meet("thinking", 2);
    let run = running.wait().expect_success();

    let changes = world.log();
    let by = |path: &str| -> Vec<_> {
        let own = changes.iter().filter(|change| change.path == path);
        own.map(|change| change.actor.as_str()).collect()
    };
    let actors = (by("existing.txt"), by("mine.txt"));
    let expected = (vec!["agent", "user", "agent"], vec!["user"]);
    assert_eq!(actors, expected, "{}\n{}", lines(&changes), run.report());

    world.undo();
    let text = world.read("existing.txt");
    assert!(text.contains("line 3\n") && text.contains("line 18\n"), "{text}");
    assert!(text.contains("line ten, by hand\n"), "{text}");
    assert_eq!(world.read("mine.txt"), "mine\n");
}

#[test]
fn claude_code_thinking() {
    check_thinking(AgentCli::ClaudeCode);
}

#[test]
fn codex_thinking() {
    check_thinking(AgentCli::Codex);
}

#[test]
fn gemini_thinking() {
    check_thinking(AgentCli::Gemini);
}

#[test]
fn opencode_thinking() {
    check_thinking(AgentCli::Opencode);
}

#[test]
fn copilot_thinking() {
    check_thinking(AgentCli::Copilot);
}

#[test]
fn cline_thinking() {
    check_thinking(AgentCli::Cline);
}
