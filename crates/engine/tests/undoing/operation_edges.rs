//! Corners of the verbs: what two dialogs, hunks, approvals, moves and late events make of each other.

#![expect(clippy::disallowed_methods, reason = "a test plays the user")]

use retake_engine::model::{Actor, Event, EventKind};
use retake_engine::{ChangeFilter, GoToOptions, Selection, TakeBackOptions};
use retake_testkit::{TestProject, play};

const TWO_HUNKS: &str = r"
    file a.txt: 1\n2\n3\n4\n5\n6\n7\n
    init
    say d: go
    write d w1 a.txt: one\n2\n3\n4\n5\n6\nseven\n
";

/// Plays the first story, and gives what the second one shows.
fn after(first: &str, second: &str) -> String {
    let project = TestProject::in_memory();
    play(&project, first);
    play(&project, second)
}

fn started(story: &str) -> TestProject {
    let project = TestProject::in_memory();
    play(&project, story);
    project
}

// Work of another dialog is taken along without a word.

#[test]
fn restore_names_or_keeps_another_dialogs_earlier_edit() {
    let project = started(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        say e: go
        edit e e1 a.txt: 5 => five
        edit d e2 a.txt: 1 => one
        ",
    );
    let said = play(&project, "restore d:1");
    let text = String::from_utf8(project.read("a.txt")).unwrap();
    assert!(text.contains("five") || said.contains("crosses e"), "{said}{text}");
}

#[test]
fn a_reject_that_cascades_into_another_dialog_says_so() {
    let said = after(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        say e: go
        edit d e1 a.txt: 1 => one
        edit e e2 a.txt: one => ONE
        ",
        "reject dialog=d",
    );
    assert!(said.contains("crosses e") || said.contains("leave"), "{said}");
}

#[test]
fn an_undo_that_cascades_into_another_dialog_says_so() {
    let said = after(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        edit d e1 a.txt: 1 => one
        say e: go
        edit e e2 a.txt: one => ONE
        write d w3 b.txt: b
        ",
        "undo cascade",
    );
    assert!(said.contains("crosses e"), "{said}");
}

#[test]
fn a_cascade_leaves_shared_changes() {
    let said = after(
        r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        say e: go
        edit d e1 a.txt: 1 => one
        begin d s1 sh: make
        begin e s2 sh: make
        file a.txt: ONE\n2\n3\n
        end d s1
        end e s2
        reject call=e1
        ",
        "statuses",
    );
    assert_eq!(said, "e1 \"a.txt\" pending\nshared \"a.txt\" pending\n");
}

// A plan whose decisions moved on is carried out all the same.

#[test]
fn a_reset_planned_before_an_approval_leaves_the_approved() {
    let project = started("file a.txt: 0\ninit\nsay d: go\nwrite d w1 a.txt: 1\n");
    let (opened, dialog) = (project.open(), "d".into());
    let options = TakeBackOptions::default();
    let plan = opened.plan_reset(&dialog, false, options, project.tick()).unwrap();
    opened.approve(&dialog, None, project.tick()).unwrap();
    opened.apply(&plan, project.tick()).unwrap();
    let text = String::from_utf8(project.read("a.txt")).unwrap();
    // It is called approved, so it must be in the file.
    assert_eq!(
        (text.as_str(), play(&project, "statuses").as_str()),
        ("1", "w1 \"a.txt\" accepted approved\n")
    );
}

#[test]
fn a_reject_planned_before_an_accept_leaves_the_accepted() {
    let project = started("file a.txt: 0\ninit\nsay d: go\nwrite d w1 a.txt: 1\n");
    let opened = project.open();
    let (all, options) = (Selection::default(), TakeBackOptions::default());
    let plan = opened.plan_reject(&all, options, project.tick()).unwrap();
    opened.accept(&all, project.tick()).unwrap();
    opened.apply(&plan, project.tick()).unwrap();
    let text = String::from_utf8(project.read("a.txt")).unwrap();
    let statuses = play(&project, "statuses");
    let agrees = (text == "1") == statuses.contains("accepted");
    assert!(agrees, "{text} {statuses}");
}

