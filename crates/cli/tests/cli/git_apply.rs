//! `git apply` takes what `retake diff` prints, forward and back.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use retake_testkit::git;

use crate::support::World;

/// Everything below a folder: path, mode and content.
fn tree(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut entries = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if data.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                entries.push((name, 0o777, target.into_os_string().into_encoded_bytes()));
            } else if data.is_dir() {
                folders.push(path);
            } else {
                entries.push((
                    name,
                    data.permissions().mode() & 0o777,
                    std::fs::read(&path).unwrap(),
                ));
            }
        }
    }
    entries.sort();
    entries
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

fn apply(folder: &Path, patch: &Path, arguments: &[&str]) {
    let patch = patch.to_str().unwrap();
    let mut all = vec!["apply", "--whitespace=nowarn"];
    all.extend(arguments);
    all.push(patch);
    git::run(folder, &all);
}

#[test]
fn git_applies_a_diff_forward_and_backward() {
    let world = World::new();
    let lines: String = (1..40).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    world.write("edited.txt", &lines);
    world.write("no newline", "end");
    world.write("gone.txt", "bye\n");
    world.write("empty-gone", "");
    world.write("old name.txt", &lines);
    world.write("script.sh", "#!/bin/sh\n");
    world.write("becomes-link", "text\nmore\n");
    world.write("crlf.txt", "a\r\nb\r\n");
    world.write("ümlaut \"q\".txt", "x\n");
    world.write("dir/deep/file", "1\n");
    symlink("edited.txt", world.root().join("link")).unwrap();
    world.ok(&["init"]);
    let (before, after) = (world.outer().join("before"), world.outer().join("after"));
    copy(&world.root(), &before);
    world.shell(
        "k1",
        "sed -e 's/line 3$/LINE 3/' -e 's/line 30$/LINE 30/' edited.txt > t && cat t > edited.txt && rm t
         printf 'end\\nmore' > 'no newline'
         rm gone.txt empty-gone; : > empty-new
         mv 'old name.txt' 'new name.txt'; echo tail >> 'new name.txt'
         chmod 755 script.sh
         rm becomes-link; ln -s script.sh becomes-link
         printf 'a\\r\\nB\\r\\n' > crlf.txt
         printf 'y\\033[31m\\n' > 'ümlaut \"q\".txt'
         rm -r dir; echo file > dir
         ln -sfn script.sh link
         mkdir -p made/here; printf 'tab\\there\\n' > 'made/here/t\tb'",
    );
    copy(&world.root(), &after);
    let patch = world.outer().join("patch");
    std::fs::write(&patch, world.run(&["diff"]).stdout).unwrap();

    apply(&before, &patch, &[]);
    assert_eq!(tree(&before), tree(&after));
    apply(&before, &patch, &["-R"]);
    apply(&before, &patch, &["--check"]);
    let one = world.outer().join("one");
    let log = world.run(&["log", "--json", "--file", "edited.txt"]).json();
    let id = log["changes"][0]["id"].as_str().unwrap();
    std::fs::write(&one, world.run(&["diff", id]).stdout).unwrap();
    apply(&after, &one, &["-R"]);
    assert_eq!(std::fs::read_to_string(after.join("edited.txt")).unwrap(), lines);
}

#[test]
fn the_person_s_lines_between_are_in_nobody_else_s_diff() {
    let world = World::with(&[("a.txt", "one\n")]);
    world.shell("k1", "echo agent-1 >> a.txt");
    world.write("a.txt", "one\nagent-1\nmine\n");
    world.ok(&["log"]);
    world.shell("k2", "echo agent-2 >> a.txt");
    let diff = world.ok(&["diff", "--dialog", "d1"]);
    assert!(diff.contains("+agent-1") && diff.contains("+agent-2"), "{diff}");
    assert!(!diff.contains("+mine"), "{diff}");
    assert!(world.ok(&["diff", "--all", "--file", "a.txt"]).contains("+mine"));
}

#[test]
fn detours_of_a_file_are_left_out() {
    let world = World::with(&[("stays", "s\n"), ("leaves", "some\nlines\nhere\n")]);
    world.shell("k1", "echo made > first");
    world.shell("k2", "mv first second");
    world.shell("k3", "echo x > brief");
    world.shell("k4", "rm brief");
    world.shell("k5", "mv leaves moved");
    world.shell("k6", "rm moved");
    world.shell("k7", "chmod 600 stays");
    let diff = world.ok(&["diff"]);
    assert!(diff.contains("new file mode 100644") && diff.contains("b/second"), "{diff}");
    assert!(diff.contains("deleted file mode 100644") && diff.contains("a/leaves"), "{diff}");
    assert!(diff.contains("# stays: permissions 0644 → 0600"), "{diff}");
    for absent in ["rename", "brief", "first", "moved"] {
        assert!(!diff.contains(absent), "{absent}: {diff}");
    }
    let patch = world.outer().join("patch");
    std::fs::write(&patch, diff).unwrap();
    apply(&world.root(), &patch, &["-R", "--check"]);
}

#[test]
fn binary_content_is_named_and_never_applied_wrongly() {
    let world = World::with(&[("b", "x\n")]);
    world.shell("k1", "printf 'a\\0b' > b");
    let diff = world.ok(&["diff"]);
    assert!(diff.contains("Binary files a/b and b/b differ\n"), "{diff}");
    let patch = world.outer().join("patch");
    std::fs::write(&patch, diff).unwrap();
    let output = git::command(&world.root()).args(["apply", "-R"]).arg(&patch).output().unwrap();
    assert!(!output.status.success());
}
