//! Looks where the eyes say: what they cost, what becomes of hints, and what the watcher may leave.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use retake_engine::model::{Actor, Change, Event, EventKind, Millis, ProjectPath};
use retake_engine::{
    ChangeFilter, ChangeHint, HintSource, Project, RefreshOutcome, RuleSources, TakeBackOptions,
};
use retake_testkit::{ListingHints, TestProject, git};
use serde_json::json;

const MINUTE: Millis = 60_000;

/// Eyes that say what they were told to say.
#[derive(Clone, Debug)]
struct Told {
    hint: Arc<Mutex<ChangeHint>>,
    first_seen: Arc<Mutex<BTreeMap<String, Millis>>>,
}

impl Told {
    fn say(&self, paths: &[&str]) {
        self.put_back(hint(paths));
    }

    fn pending(&self) -> ChangeHint {
        self.hint.lock().unwrap().clone()
    }
}

impl HintSource for Told {
    fn sync(&self) {}

    fn take_hint(&self) -> ChangeHint {
        std::mem::replace(&mut *self.hint.lock().unwrap(), hint(&[]))
    }

    fn first_seen(&self, path: &ProjectPath) -> Option<Millis> {
        self.first_seen.lock().unwrap().get(&path.to_string()).copied()
    }

    fn put_back(&self, hint: ChangeHint) {
        let mut here = self.hint.lock().unwrap();
        match (&mut *here, hint) {
            (ChangeHint::Paths(paths), ChangeHint::Paths(more)) => paths.extend(more),
            (here, _) => *here = ChangeHint::Everything,
        }
    }

    fn apply_rules(&self, _sources: &RuleSources, _tracked_hidden: &BTreeSet<ProjectPath>) {}
}

fn hint(paths: &[&str]) -> ChangeHint {
    ChangeHint::Paths(paths.iter().map(|path| path.parse().unwrap()).collect())
}

/// A project that was initialised, with eyes and after the first look with them.
fn with_told_eyes(test: &TestProject) -> (Project, Told) {
    let mut project = test.init();
    let told =
        Told { hint: Arc::new(Mutex::new(ChangeHint::Everything)), first_seen: Arc::default() };
    let rules = project.watch_rules().unwrap();
    project.set_hint_source(Box::new(told.clone()), rules);
    assert!(project.refresh(test.tick()).unwrap().whole);
    (project, told)
}

fn with_listing_eyes(test: &TestProject) -> (Project, ListingHints) {
    let mut project = test.init();
    let rules = project.watch_rules().unwrap();
    let eyes = ListingHints::open(&test.root(), rules.clone());
    project.set_hint_source(Box::new(eyes.clone()), rules);
    assert!(project.refresh(test.tick()).unwrap().whole);
    (project, eyes)
}

fn paths(looked: &RefreshOutcome) -> Vec<String> {
    looked.changes.iter().map(|change| change.path.to_string()).collect()
}

#[test]
fn only_what_the_hint_says_is_looked_at() {
    let test = TestProject::new();
    for number in 0..60 {
        test.write(&format!("src/{}/{number}.txt", number % 7), "base\n");
    }
    let (project, eyes) = with_told_eyes(&test);
    // More has changed than the eyes say: whoever looks elsewhere gives itself away.
    for name in ["src/0/0.txt", "src/1/1.txt", "src/2/2.txt", "src/2/new.txt", "new/a.txt"] {
        test.write(name, "changed\n");
    }
    eyes.say(&["src/1/1.txt"]);
    let looked = project.refresh(test.tick()).unwrap();
    assert_eq!((paths(&looked), looked.whole), (vec!["src/1/1.txt".to_owned()], false));
    eyes.say(&["src/2", "src/gone.txt"]);
    let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": "make" }));
    let found = project.record(&begin, test.tick()).unwrap().changes;
    let found: Vec<_> = found.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(found, ["src/2/2.txt", "src/2/new.txt"]);
    assert_eq!(project.refresh(test.tick()).unwrap().changes, []);
    eyes.put_back(ChangeHint::Everything);
    let looked = project.refresh(test.tick()).unwrap();
    assert_eq!(
        (paths(&looked), looked.whole),
        (vec!["new/a.txt".into(), "src/0/0.txt".into()], true)
    );
}

