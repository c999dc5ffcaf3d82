//! Random walks against a simple model.
//!
//! Agents edit by tool and by shell, the user edits, deletes, renames and swaps
//! types, git switches branches, ignore rules change, formatters run. The model
//! knows who did each thing and what every file held at every look. After each
//! step: what is on disk and visible is in the manifest byte for byte, each
//! change leads from the last known state to the new one, and no edit of the
//! user is an agent's unless a rule of attribution says so. At the end every
//! content that any look saw is still restorable.
//!
//! `RETAKE_WALK_SEED=n` replays one walk, `RETAKE_LONG=1` does many more.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use fastrand::Rng;
use retake_engine::Project;
use retake_engine::model::{Actor, Change, Confidence, Event, EventKind, PathState, ProjectPath};
use retake_testkit::seeds::WalkCounts;
use retake_testkit::{TestProject, git};
use serde_json::json;

const STEPS: usize = 40;

#[test]
fn random_walks_against_a_model() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds/record_walk.txt");
    WalkCounts { quick: 60, long: 10_000 }.run(kept, |seed| Walk::new(seed).run());
}

/// Who may be named for a change of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    /// Only the user (or git, where git says that it put the file there).
    User,
    /// Only an agent.
    Agent,
    /// Only git, or the user where git's record is not clear.
    Git,
    /// A window was open in which both could happen.
    Either,
}

struct Walk {
    project: TestProject,
    opened: Project,
    rng: Rng,
    /// What the last look saw, by path.
    known: BTreeMap<String, Content>,
    /// Everything that any look saw.
    ever: HashSet<Vec<u8>>,
    /// Who touched what since the last look.
    touched: HashMap<String, May>,
    calls: usize,
    patterns: Vec<&'static str>,
}

type Content = (Kind, Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Link,
}

const NAMES: &[&str] = &["a.txt", "b.txt", "c.hid", "d/e.txt", "d/f.hid", "g/h/i.txt", "ü n.txt"];
const PATTERNS: &[&str] = &["*.hid", "d/", "g/*", "!g/h", "b.*"];

