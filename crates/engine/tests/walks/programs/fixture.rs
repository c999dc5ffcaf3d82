//! The project before anything happens, and a person who edits it between scans.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use fastrand::Rng;
use retake_testkit::{TestProject, git};

use super::words::{HIDDEN, LEFT_OUT, NEW, SEEN, lines};

const RULES: &str = "*.log\n.env\nsecret/\n*.local\nbuild/\n";

/// Deletes what it is told to: no shell text shows what a call of it does.
const SCRIPT: &str = "#!/bin/sh\nrm -f \"$@\"\n";

/// Fills an empty project; gives whether it is a git repository.
pub(crate) fn make(project: &TestProject, rng: &mut Rng) -> bool {
    for name in [SEEN, HIDDEN, LEFT_OUT].concat() {
        // Most are there, so that programs find something to do.
        if rng.u8(0..8) > 0 {
            project.write(name, content(name));
        }
    }
    project.write(".gitignore", RULES);
    project.write("run.sh", SCRIPT);
    let root = project.root();
    set_mode(&root.join("run.sh"), 0o755);
    link("a.txt", &root.join("link"));
    if rng.u8(0..3) == 0 {
        link(".env", &root.join("envlink"));
    }
    if rng.u8(0..4) == 0 {
        link("src", &root.join("dirlink"));
    }
    if rng.u8(0..4) == 0 {
        project.write("docs/.gitignore", "*.tmp\n!keep.log\n");
        project.write("docs/keep.log", lines("docs/keep.log"));
        project.write("docs/x.tmp", lines("docs/x.tmp"));
    }
    let in_git = rng.bool();
    if in_git {
        commit(project, rng);
    }
    in_git
}

/// Two commits on `main` and one on `other`; some of what is there is not committed.
fn commit(project: &TestProject, rng: &mut Rng) {
    let root = project.root();
    let git = |arguments: &[&str]| git::run(&root, arguments);
    git(&["init", "-q", "--template=", "."]);
    let config = std::fs::File::options().append(true).open(root.join(".git/config"));
    // Nothing outlives the command that started it.
    config.unwrap().write_all(b"[maintenance]\n\tauto = false\n").unwrap();
    git(&["add", "-A"]);
    if rng.u8(0..4) == 0 && root.join("data.local").exists() {
        git(&["add", "-f", "data.local"]);
    }
    git(&["commit", "-qm", "first"]);
    git(&["checkout", "-qb", "other"]);
    project.write("a.txt", "a.txt on other\n");
    project.write("only/other.txt", "other\n");
    project.write("c.txt", "c.txt on other\n");
    git(&["add", "-A"]);
    if rng.bool() {
        let _ = git::command(&root).args(["add", "-f", ".env"]).output();
    }
    git(&["commit", "-qm", "other"]);
    git(&["checkout", "-q", "main"]);
    if !root.join(".env").exists() && rng.bool() {
        project.write(".env", content(".env"));
    }
    project.write("b.txt", lines("b.txt"));
    project.write("src/x.txt", lines("src/x.txt"));
    git(&["add", "-A"]);
    git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    project.write("untracked.txt", lines("untracked.txt"));
}

fn content(name: &str) -> Vec<u8> {
    match name {
        "names" => b"a.txt\na.log\nsrc/x.txt\n".to_vec(),
        "data.bin" | "build/out.bin" => [name.as_bytes(), &[0, 1, 2, 0xff, 0xfe]].concat(),
        _ => lines(name).into_bytes(),
    }
}

/// A person whose every edit is told apart from all others by its number.
#[derive(Debug, Default)]
pub(crate) struct Person {
    edits: u32,
}

impl Person {
    /// Does a few things; gives one line about each.
    pub(crate) fn edit(&mut self, root: &Path, rng: &mut Rng, may_rename: bool) -> Vec<String> {
        if rng.u8(0..3) == 0 {
            return vec![self.edit_all(root)];
        }
        let many = rng.u8(0..5);
        (0..many).map(|_| format!("- person {}", self.one(root, rng, may_rename))).collect()
    }

    /// Whatever a program destroys then is something that nobody has seen.
    fn edit_all(&mut self, root: &Path) -> String {
        self.edits += 1;
        for name in [SEEN, HIDDEN, LEFT_OUT].concat() {
            let path = root.join(name);
            if let Ok(old) = std::fs::read(&path) {
                let text = format!("person {} in {name}\n", self.edits);
                let _ = std::fs::write(&path, [old, text.into_bytes()].concat());
            }
        }
        format!("- person appends to every file: \"person {} in …\"", self.edits)
    }

    fn one(&mut self, root: &Path, rng: &mut Rng, may_rename: bool) -> String {
        self.edits += 1;
        let there = [SEEN, SEEN, HIDDEN, LEFT_OUT].concat();
        let name = there[rng.usize(..there.len())];
        let new = NEW[rng.usize(..NEW.len())];
        let path = root.join(name);
        let text = format!("person {}\n", self.edits);
        match rng.u8(0..12) {
            0..4 => {
                put(&path, &text);
                format!("writes {name}: {text:?}")
            }
            4..6 => {
                let old = std::fs::read_to_string(&path).unwrap_or_default();
                put(&path, &format!("{old}{text}"));
                format!("appends to {name}: {text:?}")
            }
            6 => {
                // As long as before: only the content tells.
                let old = std::fs::read(&path).unwrap_or_default();
                let letter = b'A' + (self.edits % 26) as u8;
                put(&path, &String::from_utf8_lossy(&vec![letter; old.len()]));
                format!("overwrites {name} with {} of '{}'", old.len(), letter as char)
            }
            7..9 => {
                put(&root.join(new), &text);
                format!("writes {new}: {text:?}")
            }
            9 => {
                let _ = std::fs::remove_file(&path);
                format!("deletes {name}")
            }
            10 if may_rename => {
                let _ = std::fs::rename(&path, root.join("renamed.txt"));
                format!("renames {name} to renamed.txt")
            }
            _ => {
                set_mode(&path, 0o755);
                format!("makes {name} executable")
            }
        }
    }
}

/// Writes if the place is free: after a program anything may stand there.
fn put(path: &Path, text: &str) {
    if let Some(folder) = path.parent()
        && std::fs::create_dir_all(folder).is_ok()
    {
        let _ = std::fs::write(path, text);
    }
}

fn link(target: &str, at: &Path) {
    symlink(target, at).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}
