//! A dialog's checkpoints through git's eyes (DBG-1). git is the oracle.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]

use std::path::Path;

use retake_engine::model::{CheckpointKind, DialogId, ObjectId, SessionState};
use retake_engine::{ExportError, ExportedRepo, Project, git_command};
use retake_testkit::{TestProject, git};

use crate::support::{Work, assert_clean};

/// Two approved work sessions, an abandoned one and one that is open.
fn story(test: &TestProject) -> Work<'_> {
    test.write("src/a.txt", "one\n");
    test.write("b.txt", "b\n");
    test.init();
    let work = Work::begin(test, "d1");
    work.write("src/a.txt", b"two\n");
    work.say("first message");
    work.write("c.txt", b"c\n");
    work.say("second message");
    work.approve("looks good");
    work.write("src/a.txt", b"three\n");
    work.say("third message");
    work.approve("fine");
    work.write("b.txt", b"nonsense\n");
    work.say("a wrong turn");
    work.reset();
    assert_eq!(test.read("b.txt"), b"b\n");
    work.write("d.txt", b"d\n");
    work.point("once more");
    work
}

fn export(project: &Project, dialog: &str) -> ExportedRepo {
    project.export_git(Some(&DialogId(dialog.into())), &mut |_, _| {}).unwrap()
}

