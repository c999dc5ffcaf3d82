//! Rejections that wait for the end of a turn.

use std::process::{Command, Stdio};

use expect_test::expect;
use retake_testkit::machine::{MachineRequirement, has_all};
use serde_json::json;

use super::{LINES, end_turn, ids_in, review, seen, without_ids};
use crate::daemon::Daemon;
use crate::hook::{claude, prompt, write_call};
use crate::support::{World, ran};

/// An agent that has changed two places and is still at work.
fn at_work() -> (World, Vec<String>) {
    let world = World::with(&[("a.txt", LINES)]);
    world.say("d1", "go");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt");
    let ids = ids_in(&world, "a.txt");
    (world, ids)
}

fn both() -> String {
    LINES.replace("\n2\n", "\ntwo\n").replace("\n11\n", "\neleven\n")
}

#[test]
fn a_rejection_waits_for_the_end_of_the_turn() {
    let (world, ids) = at_work();
    expect![[r#"
        Rejection 1 waits until d1 has ended its turn; `retake review --cancel 1` takes it out of the queue.
        exit 0
    "#]].assert_eq(&seen(&world, &["reject", &ids[0], "--wait", "--reason", "no words"]));
    assert_eq!(world.read("a.txt"), both());
    expect![[r#"
        a.txt  +2  -2  2 hunks, not reviewed
          HUNK-ID------  line 2   +1  -1  d1:1  rejection 1 waits
          HUNK-ID------  line 11  +1  -1  d1:1

        1 file, 2 hunks, 2 not reviewed
        1 rejection waits for the end of a turn (`retake review --queue`).

          retake review -p             decide on them one by one
          retake accept h…             keep one
          retake reject h… --reason …  take one back; your own edits stay
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["review"]));
    assert_eq!(review(&world, &[])["queued"], 1);
    let again = world.ok(&["reject", &ids[0], "--wait"]);
    assert!(again.starts_with("Rejection 1 waits until d1"), "once is enough: {again}");
    end_turn(&world, "d1");
    assert_eq!(world.read("a.txt"), LINES.replace("\n11\n", "\neleven\n"));
    let queue = world.run(&["review", "--queue", "--json"]).json();
    assert_eq!(queue["entries"][0]["state"], "done", "{queue:#}");
    assert_eq!(queue["entries"][0]["reason"], "no words");
    world.ok(&["undo"]);
    assert_eq!(world.read("a.txt"), both());
}

#[test]
fn without_wait_or_without_an_agent_at_work_it_is_done_at_once() {
    let (world, ids) = at_work();
    assert_eq!(world.run(&["reject", &ids[0]]).code, 0);
    assert_eq!(world.read("a.txt"), LINES.replace("\n11\n", "\neleven\n"));
    end_turn(&world, "d1");
    assert_eq!(world.run(&["reject", &ids[1], "--wait"]).code, 0);
    assert_eq!(world.read("a.txt"), LINES);
}

#[test]
fn the_queue_is_listed_and_cancelled() {
    let (world, ids) = at_work();
    assert_eq!(
        world.ok(&["review", "--queue"]),
        "No rejection waits. `retake reject --wait` queues one while an agent works.\n"
    );
    world.ok(&["reject", &ids[0], "--wait", "--reason", "first"]);
    world.ok(&["reject", &ids[1], "--wait"]);
    let listed = without_ids(&world.ok(&["review", "--queue"]));
    let mut rows = listed.lines();
    assert!(rows.next().unwrap().starts_with("N  STATE"), "{listed}");
    assert!(listed.contains("waits for d1") && listed.contains("first"), "{listed}");
    assert_eq!(
        without_ids(&world.ok(&["review", "--cancel", "2"])),
        "Cancelled rejection 2: HUNK-ID------ in a.txt stays, undecided.\n"
    );
    let refused = world.run(&["review", "--cancel", "2"]);
    assert_eq!(refused.code, 1, "{}", refused.text());
    assert!(refused.stderr.contains('2'), "{}", refused.stderr);
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert_eq!(world.read("a.txt"), LINES.replace("\n11\n", "\neleven\n"));
}

#[test]
fn a_hunk_that_changed_meanwhile_is_left_and_the_queue_says_why() {
    let (world, ids) = at_work();
    world.ok(&["reject", &ids[0], "--wait"]);
    world.shell("k2", "sed -i 's/^two$/zwei/' a.txt");
    end_turn(&world, "d1");
    assert!(world.read("a.txt").contains("zwei"));
    let queue = world.ok(&["review", "--queue"]);
    assert!(queue.contains("dropped: the place changed since"), "{queue}");
}

#[test]
fn other_lines_of_a_hunk_that_waits_are_queued_too() {
    let world = World::with(&[("a.txt", "1\n")]);
    world.say("d1", "go");
    world.shell("k1", "printf '1\\none\\ntwo\\nthree\\nfour\\n' > a.txt");
    let id = ids_in(&world, "a.txt").remove(0);
    world.ok(&["reject", &format!("{id}:+1"), "--wait"]);
    let more = world.ok(&["reject", &format!("{id}:+3"), "--wait"]);
    assert!(more.starts_with("Rejection 2 waits"), "{more}");
    let same = world.ok(&["reject", &format!("{id}:+1"), "--wait"]);
    assert!(same.starts_with("Rejection 1 waits"), "{same}");
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert_eq!(world.read("a.txt"), "1\ntwo\nfour\n");
    let queue = world.run(&["review", "--queue", "--json"]).json();
    for entry in queue["entries"].as_array().unwrap() {
        assert_eq!(entry["state"], "done", "{queue:#}");
    }
}

/// Nothing has told that the turn has ended, and nothing has happened for ten minutes.
#[test]
fn what_is_due_is_carried_out_by_the_next_command_which_says_so() {
    if !has_all(&[MachineRequirement::Program("faketime")]) {
        return;
    }
    let (world, ids) = at_work();
    world.ok(&["reject", &ids[0], "--wait"]);
    world.ok(&["reject", &ids[1], "--wait"]);
    let later = |world: &World, words: &[&str]| {
        let command = world.command(words);
        let mut faked = Command::new("faketime");
        faked.args(["-f", "+11m"]).arg(command.get_program()).args(command.get_args()).env_clear();
        faked.envs(command.get_envs().map(|(name, value)| (name, value.unwrap())));
        ran(faked.current_dir(world.root()).stdin(Stdio::null()).output().unwrap())
    };
    world.write("a.txt", both().replace("eleven", "elf"));
    let told = later(&world, &["review"]);
    assert_eq!(world.read("a.txt"), both().replace("two", "2").replace("eleven", "elf"));
    let told = without_ids(&told.stderr);
    let done = "note: rejection 1 of HUNK-ID------ in a.txt was carried out as o";
    let dropped =
        "note: rejection 2 of HUNK-ID------ in a.txt was dropped: the place changed since";
    assert!(told.contains(done) && told.contains(dropped), "{told}");
}

/// Claude Code writes a file, the person rejects it, and the turn ends.
fn assert_the_hook_carries_it_out(world: &World) {
    claude(world, &prompt("add two"));
    claude(world, &write_call("PreToolUse", "a.txt", "two\n"));
    world.write("a.txt", "two\n");
    claude(world, &write_call("PostToolUse", "a.txt", "two\n"));
    let id = ids_in(world, "a.txt").remove(0);
    world.ok(&["reject", &id, "--wait"]);
    assert_eq!(world.read("a.txt"), "two\n");
    claude(world, &json!({ "hook_event_name": "Stop" }));
    assert_eq!(world.read("a.txt"), LINES);
    let queue = world.run(&["review", "--queue", "--json", "--no-look"]).json();
    assert_eq!(queue["entries"][0]["state"], "done", "{queue:#}");
}

#[test]
fn the_hook_of_the_turns_end_carries_it_out() {
    assert_the_hook_carries_it_out(&World::with(&[("a.txt", LINES)]));
}

#[test]
fn the_same_with_a_daemon() {
    let world = World::with(&[("a.txt", LINES)]);
    let _daemon = Daemon::of(&world);
    assert_the_hook_carries_it_out(&world);
}

/// What waits is carried out without another question, so it is asked for before.
#[test]
fn lines_of_the_person_are_asked_for_before_they_wait() {
    let (world, _) = at_work();
    world.write("own.txt", "my own precious work\n");
    let everything = ["reject", "--scope", "everything", "--all", "--wait"];
    let refused = world.run(&everything);
    assert_eq!(refused.code, 3, "{}{}", refused.text(), refused.stderr);
    assert!(refused.stderr.contains("needs your confirmation"), "{}", refused.stderr);
    assert_eq!(review(&world, &[])["queued"], 0, "nor does it wait unasked");
    world.ok(&[&everything[..], &["--yes"]].concat());
    world.ok(&["review"]);
    assert_eq!(world.read("own.txt"), "my own precious work\n", "it waits with the agent's");
    end_turn(&world, "d1");
    world.ok(&["review"]);
    assert_eq!(world.read("a.txt"), LINES);
    assert!(!world.root().join("own.txt").exists());
    world.ok(&["undo", "--yes"]);
    assert_eq!(world.read("own.txt"), "my own precious work\n");
}
