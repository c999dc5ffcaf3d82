//! Random walks of everything that takes something back, against a simple model.
//!
//! Several dialogs and the user edit files line by line; every line names its
//! author. In between, verbs take things back, sometimes while a person saves at
//! the worst moment. After each verb:
//!
//! - the plan that was shown is the plan that was carried out;
//! - files that it does not name keep bytes, mode and mtime, and so does `.git`;
//! - the record is as the disk: a look finds nothing;
//! - the user's lines are all still there, unless the verb replaces them by its
//!   nature (restore) or brings back a state without them (undo of an operation);
//! - undo followed by redo is as if nothing had happened.
//!
//! At the end every content that was ever on disk at a look can be restored.
//!
//! `RETAKE_WALK_SEED=n` replays one walk, `RETAKE_LONG=1` does many more.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

mod verbs;

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::path::Path;

use fastrand::Rng;
use retake_engine::Project;
use retake_engine::model::{Event, EventKind, ObjectId};
use retake_testkit::disk::{self, DiskFile, DiskFiles};
use retake_testkit::seeds::WalkCounts;
use retake_testkit::{TestProject, git};
use serde_json::json;

const STEPS: usize = 50;
const NAMES: &[&str] = &["a.txt", "b.txt", "d/c.txt", "d/e/f.txt", "ü n.txt", "x.bin"];
const DIALOGS: &[&str] = &["d1", "d2"];

#[test]
fn random_walks_of_undo_against_a_model() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds/undo_walk.txt");
    WalkCounts { quick: 200, long: 10_000 }.run(kept, |seed| Walk::new(seed).run());
}

