//! Where later edits touch the same lines, a person at a terminal chooses what becomes of them.

use serde_json::json;

use crate::support::World;

/// An agent's line, which the person wrote over.
fn own_edit() -> World {
    let world = World::with(&[("prices.txt", "bread 3\nmilk 2\ntea 4\nrice 1\n")]);
    world.say("d1", "make milk dear");
    world.shell("k1", "sed -i 's/milk 2/milk 20/' prices.txt");
    world.write("prices.txt", "bread 3\nmilk 19\ntea 4\nrice 1\n");
    world
}

const QUESTION: &str = "\
prices.txt, line 2 (- is there now, + would be there)
    1   bread 3
    2 - milk 19
      + milk 2
    3   tea 4
    4   rice 1
prices.txt: your later edit touches the same lines.
[k]eep the file as it is [b]oth versions with markers
[t]ake the later edit back too [d]iff [N]o, do nothing ";

#[test]
fn the_place_is_shown_and_the_file_can_stay() {
    for answer in ["k\n", "keep\n"] {
        let world = own_edit();
        let Some((seen, code)) = world.answered_with_code("undo", answer) else { return };
        assert!(seen.contains(QUESTION), "{seen}");
        assert!(seen.contains("later changes touch the same lines"), "{seen}");
        assert_eq!((code, world.read("prices.txt").contains("milk 19")), (3, true), "{seen}");
        assert!(QUESTION.lines().all(|line| line.chars().count() <= 80));
    }
}

#[test]
fn without_an_answer_nothing_is_done() {
    for answer in ["", "\n", "n\n", "x\ny\nz\nb\n"] {
        let world = own_edit();
        let Some((seen, code)) = world.answered_with_code("undo", answer) else { return };
        assert!(seen.ends_with("Cancelled; nothing was changed.\n"), "{seen}");
        assert_eq!((code, world.read("prices.txt").contains("milk 19")), (3, true), "{seen}");
        // The step was not even tried.
        let plan = world.run(&["undo", "--dry-run", "--json"]).json();
        assert_eq!(plan["files"][0]["reason"]["code"], "conflict", "{plan}");
    }
}

#[test]
fn both_versions_go_between_markers() {
    let world = own_edit();
    let Some((seen, code)) = world.answered_with_code("undo", "b\n") else { return };
    assert_eq!(code, 0, "{seen}");
    let text = world.read("prices.txt");
    assert!(
        text.contains("<<<<<<< now\nmilk 19\n") && text.contains("=======\nmilk 2\n"),
        "{text}"
    );
}

#[test]
fn taking_the_later_edit_too_asks_for_it_by_name() {
    let world = own_edit();
    let Some((seen, code)) = world.answered_with_code("undo", "t\nn\n") else { return };
    assert!(seen.contains("It takes back edits of yours: c"), "{seen}");
    assert!(seen.ends_with("Cancelled; nothing was changed.\n"), "{seen}");
    assert_eq!((code, world.read("prices.txt").contains("milk 19")), (3, true));
    let (seen, code) = world.answered_with_code("undo", "take\nyes\n").unwrap();
    assert_eq!((code, world.read("prices.txt").contains("milk 2\n")), (0, true), "{seen}");
}

#[test]
fn the_diff_has_both_sides() {
    let world = own_edit();
    let Some(seen) = world.answered("undo", "d\nk\n") else { return };
    let (_, diff) = seen.split_once("To be taken back:\n").expect(&seen);
    let (taken, later) = diff.split_once("Since then:\n").expect(&seen);
    assert!(taken.contains("-milk 2\n") && taken.contains("+milk 20\n"), "{seen}");
    assert!(later.contains("-milk 20\n") && later.contains("+milk 19\n"), "{seen}");
    assert_eq!(seen.matches("[k]eep").count(), 2, "{seen}");
}

