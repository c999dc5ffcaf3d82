//! A disk that fails in the middle of a verb: no file is half done, and what is said is so.

use retake_engine::model::ChangeStatus;
use retake_engine::{RecoveryChoice, TakeBackOptions};
use retake_testkit::TestProject;
use retake_testkit::disk::{self, DiskFiles};
use retake_testkit::sweep::{InjectedFault, SweepRun};

use super::{Ends, assert_untouched, told, without_temps};

pub(super) fn verify(project: &TestProject, ends: &Ends, done: &SweepRun) {
    let Ends { old, new, reverted, .. } = ends;
    assert_untouched(project, ends, done);
    // The project could not even be opened.
    let said = if done.succeeded { done.output.clone() } else { format!("{}error: ", done.output) };
    let (said, seen) = (said.as_str(), done);
    let opened = project.open();
    let now = without_temps(disk::read_files(&project.root()));
    for name in old.keys().chain(new.keys()) {
        let is_one = is_same_at(name, &now, old) || is_same_at(name, &now, new);
        assert!(is_one, "{name} is neither old nor new: {seen}");
    }
    for change in project.changes() {
        let is_kept = change.status != ChangeStatus::Reverted || reverted.contains(&change.id);
        let is_back = is_same_at(&change.path.to_string(), &now, new);
        assert!(is_kept || is_back, "{} is called reverted: {seen}", change.path);
    }
    if opened.interrupted().unwrap().is_some() {
        let looked = project.refresh().changes;
        assert!(looked.iter().all(|change| change.made_by.is_some()), "{looked:?}: {seen}");
        let applied = opened.recover(RecoveryChoice::Resume, project.tick()).unwrap();
        assert!(applied.is_whole(), "{}: {seen}", told(&applied));
        assert!(disk::same_files(&disk::read_files(&project.root()), new), "{seen}");
    } else if !said.contains("error: ") && !said.contains(" leave ") {
        assert!(disk::same_files(&now, new), "said to be done, but is not: {seen}");
    } else {
        // That a write takes fewer bytes than it was given is no error.
        let (step, fault) = &done.at;
        assert!(*fault != InjectedFault::Short || step.name.starts_with("sqlite"), "{seen}");
    }
    assert_eq!(project.refresh().changes, [], "{seen}");
    assert_tidied(project, said, seen);
}

fn is_same_at(name: &str, one: &DiskFiles, other: &DiskFiles) -> bool {
    match (one.get(name), other.get(name)) {
        (Some(one), Some(other)) => one.same_content(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// A temporary file that could not be removed is told of, and goes with the next verb.
fn assert_tidied(project: &TestProject, said: &str, seen: &SweepRun) {
    let opened = project.open();
    let operations = opened.store().operations(10).unwrap();
    let steps = operations.iter().flat_map(|one| opened.store().operation_steps(one.id).unwrap());
    let steps: Vec<_> = steps.collect();
    for name in disk::read_files(&project.root()).keys().filter(|name| name.contains(".retake-")) {
        let of = steps.iter().find(|step| step.temp.to_string() == **name);
        let path = format!("{:?}", of.unwrap_or_else(|| panic!("{name}: {seen}")).path);
        let warns = |line: &str| line.starts_with(&path) && line.contains("temporary file stays");
        assert!(said.lines().any(warns), "{name} stays without a word: {seen}");
    }
    drop(opened.plan_undo(TakeBackOptions::default(), project.tick()));
    let now = disk::read_files(&project.root());
    assert!(now.keys().all(|name| !name.contains(".retake-")), "{:?}: {seen}", now.keys());
    assert_eq!(project.refresh().changes, [], "{seen}");
}
