//! Kills, errors and recovery: what is half done can be finished or taken back, whatever came between.
//!
//! A child carries out one verb and is killed before a step of it, or one of its
//! steps fails. Then people go on with their work, and the operation is recovered.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use retake_engine::model::ObjectId;
use retake_engine::{AppliedPlan, GoToOptions, OperationError, RecoveryChoice, TakeBackOptions};
use retake_testkit::disk::{self, DiskFile};
use retake_testkit::{TestProject, child, play};

const HOW: [RecoveryChoice; 2] = [RecoveryChoice::Resume, RecoveryChoice::Undo];

/// An undo of this exchanges two files.
const TWO: &str = r"
    file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
    file b.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
    init
    say d: go
    edit d e1 a.txt: 2 => two
    edit d e2 b.txt: 2 => two
";

fn played(story: &str) -> TestProject {
    let project = TestProject::in_memory();
    play(&project, story);
    project
}

fn text(project: &TestProject, path: &str) -> Option<String> {
    std::fs::read_to_string(project.root().join(path)).ok()
}

/// Carries out the verb if this process is the child.
fn is_child() -> bool {
    let Some(verb) = child::role() else { return false };
    let outer = std::env::var("RETAKE_TEST_OUTER").unwrap();
    let said = match carry_out(&TestProject::at(Path::new(&outer)), &verb) {
        Ok(applied) => told(&applied),
        Err(error) => format!("error: {error}"),
    };
    let mut stdout = std::io::stdout();
    writeln!(stdout, "\n{said}").unwrap();
    true
}

fn carry_out(project: &TestProject, verb: &str) -> Result<AppliedPlan, OperationError> {
    let (opened, at) = (project.open(), project.tick());
    let plan = match verb {
        "undo" => opened.plan_undo(TakeBackOptions::default(), at)?.0,
        "restore" => {
            let first = opened.checkpoints(None, 100)?.pop().unwrap();
            let options = GoToOptions { exact: true, ..GoToOptions::default() };
            opened.plan_restore(&first, &options, at)?
        }
        _ => return opened.recover(RecoveryChoice::Resume, at),
    };
    opened.apply(&plan, project.tick())
}

/// One line for each file.
fn told(applied: &AppliedPlan) -> String {
    let mut said = String::new();
    for file in &applied.plan.files {
        let (path, action, code) = (&file.path, file.action.as_str(), file.reason.code());
        writeln!(said, "{path:?} {action} {code} {:?}", file.warning).unwrap();
    }
    said
}