#[test]
fn every_command_that_takes_back_asks() {
    let id = |world: &World| {
        let log = world.run(&["log", "--json", "--actor", "agent"]).json();
        log["changes"][0]["id"].as_str().unwrap().to_owned()
    };
    let reject = |world: &World| format!("reject {}", id(world));
    let rollback = |_: &World| "rollback --dialog d1".to_owned();
    let reset = |_: &World| "reset".to_owned();
    let commands: [&dyn Fn(&World) -> String; 3] = [&reject, &rollback, &reset];
    for words in commands {
        let world = own_edit();
        let Some((seen, code)) = world.answered_with_code(&words(&world), "b\n") else { return };
        assert_eq!((code, seen.contains(QUESTION)), (0, true), "{seen}");
        assert!(world.read("prices.txt").contains("<<<<<<< now\n"), "{seen}");
    }
    let world = World::with(&[("prices.txt", "milk 2\n")]);
    world.say("d1", "make milk dear");
    world.shell("k1", "echo milk 20 > prices.txt");
    world.ok(&["undo"]);
    world.write("prices.txt", "milk 3\n");
    let (seen, code) = world.answered_with_code("redo", "t\ny\n").unwrap();
    assert_eq!((code, world.read("prices.txt").as_str()), (0, "milk 20\n"), "{seen}");
}

#[test]
fn an_agent_s_later_edit_is_named() {
    let world = World::with(&[("a.txt", "1\n2\n3\n")]);
    world.say("d1", "one");
    world.shell("k1", "sed -i s/2/two/ a.txt");
    let begin = json!({
        "event": "tool_begin", "dialog": "d2", "kind": "codex", "call": "k2", "tool": "Write",
        "input": { "file_path": "a.txt" }
    });
    world.feed(begin.to_string());
    world.write("a.txt", "1\nzwei\n3\n");
    let end =
        json!({ "event": "tool_end", "dialog": "d2", "kind": "codex", "call": "k2", "ok": true });
    world.feed(end.to_string());
    let Some(seen) = world.answered("rollback --dialog d1", "k\n") else { return };
    assert!(seen.contains("a.txt: a later edit by d2 touches the same lines."), "{seen}");
}

#[test]
fn several_files_are_one_question() {
    let names = ["a.txt", "b.txt", "c.txt", "d.txt"];
    let world = World::with(&names.map(|name| (name, "1\n2\n3\n")));
    world.say("d1", "one");
    world.shell("k1", "sed -i s/2/two/ a.txt b.txt c.txt d.txt; echo new > new.txt");
    for name in names {
        world.write(name, "1\nmine\n3\n");
    }
    let Some((seen, code)) = world.answered_with_code("undo", "k\n") else { return };
    assert!(seen.contains("c.txt, line 2") && !seen.contains("d.txt, line 2"), "{seen}");
    assert!(seen.contains("and 1 more place\n"), "{seen}");
    assert!(seen.contains("4 files: your later edits touch the same lines."), "{seen}");
    assert!(seen.contains("[k]eep the files as they are"), "{seen}");
    assert_eq!(seen.matches("[k]eep").count(), 1, "{seen}");
    // What else the plan does is shown before it is asked.
    let (shown, _) = seen.split_once("[k]eep").unwrap();
    assert!(shown.contains("remove  new.txt  (did not exist)"), "{seen}");
    // The rest is done.
    assert_eq!((code, world.read("new.txt").as_str()), (3, "(absent)"), "{seen}");
    assert!(names.iter().all(|name| world.read(name) == "1\nmine\n3\n"));
}

#[test]
fn options_and_programs_are_not_asked() {
    for words in
        ["undo --yes", "undo --markers", "undo --cascade --yes", "undo --dry-run", "undo --json"]
    {
        let world = own_edit();
        let Some(seen) = world.answered(words, "") else { return };
        assert!(!seen.contains("[k]eep"), "{words}: {seen}");
    }
    let world = own_edit();
    let ran = world.run(&["undo"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (3, ""));
}
