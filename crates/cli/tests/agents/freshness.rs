//! Agents that edit a file which changed since they read it: the real ones are notified, read
//! again, and succeed; no change is lost.

use retake_e2e::script::{ModelScript, ScriptCall, edit, read, shell};
use retake_e2e::{AgentCli, AgentDriver, RunningAgent};
use retake_engine::model::{ContextSource, DialogId, MAIN_AGENT};
use retake_engine::{ContextFile, StaleFile};

use crate::with_watcher::Daemon;
use crate::world::World;

const FILE: &str = "numbered.txt";
/// What the person does while the model thinks, and what the agent has to be told of it.
const BY_HAND: (&str, &str) =
    ("line 40\nline 41\nline 42\n", "line 40, by hand\nline 41, by hand\nline 42, by hand\n");
const TOLD: &str = "numbered.txt\": lines 40–42 changed by the user";

fn world(agent: AgentCli) -> World {
    let world = World::with(&[agent]);
    let lines: Vec<_> = (1..=80).map(|number| format!("line {number}\n")).collect();
    world.write(FILE, &lines.concat());
    world
}

fn change() -> ScriptCall {
    edit(FILE, "line 10\n", "line TEN\n")
}

/// A turn with a meeting of its name, at which the person edits the file.
#[track_caller]
fn finish(world: &World, mut running: RunningAgent<'_>, name: &str, (old, new): (&str, &str)) {
    running.wait_until("the model thinks", || world.server.arrived_count(name) == 1);
    world.edit(FILE, old, new);
    world.server.meet(name, 2);
    running.wait().expect_success();
}

/// Reads, is denied the edit, reads again and edits.
#[track_caller]
fn denied_turn(world: &World, driver: &AgentDriver<'_>, prompt: &str) {
    let script = ModelScript::new()
        .step("I look at it.", [read(FILE)])
        .step("Now I change it.", [change()])
        .meet_at("denied", 2)
        .step("I look again.", [read(FILE)])
        .step("Now I change it anew.", [change()]);
    world.play("denied", script);
    finish(world, driver.start("denied", prompt), "denied", BY_HAND);

    let (denial, again) =
        (world.server.new_texts_at("denied", 2), world.server.new_texts_at("denied", 3));
    assert!(denial.contains(TOLD), "{denial}\n{}", world.server.log());
    assert!(denial.contains("Nothing was changed. Read it again"), "{denial}");
    assert!(again.contains("line 41, by hand") && again.contains("line 10"), "{again}");
    let text = world.read(FILE);
    assert!(text.contains("line TEN\n") && text.contains(BY_HAND.1), "{text}");
    let last = world.server.new_texts_at("denied", 4);
    assert!(!last.contains("changed by"), "{last}");

    let changes = world.log();
    let actors: Vec<_> =
        changes.iter().map(|change| (change.path.as_str(), &*change.actor)).collect();
    assert_eq!(actors, [(FILE, "user"), (FILE, "agent")], "{changes:?}");
}

/// What the agent of the only dialog has in its context, and what of it is stale.
fn known(world: &World) -> (Vec<ContextFile>, Vec<StaleFile>) {
    let project = world.project();
    let dialogs = world.dialogs();
    assert_eq!(dialogs.len(), 1, "{dialogs:?}");
    let dialog = DialogId(dialogs[0]["id"].as_str().unwrap().to_owned());
    let agent = MAIN_AGENT.into();
    let context = project.context(&dialog, &agent).unwrap();
    (context, project.stale_files(&dialog, &agent).unwrap())
}

/// The timeline is that of CTX-26, after a mention if there was one, and nothing is stale.
#[track_caller]
fn is_fresh(world: &World, mentioned: bool) {
    let (context, stale) = known(world);
    assert_eq!(stale, []);
    let file = context.iter().find(|file| file.path.to_string() == FILE).unwrap();
    let sources: Vec<_> = file.entries.iter().map(|entry| entry.source).collect();
    let mention = mentioned.then_some(ContextSource::FileMentioned);
    let expected = [
        ContextSource::ReadTool,
        ContextSource::UserEdited,
        ContextSource::ReadTool,
        ContextSource::AgentEdited,
    ];
    let expected: Vec<_> = mention.into_iter().chain(expected).collect();
    assert_eq!(sources, expected, "{file:#?}");
}

