//! Commands say what is so: what would be done is what is done, and what was not done is told.

use serde_json::{Value, json};

use crate::support::{Ran, World};

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

#[test]
fn wrong_usage_names_no_option_that_the_environment_gave() {
    let world = World::with(&[("a.txt", "0\n")]);
    for words in [&["accept"][..], &["restore"], &["show"], &["blame", "a.txt", "b.txt"]] {
        let mut command = world.command(words);
        let output = command.env("RETAKE_NO_DAEMON", "1").output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
        assert!(told.contains("Usage: retake"), "{told}");
        assert!(!told.contains("--home") && !told.contains("--no-daemon"), "{words:?}: {told}");
    }
}

#[test]
fn a_difference_of_a_file_is_a_part_of_the_whole_difference() {
    let world = World::with(&[("a.txt", LINES), ("notes.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ a.txt; sed -i s/2/two/ notes.txt; echo new > new.txt");
    world.write("notes.txt", world.read("notes.txt").replace('8', "eight"));
    world.write("by-hand.txt", "by hand\n");
    let whole = world.ok(&["diff"]);
    let parts: String =
        ["a.txt", "new.txt", "notes.txt"].map(|name| world.ok(&["diff", "--file", name])).concat();
    assert_eq!(whole, parts);
    for words in [["--since", "1h"], ["--dialog", "d1"], ["--agent", "main"], ["--file", "."]] {
        assert_eq!(world.ok(&[&["diff"][..], &words].concat()), whole, "{words:?}");
    }
    assert_eq!(world.ok(&["diff", "--file", "by-hand.txt"]), "");
    // Everything that happened is there for who asks for it.
    let all = world.ok(&["diff", "--all", "--file", "notes.txt"]);
    assert!(all.contains("+two") && all.contains("+eight"), "{all}");
    assert!(world.ok(&["diff", "--all"]).contains("+by hand"));
}

#[test]
fn the_help_s_example_takes_back_what_agents_did_and_nothing_else() {
    let world = World::with(&[("notes.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ notes.txt");
    world.write("notes.txt", world.read("notes.txt").replace('8', "eight"));
    world.write("by-hand.txt", "by hand\n");
    let help = world.ok(&["diff", "--help"]);
    let example = help.lines().find(|line| line.contains("git apply -R")).unwrap().trim();
    let program = world.command(&[]).get_program().to_owned();
    let line = example.replacen("retake", program.to_str().unwrap(), 1);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]).current_dir(world.root());
    command.env("RETAKE_HOME", world.home()).env("RETAKE_AUTOSTART", "0");
    assert!(command.status().unwrap().success(), "{line}");
    assert_eq!(world.read("notes.txt"), LINES.replace('8', "eight"));
    assert_eq!(world.read("by-hand.txt"), "by hand\n");
}

#[test]
fn only_what_agents_did_has_a_review_status() {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i s/2/two/ a.txt; echo new > new.txt");
    world.write("a.txt", world.read("a.txt").replace('8', "eight"));
    world.ok(&["reject", "--file", "new.txt", "--yes"]);
    let log = world.run(&["log", "--json"]).json();
    let mut seen: Vec<_> = log["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| format!("{} {}", change["actor"], change["status"]).replace('"', ""))
        .collect();
    seen.sort();
    assert_eq!(seen, ["agent pending", "agent rejected", "retake null", "user null"]);
    let ids = |words: &[&str]| {
        let log = world.run(&[&["log", "--json"][..], words].concat()).json();
        log["changes"].as_array().unwrap().len()
    };
    assert_eq!(ids(&["--status", "pending"]), 1);
    assert_eq!(ids(&["--status", "pending", "--actor", "user"]), 0);
    assert_eq!(ids(&["--actor", "user"]), 1);
    let mine = world.run(&["log", "--json", "--actor", "user"]).json();
    let mine = mine["changes"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.run(&["show", &mine, "--json"]).json()["change"]["status"], Value::Null);
    assert!(!world.ok(&["show", &mine]).contains("pending"));
}
