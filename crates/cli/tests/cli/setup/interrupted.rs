//! Setup that is killed, or that finds the disk full, at any step: each file of the person is wholly
//! as it was or wholly as it shall be, and asking again ends it well.

use std::collections::BTreeMap;

use retake_testkit::proof_counts;
use retake_testkit::sweep::{InjectedFault, kill_points};

use super::*;

type Files = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

/// A person's files by their names, but for what waits to take a file's place.
fn files(machine: &Machine) -> Files {
    let home = machine.home("");
    let inside = |path: PathBuf| path.strip_prefix(&home).unwrap().to_owned();
    let all = machine.tree().into_iter().filter(|(_, _, content)| content.is_some());
    let all = all.map(|(path, mode, content)| (inside(path), (mode, content)));
    all.filter(|(path, _)| path.extension().is_none_or(|end| end != "retake-tmp")).collect()
}

/// A machine whose agents have settings of the person's own.
fn prepared() -> Machine {
    let machine = Machine::new();
    let own = "{\n  // mine\n  \"model\": \"x\",\n}\n";
    for (name, text) in [
        (".claude/settings.json", own),
        (".codex/config.toml", "# mine\nmodel = \"x\"\n"),
        (".gemini/settings.json", own),
        (".copilot/config.json", own),
        (".cursor/hooks.json", "{ \"version\": 1, \"hooks\": {} }\n"),
    ] {
        let file = machine.home(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    machine
}

fn sweep(agent: &str) {
    let (arguments, counted) = (["setup", agent, "-y"], prepared());
    let (old, steps) = (files(&counted), counted.0.outer().join("steps"));
    let whole = counted.command(&arguments).env("RETAKE_COUNT_STEPS", &steps).output().unwrap();
    assert!(whole.status.success(), "{}", ran(whole).stderr);
    let new = files(&counted);
    assert_ne!(old, new);
    let steps = kill_points(&fs::read_to_string(steps).unwrap());
    assert!(steps.len() > 5, "{steps:?}");
    for step in &steps {
        for fault in
            [InjectedFault::Kill, InjectedFault::Fail("ENOSPC"), InjectedFault::Stays("EROFS")]
        {
            let seen = format!("{agent}, {fault:?} at {step:?}");
            let machine = prepared();
            let (name, value) = fault.variable(step.number);
            let stopped = machine.command(&arguments).env(name, value).output().unwrap();
            assert_eq!(stopped.status.code().is_none(), fault == InjectedFault::Kill, "{seen}");
            let now = files(&machine);
            for (path, file) in &now {
                let is_one = old.get(path) == Some(file) || new.get(path) == Some(file);
                assert!(is_one, "{} is neither old nor new: {seen}", path.display());
            }
            assert!(old.keys().all(|path| now.contains_key(path)), "{seen}: {now:?}");
            machine.ok(&arguments);
            assert_eq!(files(&machine), new, "{seen}");
            machine.ok(&["setup", "--remove", agent, "-y"]);
            assert_eq!(files(&machine), old, "{seen}");
        }
    }
    proof_counts::record_count("fault", "kill", "setup", steps.len());
    proof_counts::record_count("fault", "ENOSPC", "setup", steps.len());
    proof_counts::record_count("fault", "EROFS", "setup", steps.len());
}

#[test]
fn a_fault_at_any_step_of_setup_for_claude_code() {
    sweep("claude-code");
}

#[test]
fn a_fault_at_any_step_of_setup_for_codex() {
    sweep("codex");
}

#[test]
fn a_fault_at_any_step_of_setup_for_the_others() {
    for agent in ["gemini", "opencode", "copilot", "cline", "cursor"] {
        sweep(agent);
    }
}
