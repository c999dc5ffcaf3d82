//! The same turn with a daemon that watches: what agents do is still theirs, what the person does
//! meanwhile is still the person's, and `undo` brings back the tree as it was.

use std::collections::BTreeSet;

use retake_e2e::AgentCli;

use crate::one_turn::{PROMPT, script};
use crate::world::{Change, World, assert_same, distinct};

/// A daemon that ends with the test.
pub(crate) struct Daemon<'w>(&'w World);

impl<'w> Daemon<'w> {
    pub(crate) fn start(world: &'w World) -> Self {
        world.ok(&["daemon", "start"]);
        Self(world)
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.0.retake(&["daemon", "stop"]);
    }
}

#[track_caller]
fn check(agent: AgentCli) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let daemon = Daemon::start(&world);
    let before = world.disk();
    world.play("all", script());
    let run = world.agent(agent).turn("all", PROMPT).expect_success();
    world.write("mine.txt", "made by me\n");

    let (by_agent, others): (Vec<Change>, Vec<Change>) =
        world.log().into_iter().partition(|change| change.actor == "agent");
    let paths = |changes: &[Change]| -> BTreeSet<String> {
        changes.iter().map(|change| change.path.clone()).collect()
    };
    let expected = ["doomed.txt", "existing.txt", "gone.txt", "made.txt", "new.txt", "run.sh"];
    assert_eq!(paths(&by_agent), expected.map(str::to_owned).into(), "{}", run.report());
    assert_eq!(distinct(&by_agent, |change| &change.call).len(), 4, "a call for each step");
    assert_eq!(paths(&others), ["mine.txt".to_owned()].into());
    assert!(others.iter().all(|change| change.actor == "user"), "{others:?}");

    world.is_sound();
    world.undo();
    assert_eq!(world.read("mine.txt"), "made by me\n", "it stays");
    std::fs::remove_file(world.root().join("mine.txt")).unwrap();
    assert_same(&world.disk(), &before, run.report());
    drop(daemon);
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