struct Walk {
    project: TestProject,
    opened: Project,
    rng: Rng,
    /// Numbers lines and calls.
    count: usize,
    /// Everything that any look saw.
    ever: HashSet<Vec<u8>>,
    /// What was on disk at each checkpoint.
    checkpoints: Vec<(ObjectId, DiskFiles)>,
    /// Lines that a program wrote while both an agent and the user could have.
    log: Vec<String>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let project = TestProject::in_memory();
        let mut rng = Rng::with_seed(seed);
        let root = project.root();
        for name in NAMES {
            if rng.bool() {
                project.write(name, format!("base {name}\nsecond\nthird\n"));
            }
        }
        project.write("kept.txt", "kept\n");
        project.write(".gitignore", "*.hid\n");
        git::run(&root, &["init", "-q", "."]);
        git::run(&root, &["add", "-A"]);
        git::run(&root, &["commit", "-qm", "base"]);
        git::run(&root, &["checkout", "-qb", "other"]);
        project.write("kept.txt", "kept on other\n");
        project.write("only-other.txt", "other\n");
        git::run(&root, &["add", "-A"]);
        git::run(&root, &["commit", "-qm", "other"]);
        git::run(&root, &["checkout", "-q", "main"]);
        let opened = project.init();
        let mut walk = Self {
            project,
            opened,
            rng,
            count: 0,
            ever: HashSet::new(),
            checkpoints: Vec::new(),
            log: Vec::new(),
        };
        for dialog in DIALOGS {
            walk.say(dialog);
        }
        walk
    }

    fn run(mut self) {
        let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..STEPS {
                self.step();
            }
            self.look();
            for content in &self.ever {
                let oid = retake_store::hash_blob(content).unwrap();
                assert_eq!(self.opened.store().read(&oid).unwrap(), *content);
            }
            let found = self.opened.check_health(true, &mut |_, _| {}).unwrap();
            assert_eq!(found.verification.problems, []);
        }));
        if let Err(panic) = walked {
            let _ = writeln!(std::io::stderr(), "{}", self.log.join("\n"));
            std::panic::resume_unwind(panic);
        }
    }

    fn step(&mut self) {
        match self.rng.u8(0..24) {
            0..4 => self.user_edits(),
            4..8 => self.agent_edits(),
            8..10 => self.agent_runs_shell(),
            10 => self.git_switches(),
            11 => self.rules_change(),
            12 => self.formatter_runs(),
            13 => {
                let dialog = self.dialog();
                self.say(dialog);
            }
            14 => self.checkpoint(),
            15 => self.accept(),
            16 => self.reject(),
            17 | 18 => self.rollback(),
            19 => self.undo(),
            20 => self.undo_and_redo(),
            21 => self.restore(),
            22 => self.approve_or_reset(),
            _ => self.rollback_while_somebody_saves(),
        }
        if self.rng.bool() {
            self.look();
        }
    }

    // What happens to the project.

    fn user_edits(&mut self) {
        let name = self.name();
        let path = self.project.root().join(&name);
        match self.rng.u8(0..8) {
            0 => {
                self.note(format!("user deletes {name}"));
                let _ = std::fs::remove_file(path);
            }
            1 => {
                let to = format!("moved-{}.txt", self.rng.u8(0..4));
                self.note(format!("user moves {name} to {to}"));
                let _ = std::fs::rename(path, self.project.root().join(to));
            }
            _ => {
                let line = self.line("user");
                self.edit(&name, &line);
            }
        }
    }

    fn agent_edits(&mut self) {
        let (name, dialog, call) = (self.name(), self.dialog(), self.call());
        let line = self.line(dialog);
        let Some(text) = self.edited(&name, &line) else { return };
        self.note(format!("{dialog} {call} writes {name}"));
        let content = String::from_utf8_lossy(&text).into_owned();
        let input = json!({ "file_path": name, "content": content });
        self.record(&TestProject::begin(dialog, &call, "Write", input));
        self.project.write(&name, &text);
        self.record(&TestProject::end(dialog, &call));
    }

    fn agent_runs_shell(&mut self) {
        let (name, dialog, call) = (self.name(), self.dialog(), self.call());
        let command = match self.rng.u8(0..5) {
            0 => format!("rm -f '{name}'"),
            1 => format!("[ -f '{name}' ] && mv '{name}' moved-{call}.txt || true"),
            2 => format!("[ -f '{name}' ] && chmod 755 '{name}' || true"),
            3 => format!("rm -f link.txt; ln -s '{name}' link.txt"),
            _ => format!("[ -f '{name}' ] && echo '{dialog} {call} shell' >> '{name}' || true"),
        };
        self.look();
        self.note(format!("{dialog} {call} runs {command}"));
        let input = json!({ "command": command });
        self.record(&TestProject::begin(dialog, &call, "Bash", input));
        self.project.shell(&command);
        self.record(&TestProject::end(dialog, &call));
    }

    fn git_switches(&mut self) {
        self.look();
        let branch = if self.rng.bool() { "main" } else { "other" };
        self.note(format!("git switches to {branch}"));
        let _ = git::command(&self.project.root()).args(["checkout", "-q", branch]).output();
        self.look();
    }

    fn rules_change(&mut self) {
        self.look();
        let patterns: Vec<_> =
            ["*.hid", "b.*", "d/", "moved-*"].into_iter().filter(|_| self.rng.bool()).collect();
        self.note(format!("rules: {patterns:?}"));
        self.project.write(".gitignore", patterns.join("\n"));
    }

    /// Only layout changes, in the turn in which the agent wrote the file.
    fn formatter_runs(&mut self) {
        let (dialog, call) = (self.dialog(), self.call());
        let text = format!("{dialog} {call} let x=1;\n");
        self.note(format!("{dialog} {call} writes fmt.rs, a formatter runs"));
        let input = json!({ "file_path": "fmt.rs", "content": text });
        self.record(&TestProject::begin(dialog, &call, "Write", input));
        self.project.write("fmt.rs", &text);
        self.record(&TestProject::end(dialog, &call));
        self.project.write("fmt.rs", text.replace("x=1", "x = 1"));
        let what = EventKind::TurnEnd { background: Vec::new() };
        self.record(&Event::new(dialog, what));
    }

    fn say(&mut self, dialog: &'static str) {
        self.note(format!("message in {dialog}"));
        let before = self.disk();
        let event = Event::new(dialog, EventKind::UserMessage { text: "go on".to_owned() });
        let recorded = self.opened.record(&event, self.project.tick()).unwrap();
        self.remember(&before);
        self.checkpoints.push((recorded.checkpoint.unwrap(), before));
    }

    fn record(&mut self, event: &Event) {
        self.opened.record(event, self.project.tick()).unwrap();
    }

    fn look(&mut self) {
        let disk = self.disk();
        self.opened.refresh(self.project.tick()).unwrap();
        self.remember(&disk);
    }

    /// Only what a look could see is promised: hidden files are not.
    fn remember(&mut self, disk: &DiskFiles) {
        let tracked: HashSet<_> = self
            .opened
            .store()
            .manifest()
            .unwrap()
            .into_iter()
            .map(|entry| entry.path.to_string())
            .collect();
        let seen = disk.iter().filter(|(name, _)| tracked.contains(*name));
        self.ever.extend(seen.map(|(_, entry)| entry.content.clone()));
    }

    // Names and contents.

    fn disk(&self) -> DiskFiles {
        disk::read_files(&self.project.root())
    }

    fn name(&mut self) -> String {
        let there: Vec<String> =
            self.disk().into_keys().filter(|name| has_extension(name, "txt")).collect();
        match self.rng.u8(0..3) {
            0 if !there.is_empty() => self.rng.choice(&there).unwrap().clone(),
            _ => (*self.rng.choice(NAMES).unwrap()).to_owned(),
        }
    }

    fn dialog(&mut self) -> &'static str {
        self.rng.choice(DIALOGS).unwrap()
    }

    fn call(&mut self) -> String {
        self.count += 1;
        format!("call{}", self.count)
    }

    fn line(&mut self, author: &str) -> String {
        self.count += 1;
        format!("{author} line {}", self.count)
    }

    fn edit(&mut self, name: &str, line: &str) {
        if let Some(text) = self.edited(name, line) {
            self.note(format!("{line} into {name}"));
            self.project.write(name, text);
        }
    }

    /// The file with a line inserted, replaced or removed; only whole lines of the own author or
    /// of nobody are replaced, so that each line has one author. `None` if it is no plain file.
    fn edited(&mut self, name: &str, line: &str) -> Option<Vec<u8>> {
        let path = self.project.root().join(name);
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) || path.is_dir() {
            return None;
        }
        if path.ancestors().skip(1).any(|above| above.is_file() || above.is_symlink()) {
            return None;
        }
        let old = std::fs::read(&path).unwrap_or_default();
        let mut lines: Vec<String> =
            String::from_utf8_lossy(&old).lines().map(ToOwned::to_owned).collect();
        let at = self.rng.usize(..=lines.len());
        match self.rng.u8(0..4) {
            0 if at < lines.len() && !lines[at].starts_with("user") => {
                line.clone_into(&mut lines[at]);
            }
            1 if at < lines.len() && lines.len() > 1 && !lines[at].starts_with("user") => {
                lines.remove(at);
            }
            _ => lines.insert(at, line.to_owned()),
        }
        let nul = if has_extension(name, "bin") { "\0" } else { "" };
        Some(format!("{nul}{}\n", lines.join("\n").trim_start_matches('\0')).into_bytes())
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}

/// The user's lines anywhere, with how often each is there.
fn user_lines(disk: &DiskFiles) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for DiskFile { content, .. } in disk.values() {
        for line in String::from_utf8_lossy(content).lines() {
            if line.trim_start_matches('\0').starts_with("user line") {
                *lines.entry(line.trim_start_matches('\0').to_owned()).or_default() += 1;
            }
        }
    }
    lines
}
