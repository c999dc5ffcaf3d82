//! A project with eyes and a twin without: whatever happens, both see the same.
//!
//! The same random things happen to both. The eyes say where something moved, as vaguely as a
//! watcher may; the twin walks through everything. After each step manifest, gaps and changes must
//! be equal.
//!
//! `RETAKE_WALK_SEED=n` replays one walk, `RETAKE_LONG=1` does many more.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

use std::path::Path;

use fastrand::Rng;
use retake_engine::model::{Change, Event, EventKind, Millis};
use retake_engine::{ChangeFilter, Project};
use retake_testkit::seeds::WalkCounts;
use retake_testkit::{ListingHints, TestProject, git};
use serde_json::json;

const STEPS: usize = 30;

#[test]
fn eyes_change_nothing_about_what_is_seen() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds/hints_equal_full_scan.txt");
    let narrow = WalkCounts { quick: 20, long: 1500 }.run(kept, |seed| Twins::new(seed).run());
    let few = narrow.len() * STEPS / 8;
    let narrow: usize = narrow.iter().sum();
    assert!(narrow > few, "the eyes hardly helped: {narrow} narrow looks");
}

struct Twins {
    seeing: TestProject,
    blind: TestProject,
    eyes: Project,
    without: Project,
    listing: ListingHints,
    rng: Rng,
    calls: usize,
    narrow: usize,
}

const NAMES: &[&str] = &[
    "a.txt",
    "b.log",
    "d/e.txt",
    "d/f.log",
    "d/g/h.txt",
    "out/x.txt",
    "out/deep/y.txt",
    "n/z.txt",
];
const PATTERNS: &[&str] = &["*.log", "out/", "d/*", "!d/g", "n/", "b.*", "/a.txt"];

impl Twins {
    fn new(seed: u64) -> Self {
        let (seeing, blind) = (TestProject::in_memory(), TestProject::in_memory());
        let mut rng = Rng::with_seed(seed);
        let in_git = rng.u8(0..4) > 0;
        let made: Vec<_> = NAMES.iter().filter(|_| rng.bool()).collect();
        let rules = patterns(&mut rng);
        for project in [&seeing, &blind] {
            let root = project.root();
            for name in &made {
                project.write(name, format!("base {name}\n"));
            }
            project.write(".gitignore", &rules);
            project.write("kept.txt", "kept\n");
            if in_git {
                git::run(&root, &["init", "-q", "."]);
                git::run(&root, &["add", "-fA"]);
                git::run(&root, &["commit", "-qm", "base"]);
                git::run(&root, &["checkout", "-qb", "other"]);
                project.write("kept.txt", "kept on other\n");
                project.write("only/other.txt", "other\n");
                git::run(&root, &["add", "-A"]);
                git::run(&root, &["commit", "-qm", "other"]);
                git::run(&root, &["checkout", "-q", "main"]);
            }
        }
        let (mut eyes, without) = (seeing.init(), blind.init());
        let rules = eyes.watch_rules().unwrap();
        let listing = ListingHints::open(&seeing.root(), rules.clone()).vague(seed);
        eyes.set_hint_source(Box::new(listing.clone()), rules);
        Self { seeing, blind, eyes, without, listing, rng, calls: 0, narrow: 0 }
    }

    /// Gives how many looks were narrow.
    fn run(mut self) -> usize {
        for _ in 0..STEPS {
            for _ in 0..self.rng.u8(1..4) {
                self.something_happens();
            }
            match self.rng.u8(0..6) {
                0 => self.shell_runs(),
                1 => self.tool_writes(),
                2 => self.both(|project, at| {
                    let said = EventKind::UserMessage { text: "go on".into() };
                    project.record(&Event::new("d1", said), at).unwrap().changes
                }),
                _ => self.look(),
            }
            self.compare();
        }
        self.narrow
    }

    fn look(&mut self) {
        let at = self.tick();
        let (seen, all) = (self.eyes.refresh(at).unwrap(), self.without.refresh(at).unwrap());
        assert!(all.whole);
        self.narrow += usize::from(!seen.whole);
        same_changes(&seen.changes, &all.changes);
        assert_eq!(seen.baseline, all.baseline);
    }

    fn shell_runs(&mut self) {
        let call = self.call();
        let command = ["make all", "rm -rf out", "git stash", "touch d/new"];
        let command = *self.rng.choice(command.iter()).unwrap();
        let begin = TestProject::begin("d1", &call, "Bash", json!({ "command": command }));
        self.record(&begin);
        self.something_happens();
        self.record(&TestProject::end("d1", &call));
    }

    /// Also of hidden files, which are tracked from then on.
    fn tool_writes(&mut self) {
        let (name, call) = (*self.rng.choice(NAMES).unwrap(), self.call());
        let text = format!("by a tool {}\n", self.rng.u16(..));
        let input = json!({ "file_path": name, "content": text });
        self.record(&TestProject::begin("d1", &call, "Write", input));
        for root in self.roots() {
            put(&root, name, &text);
        }
        self.listing.update_hint();
        self.record(&TestProject::end("d1", &call));
    }

    fn record(&mut self, event: &Event) {
        self.both(|project, at| project.record(event, at).unwrap().changes);
    }

    fn both(&mut self, act: impl Fn(&Project, Millis) -> Vec<Change>) {
        let at = self.tick();
        same_changes(&act(&self.eyes, at), &act(&self.without, at));
    }

