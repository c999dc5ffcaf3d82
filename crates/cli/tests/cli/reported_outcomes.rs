//! Commands say what is so: what would be done is what is done, and what was not done is told.

use serde_json::{Value, json};

use crate::support::{Ran, World};

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// Documents that were printed one after the other.
fn documents(ran: &Ran) -> Vec<Value> {
    let documents = serde_json::Deserializer::from_slice(&ran.stdout).into_iter();
    documents.collect::<Result<_, _>>().unwrap()
}

/// What a document says of its operation, but for what only a deed has.
fn planned(document: &Value) -> Value {
    let mut document = document.clone();
    for name in ["operation", "safety", "dry_run"] {
        document[name] = Value::Null;
    }
    for file in document["files"].as_array_mut().unwrap() {
        file["done"] = Value::Null;
    }
    if let Some(conversation) = document.get_mut("conversation") {
        conversation["done"] = Value::Null;
    }
    document
}

/// The id of the newest checkpoint.
fn newest_checkpoint(world: &World) -> String {
    let made = world.run(&["checkpoints", "--json"]).json();
    made["checkpoints"][0]["id"].as_str().unwrap().to_owned()
}

/// Three turns over the same files, each of which needs the one before: edits beneath a line of the
/// person's, a file that becomes a folder, one that is deleted and made again.
fn three_turns() -> World {
    let world = World::with(&[("a.txt", LINES), ("place", "file\n"), ("back.txt", "back\n")]);
    world.say("d1", "first");
    world.shell("k1", "sed -i s/2/two/ a.txt; rm place; mkdir place; echo in > place/in.txt");
    world.shell("k2", "rm back.txt");
    world.say("d1", "second");
    world.shell("k3", "sed -i s/5/five/ a.txt; echo again > back.txt; echo more > place/more.txt");
    world.say("d1", "third");
    world.shell("k4", "sed -i s/7/seven/ a.txt; rm back.txt; echo x >> place/in.txt");
    world.write("a.txt", world.read("a.txt").replace('9', "mine"));
    world
}

