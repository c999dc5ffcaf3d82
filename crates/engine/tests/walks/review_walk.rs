//! Random walks of reviews: hunks, marks, rejections place by place, and the queue.
//!
//! Three dialogs and the person edit files line by line; every line names its author, and nobody but
//! the person edits the person's lines. In between, files are moved, deleted and made, git commits,
//! checkpoints are restored, and hunks are kept, marked, rejected and queued. Always:
//!
//! - the person's lines stand in no hunk of a scope of agents, and no rejection loses one;
//! - rejecting every hunk of a scope is planned as a rollback of the scope is, and what a rollback
//!   leaves whole is left where it conflicts, and named;
//! - rejecting some hunks, or lines of them, and then the rest comes to the same files;
//! - keeping and marking write no file, and what was marked in one scope is seen in all others, also
//!   in a store that was opened again, after a commit and after undo and redo;
//! - ids stay while something else changes;
//! - undo of a rejection brings bytes and statuses back.
//!
//! `RETAKE_WALK_SEED=n` replays one walk, `RETAKE_LONG=1` does many more.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

mod checks;
mod verbs;

use std::collections::BTreeSet;
use std::io::Write as _;

use fastrand::Rng;
use retake_engine::Project;
use retake_engine::model::{Event, EventKind};
use retake_testkit::disk::{self, DiskFiles};
use retake_testkit::seeds::WalkCounts;
use retake_testkit::{TestProject, git};
use serde_json::json;

const STEPS: usize = 24;
const NAMES: &[&str] = &["a.txt", "b.txt", "d/c.txt", "new.txt"];
const DIALOGS: &[&str] = &["d1", "d2", "d3"];
/// Lines that several authors write, so that hunks are equal.
const COMMON: &[&str] = &["}", "", "    return;"];

#[test]
fn random_walks_of_reviews() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds/review_walk.txt");
    WalkCounts { quick: 100, long: 6000 }.run(kept, |seed| Walk::new(seed).run());
}

