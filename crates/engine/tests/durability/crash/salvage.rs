//! A salvage that is stopped anywhere: the damaged record is still told as damaged, or the salvaged
//! one is there; and no process writes to a record that was put aside.

use retake_engine::StoreError;
use retake_testkit::sweep::{ALL_FAULTS, FaultSweep};
use retake_testkit::{TestProject, child, play};

use super::assert_clean;

/// The log of its record is damaged where later commits lie behind.
fn damaged() -> TestProject {
    let project = TestProject::in_memory();
    play(
        &project,
        r"
        file a.txt: one\n
        init
        say d: go
        write d w1 a.txt: two\n
        write d w2 b.txt: new\n
        ",
    );
    let store = project.open().store().folder().to_owned();
    let mut log = std::fs::read(store.join("retake.db-wal")).unwrap();
    log[32 + 16] ^= 1; // the sum of the first frame
    retake_seam::fs::write_unsynced(&store.join("retake.db-wal"), &log).unwrap();
    project
}

fn changes(project: &TestProject) -> Vec<String> {
    project.changes().iter().map(|change| format!("{change:?}")).collect()
}

#[test]
fn a_fault_at_any_write_of_a_salvage() {
    if child::role().is_some() {
        let project = child::project();
        project.retake().salvage(&project.root(), project.tick()).unwrap();
        return child::acknowledge("salvaged");
    }
    let project = damaged();
    let refused = project.retake().open(&project.root()).map(drop).unwrap_err().to_string();
    assert!(refused.contains("later commits cannot be seen"), "{refused}");
    let sweep = FaultSweep::new("salvage", &project);
    let whole = changes(&project);
    assert_eq!(whole.len(), 2, "{whole:?}");
    for faults in ALL_FAULTS {
        sweep.run_each(faults, |done| {
            let opened = project.retake().open(&project.root()).map(drop);
            assert!(opened.is_ok() || done.acks.is_empty(), "{opened:?}: {done}");
            if let Err(error) = opened {
                assert!(error.to_string().contains("later commits cannot be seen"), "{error}");
                // As a person would, with a clock that has gone on.
                project.tick();
                project.retake().salvage(&project.root(), project.tick()).unwrap();
            }
            assert_eq!(changes(&project), whole, "{done}");
            assert_clean(&project.open());
        });
    }
}

#[test]
fn who_had_it_open_writes_no_more() {
    let project = TestProject::in_memory();
    play(&project, "file a.txt: one\\n\ninit");
    let (opened, looking) = (project.open(), project.open());
    project.retake().salvage(&project.root(), project.tick()).unwrap();
    project.write("a.txt", "two\n");
    let refused = opened.refresh(project.tick()).unwrap_err();
    assert!(refused.to_string().contains("is not the one that was opened"), "{refused}");
    let batch = looking.store().batch().map(drop);
    assert!(matches!(batch, Err(StoreError::NotInPlace(_))), "{batch:?}");
    assert_eq!(project.refresh().changes.len(), 1, "it is on record where it belongs");
}
