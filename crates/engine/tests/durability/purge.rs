//! After a purge, no byte of it is in any file of the home.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use std::collections::HashSet;
use std::path::Path;

use retake_engine::model::{
    AgentId, CheckpointKind, Event, EventKind, GapReason, MessageRole, ModelMessage, ObjectId,
    OperationKind, PathState,
};
use retake_engine::{
    CallPage, GoToOptions, Project, PurgeError, PurgeReport, PurgeTarget, TranscriptMark,
};
use retake_store::{JournalEvent, NewCheckpoint, NewOperation, ShortArguments, Spool, hash_blob};
use retake_testkit::sweep::{ALL_FAULTS, FaultSweep};
use retake_testkit::{TestProject, child, git};
use serde_json::{Value, json};

use crate::support::{Work, assert_clean};

const WINDOW: usize = 32;

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// A content that must be nowhere; looked for by any 32 bytes in a row of it.
struct Canary<'c> {
    windows: HashSet<&'c [u8]>,
    /// Three bytes tell most places apart from all windows at once.
    starts: Vec<bool>,
}

impl<'c> Canary<'c> {
    /// Takes much longer than a search: one that is looked for again and again is made once.
    fn new(content: &'c [u8]) -> Self {
        let windows: HashSet<&[u8]> = content.windows(WINDOW).collect();
        let mut starts = vec![false; 1 << 24];
        for window in &windows {
            starts[start(window)] = true;
        }
        Self { windows, starts }
    }

