//! What a record holds, and what a look can and cannot see.

#![expect(clippy::disallowed_methods, reason = "a test plays the user")]

use std::os::unix::fs::PermissionsExt as _;

use retake_engine::model::{
    Actor, ChangeStatus, Event, EventKind, FileKind, JournalKind, PathState,
};
use retake_engine::{ChangeFilter, NoticeCode, RecordError, StoreError};
use retake_testkit::{TestProject, check, expect, git, play};

mod stats;

#[test]
fn one_event_for_each_change_exactly_once_w_19() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: main\n
        run git init -q -b main . && git add . && git commit -qm one
        run git checkout -qb other && echo x > b.txt && echo y > a.txt && git add . && git commit -qm two && git checkout -q main
        init
        write d1 w1 c.txt: new\n
        shell d1 s1: make 2>/dev/null; echo 1 > d.txt; echo 2 > e.txt
        turn-end d1
        run git checkout -q other
        look
        ",
    );
    let opened = project.open();
    let events = opened.store().events_after(0, 1000).unwrap();
    let changes = project.changes();
    let by_git: Vec<_> = changes.iter().filter(|change| change.actor == Actor::Git).collect();
    assert_eq!(by_git.len(), 2);
    assert_eq!(
        events.iter().filter(|event| event.kind == JournalKind::Git).count(),
        1,
        "bulk is one event"
    );
    for change in changes.iter().filter(|change| change.actor != Actor::Git) {
        let of_it = events.iter().filter(|event| event.change == Some(change.id)).count();
        assert_eq!(of_it, 1, "{change:?}");
    }
    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
}

#[test]
fn ids_are_gits_ids() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    project.write("dir/b", "two");
    project.write("dir.x/c", "three");
    project.write("dir0", "four");
    project.write("empty", "");
    project.write("run.sh", "#!/bin/sh\n");
    let large: Vec<u8> = (0..600_000u32).flat_map(u32::to_le_bytes).collect();
    project.write("large.bin", &large);
    std::os::unix::fs::symlink("a.txt", project.root().join("link")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.root().join("run.sh"), mode).unwrap();
    let opened = project.init();
    git::run(&project.root(), &["init", "-q", "."]);
    git::run(&project.root(), &["add", "-A"]);
    let tree = git::run(&project.root(), &["write-tree"]);
    assert_eq!(opened.tree_id().unwrap().to_string(), tree);
    for entry in opened.store().manifest().unwrap() {
        let PathState::Known(state) = PathState::from(entry.state) else { panic!("{entry:?}") };
        if state.kind == FileKind::File {
            let path = entry.path.as_str().unwrap();
            let oid = git::run(&project.root(), &["hash-object", path]);
            assert_eq!(state.oid.to_string(), oid, "{path}");
            assert_eq!(opened.store().read(&state.oid).unwrap(), project.read(path));
        }
    }
}

#[test]
fn gaps_are_said_and_closed_again() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    project.shell("mkfifo pipe");
    project.init();
    let gaps = |project: &TestProject| play(project, "look\ngaps");
    assert_eq!(gaps(&project), "gap \"pipe\" special\n");
    project.shell("rm pipe");
    assert_eq!(gaps(&project), "");
}

