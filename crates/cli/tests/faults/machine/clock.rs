//! Row 24: the clock goes backwards, or jumps by years.

use std::process::Command;

use retake_testkit::machine::{MachineRequirement, has_all};
use serde_json::{Value, json};

use super::{assert_sound, come_to, under};
use crate::support::{Ran, World};

const YEARS_AGO: &str = "-4000d";
const YEARS_AHEAD: &str = "+4000d";
const NOW: &str = "+0d";

/// The program with a clock that is so much off.
fn at(world: &World, offset: &str, arguments: &[&str]) -> Command {
    under(&["faketime", "-f", offset], &world.command(arguments))
}

fn run_at(world: &World, offset: &str, arguments: &[&str]) -> Ran {
    come_to(&mut at(world, offset, arguments))
}

/// An agent's turn that makes `text` of a file, by this clock.
fn turn_at(world: &World, offset: &str, dialog: &str, text: &str) {
    let call = format!("{dialog}-{text}");
    let command = format!("echo {text} > a.txt");
    let feed = |event: Value| {
        let input = world.outer().join("event");
        std::fs::write(&input, event.to_string()).unwrap();
        let mut command = at(world, offset, &["event"]);
        command.stdin(std::fs::File::open(input).unwrap());
        assert_eq!(command.output().unwrap().status.code(), Some(0));
    };
    feed(json!({ "event": "user_message", "dialog": dialog, "text": text }));
    feed(json!({ "event": "tool_begin", "dialog": dialog, "call": call, "tool": "Bash",
        "input": { "command": command } }));
    world.write("a.txt", format!("{text}\n"));
    feed(json!({ "event": "tool_end", "dialog": dialog, "call": call, "ok": true }));
    feed(json!({ "event": "turn_end", "dialog": dialog }));
}

/// What is on record, newest first: the time's year, and the place in the order.
fn years(world: &World) -> Vec<(String, u64)> {
    let log = world.run(&["log", "--json"]).json();
    let changes = log["changes"].as_array().unwrap().iter();
    let year = |change: &Value| change["timestamp"].as_str().unwrap()[..4].to_owned();
    changes.map(|change| (year(change), change["seq"].as_u64().unwrap())).collect()
}

/// Whatever the clock says, the newest is what came last: in the log, for undo and for restore.
#[test]
fn row_24_the_clock_jumps() {
    if !has_all(&[MachineRequirement::Program("faketime")]) {
        return;
    }
    let world = World::with(&[("a.txt", "zero\n")]);
    for (offset, text) in [(NOW, "one"), (YEARS_AHEAD, "two"), (YEARS_AGO, "three"), (NOW, "four")]
    {
        turn_at(&world, offset, "d1", text);
    }
    let seen = years(&world);
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert!(seen.is_sorted_by(|newer, older| newer.1 > older.1), "by place: {seen:?}");
    assert!(seen[1].0 < seen[0].0 && seen[0].0 < seen[2].0, "the clock did jump: {seen:?}");
    // Each undo takes back the newest, by a clock of its own.
    for (offset, text) in [(YEARS_AGO, "three"), (NOW, "two"), (YEARS_AHEAD, "one"), (NOW, "zero")]
    {
        let ran = run_at(&world, offset, &["undo", "--yes"]);
        assert_eq!(ran.code, 0, "{} {}", ran.text(), ran.stderr);
        assert_eq!(world.read("a.txt"), format!("{text}\n"));
    }
    for text in ["one", "two", "three", "four"] {
        assert_eq!(run_at(&world, YEARS_AGO, &["redo", "--yes"]).code, 0);
        assert_eq!(world.read("a.txt"), format!("{text}\n"));
    }
    assert_sound(&world);
}

/// What was recorded while the clock was years behind is not years old: what came before it in the
/// order is older.
#[test]
fn row_24_what_a_slow_clock_recorded_is_not_old() {
    if !has_all(&[MachineRequirement::Program("faketime")]) {
        return;
    }
    let world = World::with(&[("a.txt", "zero\n")]);
    turn_at(&world, NOW, "right", "one");
    turn_at(&world, YEARS_AGO, "slow", "two");
    let settings = "[retention]\nmax_age_days = 30\nmax_dialogs = 0\n";
    std::fs::write(world.home().join("config.toml"), settings).unwrap();
    let done = run_at(&world, NOW, &["gc", "--json"]).json();
    for kind in ["dialogs", "changes", "checkpoints", "sessions", "objects"] {
        assert_eq!(done["removed"][kind], 0, "{kind}: {done:#}");
    }
    world.ok(&["undo", "--yes"]);
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(&["redo", "--yes"]);
    assert_sound(&world);
    // In the end it goes as others do.
    let dry = run_at(&world, "+60d", &["gc", "--dry-run", "--json"]).json();
    let dialogs = dry["dialogs"].as_array().unwrap();
    assert!(dialogs.len() == 2 && dialogs.iter().all(|one| one["now"] == true), "{dry:#}");
    assert_sound(&world);
}

/// One that was recorded by a clock years ahead does not keep all that came after it for years.
#[test]
fn row_24_what_a_fast_clock_recorded_keeps_nothing_else() {
    if !has_all(&[MachineRequirement::Program("faketime")]) {
        return;
    }
    let world = World::with(&[("a.txt", "zero\n")]);
    turn_at(&world, YEARS_AHEAD, "fast", "one");
    turn_at(&world, NOW, "right", "two");
    let settings = "[retention]\nmax_dialogs = 0\n";
    std::fs::write(world.home().join("config.toml"), settings).unwrap();
    let dry = run_at(&world, "+60d", &["gc", "--dry-run", "--json"]).json();
    let dialogs = dry["dialogs"].as_array().unwrap();
    let goes = |id: &str| dialogs.iter().find(|dialog| dialog["id"] == id).unwrap()["now"].clone();
    assert_eq!((goes("right"), goes("fast")), (json!(true), json!(false)), "{dry:#}");
}
