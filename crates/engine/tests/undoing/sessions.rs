//! Checkpoints, work sessions and the scenarios SCN-1…10.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use expect_test::expect;
use retake_engine::model::{Checkpoint, CheckpointKind};
use retake_testkit::{TestProject, check, play};

fn checkpoints(project: &TestProject, dialog: &str) -> Vec<(CheckpointKind, String)> {
    let made = project.open().checkpoints(Some(&dialog.into()), 100).unwrap();
    made.into_iter().rev().map(|Checkpoint { kind, message, .. }| (kind, message)).collect()
}

/// SESS-6.
#[test]
fn two_messages_approve_one_message_reset() {
    check(
        r"
        file a.txt: 0\n
        init
        say d: one
        write d w1 a.txt: 1\n
        say d: two
        write d w2 b.txt: b\n
        session d
        approve d
        session d
        say d: three
        write d w3 a.txt: 3\n
        write d w4 c.txt: c\n
        file b.txt: mine\n
        session d
        reset d
        session d
        cat a.txt
        cat b.txt
        cat c.txt
        statuses
        undo
        cat a.txt
        session d
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "b.txt" create by agent d/main:w2 certain +1 -0
            session_1 active (session_1 active)
              "a.txt" modified
              "b.txt" added
            approved session_1: 2 changes, now session_2
            session_2 active (session_1 merged, session_2 active)
            "a.txt" modify by agent d/main:w3 certain +1 -1
            "c.txt" create by agent d/main:w4 certain +1 -0
            session_2 active (session_1 merged, session_2 active)
              "a.txt" modified
              "c.txt" added
            reset: "a.txt" write exact
            reset: "c.txt" delete exact
            session_3 active (session_1 merged, session_2 abandoned, session_3 active)
            a.txt: 1\n
            b.txt: mine\n
            c.txt: absent
            w1 "a.txt" accepted approved
            w2 "b.txt" accepted approved
            w3 "a.txt" reverted
            w4 "c.txt" reverted
            undo: "a.txt" write exact
            undo: "c.txt" create exact
            a.txt: 3\n
            session_3 active (session_1 merged, session_2 abandoned, session_3 active)
              "a.txt" modified
              "c.txt" added
        "#]],
    );
}

#[test]
fn checkpoints_are_made_when_they_should_be() {
    use CheckpointKind::{AfterRestore, BeforeMessage, BeforeOperation, Closing, Initial, Manual};
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: 0\n
        init
        say d: a first message that is longer than fifty characters, so it is cut
        write d w1 a.txt: 1\n
        shell d s2: echo 2 > a.txt
        turn-end d
        say d: second
        approve d
        checkpoint mine d
        restore d:1
        ",
    );
    let made = checkpoints(&project, "d");
    let kinds: Vec<_> = made.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        kinds,
        [Initial, BeforeMessage, BeforeMessage, Closing, Manual, BeforeOperation, AfterRestore]
    );
    assert_eq!(
        made[1].1,
        "Before user message: a first message that is longer than fifty characte"
    );
    let first = project.open().find_checkpoint(&project.checkpoint_id("d:1")).unwrap();
    assert_eq!(made[6].1, format!("Restored to {}", first.id));
}

/// What a checkpoint holds follows from the journal and from its tree: both say the same.
#[test]
fn a_checkpoint_is_the_tree_that_git_would_write() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: 0\n
        file sub/deep/b.txt: b\n
        file sub.txt: c\n
        run chmod +x sub.txt && ln -s a.txt link
        init
        say d: one
        write d w1 sub/deep/new.txt: 1\n
        shell d s2: rm sub/deep/b.txt
        ",
    );
    for story in [
        "checkpoint A",
        "write d w3 sub/x/y/z.txt: z\n",
        "checkpoint B",
        "run rm -r sub",
        "checkpoint C",
    ] {
        play(&project, story);
        let Some(name) = story.strip_prefix("checkpoint ") else { continue };
        let made = project.open().find_checkpoint(&project.checkpoint_id(name)).unwrap();
        project.shell("rm -rf .git && git init -q . && git add -A -f");
        let tree = std::process::Command::new("git")
            .arg("write-tree")
            .current_dir(project.root())
            .output()
            .unwrap();
        assert_eq!(made.tree.to_string(), String::from_utf8_lossy(&tree.stdout).trim());
        project.shell("rm -rf .git");
    }
}

