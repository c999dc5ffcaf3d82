//! What agents know, as other programs keep it: imported, exported, and compared by its dates.

use fastrand::Rng;
use retake_engine::model::{AgentRef, ContextSource};
use retake_engine::{Audience, MetadataEntry, RecordState, TaskMetadata};
use retake_testkit::{TestProject, play};

use super::main_of;

/// Entries as another program may have kept them, the newest one of each path active.
fn any_metadata(rng: &mut Rng) -> TaskMetadata {
    let mut entries: Vec<MetadataEntry> = Vec::new();
    for _ in 0..rng.usize(0..12) {
        let path = *rng.choice(&["a.txt", "src/b.rs", "gone.txt", "ü ñ"]).unwrap();
        for earlier in entries.iter_mut().filter(|earlier| earlier.path == path) {
            earlier.record_state = RecordState::Stale;
        }
        let mut date = || rng.bool().then(|| rng.i64(0..5));
        let (roo_read_date, roo_edit_date, user_edit_date) = (date(), date(), date());
        entries.push(MetadataEntry {
            path: path.to_owned(),
            record_state: RecordState::Active,
            record_source: *rng.choice(ContextSource::ALL).unwrap(),
            roo_read_date,
            roo_edit_date,
            user_edit_date,
        });
    }
    TaskMetadata { files_in_context: entries }
}

#[test]
fn what_another_program_kept_comes_out_as_it_went_in_and_only_once() {
    let test = TestProject::in_memory();
    test.write("a.txt", "1\n");
    test.write("src/b.rs", "2\n");
    let project = test.init();
    for seed in 0..40 {
        let metadata = any_metadata(&mut Rng::with_seed(seed));
        let (dialog, agent) = main_of(&format!("d{seed}"));
        let reader = AgentRef { dialog: &dialog, agent: &agent };
        let json = metadata.to_json().unwrap();
        let read = TaskMetadata::from_json(json.as_bytes()).unwrap();
        let imported = project.import_context(reader, &read, test.tick()).unwrap();
        assert_eq!(imported.entries, metadata.files_in_context.len(), "seed {seed}");
        let exported = project.export_context(&dialog, &agent).unwrap();
        assert_eq!(exported, metadata, "seed {seed}");
        let again = project.import_context(reader, &exported, test.tick()).unwrap();
        assert_eq!((again.entries, again.known), (0, imported.entries), "seed {seed}");
        assert_eq!(project.export_context(&dialog, &agent).unwrap(), metadata, "seed {seed}");
    }
}

#[test]
fn dates_decide_on_what_came_from_elsewhere_until_the_agent_looks() {
    let test = TestProject::new();
    play(&test, "file a.txt: 1\\n\nfile b.txt: 2\\n\ninit");
    let (dialog, agent) = main_of("d");
    let entry = |path: &str, read, user| MetadataEntry {
        path: path.to_owned(),
        record_state: RecordState::Active,
        record_source: ContextSource::ReadTool,
        roo_read_date: Some(read),
        roo_edit_date: None,
        user_edit_date: Some(user),
    };
    let files_in_context =
        vec![entry("a.txt", 1, 2), entry("b.txt", 2, 1), entry("sub/.git/config", 1, 2)];
    let metadata = TaskMetadata { files_in_context };
    let project = test.open();
    let reader = AgentRef { dialog: &dialog, agent: &agent };
    let imported = project.import_context(reader, &metadata, test.tick()).unwrap();
    assert_eq!(imported.entries, 2);
    assert_eq!(imported.skipped, [("sub/.git/config".to_owned(), "it is git's own".to_owned())]);
    let stale = || -> Vec<_> {
        let files = project.stale_files(&dialog, &agent).unwrap().into_iter();
        files.map(|file| format!("{} {}", file.path, file.describe(Audience::Person))).collect()
    };
    assert_eq!(stale(), ["a.txt changed"]);
    test.write("b.txt", "two\n");
    test.refresh();
    assert_eq!(stale(), ["a.txt changed", "b.txt line 1 changed by you"]);
    play(&test, "read d c1 a.txt\nread d c2 b.txt");
    assert_eq!(stale(), Vec::<String>::new());
}
