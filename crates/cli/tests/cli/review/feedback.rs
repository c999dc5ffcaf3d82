//! `retake feedback`: what agents were not told yet.

use expect_test::expect;

use super::{ids_in, reviewed_world, seen};
use crate::support::World;

/// A rejection with a reason, and a comment that was sent.
fn world_with_feedback() -> World {
    let world = reviewed_world();
    let ids = ids_in(&world, "a.txt");
    world.ok(&["reject", &ids[0], "--reason", "we count in digits"]);
    world.ok(&["comment", "add", "b.txt", "what is this for?", "--question"]);
    world.ok(&["comment", "send"]);
    world
}

#[test]
fn printing_is_not_telling() {
    let world = world_with_feedback();
    expect![[r#"
        The person rejected these changes of yours. They are out of the files:
        - o11: we count in digits
          - "a.txt"
            ```diff
            -2
            +two
            ```
        Do not make them again unless you are asked to.

        The person commented on your work:
        - #1 (question, "b.txt"): what is this for?
        Do what is asked, and answer the questions.
        exit 0
    "#]]
    .assert_eq(&seen(&world, &["feedback"]));
    let first = world.ok(&["feedback"]);
    assert_eq!(world.ok(&["feedback", "d1"]), first);
    assert_eq!(world.ok(&["feedback", "--told"]), first);
    assert_eq!(world.ok(&["feedback"]), "Each agent has heard everything.\n");
    assert_eq!(world.ok(&["feedback", "d1"]), "d1 has heard everything.\n");
    let heard = world.run(&["comment", "--json"]).json();
    assert!(heard["comments"][0]["heard"].is_u64(), "{heard:#}");
}

#[test]
fn without_a_clipboard_it_does_not_count_as_told() {
    let world = world_with_feedback();
    let text = world.ok(&["feedback"]);
    let ran = world.run(&["feedback", "--copy"]);
    assert_eq!((ran.code, ran.text()), (3, text.clone()));
    assert!(ran.stderr.contains("no clipboard was found"), "{}", ran.stderr);
    assert!(ran.stderr.contains("xclip"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--told"), "the way out is named: {}", ran.stderr);
    assert_eq!(world.ok(&["feedback"]), text);
}

#[test]
fn on_the_clipboard_it_counts_as_told() {
    let world = world_with_feedback();
    let text = world.ok(&["feedback"]);
    let bin = world.outer().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let copied = world.outer().join("copied");
    let program = format!("#!/bin/sh\ncat > '{}'\n", copied.display());
    std::fs::write(bin.join("xclip"), program).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("xclip"), mode).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = world.command(&["feedback", "--copy"]);
    command.env("PATH", format!("{}:{path}", bin.display())).env("DISPLAY", ":0");
    let ran = crate::support::ran(command.stdin(std::process::Stdio::null()).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.text().starts_with("Copied with xclip: paste it into the conversation of d1."));
    assert_eq!(std::fs::read_to_string(copied).unwrap(), text);
    assert_eq!(world.ok(&["feedback"]), "Each agent has heard everything.\n");
}

#[test]
fn of_several_agents_one_is_named() {
    let world = world_with_feedback();
    world.say("d2", "go");
    world.shell_of("d2", "k9", "echo x >> c.txt");
    world.ok(&["comment", "add", "c.txt", "no", "--for", "d2"]);
    world.ok(&["comment", "send"]);
    let asked = world.run(&["feedback"]);
    assert!(asked.stderr.contains("2 agents have something to hear"), "{}", asked.stderr);
    assert!(asked.stderr.contains("name one: retake feedback d"), "{}", asked.stderr);
    let second = world.ok(&["feedback", "d2"]);
    assert!(second.contains("- #2 (") && second.contains("c.txt"), "{second}");
}