#[test]
fn what_was_seen_after_the_end_of_a_call_is_the_persons() {
    let test = TestProject::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        test.write(name, "one\n");
    }
    let (project, eyes) = with_told_eyes(&test);
    let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": "make" }));
    project.record(&begin, test.tick()).unwrap();
    let end = test.tick();
    // One was seen while the call ran, one after its end came; of one nobody knows when.
    for (name, at) in [("a.txt", Some(end - 1)), ("b.txt", Some(end + 1)), ("c.txt", None)] {
        test.write(name, "two\n");
        eyes.say(&[name]);
        at.map(|at| eyes.first_seen.lock().unwrap().insert(name.to_owned(), at));
    }
    let found = project.record(&TestProject::end("d1", "s1"), end).unwrap().changes;
    let by: Vec<_> = found.iter().map(|change| (change.path.to_string(), change.actor)).collect();
    let (agent, user) = (Actor::Agent, Actor::User);
    assert_eq!(by, [("a.txt".into(), agent), ("b.txt".into(), user), ("c.txt".into(), agent)]);
}

#[test]
fn what_only_a_whole_look_can_tell_is_told_again_by_a_narrow_one() {
    let test = TestProject::new();
    test.write(".gitignore", "*.log\n");
    test.write("a.log", "hidden\n");
    test.write("inner/.git/HEAD", "ref: refs/heads/main\n");
    let (project, _) = with_told_eyes(&test);
    let looked = project.refresh(test.tick()).unwrap();
    assert!(!looked.whole);
    assert_eq!((looked.ignored.len(), looked.ignored_count), (1, 1));
    assert_eq!(looked.nested_repositories, ["inner".parse().unwrap()]);
}

#[test]
fn a_hint_goes_back_if_the_look_fails() {
    let test = TestProject::new();
    test.write("a.txt", "one\n");
    let (project, eyes) = with_told_eyes(&test);
    test.write("a.txt", "two\n");
    eyes.say(&["a.txt"]);
    let stamp = project.store().folder().join("stamp");
    std::fs::remove_file(&stamp).unwrap();
    std::fs::create_dir(&stamp).unwrap();
    project.refresh(test.tick()).unwrap_err();
    assert_eq!(eyes.pending(), hint(&["a.txt"]));
    std::fs::remove_dir(&stamp).unwrap();
    assert_eq!(paths(&project.refresh(test.tick()).unwrap()), ["a.txt"]);
    assert_eq!(eyes.pending(), hint(&[]), "it is used up");
}

#[test]
fn rules_that_change_take_a_look_at_everything_and_one_more() {
    let test = TestProject::new();
    test.write(".gitignore", "*.hid\n");
    test.write("a.hid", "hidden\n");
    let (project, eyes) = with_told_eyes(&test);
    for (file, whole) in [(".gitignore", true), ("sub/.gitignore", true), ("sub/b.txt", false)] {
        test.write(file, "*.tmp\n");
        eyes.say(&[file.split('/').next().unwrap()]);
        assert_eq!(project.refresh(test.tick()).unwrap().whole, whole, "{file}");
        // Until the eyes went by the new rules they may have missed something.
        assert_eq!(project.refresh(test.tick()).unwrap().whole, whole, "after {file}");
        assert!(!project.refresh(test.tick()).unwrap().whole);
    }
    assert_eq!(project.status().unwrap().files, 4, "a.hid came into sight");
    std::fs::create_dir_all(test.outer().join("config/git")).unwrap();
    std::fs::write(test.outer().join("config/git/ignore"), "b.txt\n").unwrap();
    assert!(project.refresh(test.tick()).unwrap().whole, "the global rules are others");
}

#[test]
fn tracked_files_that_rules_hide_are_seen() {
    let test = TestProject::new();
    test.write(".gitignore", "out/\n*.env\n");
    test.write("out/made.txt", "one\n");
    test.write("a.env", "A=1\n");
    let (project, eyes) = with_listing_eyes(&test);
    let write = |call: &str, path: &str| {
        let input = json!({ "file_path": path, "content": "by a tool\n" });
        project.record(&TestProject::begin("d1", call, "Write", input), test.tick()).unwrap();
        test.write(path, "by a tool\n");
        project.record(&TestProject::end("d1", call), test.tick()).unwrap();
    };
    write("w1", "out/made.txt");
    write("w2", "a.env");
    test.write("out/made.txt", "by hand\n");
    test.write("a.env", "by hand\n");
    test.write("out/other.txt", "never tracked\n");
    let looked = project.refresh(test.tick()).unwrap();
    assert_eq!(
        (paths(&looked), looked.whole),
        (vec!["a.env".into(), "out/made.txt".into()], false)
    );
    eyes.put_back(ChangeHint::Everything);
    assert!(project.refresh(test.tick()).unwrap().whole);
    test.write("out/made.txt", "again\n");
    std::fs::remove_file(test.root().join("a.env")).unwrap();
    let looked = project.refresh(test.tick()).unwrap();
    assert_eq!(
        (paths(&looked), looked.whole),
        (vec!["a.env".into(), "out/made.txt".into()], false)
    );
}

