//! Every document of a project with a little of everything, as other programs read it.
//!
//! The documents are in `documents/*.json`; `UPDATE_EXPECT=1` rewrites them. What differs from
//! run to run (ids, folders, sizes on disk) is replaced. Each document is read back and must be
//! what it was.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use std::fmt::Debug;

use expect_test::{ExpectFile, expect_file};
use retake_engine::model::{Actor, DialogId, ErrorCode, Event, EventKind, OperationKind};
use retake_engine::{ChangeFilter, Project, Selection, TakeBackOptions};
use retake_service::documents::{self, ContextChoice, DiffForm, DiffRenderer};
use retake_service::{ApiError, Masking};
use retake_testkit::{TestProject, play};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::PartialSchema;

const STORY: &str = r"
    file src/main.rs: fn main() {\n    old();\n}\n
    file .env: API_KEY=one\nMODE=fast\n
    file gone.txt: bye\n
    file bin: a\x00b\n
    init
    say d1: rename old to new, password: 'hunter2-x'
    edit d1 k1 src/main.rs: old => new
    shell d1 k2: printf 'API_KEY=two\nMODE=fast\n' > .env; rm gone.txt; printf 'c\000d\n' > bin; echo n > new.txt
    turn-end d1
";

struct World {
    test: TestProject,
    project: Project,
    dialog: DialogId,
}

impl World {
    fn new() -> Self {
        let test = TestProject::new();
        play(&test, STORY);
        let project = test.open();
        Self { test, project, dialog: "d1".into() }
    }