// Taking back approved work is unapproved work.

const APPROVED: &str = "file a.txt: 0\ninit\nsay d: go\nwrite d w1 a.txt: 1\napprove d\n";

#[test]
fn a_rollback_of_approved_work_is_unapproved_work() {
    for take_back in ["rollback call=w1", "undo", "restore d:1"] {
        let project = started(APPROVED);
        play(&project, take_back);
        let status = play(&project, "session d");
        assert!(status.contains("\"a.txt\" modified"), "{take_back}: {status}");
    }
}

#[test]
fn a_reset_gives_back_the_approved_state() {
    for take_back in ["rollback call=w1", "undo", "restore d:1"] {
        let project = started(APPROVED);
        play(&project, take_back);
        play(&project, "reset d");
        assert_eq!(play(&project, "cat a.txt"), "a.txt: 1\n", "{take_back}");
    }
}

// Checkpoints that hold what they should precede.

#[test]
fn a_spooled_message_has_the_state_before_its_answer() {
    let project = TestProject::in_memory();
    std::fs::create_dir_all(project.home()).unwrap();
    std::fs::write(project.home().join("config.toml"), "[wait]\nevent_ms = 1\n").unwrap();
    project.write("a.txt", "one\n");
    let opened = project.init();
    play(&project, "say d: first\nturn-end d\n");
    let lock = std::fs::File::open(opened.store().folder().join("lock")).unwrap();
    lock.lock().unwrap();
    let say = Event::new("d", EventKind::UserMessage { text: "second".into() });
    opened.record(&say, project.tick()).unwrap();
    let input = serde_json::json!({ "file_path": "a.txt", "content": "two\n" });
    let begin = TestProject::begin("d", "w1", "Write", input);
    opened.record(&begin, project.tick()).unwrap();
    project.write("a.txt", "two\n");
    opened.record(&TestProject::end("d", "w1"), project.tick()).unwrap();
    drop(lock);
    opened.refresh(project.tick()).unwrap();
    let before = opened.checkpoints(Some(&"d".into()), 1).unwrap().remove(0);
    assert_eq!(before.message, "Before user message: second (taken in late)");
    let options = GoToOptions::default();
    let plan = opened.plan_restore(&before, &options, project.tick()).unwrap();
    opened.apply(&plan, project.tick()).unwrap();
    let text = String::from_utf8(project.read("a.txt")).unwrap();
    assert!(text == "one\n" || before.unstable > 0, "{text}");
}

#[test]
fn the_initial_checkpoint_is_before_the_first_call_even_if_its_begin_was_missed() {
    let said = after(
        r#"
        file a.txt: 0
        init
        file a.txt: 1
        end d w1 Write {"file_path":"a.txt","content":"1"}
        reset d exact
        "#,
        "cat a.txt",
    );
    assert_eq!(said, "a.txt: 0\n");
}

// Hunks.

#[test]
fn undo_of_a_hunk_and_its_turn_leaves_the_change_reverted() {
    let project = started(TWO_HUNKS);
    play(&project, "reject call=w1 hunk=1\nundo 2");
    assert_eq!(play(&project, "cat a.txt"), "a.txt: 1\\n2\\n3\\n4\\n5\\n6\\n7\\n\n");
    assert_eq!(play(&project, "statuses"), "w1 \"a.txt\" reverted\n");
    play(&project, "redo");
    assert_ne!(play(&project, "cat a.txt"), "a.txt: 1\\n2\\n3\\n4\\n5\\n6\\n7\\n\n");
}