#[test]
fn what_retake_puts_back_into_an_ignored_folder_stays_in_sight() {
    let test = TestProject::new();
    test.write(".gitignore", "out/\n");
    let mut project = test.init();
    let input = json!({ "file_path": "out/a.txt", "content": "by a tool\n" });
    project.record(&TestProject::begin("d1", "w1", "Write", input), test.tick()).unwrap();
    test.write("out/a.txt", "by a tool\n");
    project.record(&TestProject::end("d1", "w1"), test.tick()).unwrap();
    let (plan, _) = project.plan_undo(TakeBackOptions::default(), test.tick()).unwrap();
    project.apply(&plan, test.tick()).unwrap();
    let rules = project.watch_rules().unwrap();
    project.set_hint_source(Box::new(ListingHints::open(&test.root(), rules.clone())), rules);
    project.refresh(test.tick()).unwrap();
    let (plan, _) = project.plan_redo(TakeBackOptions::default(), test.tick()).unwrap();
    project.apply(&plan, test.tick()).unwrap();
    test.write("out/a.txt", "by hand\n");
    let looked = project.refresh(test.tick()).unwrap();
    assert_eq!((paths(&looked), looked.whole), (vec!["out/a.txt".to_owned()], false));
}

#[test]
fn after_somebody_else_wrote_everything_is_looked_at() {
    let test = TestProject::new();
    test.write(".gitignore", "out/\n");
    let (project, _) = with_listing_eyes(&test);
    assert!(!project.refresh(test.tick()).unwrap().whole);
    let input = json!({ "file_path": "out/a.txt", "content": "x\n" });
    test.record(&TestProject::begin("d1", "w1", "Write", input));
    test.write("out/a.txt", "x\n");
    test.record(&TestProject::end("d1", "w1"));
    assert!(project.refresh(test.tick()).unwrap().whole);
    test.write("out/a.txt", "by hand\n");
    let looked = project.refresh(test.tick()).unwrap();
    assert_eq!((paths(&looked), looked.whole), (vec!["out/a.txt".to_owned()], false));
}

#[test]
fn the_watcher_keeps_one_version_per_path_and_minute() {
    let test = TestProject::new();
    test.write("a.txt", "base\n");
    test.write("b.txt", "base\n");
    let (project, _) = with_listing_eyes(&test);
    let start = test.tick();
    let around = |text: &str, at: Millis| {
        test.write("a.txt", text);
        let looked = project.refresh_in_background(at).unwrap();
        (paths(&looked), looked.due)
    };
    let nothing = |due| (Vec::<String>::new(), Some(due));
    assert_eq!(around("one\n", start), (vec!["a.txt".to_owned()], None), "the first at once");
    assert_eq!(around("two\n", start + 1000), nothing(start + MINUTE));
    assert_eq!(around("three\n", start + 2000), nothing(start + MINUTE));
    // Nothing else moves, and still it comes when its time has come.
    assert_eq!(paths(&project.refresh_in_background(start + MINUTE - 1).unwrap()), [""; 0]);
    let looked = project.refresh_in_background(start + MINUTE).unwrap();
    assert_eq!((paths(&looked), looked.due), (vec!["a.txt".to_owned()], None));
    assert_eq!(around("four\n", start + MINUTE + 1), nothing(start + 2 * MINUTE));
    // Whoever asks gets it at once.
    let said = EventKind::UserMessage { text: "what now".into() };
    let said = project.record(&Event::new("d1", said), start + MINUTE + 2).unwrap();
    assert_eq!((said.changes.len(), said.changes[0].actor), (1, Actor::User));
    assert_eq!(around("five\n", start + MINUTE + 3), (vec!["a.txt".to_owned()], None));
    test.write("a.txt", "six\n");
    assert_eq!(project.refresh_in_background(start + MINUTE + 4).unwrap().changes, []);
    assert_eq!(paths(&project.refresh(start + MINUTE + 5).unwrap()), ["a.txt"]);
    // That a file went away is no version.
    assert_eq!(around("seven\n", start + MINUTE + 6).0, ["a.txt"]);
    std::fs::remove_file(test.root().join("a.txt")).unwrap();
    assert_eq!(paths(&project.refresh_in_background(start + MINUTE + 7).unwrap()), ["a.txt"]);
    assert_eq!(around("eight\n", start + MINUTE + 8).0, [""; 0]);
    assert_eq!(paths(&project.refresh(start + MINUTE + 9).unwrap()), ["a.txt"]);
    // What a command writes bit by bit is kept like that, too, and all of it when it ends.
    let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": "make" }));
    project.record(&begin, start + MINUTE + 10).unwrap();
    assert_eq!(around("made\n", start + MINUTE + 11).0, ["a.txt"]);
    assert_eq!(around("made more\n", start + MINUTE + 12).0, [""; 0]);
    let ended = project.record(&TestProject::end("d1", "s1"), start + MINUTE + 13).unwrap();
    assert_eq!((ended.changes.len(), ended.changes[0].actor), (1, Actor::Agent));
    // The person's first edit after that is not the rest of it.
    assert_eq!(around("by hand\n", start + MINUTE + 14).0, ["a.txt"]);
}

