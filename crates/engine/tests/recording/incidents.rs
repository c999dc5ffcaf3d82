//! How others lost people's work, each as a test that we do not.
//!
//! Named after the public reports; the numbers are those of the trackers.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test plays the user")]

use std::os::unix::fs::symlink;

use expect_test::expect;
use retake_engine::model::PathState;
use retake_engine::{GoToOptions, PlanReason, TakeBackOptions};
use retake_testkit::{TestProject, check, disk, play};

const REPOSITORY: &str = r"
    file .gitignore: *.log\n
    file a.txt: one\n
    file src/lib.rs: lib\n
    file src/main.rs: main\n
    run git init -q -b main . && git add -A && git commit -qm base
    init
    say d: go
";

fn repository(story: &str) -> (TestProject, String) {
    let project = TestProject::new();
    play(&project, REPOSITORY);
    let seen = play(&project, story);
    (project, seen)
}

fn git(project: &TestProject, args: &[&str]) -> String {
    let output = retake_testkit::git::command(&project.root()).args(args).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// cline#14367: the restore reverted a dirty `.gitignore`, then cleaned what that had ignored.
#[test]
fn restoring_a_dirty_gitignore_deletes_nothing_that_it_hid() {
    let (project, seen) = repository(
        r"
        shell d s1: printf '*.log\nlocal/\n' > .gitignore; echo mine > a.txt
        file local/notes.txt: precious\n
        file debug.log: log\n
        look
        restore d:1
        cat .gitignore
        cat local/notes.txt
        cat debug.log
        look
        restore d:1
        undo
        cat local/notes.txt
        ",
    );
    assert!(seen.contains(".gitignore: *.log\\n\n"), "{seen}");
    assert_eq!(project.read("local/notes.txt"), b"precious\n", "{seen}");
    assert_eq!(project.read("debug.log"), b"log\n");
}

/// opencode#13558, #33940, claude-code#28078: undo in one session took another one's work along.
#[test]
fn the_work_of_another_dialog_stays() {
    check(
        &format!(
            "{REPOSITORY}{}",
            r"
            write d w1 a.txt: by d\n
            say e: go
            write e w2 b.txt: by e\n
            edit e e3 src/lib.rs: lib => lib by e
            rollback dialog=d
            cat a.txt
            cat b.txt
            undo
            restore d:1
            cat a.txt
            cat b.txt
            cat src/lib.rs
            undo
            reset d
            cat b.txt
            "
        ),
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "b.txt" create by agent e/main:w2 certain +1 -0
            "src/lib.rs" modify by agent e/main:e3 certain +1 -1
            rollback: "a.txt" write exact
            a.txt: one\n
            b.txt: by e\n
            undo: "a.txt" write exact
            restore: "a.txt" write restored
            restore: "b.txt" leave other_dialog
            restore: "src/lib.rs" leave other_dialog
            a.txt: one\n
            b.txt: by e\n
            src/lib.rs: lib by e\n
            undo: "a.txt" write exact
            reset: "a.txt" write exact
            b.txt: by e\n
        "#]],
    );
}

/// claude-code#16023, vscode#252619: rewind destroyed edits made by hand after the agent.
#[test]
fn edits_by_hand_after_the_agent_survive() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n
        init
        say d: go
        edit d e1 a.txt: 2 => two
        write d w2 new.txt: new\n
        run sed -i s/6/six/ a.txt
        file new.txt: new and mine\n
        undo
        cat a.txt
        cat new.txt
        reset d
        cat new.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "new.txt" create by agent d/main:w2 certain +1 -0
            undo: "a.txt" write merged
            undo: "new.txt" leave changed_since blocked by user
            a.txt: 1\n2\n3\n4\n5\nsix\n7\n
            new.txt: new and mine\n
            nothing done
            reset: "new.txt" leave changed_since blocked by user
            new.txt: new and mine\n
        "#]],
    );
}