#[test]
fn files_over_the_limit_are_unknown_and_never_absent() {
    let project = TestProject::new();
    std::fs::create_dir_all(project.home()).unwrap();
    let config = "[limits]\nmax_file_bytes = 10\n";
    std::fs::write(project.home().join("config.toml"), config).unwrap();
    let seen = play(
        &project,
        r"
        file small: x
        file grows: x
        init
        file big: 0123456789ABC
        file grows: 0123456789ABC
        look
        gaps
        run rm big
        file grows: back
        look
        gaps
        ",
    );
    expect![[r#"
        "big" create by user no-lines after-unknown
        "grows" modify by user no-lines after-unknown
        gap "big" too_large
        gap "grows" too_large
        "big" delete by user no-lines before-unknown
        "grows" modify by user no-lines before-unknown
    "#]]
    .assert_eq(&seen);
    let created = project.changes().into_iter().next().unwrap();
    assert_eq!((created.before, created.after), (PathState::Absent, PathState::Unknown));
    assert!(matches!(project.open().content(&created.after), Err(StoreError::NotCaptured)));
}

#[test]
fn odd_names_round_trip_byte_for_byte() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let project = TestProject::new();
    project.init();
    let names: [&[u8]; 5] = [b"new\nline", b"\xff\xfe", b"esc\x1b[31m", b"-rf", b"sp ace\t\"q\""];
    for name in names {
        let folder = project.root().join(OsStr::from_bytes(name));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let changes = project.refresh().changes;
    assert_eq!(changes.len(), names.len());
    for name in names {
        let path = [name, b"/", name].concat();
        let change = changes.iter().find(|change| change.path.as_bytes() == path).unwrap();
        assert_eq!(project.open().content(&change.after).unwrap().as_deref(), Some(name));
    }
}

#[test]
fn links_are_links_and_nested_repositories_are_tracked() {
    check(
        r"
        file a.txt: one\n
        file inner/b.txt: two\n
        run cd inner && git init -q . && ln -s /etc/passwd escape && ln -s loop loop
        init
        file inner/b.txt: three\n
        run cd inner && git add b.txt && rm escape && ln -s a.txt escape
        look
        ",
        &expect![[r#"
            "inner/b.txt" modify by user +1 -1
            "inner/escape" modify by user +1 -1
        "#]],
    );
}

#[test]
fn rm_rf_git_does_not_reach_the_record() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: one\n
        run git init -q . && git add . && git commit -qm one
        init
        write d1 w1 a.txt: two\n
        run rm -rf .git
        ",
    );
    assert_eq!(project.refresh().changes, []);
    let change = &project.changes()[0];
    assert_eq!(project.open().content(&change.before).unwrap(), Some(b"one\n".to_vec()));
}

#[test]
fn a_file_changed_within_the_clocks_grain_is_seen() {
    // Same size, mtime put back: only the racy rule and ctime can tell.
    let project = TestProject::new();
    project.write("a.txt", "aaaa");
    project.init();
    for round in 0..20 {
        let text = format!("{round:04}");
        project.write("a.txt", &text);
        project.shell("touch -d 2020-01-01 a.txt");
        let changes = project.refresh().changes;
        assert_eq!(changes.len(), 1, "round {round}");
        let content = project.open().content(&changes[0].after).unwrap();
        assert_eq!(content, Some(text.into_bytes()));
    }
}

#[test]
fn damage_is_found_and_never_read_as_absence() {
    let project = TestProject::new();
    project.write("a.txt", "precious\n");
    let opened = project.init();
    project.write("a.txt", "changed\n");
    let change = opened.refresh(project.tick()).unwrap().changes.remove(0);
    let path = opened.store().folder().join("retake.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    let oid = change.before.known().unwrap().oid;
    let flip = "UPDATE object SET data = x'00112233' WHERE oid = ?1";
    assert_eq!(db.execute(flip, [oid.as_bytes().as_slice()]).unwrap(), 1);
    assert!(matches!(opened.content(&change.before), Err(StoreError::Damaged { .. })));
    let found = opened.check_health(true, &mut |_, _| {}).unwrap().verification;
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    // What is new is recorded all the same, and content that comes by again is mended.
    project.write("a.txt", "new\n");
    assert_eq!(opened.refresh(project.tick()).unwrap().changes.len(), 1);
    project.write("a.txt", "precious\n");
    assert_eq!(opened.refresh(project.tick()).unwrap().changes.len(), 1);
    assert_eq!(opened.content(&change.before).unwrap(), Some(b"precious\n".to_vec()));
    db.execute("DELETE FROM object WHERE oid = ?1", [oid.as_bytes().as_slice()]).unwrap();
    assert!(matches!(opened.content(&change.before), Err(StoreError::Missing(_))));
    let found = opened.check_health(false, &mut |_, _| {}).unwrap().verification;
    assert!(!found.problems.is_empty());
}

#[test]
fn scratch_files_are_left_out_and_counted_w_30() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    project.init();
    project.write("a.txt.orig", "x");
    project.write(".tmp-x/y", "x");
    project.write(".grep_1.txt", "x");
    let looked = project.refresh();
    assert_eq!(looked.changes, []);
    assert!(looked.scratch >= 3, "{}", looked.scratch);
    std::fs::write(project.home().join("config.toml"), "[ignore]\nscratch = []\n").unwrap();
    let looked = project.refresh();
    assert_eq!((looked.changes.len(), looked.scratch, looked.baseline), (0, 0, 3));
}

#[test]
fn changes_are_found_by_every_filter() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file src/a.txt: one\n
        file src2/b.txt: one\n
        init
        write d1 w1 src/a.txt: two\n
        write d2/sub w2 src2/b.txt: two\n
        run mv src/a.txt moved.txt
        look
        begin d1 s1 sh: make
        begin d2/sub s2 sh: make
        file src/deep/c.txt: shared\n
        end d1 s1
        ",
    );
    let opened = project.open();
    let found = |filter: ChangeFilter| -> Vec<String> {
        let filter = ChangeFilter { oldest_first: true, ..filter };
        opened.changes(&filter).unwrap().iter().map(|c| c.path.to_string()).collect()
    };
    let all = ["src/a.txt", "src2/b.txt", "moved.txt", "src/deep/c.txt"];
    assert_eq!(found(ChangeFilter::default()), all);
    let path = |text: &str| ChangeFilter { path: text.parse().ok(), ..ChangeFilter::default() };
    assert_eq!(found(path("src")), ["src/a.txt", "moved.txt", "src/deep/c.txt"]);
    assert_eq!(found(path("src/a.txt")), ["src/a.txt", "moved.txt"]);
    assert_eq!(found(path("src/deep")), ["src/deep/c.txt"]);
    assert_eq!(found(path("sr")), [""; 0]);
    let dialog = |id: &str| ChangeFilter { dialogs: vec![id.into()], ..ChangeFilter::default() };
    assert_eq!(found(dialog("d1")), ["src/a.txt", "src/deep/c.txt"]);
    let agent = ChangeFilter { agents: vec!["sub".into()], ..ChangeFilter::default() };
    assert_eq!(found(agent), ["src2/b.txt", "src/deep/c.txt"]);
    let user = ChangeFilter { actors: vec![Actor::User], ..ChangeFilter::default() };
    assert_eq!(found(user), ["moved.txt"]);
    let changes = project.changes();
    let times = ChangeFilter {
        since: Some(changes[1].at),
        until: Some(changes[2].at),
        ..ChangeFilter::default()
    };
    assert_eq!(found(times), ["src2/b.txt", "moved.txt"]);
    let paged = ChangeFilter { before: Some(changes[2].id), ..ChangeFilter::default() };
    assert_eq!(found(paged), ["src/a.txt", "src2/b.txt"]);
    let accepted = ChangeStatus::Accepted;
    let decided = ChangeFilter { statuses: vec![accepted], ..ChangeFilter::default() };
    assert_eq!(found(decided), [""; 0]);
}