#[test]
fn the_watcher_leaves_the_scratch_of_a_command_alone() {
    let test = TestProject::new();
    test.write("sub/a.txt", "one\n");
    let (project, _) = with_listing_eyes(&test);
    let start = test.tick();
    let command = json!({ "command": "sed -i s/one/two/ sub/a.txt" });
    project.record(&TestProject::begin("d1", "s1", "Bash", command), start).unwrap();
    // What sed writes beside its target, what a person does there meanwhile, and elsewhere.
    test.write("sub/sedR9r7nd", "tw");
    test.write("sub/mine.txt", "mine\n");
    test.write("mine.txt", "mine\n");
    let looked = project.refresh_in_background(start + 1).unwrap();
    assert_eq!(paths(&looked), ["mine.txt"]);
    std::fs::rename(test.root().join("sub/sedR9r7nd"), test.root().join("sub/a.txt")).unwrap();
    let ended = project.record(&TestProject::end("d1", "s1"), start + 2).unwrap();
    let by = |changes: &[Change]| -> Vec<(String, Actor)> {
        changes.iter().map(|change| (change.path.to_string(), change.actor)).collect()
    };
    let (agents, persons) = ("sub/a.txt".to_owned(), "sub/mine.txt".to_owned());
    assert_eq!(by(&ended.changes), [(agents, Actor::Agent), (persons, Actor::User)]);

    // What a command may remove is not left for later, whoever made it.
    for (call, command, file) in [
        ("s2", "sed -i s/two/one/ sub/a.txt && rm -rf sub", "sub/in the way"),
        ("s3", "sed -i s/two/one/ sub/a.txt && rm sub/there", "sub/there"),
        ("s4", "sed -i s/two/one/ sub/a.txt && make clean", "sub/made"),
    ] {
        let begin = TestProject::begin("d1", call, "Bash", json!({ "command": command }));
        project.record(&begin, test.tick()).unwrap();
        test.write(file, "mine\n");
        assert_eq!(
            paths(&project.refresh_in_background(test.tick()).unwrap()),
            [file],
            "{command}"
        );
        project.record(&TestProject::end("d1", call), test.tick()).unwrap();
    }
}

#[test]
fn the_watcher_waits_for_git() {
    let test = TestProject::new();
    test.write("a.txt", "main\n");
    let root = test.root();
    git::run(&root, &["init", "-q", "."]);
    git::run(&root, &["add", "-A"]);
    git::run(&root, &["commit", "-qm", "one"]);
    git::run(&root, &["worktree", "add", "-q", "../tree"]);
    let (project, eyes) = with_listing_eyes(&test);
    test.write("a.txt", "half of a switch\n");
    for (name, old) in [("index.lock", 60_000), ("HEAD.lock", 60_000), ("rebase-merge/done", 2000)]
    {
        let file = root.join(".git").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        let at = touched(&file);
        let takes = eyes.takes();
        let looked = project.refresh_in_background(at + old - 1).unwrap();
        assert!(looked.postponed && looked.changes.is_empty(), "{name}");
        assert_eq!(eyes.takes(), takes, "the hint stays for later");
        assert!(
            !project.refresh_in_background(at + old + 1000).unwrap().postponed,
            "{name} is stale"
        );
        assert!(!project.refresh(at).unwrap().postponed, "{name}: whoever asks is answered");
        std::fs::remove_file(&file).unwrap();
        drop(std::fs::remove_dir(file.parent().unwrap()));
    }
    // A working tree of its own has its own git folder.
    let lock = root.join(".git/worktrees/tree/index.lock");
    std::fs::write(&lock, "").unwrap();
    assert!(!project.refresh_in_background(touched(&lock)).unwrap().postponed);
    let tree = test.retake().init(
        &test.outer().join("tree"),
        retake_engine::InitOptions::default(),
        test.tick(),
        &mut |_, _| {},
    );
    assert!(tree.unwrap().project.refresh_in_background(touched(&lock)).unwrap().postponed);
}