    fn compare(&self) {
        let manifest = |project: &Project| {
            let entries = project.store().manifest().unwrap();
            entries.into_iter().map(|entry| (entry.path, entry.state)).collect::<Vec<_>>()
        };
        assert_eq!(manifest(&self.eyes), manifest(&self.without));
        let gaps = |project: &Project| {
            let gaps = project.store().gaps().unwrap();
            gaps.into_iter().map(|(gap, _)| (gap.path, gap.reason)).collect::<Vec<_>>()
        };
        assert_eq!(gaps(&self.eyes), gaps(&self.without));
        let changes = |project: &Project| project.changes(&ChangeFilter::default()).unwrap();
        same_changes(&changes(&self.eyes), &changes(&self.without));
    }

    // What happens to both.

    fn something_happens(&mut self) {
        let kind = self.rng.u8(0..17);
        let name = *self.rng.choice(NAMES).unwrap();
        let folder = *self.rng.choice(["d", "d/g", "out", "n", "new"].iter()).unwrap();
        let to = *self.rng.choice(["moved", "d/moved", "out/moved"].iter()).unwrap();
        let text = format!("line {}\n", self.rng.u16(..));
        let rules = patterns(&mut self.rng);
        let branch = if self.rng.bool() { "main" } else { "other" };
        for root in self.roots() {
            let at = |name: &str| root.join(name);
            match kind {
                0..5 => put(&root, name, &text),
                5 => remove(&at(name)),
                6 => remove(&at(folder)),
                7 => rename(&root, name, to),
                8 => rename(&root, folder, to),
                9 => swap(&root, name, &text),
                10 => put(&root, ".gitignore", &rules),
                11 => put(&root, &format!("{folder}/.gitignore"), &rules),
                12 => link(&root, name),
                13 => fifo(&root, name),
                14 => nested_repository(&root, folder),
                15 => hard_link(&root, name, to),
                _ => switch(&root, branch),
            }
        }
        self.listing.update_hint();
    }

    fn roots(&self) -> [std::path::PathBuf; 2] {
        [self.seeing.root(), self.blind.root()]
    }

    fn call(&mut self) -> String {
        self.calls += 1;
        format!("call{}", self.calls)
    }

    fn tick(&self) -> Millis {
        self.blind.tick();
        self.seeing.tick()
    }
}

fn same_changes(seen: &[Change], all: &[Change]) {
    let told = |change: &Change| {
        let sides = (change.before, change.after, change.change_type);
        let by = (change.actor, change.confidence, change.candidates.clone());
        format!("{:?} from {:?}: {sides:?} {by:?}", change.path, change.old_path)
    };
    let told = |changes: &[Change]| changes.iter().map(told).collect::<Vec<_>>();
    assert_eq!(told(seen), told(all));
}

fn patterns(rng: &mut Rng) -> String {
    let chosen: Vec<_> = PATTERNS.iter().copied().filter(|_| rng.u8(0..3) == 0).collect();
    chosen.join("\n")
}

fn put(root: &Path, name: &str, text: &str) {
    clear_way(root, name);
    std::fs::write(root.join(name), text).unwrap();
}

/// Makes the folders of a path, and removes what is in its way.
fn clear_way(root: &Path, name: &str) {
    let path = root.join(name);
    let between = path.ancestors().skip(1).take_while(|folder| *folder != root);
    for folder in between.collect::<Vec<_>>().into_iter().rev() {
        if folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            remove(folder);
        }
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        remove(&path);
    }
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

fn rename(root: &Path, from: &str, to: &str) {
    let nested = Path::new(to).starts_with(from) || Path::new(from).starts_with(to);
    if nested || root.join(from).symlink_metadata().is_err() {
        return;
    }
    let found = tempfile::tempdir_in(root.parent().unwrap()).unwrap();
    let aside = found.path().join("aside");
    std::fs::rename(root.join(from), &aside).unwrap();
    clear_way(root, to);
    remove(&root.join(to));
    std::fs::rename(aside, root.join(to)).unwrap();
}

/// A file becomes a folder, a folder a file.
fn swap(root: &Path, name: &str, text: &str) {
    let was_folder = root.join(name).is_dir();
    clear_way(root, name);
    remove(&root.join(name));
    put(root, &if was_folder { name.to_owned() } else { format!("{name}/inner.txt") }, text);
}

fn link(root: &Path, name: &str) {
    clear_way(root, name);
    remove(&root.join(name));
    std::os::unix::fs::symlink("kept.txt", root.join(name)).unwrap();
}

/// From now on what is written to the one is written to the other.
fn hard_link(root: &Path, name: &str, to: &str) {
    if root.join(name).symlink_metadata().is_ok_and(|found| found.is_file()) {
        clear_way(root, to);
        remove(&root.join(to));
        std::fs::hard_link(root.join(name), root.join(to)).unwrap();
    }
}

fn fifo(root: &Path, name: &str) {
    clear_way(root, name);
    remove(&root.join(name));
    let made = std::process::Command::new("mkfifo").arg(root.join(name)).status();
    assert!(made.unwrap().success());
}

fn nested_repository(root: &Path, folder: &str) {
    clear_way(root, &format!("{folder}/inner"));
    if !root.join(folder).join(".git").exists() {
        git::run(&root.join(folder), &["init", "-q", "."]);
    }
}

fn switch(root: &Path, branch: &str) {
    if root.join(".git").exists() {
        // Whether git replaces a file that has only got another name depends on ticks of the clock,
        // unless it has looked at it before.
        git::run(root, &["status", "--short"]);
        git::run(root, &["checkout", "-qf", branch]);
    }
}