    /// The names of the files beneath a folder that hold some of it.
    fn files_beneath(&self, folder: &Path) -> Vec<String> {
        let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if self.is_in(&std::fs::read(&path).unwrap()) {
                    found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
        found
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        let is_one = |at: &[u8]| self.starts[start(at)] && self.windows.contains(at);
        bytes.windows(WINDOW).any(is_one)
    }
}

fn start(window: &[u8]) -> usize {
    usize::from(window[0]) << 16 | usize::from(window[1]) << 8 | usize::from(window[2])
}

/// The names of the files beneath a folder that hold any 32 bytes in a row of a content.
fn files_with(folder: &Path, content: &[u8]) -> Vec<String> {
    Canary::new(content).files_beneath(folder)
}

fn path(text: &str) -> PurgeTarget {
    PurgeTarget::Path(text.parse().unwrap())
}

fn purge(test: &TestProject, target: &PurgeTarget) -> PurgeReport {
    let project = test.open();
    let purge = project.purge(target, test.tick()).unwrap();
    assert!(purge.is_complete, "{purge:?}");
    assert_clean(&project);
    purge
}

fn gap_reasons(project: &Project) -> Vec<(String, GapReason)> {
    let gaps = project.status().unwrap().gaps;
    gaps.into_iter().map(|(gap, _)| (gap.path.to_string(), gap.reason)).collect()
}

#[test]
fn no_window_of_a_canary_is_left_in_any_file() {
    let test = TestProject::new();
    let (small, large) = (noise(1, 64 * 1024), noise(2, 1024 * 1024));
    let other = noise(3, 300_000);
    test.write("other.bin", &other);
    test.write("keep/secret.bin", noise(4, 10_000));
    test.init();
    let work = Work::begin(&test, "d1");
    work.point("before");
    test.write("keep/secret.bin", &small);
    work.point("with the small one");
    test.write("keep/secret.bin", &large);
    work.approve("with the large one");
    let project = test.open();
    project.export_git(Some(&work.dialog), &mut |_, _| {}).unwrap();
    test.write("keep/secret.bin", "harmless\n");
    project.refresh(test.tick()).unwrap();
    test.write("keep/secret.bin", &large);
    project.refresh(test.tick()).unwrap();
    drop(project);
    let canaries = [&small, &large].map(|content| Canary::new(content));
    for canary in &canaries {
        assert!(!canary.files_beneath(&test.home()).is_empty(), "the search finds what is there");
    }

    let scope = test.open().purge_scope(&path("keep/secret.bin")).unwrap();
    assert_eq!(scope.contents.len(), 4);
    let done = purge(&test, &path("keep/secret.bin"));
    assert_eq!((done.scope, done.shared), (scope, 0));
    for canary in &canaries {
        assert_eq!(canary.files_beneath(&test.home()), Vec::<String>::new());
    }
    assert!(!test.open().store().export_folder().exists(), "git's copy is compressed, and gone");
    assert!(!files_with(&test.home(), &other).is_empty(), "other content stays");
    assert_eq!(test.read("keep/secret.bin"), large, "the file is not touched");

    // The record still tells what happened, without the bytes.
    let changes = test.changes();
    assert_eq!(changes.len(), 4);
    assert!(changes.iter().all(|change| change.before == PathState::Unknown));
    let project = test.open();
    assert_eq!(gap_reasons(&project), [("keep/secret.bin".to_owned(), GapReason::Purged)]);

    // It does not come back by itself, and nothing is recorded again.
    for _ in 0..2 {
        assert_eq!(test.refresh().changes, []);
        assert_eq!(canaries[1].files_beneath(&test.home()), Vec::<String>::new());
    }
    assert_eq!(gap_reasons(&project), [("keep/secret.bin".to_owned(), GapReason::Purged)]);
    test.write("keep/secret.bin", "new\n");
    let found = test.refresh().changes;
    assert_eq!((found.len(), found[0].before), (1, PathState::Unknown));
    assert_eq!(gap_reasons(&project), []);
    // Not even if it is put back, or lies elsewhere.
    test.write("copy.bin", &large);
    test.write("keep/secret.bin", &small);
    test.refresh();
    for canary in &canaries {
        assert_eq!(canary.files_beneath(&test.home()), Vec::<String>::new());
    }
    assert_eq!(gap_reasons(&project).len(), 2);
    assert_clean(&project);
}

#[test]
fn old_copies_in_the_free_space_of_the_database_go_too() {
    let test = TestProject::new();
    let secret = noise(8, 200_000);
    test.write("secret.bin", &secret);
    let project = test.init();
    let db = rusqlite::Connection::open(project.store().folder().join("retake.db")).unwrap();
    db.execute_batch("PRAGMA secure_delete = OFF; CREATE TABLE scratch(x BLOB)").unwrap();
    db.execute("INSERT INTO scratch VALUES(?1)", [&secret]).unwrap();
    db.execute_batch("DROP TABLE scratch; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(db);
    purge(&test, &path("secret.bin"));
    assert_eq!(files_with(&test.home(), &secret), Vec::<String>::new());
}

#[test]
fn a_reader_keeps_a_purge_from_being_complete_and_it_says_so() {
    let test = TestProject::new();
    test.write("secret.bin", noise(9, 50_000));
    let project = test.init();
    let db = rusqlite::Connection::open(project.store().folder().join("retake.db")).unwrap();
    db.execute_batch("BEGIN; SELECT count(*) FROM object").unwrap();
    let count: i64 = db.query_row("SELECT count(*) FROM object", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
    let done = project.purge(&path("secret.bin"), test.tick()).unwrap();
    assert!(!done.is_complete);
    db.execute_batch("COMMIT").unwrap();
    let done = project.purge(&path("secret.bin"), test.tick()).unwrap();
    assert!(done.is_complete && done.scope.contents.is_empty());
    assert_eq!(files_with(&test.home(), &noise(9, 50_000)), Vec::<String>::new());
}

#[test]
fn checkpoints_keep_their_ids_and_git_sees_a_note() {
    let test = TestProject::new();
    test.write("secret.txt", "the password is xyzzy-plugh\n");
    test.write("a.txt", "a\n");
    test.init();
    let work = Work::begin(&test, "d1");
    work.write("a.txt", b"b\n");
    let point = work.point("with it");
    purge(&test, &path("secret.txt"));
    let project = test.open();
    assert_eq!(project.store().checkpoints(None, 1).unwrap()[0].id, point.id);
    let exported = project.export_git(Some(&work.dialog), &mut |_, _| {}).unwrap();
    assert_eq!(exported.purged, 1);
    let run = |arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
        let mut git = retake_engine::git_command(&exported, &arguments);
        let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&["rev-parse", "session_1"]).trim(), point.id.to_string());
    assert!(run(&["show", "session_1:secret.txt"]).contains("was purged"));
    assert!(run(&["log", "-p", "--all"]).contains("was purged"));
    assert_eq!(run(&["fsck", "--full"]), "");
    assert_eq!(run(&["branch", "-a"]), "* main\n  session_1\n");
    // Everything but the purged content is there for plain git, too.
    let missing = git::command(&exported.folder)
        .args(["--git-dir", ".", "rev-list", "--objects", "--all", "--missing=print"])
        .output()
        .unwrap();
    let missing = String::from_utf8(missing.stdout).unwrap();
    assert_eq!(missing.lines().filter(|line| line.starts_with('?')).count(), 1, "{missing}");
}

#[test]
fn what_quotes_it_goes_too() {
    let test = TestProject::new();
    test.write("a.txt", "a\n");
    let project = test.init();
    let token = "tok-93847593847598347";
    let secret = format!("API_TOKEN={token}\n{}\n", "quoted-from-the-file ".repeat(20).trim_end());
    let secret = secret.as_str();
    // The name of the checkpoint before it does not reach that far.
    let said = format!("please put the token of the new service, which is {token}, into .env");
    test.record(&Event::new("d1", EventKind::UserMessage { text: said }));
    let input = json!({ "file_path": "conf.env", "content": secret });
    test.record(&TestProject::begin("d1", "w1", "Write", input));
    test.write("conf.env", secret);
    test.record(&TestProject::end("d1", "w1"));
    // What the agent said.
    let cursor = String::new();
    let words = EventKind::AssistantMessage {
        text: format!("I wrote {token} into it."),
        calls: Vec::new(),
    };
    let mark = TranscriptMark { dialog: "d1".into(), agent: "main".into(), from: None, cursor };
    project.record_conversation(&[Event::new("d1", words)], &mark, test.tick()).unwrap();
    // What the model got, and what people were shown.
    let agent = AgentId::from("main");
    let model = ModelMessage {
        role: MessageRole::Assistant,
        content: vec![
            json!({ "type": "text", "text": format!("I use {token} now") }),
            json!({ "type": "tool_use", "id": "w1", "name": "Write", "input": { "content": secret } }),
            json!({ "type": "text", "text": "harmless" }),
        ],
        ts: None,
        is_summary: false,
        index: Some(1),
    };
    let take_in = || {
        let new = [(0, model.clone())];
        project.add_model_messages(&"d1".into(), &agent, &new, test.tick()).unwrap()
    };
    assert_eq!(take_in().added, 1);
    let display = [json!({ "say": "tool", "text": format!("Write {token}") })];
    project.save_display_messages(&"d1".into(), &agent, &display, test.tick()).unwrap();
    // A call that was never ended, and one that waits in the spool.
    let command = format!("echo '{secret}' >> conf.env; : {token}");
    test.record(&TestProject::begin("d1", "s1", "Bash", json!({ "command": command })));
    // A call that failed and changed nothing, and texts that are cut within a quote of it: what
    // stays of arguments, and of a command.
    let input = json!({ "file_path": "else", "note": format!("with {token}") });
    test.record(&TestProject::begin("d1", "f1", "Write", input));
    test.record(&TestProject::end("d1", "f1"));
    let long = "quoted-from-the-file ".repeat(20);
    for (number, bytes) in [(1, 2048), (2, 4096)] {
        let command = format!("{}{}", "x".repeat(bytes - 100), long.trim_end());
        let input = json!({ "command": command });
        test.record(&TestProject::begin("d1", &format!("cut-{number}"), "Bash", input));
        test.record(&TestProject::end("d1", &format!("cut-{number}")));
    }
    let spool = Spool::new(project.store().folder());
    let waiting = TestProject::begin("d1", "s2", "Bash", json!({ "command": command }));
    let at = test.tick();
    spool.push(&spool.new_key(at), &waiting, at).unwrap();
    let done = purge(&test, &path("conf.env"));
    assert!(done.calls >= 2 && done.events == 4, "{done:?}");
    assert_eq!(done.quoted_by_checkpoints, 0);
    assert!(!is_left(&test, token));
    assert_eq!(project.dialogs().unwrap()[0].0.title, None, "the title quoted it");
    let purged = "[purged]";
    let kept = project.model_log(&"d1".into(), &agent).unwrap().remove(0).message;
    assert_eq!(kept.content[0]["text"], purged);
    let call =
        json!({ "type": "tool_use", "id": "w1", "name": "Write", "input": { "content": purged } });
    assert_eq!(kept.content[1..], [call, model.content[2].clone()], "the rest stays");
    let shown = project.display_messages(&"d1".into(), &agent).unwrap();
    assert_eq!(shown, [json!({ "say": "tool", "text": purged })]);
    assert_eq!(take_in().added, 0, "it does not come back from the agent's own record");
    assert!(!is_left(&test, token));
    assert!(project.store().live_calls().unwrap().iter().all(|call| call.input.is_none()));
    let calls = project
        .call_records(&"d1".into(), &CallPage { limit: 100, ..CallPage::default() })
        .unwrap();
    assert_eq!(calls.len(), 6, "the record still tells that they were made");
    for call in calls {
        assert_eq!(
            (&call.arguments, &call.command),
            (&ShortArguments::default(), &None),
            "{}",
            call.call
        );
    }
}

fn is_left(test: &TestProject, needle: &str) -> bool {
    let needle = needle.as_bytes();
    let holds = |bytes: &[u8]| bytes.windows(needle.len()).any(|at| at == needle);
    let mut files = vec![test.home()];
    while let Some(file) = files.pop() {
        if file.is_dir() {
            files.extend(std::fs::read_dir(&file).unwrap().map(|entry| entry.unwrap().path()));
        } else if holds(&std::fs::read(&file).unwrap()) {
            return true;
        }
    }
    false
}

/// A checkpoint's id is made from its message, so the message stays. It is told that it does, and
/// everything else that says the same goes.
#[test]
fn checkpoints_that_quote_it_are_counted() {
    let token = "tok-93847593847598347-aaaabbbbcccc";
    let (early, cut) = (format!("{token} is it"), format!("put the token of the service: {token}"));
    let doubled = format!("it is  {}", token.replace('-', "  "));
    for (said, secret) in [
        (early.as_str(), format!("API_TOKEN={token}\n")),
        (&cut, format!("API_TOKEN={token}\n")),
        (&doubled, format!("{}\n", token.replace('-', "  "))),
    ] {
        let test = TestProject::new();
        test.write("conf.env", &secret);
        let project = test.init();
        let work = Work::begin(&test, "d1");
        let quoting = work.say(said);
        let restore = |paths: &[&str]| {
            let paths = paths.iter().map(|path| path.parse().unwrap()).collect();
            let options = GoToOptions { paths, ..GoToOptions::default() };
            let plan = project.plan_restore(&quoting, &options, test.tick()).unwrap();
            project.apply(&plan, test.tick()).unwrap()
        };
        work.write("b.txt", b"b\n");
        let restored = restore(&["b.txt"]).operation.unwrap();
        let messages = |project: &Project| -> Vec<String> {
            let points = project.checkpoints(None, 99).unwrap();
            points.into_iter().map(|point| point.message).collect()
        };
        let before = messages(&project);
        let piece = &token[..3];
        let quoting = before.iter().filter(|message| message.contains(piece)).count() as u64;
        let done = purge(&test, &path("conf.env"));
        assert_eq!(done.quoted_by_checkpoints, quoting, "{said}: {before:?}");
        assert!(quoting >= 2, "before the message, and before the restore: {before:?}");
        assert_eq!(messages(&project), before);
        let operation = project.store().operation(restored.id).unwrap().unwrap();
        assert!(!operation.title.contains(piece), "{}", operation.title);
        let events = project.store().events_after(0, 99).unwrap();
        let says = |event: &&JournalEvent| event.body.to_string().contains(piece);
        assert_eq!(events.iter().find(says), None, "{said}");
    }
}

#[test]
fn one_content_goes_wherever_it_is_and_shared_parts_stay() {
    let test = TestProject::new();
    let first = noise(5, 900_000);
    let mut second = first.clone();
    second[899_000] ^= 1;
    test.write("a.bin", &first);
    test.write("b.bin", &first);
    let project = test.init();
    test.write("b.bin", &second);
    project.refresh(test.tick()).unwrap();
    let oid: ObjectId = hash_blob(&first).unwrap();
    let done = purge(&test, &PurgeTarget::Content(oid));
    assert_eq!(done.shared, 1, "the other version has most of its chunks");
    assert_eq!(done.scope.paths.len(), 2);
    assert_eq!(done.scope.current.len(), 1);
    let change = &test.changes()[0];
    assert_eq!(change.before, PathState::Unknown);
    assert_eq!(project.content(&change.after).unwrap().unwrap(), second);
    let done = purge(&test, &PurgeTarget::Content(hash_blob(&second).unwrap()));
    assert_eq!(done.shared, 0);
    assert_eq!(files_with(&test.home(), &first), Vec::<String>::new());
}

#[test]
fn nothing_is_purged_that_is_not_there_or_that_everybody_has() {
    let test = TestProject::new();
    test.write("empty", "");
    test.write("also-empty", "");
    test.init();
    let refused = |target: PurgeTarget| test.open().purge(&target, test.tick()).unwrap_err();
    assert!(matches!(refused(path("no-such-file")), PurgeError::Nothing(_)));
    assert!(matches!(refused(path("empty")), PurgeError::Nothing(_)), "nothing to hide");
    let work = Work::begin(&test, "d1");
    let tree = work.point("x").tree;
    assert!(matches!(refused(PurgeTarget::Content(tree)), PurgeError::Nothing(_)), "no content");
    assert_clean(&test.open());
}

/// A version that was recorded after the person looked is not destroyed unseen.
#[test]
fn only_what_was_seen_is_purged() {
    let test = TestProject::new();
    test.write("a.txt", "secret thing\n");
    test.init();
    let seen = test.open().purge_scope(&path("a.txt")).unwrap().content_ids();
    test.write("a.txt", "another thing\n");
    test.refresh();
    let project = test.open();
    let error = project.purge_seen(&path("a.txt"), Some(&seen), test.tick()).unwrap_err();
    assert!(matches!(error, PurgeError::Changed(_)), "{error}");
    let now = project.purge_scope(&path("a.txt")).unwrap().content_ids();
    assert_eq!(now.len(), 2, "nothing is gone");
    let purge = project.purge_seen(&path("a.txt"), Some(&now), test.tick()).unwrap();
    assert_eq!(purge.scope.contents.len(), 2);
}

#[test]
fn an_interrupted_operation_comes_first() {
    let test = TestProject::new();
    test.write("a.txt", "secret thing\n");
    let project = test.init();
    let batch = project.store().batch().unwrap();
    let safety = batch
        .put_checkpoint(&NewCheckpoint {
            at: test.tick(),
            kind: CheckpointKind::BeforeOperation,
            message: "safety",
            dialog: None,
            session: None,
            parents: &[],
        })
        .unwrap();
    let operation = NewOperation {
        left_out: 0,
        at: test.tick(),
        kind: OperationKind::Undo,
        title: "undo",
        dialog: None,
        safety: &safety.id,
        follow_up: &Value::Null,
    };
    batch.begin_operation(&operation).unwrap();
    batch.commit().unwrap();
    let error = project.purge(&path("a.txt"), test.tick()).unwrap_err();
    assert!(matches!(error, PurgeError::Unfinished(_)), "{error}");
    assert!(project.store().has(&hash_blob(b"secret thing\n").unwrap()).unwrap());
}

#[test]
fn a_purge_that_was_stopped_is_completed_by_the_next() {
    if child::role().is_some() {
        child::project().open().purge(&path("secret.bin"), 1_800_000_000_000).unwrap();
        return;
    }
    let secret = noise(7, 270_000);
    let test = TestProject::in_memory();
    test.write("secret.bin", &secret);
    test.write("a.txt", "a\n");
    test.init();
    test.write("secret.bin", "gone\n");
    test.refresh();
    let sweep = FaultSweep::new("purge", &test);
    let canary = Canary::new(&secret);
    for faults in ALL_FAULTS {
        sweep.run_each(faults, |done| {
            let project = test.open();
            assert_clean(&project);
            assert_eq!(test.read("secret.bin"), b"gone\n");
            match project.purge(&path("secret.bin"), test.tick()) {
                Ok(purge) => assert!(purge.is_complete, "{done}"),
                Err(error) => assert!(matches!(error, PurgeError::Nothing(_)), "{error}: {done}"),
            }
            assert_clean(&project);
            assert_eq!(canary.files_beneath(&test.home()), Vec::<String>::new(), "{done}");
        });
    }
}