#[test]
fn a_restored_hunk_is_not_rejected_any_more() {
    let project = started(TWO_HUNKS);
    play(&project, "checkpoint A\nreject call=w1 hunk=1\nrestore A\nreject call=w1 hunk=2");
    // Hunk 1 is in the file.
    assert_eq!(play(&project, "statuses"), "w1 \"a.txt\" pending\n");
    play(&project, "reset d");
    assert_eq!(play(&project, "cat a.txt"), "a.txt: 1\\n2\\n3\\n4\\n5\\n6\\n7\\n\n");
}

#[test]
fn a_rejected_hunk_cannot_be_accepted() {
    let said = after(TWO_HUNKS, "reject call=w1 hunk=1\naccept call=w1 hunk=1");
    assert!(said.contains("error"), "{said}");
}

#[test]
fn accepting_a_hunk_of_an_accepted_change_keeps_it_accepted() {
    let said = after(TWO_HUNKS, "accept call=w1\naccept call=w1 hunk=1\nstatuses");
    assert!(said.ends_with("w1 \"a.txt\" accepted\n"), "{said}");
    let said = after(TWO_HUNKS, "approve d\naccept call=w1 hunk=1\nstatuses");
    assert!(said.ends_with("w1 \"a.txt\" accepted approved\n"), "{said}");
}

#[test]
fn rolling_back_a_hunk_and_undoing_that_brings_the_status_back() {
    let said = after(TWO_HUNKS, "approve d\nrollback call=w1 hunk=1\nundo\nstatuses");
    assert!(said.ends_with("w1 \"a.txt\" accepted approved\n"), "{said}");
    let said = after(TWO_HUNKS, "accept call=w1\nreject call=w1 hunk=1\nundo\nstatuses");
    assert!(said.ends_with("w1 \"a.txt\" accepted\n"), "{said}");
}

#[test]
fn a_hunk_is_rejected_with_what_needs_it() {
    let project = started(TWO_HUNKS);
    play(&project, "edit d e2 a.txt: one => ONE");
    let said = play(&project, "reject call=w1 hunk=1 cascade");
    assert!(said.contains("write"), "{said}");
}

#[test]
fn no_hunks_decide_nothing() {
    let project = started("file a.txt: 1\ninit\nsay d: go\nshell d s1: mv a.txt b.txt\n");
    let opened = project.open();
    let change = project.changes()[0].id;
    let _ = opened.accept_hunks(change, &[], project.tick());
    assert_eq!(play(&project, "statuses"), "s1 \"b.txt\" pending\n");
}

// Undo.

#[test]
fn undo_2_is_undo_and_undo() {
    for operation in ["reject call=e1", "restore d:2"] {
        let story = format!(
            r"
            file a.txt: 1\n2\n3\n4\n5\n
            init
            say d: one
            edit d e0 a.txt: 1 => one
            say d: two
            edit d e1 a.txt: 5 => five
            {operation}
            "
        );
        let at_once = after(&story, "undo 2\nstatuses\ncat a.txt");
        let one_by_one = after(&story, "undo\nundo\nstatuses\ncat a.txt");
        let tail = |said: &str| said.lines().rev().take(3).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(tail(&at_once), tail(&one_by_one), "{operation}");
    }
}

#[test]
fn undo_goes_on_past_what_it_cannot_take_back() {
    let said = after(
        r"
        init
        say d: one
        write d w0 c.txt: c
        say d: two
        write d w1 a.txt: 1
        write d w2 b.txt: 1
        file a.txt: mine
        undo
        undo
        ",
        "cat c.txt",
    );
    assert_eq!(said, "c.txt: absent\n");
}

#[test]
fn what_git_took_back_already_does_not_stand_in_the_way() {
    let project = started(
        r"
        file a.txt: 0
        run git init -q . && git add -A && git commit -qm 0
        init
        say d: go
        write d w1 a.txt: 1
        run git checkout -q a.txt
        ",
    );
    // The status says that there is nothing to approve, and so must reset and undo.
    assert_eq!(play(&project, "session d"), "session_1 active (session_1 active)\n");
    let undone = play(&project, "undo");
    assert!(undone.contains("passed turn 1 of d (“go”): git took it back"), "{undone}");
    assert_eq!(play(&project, "undo across-git"), "undo: \"a.txt\" leave already\n");
}