#[test]
fn a_dry_run_of_several_steps_is_what_they_do() {
    let world = three_turns();
    let before = (world.read("a.txt"), world.read("place/in.txt"), world.read("back.txt"));
    let log = world.ok(&["log", "--json"]);
    let ops = world.ok(&["ops", "--json"]);
    let told = world.run(&["undo", "3", "--dry-run", "--json"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let told = documents(&told);
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(told.iter().all(|step| step["dry_run"] == true && step["operation"].is_null()));
    let text = world.ok(&["undo", "3", "--dry-run", "--diff"]);
    for (number, diff) in [(3, "-seven\n+7"), (2, "-five\n+5"), (1, "-two\n+2")] {
        assert!(text.contains(&format!("undo of turn {number} of d1")), "{text}");
        assert!(text.contains(diff), "{text}");
    }
    assert_eq!(text.matches("Nothing was written.").count(), 1, "{text}");
    // Nothing of it happened, on disk or on record.
    assert_eq!((world.read("a.txt"), world.read("place/in.txt"), world.read("back.txt")), before);
    assert_eq!((world.ok(&["log", "--json"]), world.ok(&["ops", "--json"])), (log, ops));
    assert_eq!(world.run(&["doctor", "--read-data"]).code, 0);
    let done = world.run(&["undo", "3", "--yes", "--json"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let done: Vec<_> = documents(&done).iter().map(planned).collect();
    assert_eq!(told.iter().map(planned).collect::<Vec<_>>(), done);
    assert_eq!(world.read("a.txt"), LINES.replace('9', "mine"));
    assert_eq!(
        (world.read("place").as_str(), world.read("back.txt").as_str()),
        ("file\n", "back\n")
    );
}

#[test]
fn a_dry_run_of_several_steps_stops_where_they_would() {
    let world = three_turns();
    // In the way of the second step.
    world.write("a.txt", world.read("a.txt").replace("five", "my five"));
    let told = world.run(&["undo", "3", "--dry-run", "--json"]);
    let steps = documents(&told);
    assert_eq!((told.code, steps.len()), (3, 2), "{steps:#?}");
    assert_eq!(steps[1]["whole"], false);
    let told = world.run(&["undo", "3", "--dry-run"]);
    assert!(told.code == 3 && told.text().contains("would be the last"), "{}", told.text());
    let done = world.run(&["undo", "3", "--yes", "--json"]);
    let done = (done.code, documents(&done).iter().map(planned).collect::<Vec<_>>());
    assert_eq!(done, (3, steps.iter().map(planned).collect()));
}

#[test]
fn a_dry_run_of_several_steps_has_their_conversation_too() {
    let world = three_turns();
    let steps = |more: &[&str]| {
        let words = [&["undo", "2", "--both", "--json"][..], more].concat();
        documents(&world.run(&words)).iter().map(planned).collect::<Vec<_>>()
    };
    let told = steps(&["--dry-run"]);
    assert!(told.len() == 2 && told.iter().all(|step| step["conversation"]["unsaid"] == 1));
    assert_eq!(told, steps(&["--yes"]));
}

#[test]
fn more_steps_than_there_are_are_told_once() {
    let world = World::with(&[("a.txt", "0\n")]);
    world.say("d1", "go");
    world.shell("k1", "echo 1 > a.txt");
    for words in [&["undo", "4", "--dry-run"][..], &["undo", "4"]] {
        let told = world.ok(words);
        assert_eq!(told.matches("turn 1 of d1").count(), 1, "{told}");
        assert_eq!(told.matches("nothing more to undo").count(), 1, "{told}");
    }
    assert_eq!(world.read("a.txt"), "0\n");
}

#[test]
fn a_path_that_no_state_has_is_not_restored_in_silence() {
    let world = World::with(&[("a.txt", "0\n"), (".gitignore", "*.log\n"), ("x.log", "log\n")]);
    world.ok(&["checkpoint", "-m", "start"]);
    let id = newest_checkpoint(&world);
    world.say("d1", "go");
    world.shell("k1", "echo 1 > a.txt; echo new > new.txt");
    for (words, name) in [(&["typo"][..], "typo"), (&["x.log", "src/typo"], "src/typo")] {
        let ran = world.run(&[&["restore", &id][..], words].concat());
        assert_eq!((ran.code, ran.text().as_str()), (1, ""), "{words:?}");
        assert!(ran.stderr.contains(name) && ran.stderr.contains("hint:"), "{}", ran.stderr);
        let ran = world.run(&[&["restore", "--json", &id][..], words].concat());
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("unknown_path")));
    }
    assert_eq!(world.read("a.txt"), "1\n");
    let ran = world.run(&["restore", &id, "typo", "a.txt", "--json"]);
    let document = ran.json();
    assert_eq!((ran.code, &document["whole"]), (3, &json!(false)), "{document:#}");
    let left = &document["files"].as_array().unwrap().iter().find(|file| file["path"] == "typo");
    assert_eq!(left.unwrap()["reason"]["code"], "not_on_record");
    assert_eq!(world.read("a.txt"), "0\n");
    // What is as it was, and what came or went since, is known.
    for name in ["a.txt", "new.txt", "."] {
        assert_eq!(world.run(&["restore", &id, name, "--dry-run"]).code, 0, "{name}");
    }
}

#[test]
fn a_new_file_over_the_limit_is_told_as_that() {
    let world = World::with(&[("grows.bin", "small\n")]);
    std::fs::write(world.home().join("config.toml"), "[limits]\nmax_file_bytes = 100\n").unwrap();
    world.say("d1", "go");
    world.shell("k1", "head -c 1000 /dev/zero > big.bin; head -c 1000 /dev/zero > grows.bin");
    let told = world.run(&["undo", "--dry-run"]);
    assert_eq!(told.code, 3);
    let (told, lines) = (told.text(), told.text());
    let line = |name: &str| lines.lines().find(|line| line.contains(name)).unwrap_or(&told);
    assert!(line("big.bin").contains("new, and too large to be kept"), "{told}");
    assert!(line("grows.bin").contains("too large to be kept now"), "{told}");
    assert!(!told.contains("earlier content was not captured"), "{told}");
    world.ok(&["checkpoint"]);
    let first = world.run(&["checkpoints", "--json"]).json();
    let first = first["checkpoints"].as_array().unwrap().last().unwrap()["id"].clone();
    let told = world.run(&["restore", first.as_str().unwrap(), "--dry-run"]).text();
    assert!(told.contains("new, and too large to be kept"), "{told}");
}

#[test]
fn a_restore_for_one_dialog_concerns_what_that_dialog_changed() {
    let files = [("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n"), ("mine.txt", "m\n")];
    let world = World::with(&files);
    world.ok(&["checkpoint", "-m", "start"]);
    let id = newest_checkpoint(&world);
    world.say("d1", "go");
    world.shell_of("d1", "k1", "echo 1 > a.txt; echo 1 > c.txt; echo 1 > new.txt");
    world.say("d2", "go");
    world.shell_of("d2", "k2", "echo 2 > b.txt; echo 2 > c.txt");
    world.write("mine.txt", "mine\n");
    let ran = world.run(&["restore", &id, "--dialog", "d1", "--yes"]);
    assert_eq!(ran.code, 3, "{} {}", ran.text(), ran.stderr);
    assert!(ran.text().contains("d2 changed it since"), "{}", ran.text());
    let now = ["a.txt", "b.txt", "c.txt", "new.txt", "mine.txt"].map(|name| world.read(name));
    assert_eq!(now, ["a\n", "2\n", "2\n", "(absent)", "mine\n"]);
    // With --exact, also what others changed later; still nothing that the dialog had no part in.
    world.ok(&["restore", &id, "--dialog", "d1", "--exact", "--yes"]);
    let now = ["b.txt", "c.txt", "mine.txt"].map(|name| world.read(name));
    assert_eq!(now, ["2\n", "c\n", "mine\n"]);
    assert_eq!(world.run(&["restore", &id, "--dialog", "d9"]).code, 1);
}

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
fn a_dry_run_says_that_it_is_one_even_if_there_is_nothing_to_do() {
    let world = World::with(&[("a.txt", "0\n")]);
    for verb in ["undo", "redo"] {
        for (words, dry_run) in
            [(&[verb, "--dry-run", "--json"][..], true), (&[verb, "--json"], false)]
        {
            assert_eq!(world.run(words).json()["dry_run"], dry_run, "{words:?}");
        }
    }
    world.say("d1", "go");
    world.shell("k1", "echo new > new.txt");
    world.ok(&["approve"]);
    for verb in ["undo", "reset"] {
        let told = world.run(&[verb, "--dry-run", "--json"]);
        assert_eq!(told.json()["dry_run"], true, "{verb}");
    }
    // It needs a yes, and is not carried out: but that is not what was asked for.
    world.shell("k2", "echo more > more.txt");
    let refused = world.run(&["reset", "--json"]);
    assert_eq!((refused.code, &refused.json()["dry_run"]), (3, &json!(false)));
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