/// Runs the child in a project; gives whether it lived, and what it said.
fn run(project: &TestProject, verb: &str, inject: (&str, &str)) -> (bool, String) {
    let mut command = child::command(verb);
    command.env("RETAKE_TEST_OUTER", project.outer()).env(inject.0, inject.1);
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The names of the verb's steps if nothing disturbs it.
fn steps(project: &TestProject, verb: &str) -> Vec<String> {
    let file = project.outer().join("steps");
    let (lived, said) = run(project, verb, ("RETAKE_COUNT_STEPS", file.to_str().unwrap()));
    assert!(lived, "{said}");
    let numbered = std::fs::read_to_string(file).unwrap();
    numbered.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

/// A kill at a certain step of an undo.
struct Kill<'t> {
    story: &'t str,
    at: usize,
}

impl<'t> Kill<'t> {
    /// Before the `nth` step of this name.
    fn before(story: &'t str, label: &str, nth: usize) -> Self {
        let steps = steps(&played(story), "undo");
        let mut named = steps.iter().zip(1..).filter(|(step, _)| *step == label);
        let at = named.nth(nth - 1).unwrap_or_else(|| panic!("no {nth}. {label}: {steps:?}")).1;
        Self { story, at }
    }

    /// A project in which that happened.
    fn project(&self) -> TestProject {
        let project = played(self.story);
        let (lived, said) = run(&project, "undo", ("RETAKE_KILL_AT", &self.at.to_string()));
        assert!(!lived, "not killed: {said}");
        assert!(project.open().interrupted().unwrap().is_some());
        project
    }
}

/// The temporary file in the root that holds this text.
fn temp_with(project: &TestProject, text: &str) -> PathBuf {
    let now = disk::read_files(&project.root());
    let holds = |entry: &DiskFile| String::from_utf8_lossy(&entry.content).contains(text);
    let found = now.iter().find(|(name, entry)| name.starts_with(".retake-") && holds(entry));
    project.root().join(found.unwrap().0)
}

/// The objects that warnings name.
fn kept(applied: &AppliedPlan) -> Vec<ObjectId> {
    let warnings = applied.plan.files.iter().filter_map(|file| file.warning.as_deref());
    warnings.filter_map(|warning| warning.rsplit(' ').next()?.parse().ok()).collect()
}

/// After the kill a look records Retake's work, then the person edits on top of it.
#[test]
fn recover_after_look_and_a_user_edit_records_no_false_change() {
    if is_child() {
        return;
    }
    let kill = Kill::before(TWO, "exchange", 2);
    for how in HOW {
        let project = kill.project();
        assert_eq!(project.read("a.txt"), b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        project.refresh();
        project.shell("sed -i s/8/eight-user/ a.txt");
        project.refresh();
        let applied = project.open().recover(how, project.tick()).unwrap();
        assert_eq!(project.refresh().changes, [], "{how:?}: {}", told(&applied));
        let line = if how == RecoveryChoice::Undo { "two" } else { "2" };
        let expected = format!("1\n{line}\n3\n4\n5\n6\n7\neight-user\n9\n");
        assert_eq!(text(&project, "a.txt"), Some(expected), "{how:?}");
    }
}

/// Killed before the first write to a temporary file, which is there and empty. The person puts
/// the file right by hand.
#[test]
fn recover_does_not_put_a_half_written_temp_in_place() {
    if is_child() {
        return;
    }
    let kill = Kill::before(TWO, "write file", 1);
    for how in HOW {
        let project = kill.project();
        project.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        let applied = project.open().recover(how, project.tick()).unwrap();
        let found = text(&project, "a.txt").unwrap();
        assert!(found.starts_with("1\n"), "{how:?}: {found:?}: {}", told(&applied));
    }
}

/// A program that had the displaced file open saves to it, and the person saves at the path.
#[test]
fn recover_tells_of_a_version_that_is_only_in_the_store() {
    if is_child() {
        return;
    }
    let project = Kill::before(TWO, "exchange", 2).project();
    std::fs::write(temp_with(&project, "1\ntwo\n"), "precious words\n").unwrap();
    project.write("a.txt", "saved again\n");
    let applied = project.open().recover(RecoveryChoice::Resume, project.tick()).unwrap();
    let oid = retake_store::hash_blob(b"precious words\n").unwrap();
    assert!(project.open().store().has(&oid).unwrap());
    assert_eq!(kept(&applied), [oid], "{}", told(&applied));
    assert_eq!(project.read("a.txt"), b"saved again\n");
}

#[test]
fn recover_when_the_folder_became_something_else() {
    if is_child() {
        return;
    }
    let story = r"
        file dir/a.txt: 1\n2\n3\n
        file dir/b.txt: 1\n2\n3\n
        init
        say d: go
        shell d s1: sed -i s/2/two/ dir/a.txt dir/b.txt
    ";
    let kill = Kill::before(story, "exchange", 2);
    for command in [
        "rm -r dir; echo x > dir",
        "mv dir real; ln -s real dir",
        "rm -r dir",
        "rm dir/a.txt; mkdir dir/a.txt",
        "for t in dir/.retake-*; do rm $t; mkdir $t; done",
        "rm dir/.retake-*",
    ] {
        for how in HOW {
            let project = kill.project();
            project.shell(command);
            let recovered = project.open().recover(how, project.tick());
            assert!(recovered.is_ok(), "{command}, {how:?}: {recovered:?}");
            assert!(project.open().interrupted().unwrap().is_none(), "{command}, {how:?}");
        }
    }
}

/// An undo that leaves one file is not whole; nor is it when it was killed and resumed.
#[test]
fn resumed_is_as_whole_as_it_would_have_been() {
    if is_child() {
        return;
    }
    let story = format!("{TWO}\nrollback dialog=d\nrun sed -i s/2/user/ b.txt\nlook");
    let operations = |project: &TestProject| -> Vec<_> {
        let found = project.open().store().operations(10).unwrap();
        found.iter().map(|one| (one.kind, one.state, one.undone_by.is_some())).collect()
    };
    let plain = played(&story);
    assert!(!carry_out(&plain, "undo").unwrap().is_whole());
    let project = Kill::before(&story, "exchange", 1).project();
    let applied = project.open().recover(RecoveryChoice::Resume, project.tick()).unwrap();
    assert!(!applied.is_whole(), "{}", told(&applied));
    assert_eq!(operations(&project), operations(&plain));
}

/// Somebody goes on writing to the displaced file all the time.
#[test]
fn recover_with_a_busy_writer_on_the_displaced_file() {
    if is_child() {
        return;
    }
    let story = r"
        run seq 400000 > a.txt
        file b.txt: 1\n2\n3\n
        init
        say d: go
        shell d s1: sed -i s/777/two/ a.txt; sed -i s/2/two/ b.txt
    ";
    let project = Kill::before(story, "exchange", 2).project();
    let temp = temp_with(&project, "\n400000\n");
    let mut file = OpenOptions::new().append(true).open(temp).unwrap();
    file.write_all(b"precious line\n").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let (begun, begins) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        begun.send(()).unwrap();
        while !stopped.load(Ordering::SeqCst) {
            file.write_all(b"x").unwrap();
        }
    });
    begins.recv().unwrap();
    let recovered = project.open().recover(RecoveryChoice::Resume, project.tick());
    stop.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    let has_line = |bytes: &[u8]| bytes.windows(13).any(|part| part == b"precious line");
    let on_disk = disk::read_files(&project.root()).values().any(|entry| has_line(&entry.content));
    let read = |oid: &ObjectId| project.open().store().read(oid).unwrap();
    let in_store = recovered.iter().flat_map(kept).any(|oid| has_line(&read(&oid)));
    assert!(on_disk || in_store, "{:?}", recovered.as_ref().map(told));
}
