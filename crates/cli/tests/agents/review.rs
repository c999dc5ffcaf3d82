//! A person reviews while the agent works: what is rejected waits for the end of the turn, the real
//! agent is told of it once and goes on, and hears it when it adds the same lines again.

use retake_e2e::script::{ModelScript, ScriptCall, edit, read};
use retake_e2e::{AgentCli, RunningAgent};
use retake_engine::model::JournalKind;
use serde_json::Value;

use crate::with_watcher::Daemon;
use crate::world::World;

const FILE: &str = "existing.txt";
const REASON: &str = "secrets are not logged";
/// The model of the test goes on with the script that is named here.
const COMMENT: &str = "say which line that is [script:goes-on]";
const REJECTED: &str = "let secret = read_from_file();\nlog(secret);\n";

/// Adds the lines that will be rejected.
fn adds_them(line: &str) -> ScriptCall {
    edit(FILE, line, &format!("{line}{REJECTED}"))
}

/// Waits with the person until the model thinks, and then lets it go on.
fn finish(world: &World, mut running: RunningAgent<'_>, review: impl FnOnce()) {
    running.wait_until("the model thinks", || world.server.arrived_count("open") == 1);
    review();
    world.server.meet("open", 2);
    running.wait().expect_success();
}

/// The hunk whose added lines contain a text.
fn hunk_with(world: &World, text: &str) -> String {
    let review = world.json(&["review", "all"]);
    let files = review["contents"].as_array().unwrap();
    let hunks = files.iter().flat_map(|file| file["hunks"].as_array().unwrap());
    let has = |hunk: &&Value| hunk["lines"].to_string().contains(text);
    let found = hunks.clone().find(has).unwrap_or_else(|| panic!("no hunk has {text}: {review:#}"));
    found["id"].as_str().unwrap().to_owned()
}

/// How the agent was told, each time.
fn heard(world: &World) -> Vec<String> {
    let events = world.project().store().events_after(0, usize::MAX).unwrap();
    let heard = events.into_iter().filter(|event| event.kind == JournalKind::FeedbackHeard);
    heard.map(|event| event.body["channel"].as_str().unwrap().to_owned()).collect()
}

/// Everything on record, oldest first.
fn changes(world: &World) -> Vec<Value> {
    world.json(&["log", "--oldest-first", "--all"])["changes"].as_array().unwrap().clone()
}

#[track_caller]
fn check(agent: AgentCli, has_daemon: bool) {
    if !agent.is_available() {
        return;
    }
    let world = World::with(&[agent]);
    let _daemon = has_daemon.then(|| Daemon::start(&world));
    let driver = world.agent(agent);
    let works = ModelScript::new()
        .step("Both places.", [adds_them("line 3\n")])
        .step("And the other.", [edit(FILE, "line 18\n", "line EIGHTEEN\n")])
        .step("Wait a moment.", [edit(FILE, "line 10\n", "line TEN\n")])
        .meet_at("open", 2);
    // The rejection changed the file: an edit without a look at it is denied.
    let goes_on = ModelScript::new()
        .step("I look.", [read(FILE)])
        .step("Once more.", [adds_them("line 5\n")]);
    let next = ModelScript::new().step("The end.", [edit(FILE, "line 1\n", "line ONE\n")]);
    world.play("works", works);
    world.play("goes-on", goes_on);
    world.play("next", next);

    finish(&world, driver.start("works", "Do it."), || {
        let rejected = hunk_with(&world, "secret");
        let commented = hunk_with(&world, "EIGHTEEN");
        let queued = world.ok(&["reject", &rejected, "--reason", REASON, "--wait"]);
        assert!(queued.contains("wait"), "{queued}");
        world.ok(&["comment", "add", &commented, COMMENT, "--question"]);
        world.ok(&["comment", "send"]);
        assert!(world.read(FILE).contains(REJECTED), "nothing goes while the agent works");
    });

    let log = world.server.log();
    let told = world.server.new_texts_at("goes-on", 0);
    for text in ["The person rejected these changes", REASON, "say which line that is"] {
        assert!(told.contains(text), "{told}\n{log}");
    }
    let again = world.server.new_texts_at("goes-on", 2);
    assert!(again.contains("had rejected lines that you added again"), "{again}\n{log}");
    assert!(again.contains(REASON), "{again}");
    let text = world.read(FILE);
    assert!(text.contains(&format!("line 5\n{REJECTED}")), "the agent may insist: {text}");
    assert!(text.contains("line 3\nline 4\n") && text.contains("line TEN\n"), "{text}");
    is_on_record(&world);

    driver.resume_and_wait("next", "Finish it.").expect_success();
    assert_eq!(heard(&world), ["turn_end", "call_end"], "each thing is told once");
    world.is_sound();
}

/// All of it is in the log, and the person can take it back.
#[track_caller]
fn is_on_record(world: &World) {
    let all = changes(world);
    let by = |actor: &'static str| all.iter().filter(move |change| change["actor"] == actor);
    let rejection = by("retake").next().unwrap_or_else(|| panic!("no rejection: {all:#?}"));
    let operation = &rejection["made_by"];
    assert!(operation.is_string(), "{rejection:#}");
    let repeats: Vec<_> = by("agent").filter(|change| change["again"][0].is_object()).collect();
    let [repeat] = repeats.as_slice() else { panic!("one change brings it again: {all:#?}") };
    assert_eq!(&repeat["again"][0]["operation"], operation, "{repeat:#}");
    assert_eq!(repeat["again"][0]["reason"], REASON, "{repeat:#}");
    let operations = world.json(&["ops"]);
    let done = &operations["operations"][0];
    assert_eq!((&done["kind"], &done["reason"]), (&"reject".into(), &REASON.into()), "{done:#}");
    assert_eq!(done["said_by"]["scope"], "person", "{done:#}");
    let queue = world.json(&["review", "--queue"]);
    assert_eq!(queue["entries"][0]["state"], "done", "{queue:#}");
    let comments = world.json(&["comment"]);
    assert!(comments["comments"][0]["heard"].is_u64(), "{comments:#}");
}

#[test]
fn claude_code() {
    check(AgentCli::ClaudeCode, false);
}

#[test]
fn codex() {
    check(AgentCli::Codex, false);
}

#[test]
fn claude_code_watched() {
    check(AgentCli::ClaudeCode, true);
}

#[test]
fn codex_watched() {
    check(AgentCli::Codex, true);
}