#[test]
fn settings_that_cannot_be_used_block_nothing() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    project.init();
    std::fs::write(project.home().join("config.toml"), "[ignroe]\n").unwrap();
    let what = EventKind::UserMessage { text: "hi".into() };
    let recorded = project.record(&Event::new("d1", what));
    assert!(recorded.seq.is_some());
    assert_eq!(recorded.notices[0].code, NoticeCode::Settings);
    assert!(recorded.notices[0].message.contains("ignroe"));
}

#[test]
fn damaged_rows_block_nothing_and_doctor_names_them() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: one\n
        file b.txt: one\n
        init
        write d1 w0 b.txt: two\n
        begin d1 s1 sh: make
        ",
    );
    let opened = project.open();
    let db = rusqlite::Connection::open(opened.store().folder().join("retake.db")).unwrap();
    for damage in [
        "UPDATE call SET input = x'00'",
        "UPDATE manifest SET oid = x'0102' WHERE path = CAST('a.txt' AS BLOB)",
        "UPDATE meta SET value = x'00' WHERE key = 'rules'",
        "INSERT INTO gap VALUES(CAST('x' AS BLOB), 'nonsense', '', 1)",
        "UPDATE change SET confidence = 'perhaps'",
    ] {
        db.execute(damage, []).unwrap();
    }
    let found = opened.check_health(false, &mut |_, _| {}).unwrap().verification.problems;
    assert!(found.len() >= 2, "{found:?}");
    project.write("a.txt", "two\n");
    project.write("b.txt", "three\n");
    let recorded = project.record(&TestProject::end("d1", "s1"));
    assert!(recorded.seq.is_some(), "{:?}", recorded.notices);
    assert_eq!(recorded.changes.len(), 2);
    assert_eq!(project.changes().len(), 2, "all but the damaged one are listed");
}

#[test]
fn a_root_that_goes_away_or_is_replaced_while_open_stops_the_record() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let opened = project.init();
    std::fs::remove_dir_all(project.root()).unwrap();
    let say = Event::new("d1", EventKind::UserMessage { text: "hi".into() });
    let gone = opened.record(&say, project.tick()).unwrap_err();
    assert!(matches!(gone, RecordError::Gone(_)), "{gone}");
    project.write("b.txt", "another folder\n");
    let replaced = opened.refresh(project.tick()).unwrap_err();
    assert!(matches!(replaced, RecordError::Replaced(_)), "{replaced}");
    assert_eq!(opened.changes(&ChangeFilter::default()).unwrap(), []);
}

/// Promises 2 to 4, as far as nothing changes files yet: the project is only read.
#[test]
fn nothing_is_written_into_the_project_or_its_git_folder() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file .gitignore: *.env\n
        file a.env: SECRET\n
        file src/a.txt: one\n
        run git init -q . && git add . && git commit -qm one
        ",
    );
    let before = everything(&project.root());
    assert!(before.len() > 20, "the git folder is part of it");
    play(
        &project,
        r#"
        init
        look
        say d1: hello
        begin d1 s1 sh: git clean -fdx; git checkout main; rm -rf *
        end d1 s1
        begin d1 w1 Write {"file_path":"new/b.txt","content":"x"}
        end d1 w1
        turn-end d1
        "#,
    );
    assert_eq!(everything(&project.root()), before);
}

/// Every name below a folder, with what would show a write: inode, length and times.
fn everything(folder: &std::path::Path) -> Vec<(std::path::PathBuf, [i64; 6])> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(data) = path.symlink_metadata() else { continue };
        let times = [data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec()];
        let [a, b, c, d] = times;
        found.push((path.clone(), [data.ino() as i64, data.len() as i64, a, b, c, d]));
        if data.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| entry.path()));
        }
    }
    found.sort();
    found
}
