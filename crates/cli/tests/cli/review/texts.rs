//! `retake review --patch` and `--report`: a review for other programs and other people.

use std::io::Write as _;
use std::process::{Command, Stdio};

use expect_test::expect;

use super::{LINES, end_turn, ids_in, without_ids};
use crate::support::World;

fn git(world: &World, words: &[&str], input: &[u8]) -> String {
    let mut command = Command::new("git");
    command.args(words).current_dir(world.root()).env("HOME", world.outer().join("person"));
    command.args::<_, &str>([]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let done = child.wait_with_output().unwrap();
    let problem = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{words:?}: {problem}");
    String::from_utf8(done.stdout).unwrap()
}

/// A repository with everything committed.
fn repository(files: &[(&str, &str)]) -> World {
    let world = World::new();
    for (name, text) in files {
        world.write(name, text);
    }
    git(&world, &["init", "-q"], b"");
    git(&world, &["add", "."], b"");
    let who = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"];
    git(&world, &who, b"");
    world.ok(&["init"]);
    world
}

#[test]
fn the_patch_stages_what_was_kept_and_nothing_else() {
    let name = "a file é";
    let world =
        repository(&[(name, LINES), ("open", "one\ntwo"), ("gone", "1\n"), ("dos", "a\r\nb\r\n")]);
    world.say("d1", "go");
    world.shell(
        "k1",
        "sed -i 's/^2$/two/; s/^11$/eleven/' 'a file é'; printf 'one\\nzwei' > open; rm gone; \
         printf 'a\\r\\nB\\r\\n' > dos; printf 'new\\n' > new; chmod +x new",
    );
    end_turn(&world, "d1");
    // What the person writes besides is not staged with it.
    world.write(name, world.read(name).replace("\n6\n", "\nmine\n"));
    let nothing = world.run(&["review", "--patch"]);
    assert_eq!((nothing.code, nothing.text().as_str()), (0, ""));
    assert!(nothing.stderr.contains("no hunk of this is kept yet"), "{}", nothing.stderr);
    let kept = ids_in(&world, name).remove(1);
    world.ok(&["accept", &kept]);
    for file in ["open", "gone", "dos", "new"] {
        world.ok(&["accept", &ids_in(&world, file)[0]]);
    }
    let patch = world.run(&["review", "--patch"]).stdout;
    git(&world, &["apply", "--cached"], &patch);
    let staged = |file: &str| git(&world, &["show", &format!(":{file}")], b"");
    assert_eq!(staged(name), LINES.replace("\n11\n", "\neleven\n"));
    assert_eq!((staged("open"), staged("dos")), ("one\nzwei".to_owned(), "a\r\nB\r\n".to_owned()));
    let index = git(&world, &["ls-files", "-s"], b"");
    assert!(!index.contains("\tgone"), "{index}");
    assert!(
        index.lines().any(|line| line.starts_with("100755") && line.ends_with("\tnew")),
        "{index}"
    );
    // Of the files, nothing was changed.
    assert_eq!(world.read("open"), "one\nzwei");
}

#[test]
fn the_patch_is_narrowed_to_paths() {
    let world = repository(&[("a", "1\n"), ("b", "1\n")]);
    world.say("d1", "go");
    world.shell("k1", "echo 2 >> a; echo 2 >> b");
    world.ok(&["accept", &ids_in(&world, "a")[0], &ids_in(&world, "b")[0]]);
    let patch = world.run(&["review", "--patch", "b"]).stdout;
    git(&world, &["apply", "--cached"], &patch);
    assert_eq!(git(&world, &["diff", "--cached", "--name-only"], b""), "b\n");
}

#[test]
fn the_report_tells_what_was_asked_done_and_decided() {
    let world = repository(&[("a.txt", LINES), ("b.txt", "b\n")]);
    world.say("d1", "write the numbers as words");
    world.shell("k1", "sed -i 's/^2$/two/; s/^11$/eleven/' a.txt; echo x >> b.txt");
    end_turn(&world, "d1");
    let ids = ids_in(&world, "a.txt");
    world.ok(&["accept", &ids[0]]);
    world.ok(&["reject", &ids[1], "--reason", "eleven is a number"]);
    world.ok(&["comment", "add", "b.txt:2", "what is this?", "--question"]);
    world.ok(&["comment", "send"]);
    expect![[r##"
        # Review

        ## Asked

        - d1, message 1: “write the numbers as words”

        ## Changed

        ### "a.txt" (+1 −1)

        - line 2, +1 −1: kept; by d1 (window)

        ### "b.txt" (+1 −0)

        - line 2, +1 −0: not reviewed; by d1 (window)

        ## Rejected

        - reject of 1 hunk in a.txt: “eleven is a number”

        ## Comments

        - "b.txt":2: “what is this?” (sent)

    "##]]
    .assert_eq(&without_ids(&world.ok(&["review", "--report"])));
}