struct Walk {
    project: TestProject,
    opened: Project,
    rng: Rng,
    /// Numbers lines and calls.
    count: usize,
    /// Whether authors also write lines that others wrote before.
    common_lines: bool,
    log: Vec<String>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let project = TestProject::in_memory();
        let mut rng = Rng::with_seed(seed);
        let root = project.root();
        for name in &NAMES[..3] {
            let lines: Vec<_> = (1..=rng.usize(3..24)).map(|n| format!("base {n}\n")).collect();
            project.write(name, lines.concat());
        }
        git::run(&root, &["init", "-q", "."]);
        git::run(&root, &["add", "-A"]);
        git::run(&root, &["commit", "-qm", "base"]);
        let opened = project.init();
        let common_lines = rng.u8(0..4) == 0;
        let mut walk = Self { project, opened, rng, count: 0, common_lines, log: Vec::new() };
        for dialog in DIALOGS {
            walk.say(dialog);
        }
        walk
    }

    fn run(mut self) {
        let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..STEPS {
                self.step();
                self.check_persons_lines_are_in_no_hunk();
            }
            self.look();
        }));
        if let Err(panic) = walked {
            let _ = writeln!(std::io::stderr(), "{}", self.log.join("\n"));
            std::panic::resume_unwind(panic);
        }
    }

    fn step(&mut self) {
        match self.rng.u8(0..30) {
            0..7 => self.agent_edits(),
            7..11 => self.user_edits(),
            11 | 12 => self.agent_runs_shell(),
            13 => self.git_commits(),
            14 => {
                let dialog = self.dialog();
                self.say(dialog);
            }
            15 => self.ids_stay_while_something_else_changes(),
            16 => self.keep_some(),
            17 | 18 => self.marks_are_seen_in_all_scopes(),
            19 => self.all_hunks_are_as_a_rollback(),
            20..23 => self.reject_some_and_then_the_rest(),
            23 => self.reject_some(),
            24 => self.reject_with_those_too(),
            25 => self.queue_some(),
            26 => self.rollback(),
            27 | 28 => self.restore(),
            _ => self.undo(),
        }
    }

    // What happens to the project.

    fn user_edits(&mut self) {
        let name = self.name();
        let path = self.project.root().join(&name);
        match self.rng.u8(0..10) {
            0 => {
                self.note(format!("user deletes {name}"));
                let _ = std::fs::remove_file(path);
            }
            1 => {
                let to = format!("by-user-{}.txt", self.call());
                self.note(format!("user moves {name} to {to}"));
                let _ = std::fs::rename(path, self.project.root().join(to));
            }
            _ => {
                let Some(text) = self.edited(&name, "user") else { return };
                self.note(format!("user writes {name}: {:?}", String::from_utf8_lossy(&text)));
                self.project.write(&name, text);
            }
        }
        self.look();
    }

    fn agent_edits(&mut self) {
        let (name, dialog) = (self.name(), self.dialog());
        self.agent_edits_file(&name, dialog);
    }

    fn agent_edits_file(&mut self, name: &str, dialog: &'static str) {
        let call = self.call();
        let Some(text) = self.edited(name, dialog) else { return };
        let content = String::from_utf8_lossy(&text).into_owned();
        self.note(format!("{dialog} {call} writes {name}: {content:?}"));
        let input = json!({ "file_path": name, "content": content });
        self.record(&TestProject::begin(dialog, &call, "Write", input));
        self.project.write(name, &text);
        self.record(&TestProject::end(dialog, &call));
    }

    fn agent_runs_shell(&mut self) {
        let (name, dialog, call) = (self.name(), self.dialog(), self.call());
        let command = match self.rng.u8(0..7) {
            0 => format!("rm -f '{name}'"),
            1 | 2 => format!("[ -f '{name}' ] && mv '{name}' moved-{call}.txt || true"),
            3 => format!("[ -f '{name}' ] && chmod 755 '{name}' || true"),
            4 => format!("rm -f link; ln -s '{name}' link"),
            5 => format!("printf '\\000{call}' > x.bin"),
            _ => format!("[ -f '{name}' ] && printf '{dialog} {call} shell' >> '{name}' || true"),
        };
        self.look();
        self.note(format!("{dialog} {call} runs {command}"));
        let input = json!({ "command": command });
        self.record(&TestProject::begin(dialog, &call, "Bash", input));
        self.project.shell(&command);
        self.record(&TestProject::end(dialog, &call));
    }

    fn git_commits(&mut self) {
        self.look();
        self.note("git commits".to_owned());
        self.project.shell("git add -A && git commit -qm work || true");
        self.look();
    }

    fn say(&mut self, dialog: &'static str) {
        self.note(format!("message in {dialog}"));
        self.record(&Event::new(dialog, EventKind::UserMessage { text: "go on".to_owned() }));
    }

    fn record(&mut self, event: &Event) {
        self.opened.record(event, self.project.tick()).unwrap();
    }

    fn look(&mut self) {
        self.opened.refresh(self.project.tick()).unwrap();
    }

    // Names and contents.

    fn disk(&self) -> DiskFiles {
        disk::read_files(&self.project.root())
    }

    fn name(&mut self) -> String {
        let there: Vec<String> =
            self.disk().into_keys().filter(|name| name.contains(".txt")).collect();
        match self.rng.u8(0..2) {
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
        if self.common_lines && author != "user" && self.rng.bool() {
            return (*self.rng.choice(COMMON).unwrap()).to_owned();
        }
        format!("{author} line {}", self.count)
    }

    /// The file with lines inserted, replaced or removed at up to three places; the person's lines
    /// are edited by nobody but the person. `None` if it is no plain file.
    fn edited(&mut self, name: &str, author: &str) -> Option<Vec<u8>> {
        let path = self.project.root().join(name);
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) || path.is_dir() {
            return None;
        }
        let old = std::fs::read(&path).unwrap_or_default();
        let old = String::from_utf8_lossy(&old).into_owned();
        let mut lines: Vec<String> = old.lines().map(ToOwned::to_owned).collect();
        for _ in 0..self.rng.usize(1..=3) {
            let at = self.rng.usize(..=lines.len());
            let is_free = |at: usize| at < lines.len() && !lines[at].starts_with("user");
            match self.rng.u8(0..4) {
                0 if is_free(at) => lines[at] = self.line(author),
                1 if is_free(at) && lines.len() > 1 => drop(lines.remove(at)),
                _ => {
                    for _ in 0..self.rng.usize(1..=2) {
                        let line = self.line(author);
                        lines.insert(at, line);
                    }
                }
            }
        }
        // Its end is part of a line, and so is the person's.
        let may_end = lines.last().is_some_and(|last| !last.starts_with("user"));
        let end = if may_end && self.rng.u8(0..8) == 0 { "" } else { "\n" };
        Some(format!("{}{end}", lines.join("\n")).into_bytes())
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }
}

/// The person's lines, wherever they are.
fn persons_lines(disk: &DiskFiles) -> BTreeSet<String> {
    let texts = disk.values().map(|file| String::from_utf8_lossy(&file.content).into_owned());
    texts
        .flat_map(|text| {
            text.lines().filter(|line| is_persons(line)).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

fn is_persons(line: &str) -> bool {
    line.starts_with("user line")
}