#[test]
fn undo_takes_back_what_redo_just_did() {
    let said = after(
        r"
        file a.txt: 0
        file b.txt: 0
        init
        say d: one
        write d w0 a.txt: 1
        say d: two
        write d w1 b.txt: 1
        undo
        rollback call=w0
        redo
        ",
        "undo",
    );
    assert_eq!(said, "undo: \"b.txt\" write exact\n");
}

#[test]
fn undo_does_not_bring_back_an_aborted_edit() {
    let project = started("file a.txt: 1\ninit\nsay d: go\nwrite d w1 b.txt: b\n");
    let (opened, dialog) = (project.open(), "d".into());
    opened.begin_edit(&dialog, "edit", &["a.txt"], project.tick()).unwrap();
    project.write("a.txt", "half written");
    opened.abort_edit(&dialog, "edit", project.tick()).unwrap();
    play(&project, "undo");
    assert_eq!(project.read("a.txt"), b"1");
}

// Shared changes.

const SHARED: &str = r"
    init
    say d: go
    say e: go
    begin d s1 sh: make
    begin e s2 sh: make
    file shared.txt: x
    end d s1
    end e s2
";

#[test]
fn a_shared_change_that_every_dialog_approved_is_approved() {
    let said = after(SHARED, "approve d\napprove e\nstatuses");
    assert!(said.ends_with("shared \"shared.txt\" accepted approved\n"), "{said}");
}

#[test]
fn a_rollback_by_message_names_the_shared_changes_that_it_leaves() {
    let said = after(SHARED, "rollback dialog=d message=1");
    assert!(said.contains("leave shared"), "{said}");
}

#[test]
fn one_dialog_does_not_accept_what_another_may_have_made() {
    let said = after(SHARED, "accept dialog=d\nstatuses");
    assert!(said.ends_with("shared \"shared.txt\" pending\n"), "{said}");
}

// Selections.

#[test]
fn the_last_change_goes_with_what_a_formatter_made_of_it() {
    let said = after(
        r"
        file a.rs: fn a() {}\n
        init
        say d: go
        write d w1 a.rs: fn a() {}\nfn b( ){ x }\n
        file a.rs: fn a() {}\nfn b() {\n    x\n}\n
        look
        rollback last file=a.rs
        ",
        "cat a.rs",
    );
    assert_eq!(said, "a.rs: fn a() {}\\n\n");
}

#[test]
fn a_change_by_retake_or_the_person_is_not_taken_back_by_name() {
    for actor in [Actor::Retake, Actor::User] {
        let project = started(
            r"
            file a.txt: 1\n2\n3\n4\n5\n
            init
            say d: go
            edit d e1 a.txt: 1 => one
            run sed -i s/5/five/ a.txt
            reject call=e1
            ",
        );
        let opened = project.open();
        let filter = ChangeFilter { actors: vec![actor], ..ChangeFilter::default() };
        let changes = vec![opened.changes(&filter).unwrap()[0].id];
        let selection = Selection { changes, ..Selection::default() };
        let options = TakeBackOptions::default();
        if let Ok(plan) = opened.plan_rollback(&selection, options, project.tick()) {
            opened.apply(&plan, project.tick()).unwrap();
        }
        let text = String::from_utf8(project.read("a.txt")).unwrap();
        // `e1` is rejected, so `one` cannot be there; `five` is the person's.
        assert_eq!(text, "1\n2\n3\n4\nfive\n", "{actor}");
    }
}

#[test]
fn a_message_is_of_one_dialog() {
    let said = after(
        r"
        init
        say d: go
        write d w1 a.txt: 1
        say e: go
        write e w2 b.txt: 1
        ",
        "rollback message=1",
    );
    assert!(!(said.contains("a.txt") && said.contains("b.txt")), "{said}");
}