impl Walk {
    fn new(seed: u64) -> Self {
        // Half of them on a disk, half in memory: stats and times differ a little.
        let on_disk = seed.is_multiple_of(2);
        let project = if on_disk { TestProject::new() } else { TestProject::in_memory() };
        let mut rng = Rng::with_seed(seed);
        for name in NAMES.iter().filter(|_| rng.bool()).collect::<Vec<_>>() {
            project.write(name, format!("base {name}\n"));
        }
        project.write("kept.txt", "kept\n");
        let root = project.root();
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
            known: BTreeMap::new(),
            ever: HashSet::new(),
            touched: HashMap::new(),
            calls: 0,
            patterns: Vec::new(),
        };
        walk.known = walk.on_disk();
        walk.remember();
        walk
    }

    fn run(mut self) {
        for _ in 0..STEPS {
            match self.rng.u8(0..13) {
                0..3 => self.user_edits(),
                3..5 => self.agent_writes(),
                5 => self.agent_edits(),
                6..8 => self.agent_runs_shell(),
                8 => self.user_edits_while_a_shell_runs(),
                9 => self.user_edits_while_a_tool_writes(),
                10 => self.git_switches(),
                11 => self.rules_change(),
                _ => self.formatter_runs(),
            }
            if self.rng.u8(0..8) == 0 {
                self.lose_the_stat_cache();
            }
            if self.rng.bool() {
                self.look();
            }
        }
        self.look();
        for content in &self.ever {
            let oid = retake_store::hash_blob(content).unwrap();
            assert_eq!(self.opened.store().read(&oid).unwrap(), *content);
        }
        let found = self.opened.check_health(true, &mut |_, _| {}).unwrap();
        assert_eq!(found.verification.problems, []);
    }

    // What happens to the project.

    fn user_edits(&mut self) {
        let (name, may) = (self.name(), May::User);
        let root = self.project.root();
        match self.rng.u8(0..6) {
            0..3 => self.put(&name, may),
            3 => self.remove(&name, may),
            4 => {
                let to = format!("moved-{}", self.rng.u8(0..9));
                let free = !name.starts_with(&to);
                if free && root.join(&name).symlink_metadata().is_ok() {
                    self.remove(&to, may);
                    std::fs::rename(root.join(&name), root.join(&to)).unwrap();
                    self.touch_tree(&name, may);
                    self.touch_tree(&to, may);
                }
            }
            _ => self.swap_type(&name, may),
        }
    }

    fn agent_writes(&mut self) {
        let (name, call) = (self.name(), self.call());
        self.clear_way(&name, May::User);
        let text = self.text();
        let input = json!({ "file_path": name, "content": text });
        let begun = self.record(&TestProject::begin("d1", &call, "Write", input));
        self.check_partial(&begun);
        self.write(&name, &text);
        let ended = self.record(&TestProject::end("d1", &call));
        self.touched.insert(name.clone(), May::Agent);
        self.check_partial(&ended);
        for change in ended.iter().filter(|change| change.path.to_string() == name) {
            assert_eq!(change.confidence, Confidence::Certain, "{change:?}");
        }
    }

    fn agent_edits(&mut self) {
        let Some(name) = self.text_file() else { return };
        let call = self.call();
        let old = String::from_utf8(self.project.read(&name)).unwrap();
        let Some(line) = old.lines().next().filter(|line| !line.is_empty()) else {
            return;
        };
        let new = format!("edited {}", self.rng.u16(..));
        let input = json!({ "file_path": name, "old_string": line, "new_string": new });
        let begun = self.record(&TestProject::begin("d1", &call, "Edit", input));
        self.check_partial(&begun);
        self.write(&name, &old.replacen(line, &new, 1));
        self.touched.insert(name, May::Agent);
        let ended = self.record(&TestProject::end("d1", &call));
        self.check_partial(&ended);
    }

    fn agent_runs_shell(&mut self) {
        let (name, call) = (self.name(), self.call());
        self.clear_way(&name, May::User);
        let other = format!("out-{}", self.rng.u8(0..5));
        self.clear_way(&other, May::User);
        self.look();
        let quoted = format!("'{name}'");
        let command = match self.rng.u8(0..5) {
            0 => format!("mkdir -p \"$(dirname {quoted})\"; echo {call} > {quoted}"),
            1 => format!("rm -rf {quoted}"),
            2 => format!("[ -f {quoted} ] && mv {quoted} {other} || true"),
            3 => format!("[ -f {quoted} ] && sed -i 's/e/{call}/' {quoted} || true"),
            _ => format!("[ -f {quoted} ] && cp {quoted} {other} || echo none > {other}"),
        };
        let input = json!({ "command": command });
        let begun = self.record(&TestProject::begin("d2", &call, "Bash", input));
        self.check_partial(&begun);
        self.touch_tree(&name, May::Agent);
        self.project.shell(&command);
        self.touch_tree(&name, May::Agent);
        self.touched.insert(other, May::Agent);
        let ended = self.record(&TestProject::end("d2", &call));
        self.check_partial(&ended);
    }

    /// A user's edit inside the window of an unknown command may be called the agent's.
    fn user_edits_while_a_shell_runs(&mut self) {
        let call = self.call();
        let input = json!({ "command": "make all" });
        let begun = self.record(&TestProject::begin("d2", &call, "Bash", input));
        self.check_partial(&begun);
        let name = self.name();
        self.put(&name, May::Either);
        let ended = self.record(&TestProject::end("d2", &call));
        self.check_partial(&ended);
    }

    /// Edit tools own only what they name, whatever else happens meanwhile.
    fn user_edits_while_a_tool_writes(&mut self) {
        let (call, mine) = (self.call(), self.name());
        self.clear_way("tool.txt", May::User);
        let input = json!({ "file_path": "tool.txt", "content": call });
        let begun = self.record(&TestProject::begin("d1", &call, "Write", input));
        self.check_partial(&begun);
        let may = if mine == "tool.txt" { May::Either } else { May::User };
        self.put(&mine, may);
        if self.rng.bool() {
            self.look(); // while the call is open
        }
        self.write("tool.txt", &call);
        self.touched.insert("tool.txt".to_owned(), May::Agent);
        let ended = self.record(&TestProject::end("d1", &call));
        self.check_partial(&ended);
    }

    fn git_switches(&mut self) {
        self.look();
        let branch = if self.rng.bool() { "main" } else { "other" };
        let before = self.on_disk();
        git::run(&self.project.root(), &["checkout", "-qf", branch]);
        let after = self.on_disk();
        for name in before.keys().chain(after.keys()) {
            if before.get(name) != after.get(name) {
                self.touched.insert(name.clone(), May::Git);
            }
        }
    }

    fn rules_change(&mut self) {
        self.look();
        self.patterns = PATTERNS.iter().copied().filter(|_| self.rng.bool()).collect();
        self.write(".gitignore", &self.patterns.join("\n"));
        self.touched.insert(".gitignore".to_owned(), May::User);
    }

    /// Only layout changes, in the turn in which the agent wrote the file.
    fn formatter_runs(&mut self) {
        let call = self.call();
        self.clear_way("fmt.txt", May::User);
        let text = format!("let x={call};\n");
        let input = json!({ "file_path": "fmt.txt", "content": text });
        let begun = self.record(&TestProject::begin("d1", &call, "Write", input));
        self.check_partial(&begun);
        self.write("fmt.txt", &text);
        self.touched.insert("fmt.txt".to_owned(), May::Agent);
        let ended = self.record(&TestProject::end("d1", &call));
        self.check_partial(&ended);
        self.write("fmt.txt", &text.replace('=', " = "));
        self.touched.insert("fmt.txt".to_owned(), May::Agent);
        let what = EventKind::TurnEnd { background: Vec::new() };
        let ended = self.record(&Event::new("d1", what));
        self.check_whole(&ended);
    }

    // What Retake saw.

    fn record(&mut self, event: &Event) -> Vec<Change> {
        self.opened.record(event, self.project.tick()).unwrap().changes
    }

    fn look(&mut self) {
        let changes = self.opened.refresh(self.project.tick()).unwrap().changes;
        self.check_whole(&changes);
    }

    /// It is derived: it may go at any time, and comes again.
    fn lose_the_stat_cache(&self) {
        for entry in std::fs::read_dir(self.opened.store().folder()).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("stats-") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    /// After a look at some paths: what it says must be so.
    fn check_partial(&mut self, changes: &[Change]) {
        for change in changes {
            self.check_change(change);
        }
    }

    /// After a look at everything: it must have missed nothing.
    fn check_whole(&mut self, changes: &[Change]) {
        self.check_partial(changes);
        let disk = self.on_disk();
        let manifest = self.manifest();
        assert_eq!(self.opened.store().manifest_len().unwrap(), manifest.len() as u64);
        for (name, content) in &manifest {
            assert_eq!(disk.get(name), Some(content), "{name} is not as the manifest says");
        }
        for name in disk.keys().filter(|name| !manifest.contains_key(*name)) {
            let ignored = git::command(&self.project.root())
                .args(["check-ignore", "-q", "--no-index", "--", name])
                .status()
                .unwrap()
                .success();
            assert!(ignored, "{name} is on disk, not ignored, and not in the manifest");
        }
        self.known = manifest;
        self.touched.clear();
        self.remember();
    }

    fn check_change(&mut self, change: &Change) {
        let name = change.path.to_string();
        let before = self.content(&change.before);
        let after = self.content(&change.after);
        let from = change.old_path.as_ref().map_or_else(|| name.clone(), ToString::to_string);
        if self.known.contains_key(&from) {
            assert_eq!(self.known.get(&from), before.as_ref(), "{change:?}");
        }
        for path in [&from, &name] {
            let Some(may) = self.touched.get(path) else {
                panic!("nobody touched {path}: {change:?}")
            };
            let fits = match may {
                May::User => matches!(change.actor, Actor::User | Actor::Git),
                May::Agent => change.actor == Actor::Agent,
                May::Git => matches!(change.actor, Actor::Git | Actor::User),
                May::Either => true,
            };
            assert!(fits, "{may:?} touched {path}, but {change:?}");
        }
        self.known.remove(&from);
        if let Some(after) = after {
            self.ever.insert(after.1.clone());
            self.known.insert(name, after);
        }
    }

    fn content(&self, side: &PathState) -> Option<Content> {
        let state = side.known()?;
        let kind = match state.kind {
            retake_engine::model::FileKind::File => Kind::File,
            retake_engine::model::FileKind::Link => Kind::Link,
        };
        Some((kind, self.opened.store().read(&state.oid).unwrap()))
    }

    fn manifest(&self) -> BTreeMap<String, Content> {
        let entries = self.opened.store().manifest().unwrap();
        let content = |path: ProjectPath, side: PathState| {
            (path.to_string(), self.content(&side).expect("everything here can be captured"))
        };
        entries.into_iter().map(|entry| content(entry.path, entry.state.into())).collect()
    }

    fn remember(&mut self) {
        self.ever.extend(self.known.values().map(|(_, content)| content.clone()));
    }

    // The project as it is.

    fn on_disk(&self) -> BTreeMap<String, Content> {
        let mut found = BTreeMap::new();
        collect(&self.project.root(), "", &mut found);
        found
    }

    fn name(&mut self) -> String {
        let names: Vec<String> = self.on_disk().into_keys().collect();
        match self.rng.u8(0..3) {
            0 if !names.is_empty() => {
                let name = self.rng.choice(&names).unwrap().clone();
                if name == ".gitignore" { "a.txt".to_owned() } else { name }
            }
            _ => (*self.rng.choice(NAMES).unwrap()).to_owned(),
        }
    }

    fn text_file(&mut self) -> Option<String> {
        let files = self.on_disk();
        let plain = files
            .into_iter()
            .filter(|(name, (kind, _))| *kind == Kind::File && name != ".gitignore")
            .map(|(name, _)| name)
            .collect::<Vec<_>>();
        self.rng.choice(&plain).cloned()
    }

    fn call(&mut self) -> String {
        self.calls += 1;
        format!("call{}", self.calls)
    }

    fn text(&mut self) -> String {
        let lines = self.rng.usize(1..6);
        (0..lines).map(|_| ["line ", &self.rng.u16(..).to_string(), "\n"].concat()).collect()
    }

    fn put(&mut self, name: &str, may: May) {
        self.clear_way(name, may);
        let text = self.text();
        self.write(name, &text);
        self.touched.insert(name.to_owned(), may);
    }

    fn write(&self, name: &str, text: &str) {
        self.project.write(name, text);
    }

    fn swap_type(&mut self, name: &str, may: May) {
        self.remove(name, may);
        self.clear_way(name, may);
        let path = self.project.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if self.rng.bool() {
            std::os::unix::fs::symlink("kept.txt", &path).unwrap();
        } else {
            std::fs::create_dir(&path).unwrap();
            let inner = format!("{name}/inner.txt");
            self.write(&inner, "inner\n");
            self.touched.insert(inner, may);
        }
        self.touched.insert(name.to_owned(), may);
    }

    /// Removes what would be in the way of a file with this name: folders and links.
    fn clear_way(&mut self, name: &str, may: May) {
        let mut path = String::new();
        for part in name.split('/') {
            path = if path.is_empty() { part.to_owned() } else { format!("{path}/{part}") };
            let is_last = path == name;
            let Ok(found) = self.project.root().join(&path).symlink_metadata() else {
                return;
            };
            if found.is_dir() == is_last || found.is_symlink() {
                self.remove(&path.clone(), may);
            }
        }
    }

    fn remove(&mut self, name: &str, may: May) {
        self.touch_tree(name, may);
        let path = self.project.root().join(name);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(&path).unwrap(),
            Ok(_) => std::fs::remove_file(&path).unwrap(),
            Err(_) => {}
        }
    }

    /// Everything at and below a name is touched.
    fn touch_tree(&mut self, name: &str, may: May) {
        let mut found = BTreeMap::new();
        let path = self.project.root().join(name);
        if path.is_dir() && !path.is_symlink() {
            collect(&path, &format!("{name}/"), &mut found);
        }
        let known: Vec<_> = self
            .known
            .keys()
            .filter(|path| path.starts_with(&format!("{name}/")))
            .cloned()
            .collect();
        for path in found.into_keys().chain(known) {
            self.touched.insert(path, may);
        }
        self.touched.insert(name.to_owned(), may);
    }
}

fn collect(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Content>) {
    use std::os::unix::ffi::OsStrExt as _;
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == ".git" {
            continue;
        }
        let (path, key) = (entry.path(), format!("{prefix}{name}"));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(&path, &format!("{key}/"), found);
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).unwrap();
            found.insert(key, (Kind::Link, target.as_os_str().as_bytes().to_vec()));
        } else {
            found.insert(key, (Kind::File, std::fs::read(&path).unwrap()));
        }
    }
}