#[test]
fn what_git_brings_back_within_a_minute_of_a_save_is_gits_and_told_at_once() {
    for command in [
        "git stash -q",
        "git reset -q --hard",
        "git checkout -qf",
        "git checkout -q -- .",
        "git restore a.txt",
    ] {
        let test = TestProject::new();
        test.write("a.txt", "main\n");
        test.shell("git init -qb main . && git add -A && git commit -qm one");
        let (project, _) = with_listing_eyes(&test);
        let start = test.tick();
        let around = |at: Millis| {
            let looked = project.refresh_in_background(at).unwrap();
            let by: Vec<_> = looked.changes.iter().map(|change| change.actor).collect();
            (by, looked.due)
        };
        test.write("a.txt", "mine\n");
        assert_eq!(around(start), (vec![Actor::User], None), "{command}");
        test.shell(command);
        assert_eq!(around(start + 1000), (vec![Actor::Git], None), "{command}");

        // Also if a later version waits, and nobody is told of another move of it.
        test.write("a.txt", "mine again\n");
        assert_eq!(around(start + 2000), (vec![Actor::User], None), "{command}");
        test.write("a.txt", "and again\n");
        assert_eq!(around(start + 3000), (Vec::new(), Some(start + 2000 + MINUTE)), "{command}");
        test.shell(command);
        assert_eq!(around(start + 4000), (vec![Actor::Git], None), "{command}");
    }
}

#[test]
fn what_waits_when_git_moves_does_not_wait_until_its_record_is_used_up() {
    let test = TestProject::new();
    test.write("a.txt", "main\n");
    test.write("b.txt", "main\n");
    test.shell("git init -qb main . && git add -A && git commit -qm one");
    let (project, eyes) = with_told_eyes(&test);
    let start = test.tick();
    let around = |path: &str, at: Millis| {
        eyes.say(&[path]);
        let changes = project.refresh_in_background(at).unwrap().changes;
        let by: Vec<_> = changes.iter().map(|it| (it.path.to_string(), it.actor)).collect();
        by
    };
    test.write("a.txt", "mine\n");
    assert_eq!(around("a.txt", start), [("a.txt".to_owned(), Actor::User)]);
    test.write("a.txt", "mine again\n");
    assert_eq!(around("a.txt", start + 1000), []);
    // The eyes tell of the other file first.
    test.write("b.txt", "mine\n");
    test.shell("git checkout -q -- .");
    test.write("b.txt", "mine after it\n");
    let (a, b) = (("a.txt".to_owned(), Actor::Git), ("b.txt".to_owned(), Actor::User));
    assert_eq!(around("b.txt", start + 2000), [a, b]);
}

fn touched(file: &Path) -> Millis {
    let time = file.metadata().unwrap().modified().unwrap();
    assert!(time <= SystemTime::now());
    time.duration_since(UNIX_EPOCH).unwrap().as_millis() as Millis
}

#[test]
fn a_project_with_eyes_can_go_to_another_thread() {
    let test = TestProject::new();
    test.write("a.txt", "one\n");
    let (project, _) = with_listing_eyes(&test);
    test.write("a.txt", "two\n");
    let at = test.tick();
    let looked = std::thread::spawn(move || project.refresh(at).unwrap()).join().unwrap();
    assert_eq!(paths(&looked), ["a.txt"]);
}

#[test]
fn what_a_failed_group_saw_is_looked_at_again() {
    const ENOSPC: i32 = 28;
    let test = TestProject::new();
    test.write("a.txt", "one\n");
    let (project, told) = with_told_eyes(&test);
    test.write("a.txt", "two\n");
    told.say(&["a.txt"]);
    retake_seam::fail_once("commit", 1, ENOSPC);
    let message = Event::new("d1", EventKind::UserMessage { text: "hello".to_owned() });
    let kept = project.record(&message, test.tick()).unwrap();
    assert!(kept.seq.is_none() && project.changes(&ChangeFilter::default()).unwrap().is_empty());
    assert_eq!(told.pending(), ChangeHint::Everything);
    project.refresh(test.tick()).unwrap();
    assert_eq!(project.changes(&ChangeFilter::default()).unwrap().len(), 1);
}