/// zed#28676, aider#1427: a restore could not be undone.
#[test]
fn a_restore_is_undone_to_the_byte() {
    let (project, _) = repository("write d w1 a.txt: by d\\n\nfile mine.txt: mine\nlook");
    let before = disk::read_files(&project.root());
    play(&project, "restore d:1 exact");
    assert!(!project.root().join("mine.txt").exists());
    play(&project, "undo");
    assert!(disk::same_files(&disk::read_files(&project.root()), &before));
}

/// claude-code#34368, #93045: deleted files could not be rewound. #87575: nor edits through bash.
#[test]
fn what_a_command_deleted_and_changed_comes_back() {
    check(
        &format!(
            "{REPOSITORY}{}",
            r"
            shell d s1: rm -rf src && sed -i s/one/two/ a.txt
            undo
            cat src/lib.rs
            cat src/main.rs
            cat a.txt
            "
        ),
        &expect![[r#"
            "a.txt" modify by agent d/main:s1 window +1 -1
            "src/lib.rs" delete by agent d/main:s1 window +0 -1
            "src/main.rs" delete by agent d/main:s1 window +0 -1
            undo: "a.txt" write exact
            undo: "src/lib.rs" create exact
            undo: "src/main.rs" create exact
            src/lib.rs: lib\n
            src/main.rs: main\n
            a.txt: one\n
        "#]],
    );
}

/// copilot-cli#1675, gemini-cli#13331: restore ran `git clean` and took away what nobody tracked.
#[test]
fn untracked_output_is_never_deleted() {
    let (project, _) = repository(
        r"
        write d w1 a.txt: by d\n
        file results/run1.csv: 1,2,3\n
        file results/run2.log: log\n
        run mkdir empty
        look
        restore d:1
        ",
    );
    assert_eq!(project.read("a.txt"), b"one\n");
    assert_eq!(project.read("results/run1.csv"), b"1,2,3\n");
    assert_eq!(project.read("results/run2.log"), b"log\n");
    assert!(project.root().join("empty").is_dir());
}

/// cline#13550, #9590, #2868: restore moved the branch, and left `.git` renamed.
#[test]
fn commits_branch_index_and_stash_stay_as_they_are() {
    let (project, _) = repository(
        r"
        write d w1 a.txt: by d\n
        run git add a.txt && git commit -qm 'the work'
        write d w2 a.txt: by d again\n
        run git add a.txt
        ",
    );
    let before = disk::git_state(&project.root());
    play(&project, "undo\nredo\nrestore d:1\nundo\nreset d\nundo\nrollback call=w1 cascade");
    assert_eq!(disk::git_state(&project.root()), before);
    assert_eq!(git(&project, &["log", "--format=%s", "main"]), "the work\nbase\n");
}

/// Roo-Code#10636, #8433: one nested repository switched checkpoints off.
#[test]
fn a_nested_repository_is_protected_and_its_git_is_left_alone() {
    let (project, _) = repository(
        r"
        run git init -q vendored && echo v1 > vendored/v.txt && git -C vendored add . && git -C vendored commit -qm v1
        look
        write d w1 vendored/v.txt: v2\n
        shell d s2: rm -f vendored/v.txt; echo new > vendored/new.txt
        ",
    );
    let before = disk::git_state(&project.root().join("vendored"));
    play(&project, "undo");
    assert_eq!(project.read("vendored/v.txt"), b"v1\n");
    assert!(!project.root().join("vendored/new.txt").exists());
    assert_eq!(disk::git_state(&project.root().join("vendored")), before);
}

/// opencode#32529: undo of a turn without changes corrupted files. #38672, #26488: undo said that
/// it had worked and changed nothing.
#[test]
fn a_turn_without_changes_is_not_undone_and_says_so() {
    check(
        r"
        file a.txt: one\n
        init
        say d: only talk
        turn-end d
        undo
        say d: reads
        shell d s1: cat a.txt
        turn-end d
        undo
        cat a.txt
        ",
        &expect![[r"
            error: there is nothing to undo
            error: there is nothing to undo
            a.txt: one\n
        "]],
    );
}

/// Protection does not live in the project: it goes on without `.git`.
#[test]
fn removing_the_repository_in_between_loses_nothing() {
    check(
        &format!(
            "{REPOSITORY}{}",
            r"
            write d w1 a.txt: by d\n
            shell d s2: rm -rf .git src
            undo
            cat a.txt
            cat src/main.rs
            "
        ),
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "src/lib.rs" delete by agent d/main:s2 window +0 -1
            "src/main.rs" delete by agent d/main:s2 window +0 -1
            undo: "a.txt" write exact
            undo: "src/lib.rs" create exact
            undo: "src/main.rs" create exact
            a.txt: one\n
            src/main.rs: main\n
        "#]],
    );
}

/// claude-code#84660, #95355, #85879: the agent's own git commands destroyed uncommitted work.
#[test]
fn the_agents_own_git_commands_are_undone() {
    for (command, lost) in [
        ("git reset -q --hard", "a.txt"),
        ("git stash -q", "a.txt"),
        ("git checkout -q -- .", "a.txt"),
        ("git restore .", "a.txt"),
        ("git clean -qfdx", "untracked.txt"),
        ("git clean -qfdx", "app.log"),
        ("git stash -qu", "untracked.txt"),
    ] {
        let (project, _) = repository(
            r"
            file a.txt: uncommitted\n
            file untracked.txt: uncommitted\n
            file app.log: uncommitted\n
            look
            ",
        );
        let seen = play(&project, &format!("shell d s1: {command}"));
        assert_ne!(std::fs::read(project.root().join(lost)).ok(), Some(b"uncommitted\n".to_vec()));
        let undone = play(&project, "undo");
        assert_eq!(
            String::from_utf8_lossy(&std::fs::read(project.root().join(lost)).unwrap_or_default()),
            "uncommitted\n",
            "{command}: {seen}{undone}"
        );
    }
}

/// zed#59099, gemini-cli#13331: a restore touched every file. Only what it names is touched.
#[test]
fn what_is_not_concerned_keeps_bytes_mode_and_time() {
    let (project, _) = repository("write d w1 a.txt: by d\\n");
    let before = disk::read_files(&project.root());
    play(&project, "undo");
    let after = disk::read_files(&project.root());
    for (name, entry) in before.iter().filter(|(name, _)| *name != "a.txt") {
        assert_eq!(after.get(name), Some(entry), "{name}");
    }
    assert_ne!(after["a.txt"], before["a.txt"]);
}

/// opencode#3148: a wiped snapshot was read as "did not exist", and undo deleted the files.
#[test]
fn missing_from_the_store_is_never_did_not_exist() {
    let (project, _) = repository("write d w1 a.txt: by d\\n");
    let change = project.changes().pop().unwrap();
    let PathState::Known(before) = change.before else { panic!("{change:?}") };
    let db = project.open().store().folder().join("retake.db");
    let db = rusqlite::Connection::open(db).unwrap();
    db.execute("DELETE FROM object WHERE oid = ?1", [before.oid.as_bytes().as_slice()]).unwrap();
    drop(db);
    let opened = project.open();
    let (plan, _) = opened.plan_undo(TakeBackOptions::default(), project.tick()).unwrap();
    let applied = opened.apply(&plan, project.tick()).unwrap();
    assert!(matches!(applied.plan.files[0].reason, PlanReason::Damaged(_)), "{:?}", applied.plan);
    assert!(!applied.is_whole());
    assert_eq!(project.read("a.txt"), b"by d\n");
}

/// claude-code#14002: what was not captured was restored in part without a word.
#[test]
fn what_was_not_captured_is_named_and_left() {
    let project = TestProject::new();
    std::fs::create_dir_all(project.home()).unwrap();
    std::fs::write(project.home().join("config.toml"), "[limits]\nmax_file_bytes = 10\n").unwrap();
    play(&project, "file big.txt: more than ten bytes\\n\nfile a.txt: one\\n\ninit\nsay d: go");
    play(
        &project,
        "shell d s1: echo also more than ten > big.txt; echo two > a.txt\nshell d s2: rm big.txt",
    );
    let opened = project.open();
    let (plan, _) = opened.plan_undo(TakeBackOptions::default(), project.tick()).unwrap();
    let applied = opened.apply(&plan, project.tick()).unwrap();
    let told: Vec<_> =
        applied.plan.left().map(|file| (file.path.to_string(), file.reason.code())).collect();
    assert_eq!(told, [("big.txt".to_owned(), "not_captured")]);
    assert_eq!(project.read("a.txt"), b"one\n");
    // While it is there, a change of it cannot even be seen; that is said with every result.
    play(&project, "file big.txt: again more than ten bytes\nlook\nwrite d w3 a.txt: 3");
    let (plan, _) = opened.plan_undo(TakeBackOptions::default(), project.tick()).unwrap();
    let told: Vec<_> = plan.not_covered.iter().map(|gap| gap.path.to_string()).collect();
    assert_eq!(told, ["big.txt"]);
}

/// zed#37623: sending a message again overwrote saved edits. A message writes nothing.
#[test]
fn a_message_writes_nothing() {
    let (project, _) = repository("write d w1 a.txt: by d\\n\nfile a.txt: mine\\n");
    let before = disk::read_files(&project.root());
    play(&project, "say d: again\nsay d: and again");
    assert_eq!(disk::read_files(&project.root()), before);
}

/// gemini-cli#15786, #7291: checkpoints were gone after a restart; #4115: off without git.
#[test]
fn checkpoints_survive_the_process_and_need_no_git() {
    let project = TestProject::new();
    play(&project, "file a.txt: one\\n\ninit\nsay d: go\nwrite d w1 a.txt: two\\n");
    let id = project.checkpoint_id("d:1");
    let later = TestProject::at(project.outer());
    let opened = later.open();
    let checkpoint = opened.find_checkpoint(&id[..8]).unwrap();
    let plan = opened.plan_restore(&checkpoint, &GoToOptions::default(), later.tick()).unwrap();
    assert!(opened.apply(&plan, later.tick()).unwrap().is_whole());
    assert_eq!(project.read("a.txt"), b"one\n");
}

/// hermes-webui#4405, CVE-2026-39861: a restore wrote through a symbolic link.
#[test]
fn a_folder_that_became_a_link_is_not_written_through() {
    let (project, _) = repository("shell d s1: rm -rf src");
    let outside = project.outer().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, project.root().join("src")).unwrap();
    let opened = project.open();
    let (plan, _) = opened.plan_undo(TakeBackOptions::default(), project.tick()).unwrap();
    let applied = opened.apply(&plan, project.tick()).unwrap();
    assert!(!applied.is_whole());
    let told: Vec<_> = applied.plan.left().map(|file| file.path.to_string()).collect();
    assert_eq!(told, ["src/lib.rs", "src/main.rs"]);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "nothing came out");
    assert!(project.root().join("src").is_symlink(), "the link is the user's");
}

/// ANOLISA#3059: the workspace was replaced, and rollback "succeeded" elsewhere.
#[test]
fn another_folder_at_the_same_path_is_not_written() {
    let (project, _) = repository("write d w1 a.txt: by d\\n");
    let root = project.root();
    std::fs::rename(&root, project.outer().join("moved")).unwrap();
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a.txt"), "another project\n").unwrap();
    let opened = project.open();
    let refused = opened.plan_undo(TakeBackOptions::default(), project.tick()).map(drop);
    assert!(refused.unwrap_err().to_string().contains("another folder"));
    assert_eq!(std::fs::read(root.join("a.txt")).unwrap(), b"another project\n");
}
