//! Random walks over steps: what a verb announces as the next undo or redo is what that does.
//!
//! Two dialogs and a person edit and chmod files, some of which have two names (hard links). Real
//! git takes turns back and brings them back: `checkout -- .`, a stash, `reset --hard`, another
//! branch. In between there are undo, redo (whole and in part), rollback and accept. At each verb:
//!
//! - the step that was said to be next is taken, and the plan that was shown is carried out;
//! - `redo` after an undo brings back just that, and `undo` after a redo takes just that, as if
//!   nothing had happened, statuses included;
//! - no line of the person goes, and what the plan does not name keeps bytes, mode and mtime;
//! - undo is never stuck: repeated, it comes to "nothing to undo", and what is then left of agents'
//!   turns is named, as taken back by git or as left.
//!
//! `RETAKE_WALK_SEED=n` replays one walk, `RETAKE_LONG=1` does many more.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

mod verbs;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use fastrand::Rng;
use retake_engine::Project;
use retake_engine::model::{Event, EventKind};
use retake_testkit::seeds::WalkCounts;
use retake_testkit::{TestProject, git};
use serde_json::json;

const STEPS: usize = 40;
const NAMES: &[&str] = &["a.txt", "b.txt", "c.txt", "d/e.txt", "new.txt", "linked.txt"];
const DIALOGS: &[&str] = &["d1", "d2"];
/// What takes back, and brings back, what agents did.
const GIT: &[&str] = &[
    "checkout -q -- .",
    "stash -q",
    "stash pop -q",
    "reset -q --hard",
    "commit -qam work",
    "checkout -q other",
    "checkout -q main",
];

#[test]
fn random_walks_over_steps() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds/step_walk.txt");
    WalkCounts { quick: 24, long: 5000 }.run(kept, |seed| Walk::new(seed).run());
}

