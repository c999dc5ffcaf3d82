//! How a project is known again, and what is refused.

#![expect(clippy::disallowed_methods, reason = "a test plays the user")]

use retake_engine::{
    ChangeFilter, ErrorAdvice as _, InitOptions, ProjectError, RecordError, ReplacedBy,
};
use retake_testkit::TestProject;

#[test]
fn a_moved_project_is_found_again_g_4() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let id = project.init().id().to_owned();
    project.write("a.txt", "two\n");
    assert_eq!(project.refresh().changes.len(), 1);
    let elsewhere = project.outer().join("elsewhere");
    std::fs::rename(project.root(), &elsewhere).unwrap();
    let moved = project.retake().open(&elsewhere).unwrap();
    assert_eq!(moved.id(), id);
    assert_eq!(moved.refresh(project.tick()).unwrap().changes, []);
    assert_eq!(moved.changes(&ChangeFilter::default()).unwrap().len(), 1);
    // From a folder inside it, too.
    std::fs::DirBuilder::new().create(elsewhere.join("deep")).unwrap();
    assert_eq!(project.retake().open(&elsewhere.join("deep")).unwrap().id(), id);
}

#[test]
fn another_folder_at_the_same_path_is_read_only_until_the_person_says() {
    for (choice, keeps_history) in [(ReplacedBy::Same, true), (ReplacedBy::New, false)] {
        let project = TestProject::new();
        project.write("a.txt", "one\n");
        project.init();
        project.write("a.txt", "two\n");
        project.refresh();
        let aside = project.outer().join("aside");
        std::fs::rename(project.root(), &aside).unwrap();
        project.write("a.txt", "another\n");
        let replaced = project.open();
        assert!(replaced.is_replaced());
        let error = replaced.refresh(project.tick()).unwrap_err();
        assert!(matches!(error, RecordError::Replaced(_)), "{error}");
        assert!(error.hint().contains("init --same"), "{error}");
        assert_eq!(replaced.changes(&ChangeFilter::default()).unwrap().len(), 1, "still readable");
        let options = InitOptions { replaced: Some(choice), ..InitOptions::default() };
        let done = project
            .retake()
            .init(&project.root(), options, project.tick(), &mut |_, _| {})
            .unwrap();
        let changes = done.project.changes(&ChangeFilter::default()).unwrap();
        assert_eq!(changes.len(), if keeps_history { 2 } else { 0 });
    }
}

#[test]
fn an_event_for_a_replaced_folder_is_kept_and_taken_in_later() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    project.init();
    std::fs::rename(project.root(), project.outer().join("aside")).unwrap();
    project.write("a.txt", "one\n");
    let event = TestProject::begin("d1", "w1", "Write", serde_json::json!({"file_path": "a.txt"}));
    assert!(project.open().record(&event, project.tick()).is_err());
    let options = InitOptions { replaced: Some(ReplacedBy::Same), ..InitOptions::default() };
    let done = project.retake().init(&project.root(), options, project.tick(), &mut |_, _| {});
    let events = done.unwrap().project.store().events_after(0, 100).unwrap();
    assert!(
        events.iter().any(|event| event.kind == retake_engine::model::JournalKind::ToolBegin),
        "{events:?}"
    );
}

#[test]
fn home_root_and_temp_are_refused_without_a_flag() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let root = project.root();
    let init = |retake: retake_engine::Retake, anywhere| {
        let options = InitOptions { anywhere, ..InitOptions::default() };
        retake.init(&root, options, project.tick(), &mut |_, _| {}).map(|_| ())
    };
    let as_home = || project.retake().user_home(Some(root.clone()));
    let as_temp = || project.retake().temp(Some(root.clone()));
    for retake in [as_home(), as_temp()] {
        let error = init(retake, false).unwrap_err();
        assert!(matches!(error, ProjectError::TooBroad { .. }), "{error}");
    }
    let slash = project.retake().init(
        std::path::Path::new("/"),
        InitOptions::default(),
        project.tick(),
        &mut |_, _| {},
    );
    assert!(matches!(slash, Err(ProjectError::TooBroad { .. })));
    init(as_home(), true).unwrap();
}

#[test]
fn a_hook_initialises_the_repository_around_it() {
    let project = TestProject::new();
    project.write("sub/deep/a.txt", "one\n");
    retake_testkit::git::run(&project.root(), &["init", "-q", "."]);
    let opened =
        project.retake().open_or_create(&project.root().join("sub/deep"), project.tick()).unwrap();
    assert_eq!(opened.root(), project.root());
}

#[test]
fn an_older_retake_refuses_a_newer_store_and_touches_nothing() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let folder = project.init().store().folder().to_owned();
    let path = folder.join("retake.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 999).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(db);
    let before = std::fs::read(&path).unwrap();
    let error = project.retake().open(&project.root()).unwrap_err().to_string();
    assert!(error.contains("newer retake (schema 999"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_home_inside_the_project_is_never_tracked() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    let retake = retake_engine::Retake::new(project.root().join(".retake"));
    let init = || retake.init(&project.root(), InitOptions::default(), 1, &mut |_, _| {}).unwrap();
    assert_eq!(init().looked.baseline, 1);
    assert_eq!(init().project.status().unwrap().files, 1);
    assert_eq!(init().project.changes(&ChangeFilter::default()).unwrap(), []);
}