/// The next turn: what changed before the message is told with it; what changes after it is told
/// with the edit, which goes on.
#[track_caller]
fn noted_turn(world: &World, driver: &AgentDriver<'_>) {
    world.settings("[freshness]\npolicy = \"note\"\n");
    world.edit(FILE, "line 60\nline 61\n", "line 60, too\nline 61, too\n");
    let change = edit(FILE, "line TEN\n", "line 10, again\n");
    world.play("noted", ModelScript::new().step("And back.", [change]).meet_at("noted", 2));
    let by_hand = ("line 70\n", "line 70, at last\n");
    finish(world, driver.resume("noted", "And back, please."), "noted", by_hand);

    let (before, after) =
        (world.server.new_texts_at("noted", 0), world.server.new_texts_at("noted", 1));
    let log = world.server.log();
    let note = "numbered.txt\": lines 60–61 changed by the user";
    assert_eq!(before.matches(note).count(), 1, "{before}\n{log}");
    assert!(after.contains("line 70 changed by the user"), "{after}\n{log}");
    let text = world.read(FILE);
    for line in ["line 10, again\n", "line 41, by hand\n", "line 61, too\n", "line 70, at last\n"] {
        assert!(text.contains(line), "no {line}: {text}");
    }
}

/// A denied edit, then notes.
#[track_caller]
fn check(agent: AgentCli, model: Option<&'static str>) {
    if !agent.is_available() {
        return;
    }
    let world = world(agent);
    let driver = world.agent_with(agent, model);
    denied_turn(&world, &driver, "Write it out, please.");
    is_fresh(&world, false);
    noted_turn(&world, &driver);
    let (_, stale) = known(&world);
    assert_eq!(stale.len(), 1, "only a look at it makes it fresh: {stale:?}");
    world.is_sound();
}

#[test]
fn claude_code() {
    check(AgentCli::ClaudeCode, None);
}

#[test]
fn codex() {
    check(AgentCli::Codex, None);
}

#[test]
fn codex_in_code_mode() {
    check(AgentCli::Codex, Some("gpt-6-sol"));
}

#[test]
fn gemini() {
    check(AgentCli::Gemini, None);
}

#[test]
fn opencode() {
    check(AgentCli::Opencode, None);
}

#[test]
fn copilot() {
    check(AgentCli::Copilot, None);
}

/// With a daemon that watches; the person's message mentions the file.
#[test]
fn claude_code_watched() {
    if !AgentCli::ClaudeCode.is_available() {
        return;
    }
    let world = world(AgentCli::ClaudeCode);
    let _daemon = Daemon::start(&world);
    denied_turn(&world, &world.agent(AgentCli::ClaudeCode), "Write out @numbered.txt please.");
    is_fresh(&world, true);
    world.is_sound();
}

/// The model looks and edits, the person edits in between, and no call is denied. Returns what
/// the model is told after its edit.
#[track_caller]
fn told_after_an_edit(world: &World, agent: AgentCli) -> String {
    let script = ModelScript::new()
        .step("I look at it.", [read(FILE)])
        .step("Now I change it.", [change()])
        .meet_at("blind", 2);
    world.play("blind", script);
    let driver = world.agent(agent);
    finish(world, driver.start("blind", "Write it out, please."), "blind", BY_HAND);
    let text = world.read(FILE);
    assert!(text.contains("line TEN\n") && text.contains(BY_HAND.1), "{text}");
    world.server.new_texts_at("blind", 2)
}

/// Cline could only be denied the whole run: its model is told, and goes on.
#[test]
fn cline() {
    if !AgentCli::Cline.is_available() {
        return;
    }
    let world = world(AgentCli::Cline);
    let told = told_after_an_edit(&world, AgentCli::Cline);
    assert!(told.contains(TOLD), "{told}\n{}", world.server.log());
}

#[test]
fn claude_code_by_a_setting_of_off() {
    if !AgentCli::ClaudeCode.is_available() {
        return;
    }
    let world = world(AgentCli::ClaudeCode);
    world.settings("[freshness]\npolicy = \"off\"\n");
    let told = told_after_an_edit(&world, AgentCli::ClaudeCode);
    assert!(!told.contains("changed by the user"), "{told}");
}

/// What the agent wrote itself, by whatever tool, is no news to it.
#[test]
fn claude_code_is_not_told_of_its_own_edits() {
    if !AgentCli::ClaudeCode.is_available() {
        return;
    }
    let world = world(AgentCli::ClaudeCode);
    let format = "sed -i 's/^line 1/LINE 1/' numbered.txt";
    let script = ModelScript::new()
        .step("I look at it.", [read(FILE)])
        .step("One.", [edit(FILE, "line 20\n", "line TWENTY\n")])
        .step("Two.", [edit(FILE, "line TWENTY\n", "line 2O\n")])
        .step("I format it.", [shell(format)])
        .step("Three.", [edit(FILE, "LINE 10\n", "LINE TEN\n")]);
    world.play("alone", script);
    world.agent(AgentCli::ClaudeCode).turn("alone", "Write it out, please.").expect_success();
    let text = world.read(FILE);
    assert!(text.contains("line 2O\n") && text.contains("LINE TEN\n"), "{text}");
    for step in 1..=5 {
        let told = world.server.new_texts_at("alone", step);
        // Claude Code has words of its own for a file that is not as it was read.
        assert!(!told.contains("you last saw") && !told.contains("you last looked"), "{told}");
    }
    assert_eq!(known(&world).1, []);
}