struct Walk {
    project: TestProject,
    opened: Project,
    rng: Rng,
    /// Numbers lines and calls.
    count: usize,
    log: Vec<String>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let project = TestProject::in_memory();
        let root = project.root();
        for name in &NAMES[..4] {
            project.write(name, format!("base {name}\nsecond\nthird\nfourth\n"));
        }
        git::run(&root, &["init", "-q", "."]);
        git::run(&root, &["add", "-A"]);
        git::run(&root, &["commit", "-qm", "base"]);
        git::run(&root, &["checkout", "-qb", "other"]);
        project.write("c.txt", "on other\nsecond\nthird\n");
        git::run(&root, &["commit", "-qam", "other"]);
        git::run(&root, &["checkout", "-q", "main"]);
        let opened = project.init();
        let (rng, log) = (Rng::with_seed(seed), Vec::new());
        let mut walk = Self { project, opened, rng, count: 0, log };
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
            self.undo_everything();
        }));
        if let Err(panic) = walked {
            let _ = writeln!(std::io::stderr(), "{}", self.log.join("\n"));
            std::panic::resume_unwind(panic);
        }
    }

    fn step(&mut self) {
        match self.rng.u8(0..24) {
            0..4 => self.person_edits(),
            4..9 => self.agent_edits(),
            9 => self.person_changes_a_mode(),
            10 => self.agent_changes_a_mode(),
            11 => self.person_links(),
            12..15 => self.git_acts(),
            15 => {
                let dialog = self.rng.choice(DIALOGS).unwrap();
                self.say(dialog);
            }
            16..19 => drop(self.undo()),
            19 => self.undo_and_redo(),
            20 | 21 => self.redo_and_undo(),
            22 => self.rollback(),
            _ if self.rng.u8(0..4) == 0 => self.undo_everything(),
            _ => self.accept(),
        }
    }

    // What happens to the project.

    fn person_edits(&mut self) {
        let (name, line) = (self.name(), self.line("user"));
        let text = self.edited(name, &line);
        self.note(format!("{line} into {name}"));
        self.project.write(name, text);
    }

    fn agent_edits(&mut self) {
        let (name, call) = (self.name(), self.call());
        let dialog = *self.rng.choice(DIALOGS).unwrap();
        let line = self.line(dialog);
        let text = self.edited(name, &line);
        self.note(format!("{line} into {name}"));
        let content = String::from_utf8(text.clone()).unwrap();
        let input = json!({ "file_path": name, "content": content });
        self.record(&TestProject::begin(dialog, &call, "Write", input));
        self.project.write(name, text);
        self.record(&TestProject::end(dialog, &call));
    }

    fn person_changes_a_mode(&mut self) {
        let (name, mode) = (self.name(), self.mode());
        self.note(format!("the person makes {name} {mode:o}"));
        let path = self.project.root().join(name);
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    }

    fn agent_changes_a_mode(&mut self) {
        let (name, mode, call) = (self.name(), self.mode(), self.call());
        let dialog = *self.rng.choice(DIALOGS).unwrap();
        self.note(format!("{dialog} {call} makes {name} {mode:o}"));
        self.look();
        let command = format!("chmod {mode:o} {name} || true");
        let input = json!({ "command": command });
        self.record(&TestProject::begin(dialog, &call, "Bash", input));
        self.project.shell(&command);
        self.record(&TestProject::end(dialog, &call));
    }

    /// A file gets a second name, or loses it.
    fn person_links(&mut self) {
        let (root, name) = (self.project.root(), self.name());
        let link = root.join("linked.txt");
        self.note(format!("linked.txt is another name of {name}"));
        if name != "linked.txt" && root.join(name).is_file() {
            let _ = std::fs::remove_file(&link);
            std::fs::hard_link(root.join(name), &link).unwrap();
        }
    }

    fn git_acts(&mut self) {
        let act = *self.rng.choice(GIT).unwrap();
        self.note(format!("git {act}"));
        self.look();
        let arguments: Vec<&str> = act.split(' ').collect();
        let _ = git::command(&self.project.root()).args(arguments).output();
        let unmerged = git::run(&self.project.root(), &["ls-files", "-u"]);
        if !unmerged.is_empty() {
            // A stash that did not fit; nobody goes on with markers in the files.
            git::run(&self.project.root(), &["reset", "-q", "--hard"]);
        }
        if self.rng.bool() {
            self.look();
        }
    }

    fn say(&mut self, dialog: &str) {
        self.note(format!("message in {dialog}"));
        let what = EventKind::UserMessage { text: "go on".to_owned() };
        self.record(&Event::new(dialog, what));
    }

    fn record(&mut self, event: &Event) {
        self.opened.record(event, self.project.tick()).unwrap();
    }

    fn look(&mut self) {
        self.opened.refresh(self.project.tick()).unwrap();
    }

    // Names and contents.

    fn name(&mut self) -> &'static str {
        self.rng.choice(NAMES).unwrap()
    }

    fn mode(&mut self) -> u32 {
        *self.rng.choice(&[0o644, 0o755, 0o600]).unwrap()
    }

    fn call(&mut self) -> String {
        self.count += 1;
        format!("call{}", self.count)
    }

    fn line(&mut self, author: &str) -> String {
        self.count += 1;
        format!("{author} line {}", self.count)
    }

    /// The file with lines added or one replaced; lines of the person are never replaced, so that
    /// each goes only by a verb that must not take it.
    fn edited(&mut self, name: &str, line: &str) -> Vec<u8> {
        let old = std::fs::read_to_string(self.project.root().join(name)).unwrap_or_default();
        let mut lines: Vec<String> = old.lines().map(ToOwned::to_owned).collect();
        let at = self.rng.usize(..=lines.len());
        match self.rng.u8(0..3) {
            0 if at < lines.len() && !lines[at].starts_with("user") => {
                line.clone_into(&mut lines[at]);
            }
            1 => drop(lines.splice(at..at, [line.to_owned(), format!("{line} too")])),
            _ => lines.insert(at, line.to_owned()),
        }
        (lines.join("\n") + "\n").into_bytes()
    }

    fn note(&mut self, what: String) {
        self.log.push(what);
    }
}