    /// Compares a document, and reads it back.
    #[track_caller]
    fn check<T>(&self, document: &T, expected: &ExpectFile)
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug,
    {
        let json = serde_json::to_string_pretty(document).unwrap();
        assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), document);
        let mut value: Value = serde_json::from_str(&json).unwrap();
        self.settle(&mut value);
        let text = serde_json::to_string_pretty(&value).unwrap();
        expected.assert_eq(&(text + "\n"));
    }

    /// Replaces what differs from run to run.
    fn settle(&self, value: &mut Value) {
        const SIZES: [&str; 7] =
            ["store_bytes", "free_bytes", "disk", "content", "records", "objects", "objects_read"];
        match value {
            Value::String(text) => {
                *text = text
                    .replace(self.project.folder().to_str().unwrap(), "STORE")
                    .replace(self.test.root().to_str().unwrap(), "ROOT");
                let is_id = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                if is_id || text.contains("iB") {
                    "…".clone_into(text);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.settle(value)),
            Value::Object(values) => {
                for (key, value) in values {
                    if SIZES.contains(&key.as_str()) && value.is_number() {
                        *value = "…".into();
                    }
                    self.settle(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn changes(&self) -> Vec<retake_engine::model::Change> {
        let filter = ChangeFilter { oldest_first: true, ..ChangeFilter::default() };
        self.project.changes(&filter).unwrap()
    }
}

#[test]
fn changes_and_their_differences() {
    let world = World::new();
    let (project, changes) = (&world.project, world.changes());
    world.check(
        &documents::ChangeList::from(changes.as_slice()),
        &expect_file!["./documents/changes.json"],
    );
    let shown = |change, form, masking| {
        documents::ShownChange::read(project, change, form, masking).unwrap()
    };
    let edit = &changes[0];
    world.check(
        &shown(edit, DiffForm::Structured, Masking::On),
        &expect_file!["./documents/shown_change.json"],
    );
    let env = changes.iter().find(|change| change.path.as_bytes() == b".env").unwrap();
    let masked = shown(env, DiffForm::Structured, Masking::On);
    assert!(masked.diff.diff.contains("-API_KEY=•••\n+API_KEY=•••\n"), "{}", masked.diff.diff);
    assert!(!serde_json::to_string(&masked).unwrap().contains("two"));
    let plain = shown(env, DiffForm::Unified, Masking::Off);
    assert!(plain.diff.diff.contains("-API_KEY=one\n+API_KEY=two\n"), "{}", plain.diff.diff);
    let diffs = project.net_diff(&changes).unwrap();
    let diffs =
        DiffRenderer::new(project, DiffForm::Unified, Masking::On).render_files(&diffs).unwrap();
    world.check(&diffs, &expect_file!["./documents/diffs.json"]);
    let state = edit.after.known().unwrap();
    let bytes = project.content(&edit.after).unwrap().unwrap();
    let content = documents::ContentDocument::new(&edit.path, state, &bytes, Masking::On);
    world.check(&content, &expect_file!["./documents/content.json"]);
}

/// A file that was copied or renamed from one of secrets is masked as one, and stays so.
#[test]
fn copies_and_renames_of_secret_files_are_masked() {
    let test = TestProject::new();
    play(
        &test,
        r"
        file .env: COLOR=crimson-one\n
        file .env.example: COLOR=crimson-one\n
        file notes.txt: plain\n
        init
        shell d1 k1: cp .env copy.txt
        shell d1 k2: mv .env config.txt
        shell d1 k3: echo SHAPE=oval-two >> config.txt
        shell d1 k4: echo SHAPE=oval-three >> copy.txt
        shell d1 k5: rm copy.txt
        shell d1 k6: echo FRUIT=plum-four > copy.txt
        shell d1 k7: echo more >> notes.txt
        turn-end d1
        ",
    );
    let project = test.open();
    let filter = ChangeFilter { oldest_first: true, ..ChangeFilter::default() };
    let changes = project.changes(&filter).unwrap();
    let shown = |masking| -> String {
        let one =
            |change| documents::ShownChange::read(&project, change, DiffForm::Structured, masking);
        let all =
            changes.iter().map(|change| serde_json::to_string(&one(change).unwrap()).unwrap());
        all.collect()
    };
    let (masked, plain) = (shown(Masking::On), shown(Masking::Off));
    for secret in ["crimson-one", "oval-two", "oval-three"] {
        assert!(plain.contains(secret), "{secret} is not in the story");
        assert!(!masked.contains(secret), "{secret} is shown: {masked}");
    }
    assert!(masked.contains("plum-four"), "a new file of the same name is none: {masked}");
    assert!(masked.contains("+more"), "{masked}");
    let records = documents::FileChanges::read(&project, &"d1".into(), Masking::On).unwrap();
    let records = serde_json::to_string(&records).unwrap();
    assert!(!records.contains("crimson-one") && !records.contains("oval-two"), "{records}");
    let session =
        documents::SessionStatusDocument::read(&project, &"d1".into(), Masking::On).unwrap();
    let session = serde_json::to_string(&session).unwrap();
    assert!(!session.contains("oval-two"), "{session}");
    let sample: retake_engine::model::ProjectPath = ".env.example".parse().unwrap();
    assert!(!project.descends_from_secret_file(&sample, None).unwrap());
}

#[test]
fn places_in_a_line_count_as_javascript_does() {
    let world = World::new();
    let (before, after) = ("let a = \"🦀ü\";\n", "let b = \"🦀ü\"; // x\n");
    world.test.write("a.rs", before);
    world.test.refresh();
    play(&world.test, &format!("write d1 k9 a.rs: {}", after.trim_end()));
    let change = world.changes().pop().unwrap();
    let diff = world.project.diff(&change).unwrap();
    let mut differ = DiffRenderer::new(&world.project, DiffForm::Structured, Masking::On);
    let hunks = differ.render_file(&diff).unwrap().hunks.unwrap();
    let added = hunks[0].lines.iter().find(|line| line.new == Some(1)).unwrap();
    let units: Vec<u16> = added.text.encode_utf16().collect();
    let part =
        |start: u32, end: u32| String::from_utf16(&units[start as usize..end as usize]).unwrap();
    let words: Vec<_> = added.words.iter().map(|(start, end)| part(*start, *end)).collect();
    assert_eq!(words, ["b", " // x"]);
    let tokens: Vec<_> = added.tokens.iter().map(|token| part(token.start, token.end)).collect();
    assert_eq!(tokens, ["let", "\"", "🦀ü", "\"", "//", " x"]);
}

#[test]
fn dialogs_checkpoints_and_what_was_said() {
    let world = World::new();
    let (project, dialog) = (&world.project, &world.dialog);
    // The agent's message is told twice: it had grown.
    for text in ["do", "done"] {
        let said = EventKind::AssistantMessage { text: text.to_owned(), calls: Vec::new() };
        world.test.record(&Event { message_index: Some(3), ..Event::new("d1", said) });
    }
    let dialogs = documents::DialogList::read(project, Masking::On).unwrap();
    world.check(&dialogs, &expect_file!["./documents/dialogs.json"]);
    let checkpoints = project.checkpoints(None, 10).unwrap();
    let checkpoints = documents::CheckpointList::new(&checkpoints, Masking::On);
    world.check(&checkpoints, &expect_file!["./documents/checkpoints.json"]);
    let of_dialog = documents::DialogCheckpoints::read(project, dialog, Masking::On).unwrap();
    world.check(&of_dialog, &expect_file!["./documents/dialog_checkpoints.json"]);
    let history = |cursor, limit| {
        let page = documents::HistoryPage { cursor, limit, whole: false, max_bytes: usize::MAX };
        documents::DialogHistory::read(project, dialog, page, Masking::On).unwrap()
    };
    world.check(&history(None, 20), &expect_file!["./documents/history.json"]);
    let last = history(None, 1);
    assert_eq!((last.events.len(), last.has_more, last.cursor), (1, true, Some(1)));
    let first = history(last.cursor, 1);
    assert_eq!((&first.events[0], first.cursor), (&history(None, 20).events[0], None));
    assert_eq!(history(Some(0), 20).events, []);
}

#[test]
fn status_sessions_and_blame() {
    let world = World::new();
    let (project, dialog) = (&world.project, &world.dialog);
    let looked = world.test.refresh();
    let now = world.test.tick();
    let status =
        documents::StatusDocument::read(project, now, Some(&looked), true, Masking::On).unwrap();
    world.check(&status, &expect_file!["./documents/status.json"]);
    let session = documents::SessionStatusDocument::read(project, dialog, Masking::On).unwrap();
    world.check(&session, &expect_file!["./documents/session_status.json"]);
    let sessions = project.work_sessions(dialog).unwrap();
    let sessions = documents::WorkSessionList::new(dialog, &sessions, Masking::On);
    world.check(&sessions, &expect_file!["./documents/work_sessions.json"]);
    for (path, expected) in [
        ("src/main.rs", expect_file!["./documents/blame.json"]),
        (".env", expect_file!["./documents/blame_masked.json"]),
    ] {
        let blame = project.blame(&path.parse().unwrap()).unwrap().unwrap();
        let retake_engine::BlameBody::Lines(lines) = &blame.body else { unreachable!("is text") };
        world.check(&documents::BlameDocument::new(&blame, lines, Masking::On), &expected);
    }
}

#[test]
fn what_agents_know() {
    let world = World::new();
    let (project, dialog, agents) = (&world.project, &world.dialog, ["main".into()]);
    play(&world.test, "read d1 k3 src/main.rs 1-2\nedit d2 k4 new.txt: n => N");
    world.test.write("src/main.rs", "fn main() {\n    mine();\n}\n");
    world.test.refresh();
    let read = |stale, timeline| {
        let choice = ContextChoice { stale, timeline };
        documents::ContextDocument::read(project, dialog, &agents, choice).unwrap()
    };
    world.check(&read(false, true), &expect_file!["./documents/context.json"]);
    let stale = read(true, false).files_in_context;
    let paths: Vec<_> = stale.iter().map(|entry| entry.path.path.as_str()).collect();
    assert_eq!(paths, ["new.txt", "src/main.rs"]);
    let all = read(false, true);
    let (mut pages, mut cursor) = (Vec::new(), Some(0));
    while let Some(next) = cursor {
        let page = all.clone().page(next, 2);
        pages.extend(page.files_in_context);
        cursor = page.cursor;
    }
    assert_eq!(pages, all.files_in_context, "pages neither skip nor repeat");
    let metadata = project.export_context(dialog, &agents[0]).unwrap();
    let document = documents::TaskMetadataDocument::from(&metadata);
    assert_eq!(serde_json::to_value(&document).unwrap(), serde_json::to_value(&metadata).unwrap());
}

#[test]
fn plans_and_what_became_of_them() {
    let world = World::new();
    let project = &world.project;
    let taking = TakeBackOptions::default();
    let plan = project.plan_reset(&world.dialog, false, taking, world.test.tick()).unwrap();
    let planned = documents::OperationOutcome::planned(project, &plan).unwrap();
    assert!(planned.dry_run && planned.operation.is_none());
    assert_eq!(planned.asks, ["deletes_files"]);
    let refused = ApiError::new(ErrorCode::NeedsYes, "no", "say yes");
    let refused = documents::OperationOutcome::refused(project, &plan, refused).unwrap();
    assert_eq!(refused.error.as_ref().unwrap().code, ErrorCode::NeedsYes);
    world.check(&refused, &expect_file!["./documents/refused.json"]);
    let applied = project.apply(&plan, world.test.tick()).unwrap();
    let applied = documents::OperationOutcome::applied(project, &applied).unwrap();
    world.check(&applied, &expect_file!["./documents/applied.json"]);
    let operations = project.operations(10).unwrap();
    let operations = documents::OperationList::read(project, &operations).unwrap();
    world.check(&operations, &expect_file!["./documents/operations.json"]);
    let nothing = documents::OperationOutcome::nothing(OperationKind::Undo);
    assert!(nothing.whole && nothing.title == "nothing to undo");
}

#[test]
fn decisions_and_records() {
    let world = World::new();
    let (project, dialog) = (&world.project, &world.dialog);
    let changes = documents::FileChanges::read(project, dialog, Masking::On).unwrap();
    world.check(&changes, &expect_file!["./documents/file_changes.json"]);
    let names: Vec<_> = changes.file_changes.iter().map(|one| one.tool_call_id.as_str()).collect();
    assert_eq!(names, ["k1", "k2:0", "k2:1", "k2:2", "k2:3"]);
    let one = Selection { changes: vec![world.changes()[0].id], ..Selection::default() };
    let accepted = project.accept(&one, world.test.tick()).unwrap();
    let accepted = documents::AcceptedDocument::new(&accepted, &[]);
    world.check(&accepted, &expect_file!["./documents/accepted.json"]);
    let approved = project.approve(dialog, Some("fine"), world.test.tick()).unwrap();
    let document = documents::ApprovedDocument::new(dialog, &approved, Some("fine"));
    world.check(&document, &expect_file!["./documents/approved.json"]);
    let document = documents::ApproveResult::from(&approved);
    world.check(&document, &expect_file!["./documents/approve_result.json"]);
    let event = TestProject::end("d1", "never-begun");
    let recorded = documents::EventReply::from(&world.test.record(&event));
    assert!(!recorded.ok);
    world.check(&recorded, &expect_file!["./documents/recorded.json"]);
}

#[test]
fn upkeep() {
    let world = World::new();
    let project = &world.project;
    let found = project.check_health(true, &mut |_, _| {}).unwrap();
    let document = documents::CheckUpDocument::new(project, &found, true, Masking::On);
    assert!(document.healthy);
    world.check(&document, &expect_file!["./documents/check_up.json"]);
    let (forecast, meter) = (
        project.retention_forecast(world.test.tick(), true).unwrap(),
        project.disk_usage().unwrap(),
    );
    let document = documents::ForecastDocument::new(&forecast, &meter, 0);
    world.check(&document, &expect_file!["./documents/forecast.json"]);
    let done = project.collect_garbage(world.test.tick(), &mut |_, _| {}).unwrap();
    world.check(
        &documents::CollectedDocument::from(&done),
        &expect_file!["./documents/collected.json"],
    );
    let known = world.test.retake().projects().unwrap();
    let projects = documents::ProjectList::from(known.as_slice());
    assert_eq!(projects.projects[0].id, project.id());
}

#[test]
fn schemas_name_what_documents_hold() {
    let schema = serde_json::to_value(documents::ChangeDocument::schema()).unwrap();
    let actors = &schema["properties"]["actor"]["enum"];
    assert_eq!(actors.as_array().unwrap().len(), Actor::ALL.len());
    let world = World::new();
    let change =
        serde_json::to_value(documents::ChangeDocument::from(&world.changes()[0])).unwrap();
    for key in change.as_object().unwrap().keys() {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
}