/// Runs git as `retake git` does, and gives what it printed.
fn seen(exported: &ExportedRepo, arguments: &[&str]) -> String {
    let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
    let output = git_command(exported, &arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
    let output = output.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn lines(exported: &ExportedRepo, arguments: &[&str]) -> Vec<String> {
    seen(exported, arguments).lines().map(str::to_owned).collect()
}

fn fsck(folder: &Path) -> String {
    git::run(folder, &["--git-dir", ".", "fsck", "--full", "--strict"])
}

#[test]
fn the_seven_commands_agree_with_retakes_own_lists() {
    use CheckpointKind::{BeforeMessage, BeforeOperation, Closing, Initial, Manual};
    use SessionState::{Abandoned, Active, Merged};
    let test = TestProject::new();
    let work = story(&test);
    let project = &work.project;
    let exported = export(project, "d1");
    let store = project.store();
    let sessions = store.work_sessions(&work.dialog).unwrap();
    let [one, two, lost, open] = sessions.as_slice() else { panic!("{sessions:?}") };
    let states = [one, two, lost, open].map(|session| session.state);
    assert_eq!(states, [Merged, Merged, Abandoned, Active]);

    let branches = seen(&exported, &["branch", "-a"]);
    assert_eq!(branches, "* main\n  session_1\n  session_2\n  session_3\n  session_4\n");

    let ids = |range: &[&str]| {
        let mut arguments = vec!["log", "--format=%H"];
        arguments.extend(range);
        lines(&exported, &arguments)
    };
    let hex = |oid: &ObjectId| oid.to_string();
    let merges = [two.approved_commit.unwrap(), one.approved_commit.unwrap()];
    assert_eq!(ids(&["--merges", "main"]), merges.each_ref().map(hex));
    assert_eq!(ids(&["main"])[0], hex(&open.base), "main is what was approved last");

    // Checkpoints of a work session, newest first, as Retake lists them.
    let listed = |number: u64| -> Vec<String> {
        let points = store.checkpoints(Some(&work.dialog), usize::MAX).unwrap();
        let of = points.iter().filter(|point| point.session == Some(number));
        of.map(|point| hex(&point.id)).collect()
    };
    assert_eq!(ids(&["--first-parent", &format!("{}..session_1", hex(&one.base))]), {
        let mut all = listed(1);
        all.pop(); // the initial one is the base
        all
    });
    assert_eq!(ids(&["main..session_3"]), listed(3), "unapproved, abandoned");
    assert_eq!(ids(&["main..session_4"]), listed(4), "unapproved, open");
    assert_eq!(ids(&["main..session_2"]), Vec::<String>::new(), "approved");
    assert_eq!(ids(&["session_2"])[0], hex(&two.tip));
    assert_eq!(ids(&["main..session_3"])[0], hex(&lost.tip));
    assert_eq!(ids(&["session_4"])[0], hex(&open.tip));
    let kinds = |number: u64| -> Vec<CheckpointKind> {
        let points = store.checkpoints(Some(&work.dialog), usize::MAX).unwrap();
        let of = points.iter().rev().filter(|point| point.session == Some(number));
        of.map(|point| point.kind).collect()
    };
    assert_eq!(kinds(1), [Initial, BeforeMessage, BeforeMessage, BeforeMessage, Closing]);
    assert_eq!(kinds(2), [BeforeMessage, Closing]);
    assert_eq!(kinds(3), [BeforeMessage, BeforeOperation], "the safety of the reset is its last");
    assert_eq!(kinds(4), [Manual]);

    let diff = seen(&exported, &["diff", "main", "session_2"]);
    assert_eq!(diff, "", "session_2 is approved");
    let diff = seen(&exported, &["diff", "main", "session_3"]);
    assert!(diff.contains("+nonsense") && diff.contains("-b\n"), "{diff}");
    let graph = seen(&exported, &["log", "--all", "--graph", "--oneline"]);
    let points = store.checkpoints(Some(&work.dialog), usize::MAX).unwrap();
    assert_eq!(graph.matches("* ").count(), points.len() + merges.len(), "{graph}");
    let oneline = seen(&exported, &["log", "main", "--oneline"]);
    assert!(oneline.contains("looks good") && oneline.contains("fine"), "{oneline}");
    assert_eq!(seen(&exported, &["show", "session_4:d.txt"]), "d\n");
    assert_eq!(fsck(&exported.folder), "");
    assert_clean(project);
}

#[test]
fn a_second_export_writes_only_what_is_new() {
    let test = TestProject::new();
    let work = story(&test);
    let first = export(&work.project, "d1");
    assert!(first.written > 20, "{}", first.written);
    assert_eq!(export(&work.project, "d1").written, 0);
    work.write("e.txt", b"e\n");
    work.point("more");
    // One commit, one tree, one blob.
    assert_eq!(export(&work.project, "d1").written, 3);
    let other = Work::begin(&test, "d2");
    other.write("e.txt", b"f\n");
    other.point("elsewhere");
    let second = export(&work.project, "d2");
    assert_eq!(seen(&second, &["branch", "-a"]), "* main\n  session_1\n");
    let back = export(&work.project, "d1");
    assert_eq!(back.written, 0, "the objects of other dialogs stay");
    assert_eq!(lines(&back, &["branch", "-a"]).len(), 5);
    assert_eq!(fsck(&back.folder).lines().filter(|line| !line.starts_with("dangling")).count(), 0);
}

#[test]
fn large_contents_are_streamed_into_the_repository() {
    let test = TestProject::new();
    let mut bytes = vec![0; 20 * 1024 * 1024];
    fastrand::Rng::with_seed(3).fill(&mut bytes);
    test.write("big.bin", &bytes);
    test.init();
    let work = Work::begin(&test, "d1");
    let exported = export(&work.project, "d1");
    let file = git::command(&exported.folder)
        .args(["--git-dir", ".", "cat-file", "blob", "main:big.bin"])
        .output()
        .unwrap();
    assert!(file.stdout == bytes, "{} bytes came back", file.stdout.len());
    assert_eq!(fsck(&exported.folder), "");
}

#[test]
fn whatever_happens_to_the_repository_it_is_made_again() {
    let test = TestProject::new();
    let work = story(&test);
    let folder = export(&work.project, "d1").folder;
    let main = git::run(&folder, &["--git-dir", ".", "rev-parse", "main"]);
    let breakings: [&dyn Fn(); 6] = [
        &|| std::fs::remove_dir_all(&folder).unwrap(),
        &|| {
            git::run(&folder, &["--git-dir", ".", "update-ref", "-d", "refs/heads/main"]);
            git::run(&folder, &["--git-dir", ".", "update-ref", "refs/heads/main/x", &main]);
            git::run(&folder, &["--git-dir", ".", "branch", "mine", &main]);
        },
        &|| std::fs::remove_file(folder.join("HEAD")).unwrap(),
        &|| std::fs::remove_dir_all(folder.join("refs")).unwrap(),
        &|| std::fs::write(folder.join("config"), "[core\n").unwrap(),
        &|| {
            std::fs::remove_dir_all(&folder).unwrap();
            std::fs::write(&folder, "a file").unwrap();
        },
    ];
    for (at, breaking) in breakings.iter().enumerate() {
        breaking();
        let exported = export(&work.project, "d1");
        assert_eq!(lines(&exported, &["branch", "-a"]).len(), 5, "{at}");
        assert_eq!(seen(&exported, &["rev-parse", "main"]).trim(), main, "{at}");
        assert_eq!(fsck(&folder), "", "{at}");
    }
    assert_clean(&work.project);
}

#[test]
fn hostile_ids_and_messages_stay_words() {
    let test = TestProject::new();
    test.write("a", "a\n");
    test.init();
    let id = "../../x\n\u{1b}[31m refs/heads/main --upload-pack=touch$IFS/tmp/x";
    let work = Work::begin(&test, id);
    let message = "--help\n\nRetake-Seq: 999999\ntree 0000\0end";
    for newest in [work.say(message), work.point(message)] {
        let exported = export(&work.project, id);
        assert_eq!(seen(&exported, &["branch", "-a"]), "* main\n  session_1\n");
        let written = seen(&exported, &["log", "-1", "--format=%B", &newest.id.to_string()]);
        let trailer = written.trim_end().lines().next_back().unwrap().to_owned();
        assert_eq!(trailer, format!("Retake-Seq: {}", newest.seq));
    }
    let exported = export(&work.project, id);
    assert_eq!(fsck(&exported.folder), "");
    assert_clean(&work.project);
}

#[test]
fn without_a_dialog_there_is_one_chain() {
    let test = TestProject::new();
    test.write("a", "a\n");
    let project = test.init();
    let nothing = project.export_git(None, &mut |_, _| {}).unwrap_err();
    assert!(matches!(nothing, ExportError::Empty(_)), "{nothing}");
    let batch = project.store().batch().unwrap();
    let mut parents = Vec::new();
    for message in ["one", "two"] {
        let point = batch.put_checkpoint(&retake_store::NewCheckpoint {
            at: test.tick(),
            kind: CheckpointKind::Manual,
            message,
            dialog: None,
            session: None,
            parents: &parents,
        });
        parents = vec![point.unwrap().id];
    }
    batch.commit().unwrap();
    let exported = project.export_git(None, &mut |_, _| {}).unwrap();
    assert_eq!(lines(&exported, &["log", "--format=%s"]), ["two", "one"]);
    assert_eq!(seen(&exported, &["branch", "-a"]), "* checkpoints\n");
}

#[test]
fn many_at_once_do_no_harm() {
    let test = TestProject::new();
    let work = story(&test);
    let other = Work::begin(&test, "d2");
    other.point("elsewhere");
    std::thread::scope(|scope| {
        for at in 0..6 {
            let outer = test.outer().to_owned();
            scope.spawn(move || {
                let project = TestProject::at(&outer).open();
                export(&project, if at % 2 == 0 { "d1" } else { "d2" });
            });
        }
    });
    let exported = export(&work.project, "d1");
    assert_eq!(lines(&exported, &["branch", "-a"]).len(), 5);
    assert_eq!(
        fsck(&exported.folder).lines().filter(|line| !line.starts_with("dangling")).count(),
        0
    );
}