#[test]
fn two_dialogs_approve_and_reset_their_own_work() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        say e: go
        edit d e1 a.txt: 1 => one
        edit e e2 a.txt: 5 => five
        write e w3 e.txt: e
        run sed -i s/3/mine/ a.txt
        session d
        approve d
        reset e
        cat a.txt
        cat e.txt
        session d
        session e
        reset d exact
        cat a.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:e1 certain +1 -1
            "a.txt" modify by agent e/main:e2 certain +1 -1
            "e.txt" create by agent e/main:w3 certain +1 -0
            session_1 active (session_1 active)
              "a.txt" modified
            approved session_1: 1 changes, now session_2
            reset: "a.txt" write merged
            reset: "e.txt" delete exact
            a.txt: one\n2\nmine\n4\n5\n
            e.txt: absent
            session_2 active (session_1 merged, session_2 active)
            session_2 active (session_1 abandoned, session_2 active)
            reset: "a.txt" write restored
            reset: "e.txt" create restored
            a.txt: one\n2\nmine\n4\nfive\n
        "#]],
    );
}

/// SCN-1…6 and SCN-8 as a table: how it came to be, what the status says, what a restore does.
#[test]
fn scenarios() {
    check(
        r#"
        file old-tool.txt: old\n
        file old-command.txt: old\n
        file gone-tool.txt: old\n
        file gone-command.txt: old\n
        file gone-dir/a.txt: old\n
        file .gitignore: build/\nsecret.env\n
        init
        say d: go
        write d w1 made-tool.txt: new\n
        write d w2 secret.env: KEY=1\n
        shell d s3: echo new > made-command.txt; mkdir -p build; echo x > build/result.txt
        write d w4 old-tool.txt: new\n
        shell d s5: sed -i s/old/new/ old-command.txt
        begin d x6 Delete {"file_path":"gone-tool.txt"}
        run rm gone-tool.txt
        end d x6
        shell d s7: rm gone-command.txt; rm -rf gone-dir
        session d
        checkpoint after d
        restore d:1
        session d
        cat made-tool.txt
        cat secret.env
        cat made-command.txt
        cat build/result.txt
        cat old-tool.txt
        cat old-command.txt
        cat gone-tool.txt
        cat gone-command.txt
        cat gone-dir/a.txt
        restore after
        cat secret.env
        cat build/result.txt
        cat old-command.txt
        cat gone-tool.txt
        "#,
        &expect![[r#"
            "made-tool.txt" create by agent d/main:w1 certain +1 -0
            "secret.env" create by agent d/main:w2 certain +1 -0
            "made-command.txt" create by agent d/main:s3 window +1 -0
            ! ignored
            "old-tool.txt" modify by agent d/main:w4 certain +1 -1
            "old-command.txt" modify by agent d/main:s5 window +1 -1
            "gone-tool.txt" delete by agent d/main:x6 certain +0 -1
            "gone-command.txt" delete by agent d/main:s7 window +0 -1
            "gone-dir/a.txt" delete by agent d/main:s7 window +0 -1
            session_1 active (session_1 active)
              "gone-command.txt" deleted
              "gone-dir/a.txt" deleted
              "gone-tool.txt" deleted
              "made-command.txt" added
              "made-tool.txt" added
              "old-command.txt" modified
              "old-tool.txt" modified
              "secret.env" added
            restore: "gone-command.txt" create restored
            restore: "gone-dir/a.txt" create restored
            restore: "gone-tool.txt" create restored
            restore: "made-command.txt" delete restored
            restore: "made-tool.txt" delete restored
            restore: "old-command.txt" write restored
            restore: "old-tool.txt" write restored
            restore: "secret.env" delete restored
            session_1 active (session_1 active)
            made-tool.txt: absent
            secret.env: absent
            made-command.txt: absent
            build/result.txt: x\n
            old-tool.txt: old\n
            old-command.txt: old\n
            gone-tool.txt: old\n
            gone-command.txt: old\n
            gone-dir/a.txt: old\n
            restore: "gone-command.txt" delete restored
            restore: "gone-dir/a.txt" delete restored
            restore: "gone-tool.txt" delete restored
            restore: "made-command.txt" create restored
            restore: "made-tool.txt" create restored
            restore: "old-command.txt" write restored
            restore: "old-tool.txt" write restored
            restore: "secret.env" create restored
            secret.env: KEY=1\n
            build/result.txt: x\n
            old-command.txt: new\n
            gone-tool.txt: absent
        "#]],
    );
}

/// STAGE-1…6.
#[test]
fn tool_written_ignored_files_are_staged_until_the_next_checkpoint() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file .gitignore: .venv/\n
        init
        say d: go
        write d w1 .venv/config.py: x\n
        shell d s2: echo y > .venv/by-command.py
        write d w3 .venv/short-lived.py: x\n
        run rm .venv/short-lived.py
        look
        ",
    );
    let staged = || {
        let found = project.open().staged(&"d".into()).unwrap();
        found.into_iter().map(|path| path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(staged(), [".venv/config.py"]);
    play(&project, "checkpoint A d");
    assert_eq!(staged(), [""; 0]);
    // A host can ask for one that a command made.
    let path = ".venv/by-command.py".parse().unwrap();
    project.open().stage(&[path], project.tick()).unwrap();
    let seen = play(&project, "file .venv/by-command.py: changed\nlook\n");
    assert_eq!(seen, "\".venv/by-command.py\" modify by user +1 -1\n");
}

/// DET-21.
#[test]
fn an_aborted_edit_puts_the_file_back_and_keeps_the_users() {
    let project = TestProject::new();
    play(&project, "file a.txt: 1\\n2\\n3\\n4\\n5\\n\nfile b.txt: b\ninit\nsay d: go\n");
    let (opened, dialog) = (project.open(), "d".into());
    let paths = ["a.txt", "new/made.txt"];
    opened.begin_edit(&dialog, "edit-1", &paths, project.tick()).unwrap();
    project.write("a.txt", "1\ntwo\n3\n4\n5\n");
    project.write("new/made.txt", "made\n");
    let applied = opened.abort_edit(&dialog, "edit-1", project.tick()).unwrap();
    assert!(applied.is_whole(), "{applied:?}");
    assert_eq!(project.read("a.txt"), b"1\n2\n3\n4\n5\n");
    assert!(!project.root().join("new").exists());

    opened.begin_edit(&dialog, "edit-2", &paths, project.tick()).unwrap();
    project.write("a.txt", "1\ntwo\n3\n4\n5\n");
    let recorded = opened.commit_edit(&dialog, "edit-2", project.tick()).unwrap();
    assert_eq!(recorded.changes.len(), 1);
    assert_eq!(project.read("a.txt"), b"1\ntwo\n3\n4\n5\n");
    let unknown = opened.abort_edit(&dialog, "edit-3", project.tick()).unwrap_err();
    assert_eq!(unknown.to_string(), "no edit 'edit-3' is open in this dialog");
}

/// What the user moved away is in effect elsewhere; what an agent then made under the old name is
/// not, once it is replaced.
#[test]
fn an_exact_reset_takes_back_what_an_agent_made_where_the_user_moved_a_file_away() {
    check(
        r"
        file a.txt: first\n
        init
        say d: go
        run mv a.txt b.txt
        look
        write d w1 a.txt: made anew\n
        reset d exact
        statuses
        session d
        cat a.txt
        cat b.txt
        ",
        &expect![[r#"
            "a.txt" -> "b.txt" rename by user +0 -0
            "a.txt" create by agent d/main:w1 certain +1 -0
            reset: "a.txt" write replaces_yours
            reset: "b.txt" delete yours
            w1 "a.txt" reverted
            session_2 active (session_1 abandoned, session_2 active)
            a.txt: first\n
            b.txt: absent
        "#]],
    );
}

/// Where everything goes, nothing is in effect under another name.
#[test]
fn an_exact_restore_takes_back_what_the_user_moved_away() {
    check(
        r"
        file a.txt: first\n
        init
        say d: go
        write d w1 a.txt: by an agent\n
        run mv a.txt b.txt
        look
        restore d:1 exact
        statuses
        session d
        cat a.txt
        cat b.txt
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:w1 certain +1 -1
            "a.txt" -> "b.txt" rename by user +0 -0
            restore: "a.txt" create replaces_yours
            restore: "b.txt" delete yours
            w1 "a.txt" reverted
            session_1 active (session_1 active)
            a.txt: first\n
            b.txt: absent
        "#]],
    );
}
