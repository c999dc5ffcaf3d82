//! Links and spellings of paths that a tool may read in another way than Retake: nothing is lost, and
//! an agent's work is its own.
//!
//! Every story has edits of the person that no scan has seen when the call begins, as in `misread.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

use retake_engine::model::Actor;
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

const FILES: [&str; 4] = ["a.txt", "b.txt", "sub/a.txt", "sub/deep/b.txt"];

/// A project of which a scan has seen everything but the last edits of the person.
fn project(setup: &str) -> TestProject {
    let project = TestProject::in_memory();
    for path in FILES {
        project.write(path, "committed\n");
    }
    project.shell(setup);
    project.shell("git init -q . && git add . && git commit -qm one");
    project.init();
    play(&project, "say d1: go");
    for path in FILES {
        project.write(path, format!("unseen edit of {path}\n"));
    }
    project
}

/// What a call does is the agent's, and undo brings back what the person had saved.
#[track_caller]
fn check(setup: &str, tool: &str, input: impl Fn(&str) -> Value, deed: &str, touched: &[&str]) {
    let project = project(setup);
    let input = input(project.root().to_str().unwrap());
    project.record(&TestProject::begin("d1", "s1", tool, input.clone()));
    project.shell(deed);
    let found = project.record(&TestProject::end("d1", "s1")).changes;
    assert!(found.iter().all(|change| change.actor == Actor::Agent), "{input}: {found:?}");
    for path in touched {
        let is_it = |path: &str| found.iter().any(|change| change.path.to_string() == path);
        assert!(is_it(path), "{input} changed {path}: {found:?}");
    }
    play(&project, "undo");
    for path in FILES {
        let content = String::from_utf8(project.read(path)).unwrap_or_default();
        assert_eq!(content, format!("unseen edit of {path}\n"), "after {input} and undo");
    }
}

#[track_caller]
fn check_command(setup: &str, command: &str, touched: &[&str]) {
    check(setup, "Bash", |_| json!({ "command": command }), command, touched);
}

#[test]
fn a_link_that_a_command_uses_and_removes() {
    let links = "ln -s a.txt link; ln -s sub dirlink; mkdir lk; ln -s ../b.txt lk/inner";
    for (command, touched) in [
        ("echo x > link; rm link", &["a.txt"][..]),
        ("echo x > link && mv b.txt link", &["a.txt"]),
        ("rm dirlink/a.txt dirlink", &["sub/a.txt"]),
        ("cp a.txt dirlink && rm dirlink", &["sub/a.txt"]),
        ("echo x > lk/inner && rm -r lk", &["b.txt"]),
        ("mv link o && echo x > o && rm o", &["a.txt"]),
        ("echo x > link; sed -i s/x/y/ link", &["a.txt"]),
        ("rm dirlink/a.txt", &["sub/a.txt"]),
    ] {
        check_command(links, command, touched);
    }
}

#[test]
fn a_hard_link_that_a_command_uses_and_removes() {
    check_command("ln a.txt hard", "echo x >> hard; rm hard", &["a.txt"]);
}

#[test]
fn a_link_outside_of_the_project_that_leads_into_it() {
    let setup =
        "ln -sf \"$PWD/a.txt\" ../outside; mkdir -p ../out; ln -sf \"$PWD/b.txt\" ../out/b.txt";
    let command = |text: &'static str| move |root: &str| json!({ "command": text.replace("$W", &format!("{root}/..")) });
    check(setup, "Bash", command("echo x > $W/outside"), "echo x > ../outside", &["a.txt"]);
    let absolute = |root: &str| {
        let above = std::path::Path::new(root).parent().unwrap().display().to_string();
        json!({ "command": format!("cp sub/a.txt {above}/outside") })
    };
    check(setup, "Bash", absolute, "cp sub/a.txt ../outside", &["a.txt"]);
    let folder = |root: &str| {
        let above = std::path::Path::new(root).parent().unwrap().display().to_string();
        json!({ "command": format!("cp b.txt {above}/out") })
    };
    check(setup, "Bash", folder, "echo x > ../out/b.txt", &["b.txt"]);
    let written = |root: &str| {
        let above = std::path::Path::new(root).parent().unwrap().display().to_string();
        json!({ "file_path": format!("{above}/outside"), "content": "x\n" })
    };
    check(setup, "Write", written, "echo x > ../outside", &["a.txt"]);
}

#[test]
fn a_home_that_was_quoted_and_a_process_of_its_own() {
    check_command("true", "echo x > '~'; echo y > a.txt", &["~", "a.txt"]);
    check_command("true", "echo x > '~'", &["~"]);
    check_command("true", "echo x > /proc/self/cwd/a.txt", &["a.txt"]);
    check_command("true", "cd /proc/self/cwd && rm a.txt", &["a.txt"]);
}

#[test]
fn a_path_that_goes_up_from_a_link_has_two_readings() {
    let write =
        |root: &str| json!({ "file_path": format!("{root}/dl/../b.txt"), "content": "x\n" });
    // As a program resolves it that knows nothing of links, and as the system does.
    check("ln -s sub/deep dl", "Write", write, "echo x > b.txt", &["b.txt"]);
    check("ln -s sub/deep dl", "Write", write, "echo x > dl/../b.txt", &["sub/b.txt"]);
}

#[test]
fn a_server_has_paths_of_its_own() {
    let tool = "mcp__fs__write_file";
    let mounted = |_: &str| json!({ "path": "/projects/b.txt", "content": "x\n" });
    check("true", tool, mounted, "echo x > b.txt", &["b.txt"]);
    let rooted = |_: &str| json!({ "path": "a.txt", "content": "x\n" });
    check("true", tool, rooted, "echo x > sub/a.txt", &["sub/a.txt"]);
}

#[test]
fn every_path_among_the_arguments_is_named() {
    let moved = |_: &str| json!({ "source_path": "a.txt", "target_path": "q.txt" });
    check("true", "move_file", moved, "mv a.txt q.txt", &["q.txt"]);
}

#[test]
fn names_that_git_quotes_are_read() {
    let patch = "--- \"a/\\303\\274.txt\"\n+++ \"b/\\303\\274.txt\"\n@@ -1 +1 @@\n-one\n+two\n";
    let patched = |_: &str| json!({ "input": patch });
    check("printf 'one\\n' > ü.txt", "apply_patch", patched, "echo two > ü.txt", &["ü.txt"]);
}

#[test]
fn a_folder_that_is_deleted_through_a_link() {
    let deleted = |_: &str| json!({ "path": "dirlink/" });
    let touched = ["sub/a.txt", "sub/deep/b.txt"];
    check("ln -s sub dirlink", "delete_directory", deleted, "rm -r sub/*", &touched);
}