#[test]
fn a_file_is_found_with_its_changes_under_its_old_name() {
    let said = after(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        edit d e1 a.txt: 1 => one
        shell d s2: mv a.txt b.txt
        edit d e3 b.txt: 5 => five
        reject file=b.txt
        ",
        "statuses",
    );
    assert_eq!(said.matches("rejected").count(), 3, "{said}");
}

// Edit transactions.

#[test]
fn a_committed_edit_cannot_be_aborted() {
    let project = started("file a.txt: 1\ninit\nsay d: go\n");
    let (opened, dialog) = (project.open(), "d".into());
    opened.begin_edit(&dialog, "edit", &["a.txt"], project.tick()).unwrap();
    project.write("a.txt", "2");
    opened.commit_edit(&dialog, "edit", project.tick()).unwrap();
    assert!(opened.abort_edit(&dialog, "edit", project.tick()).is_err());
    assert_eq!(project.read("a.txt"), b"2");
}

#[test]
fn an_abort_takes_back_its_own_edit_only() {
    let project = started("file a.txt: 0\ninit\nsay d: go\n");
    let (opened, dialog) = (project.open(), "d".into());
    opened.begin_edit(&dialog, "edit", &["a.txt"], project.tick()).unwrap();
    project.write("a.txt", "1");
    opened.commit_edit(&dialog, "edit", project.tick()).unwrap();
    opened.begin_edit(&dialog, "edit", &["a.txt"], project.tick()).unwrap();
    project.write("a.txt", "2");
    opened.abort_edit(&dialog, "edit", project.tick()).unwrap();
    assert_eq!(project.read("a.txt"), b"1");
}

// Restore.

#[test]
fn a_file_that_was_not_captured_is_not_as_it_was() {
    let project = TestProject::in_memory();
    std::fs::create_dir_all(project.home()).unwrap();
    let config = "[limits]\nmax_file_bytes = 10\n";
    std::fs::write(project.home().join("config.toml"), config).unwrap();
    project.write("big.txt", "the original large content\n");
    project.init();
    play(&project, "say d: go\nwrite d w1 big.txt: small\nwrite d w2 big.txt: another large text");
    let said = play(&project, "restore d:1");
    assert!(said.contains("not_captured"), "{said:?}");
}

#[test]
fn a_move_is_restored_as_a_whole_or_not_at_all() {
    let story = r"
        file a.txt: 1\n2\n3\n
        init
        say d: go
        shell d s1: mv a.txt b.txt
    ";
    for restore in ["run sed -i s/3/mine/ b.txt\nrestore d:1", "restore d:1 a.txt"] {
        let project = started(story);
        play(&project, restore);
        let copy = project.root().join("b.txt").exists();
        let statuses = play(&project, "statuses");
        // What the agent made is still there, so its change is not gone.
        assert!(!copy || !statuses.contains("reverted"), "{restore}: {statuses}");
    }
}

// For builders.

#[test]
fn a_planned_merge_can_be_shown() {
    let project = started(
        r"
        file a.txt: 1\n2\n3\n4\n5\n
        init
        say d: go
        edit d e1 a.txt: 1 => one
        run sed -i s/5/five/ a.txt
        ",
    );
    let opened = project.open();
    let (all, options) = (Selection::default(), TakeBackOptions::default());
    let plan = opened.plan_rollback(&all, options, project.tick()).unwrap();
    let file = &plan.files[0];
    opened.planned_diff(file).unwrap();
}

#[test]
fn a_checkpoint_has_a_name_of_one_line() {
    let project = started("init\n");
    let text = "fix this:\nerror[E0308]: mismatched types";
    project.record(&Event::new("d", EventKind::UserMessage { text: text.into() }));
    let made = project.open().checkpoints(None, 1).unwrap().remove(0);
    assert!(!made.message.contains('\n'), "{:?}", made.message);
}
