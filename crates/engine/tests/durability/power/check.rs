//! What must hold when the power is back.

use std::collections::BTreeSet;
use std::path::Path;

use retake_engine::model::{JournalKind, ObjectId, OperationState, WorkSession};
use retake_engine::{ChangeFilter, Project, RecoveryChoice};
use retake_store::StoreProblem;
use retake_testkit::{TestProject, git};

use super::told::{Files, Told, files, tree_files, tree_of};

/// Where in its story a child was cut off.
pub(crate) struct Place<'t> {
    /// What it had said.
    so_far: &'t [Told],
    /// The files before and after the step that it was in.
    old: &'t Files,
    new: &'t Files,
    label: &'t str,
}

impl<'t> Place<'t> {
    /// The place at which this was said, of all that is said in a whole run.
    pub(crate) fn of(so_far: &'t [Told], whole: &'t [Told], label: &'t str) -> Self {
        let states: Vec<_> = whole
            .iter()
            .filter_map(|told| if let Told::State(files) = told { Some(files) } else { None })
            .collect();
        let count = so_far.iter().filter(|told| matches!(told, Told::State(_))).count();
        let old = states[count.saturating_sub(1)];
        Self { so_far, old, new: states.get(count).copied().unwrap_or(old), label }
    }

    /// Whether what was told there need not be kept any more.
    fn is_released(&self, told: &Told, at: usize) -> bool {
        let (dialog, path) = match told {
            Told::Change { dialog, path, .. } => (dialog.as_ref(), Some(path)),
            Told::Checkpoint { dialog, .. } => (dialog.as_ref(), None),
            Told::Approval { dialog, .. } | Told::Message { dialog, .. } => (Some(dialog), None),
            Told::Operation(_) => (None, None),
            _ => return false,
        };
        self.so_far[at..].iter().any(|told| match told {
            Told::ReleaseDialogs(released) => dialog.is_none_or(|dialog| released.contains(dialog)),
            Told::ReleasePath(released) => path == Some(released),
            _ => false,
        })
    }

    fn released_paths(&self) -> impl Iterator<Item = &String> {
        self.so_far
            .iter()
            .filter_map(|told| if let Told::ReleasePath(path) = told { Some(path) } else { None })
    }

    fn has(&self, is_it: impl Fn(&Told) -> bool) -> bool {
        self.so_far.iter().any(is_it)
    }
}

/// Checks everything; `turn` decides how an interrupted operation is settled.
pub(crate) fn check(test: &TestProject, place: &Place<'_>, turn: usize) {
    let label = place.label;
    let found = files(&test.root());
    for path in found.keys().chain(place.old.keys()).chain(place.new.keys()) {
        let now = found.get(path);
        let is_one = now == place.old.get(path) || now == place.new.get(path);
        assert!(is_one, "{label}: {path} is neither old nor new: {now:?}");
    }
    let was_initialised = place.has(|told| matches!(told, Told::Init));
    if !was_initialised && is_damaged_repository(&test.root()) {
        return;
    }
    let project = if was_initialised { test.open() } else { test.init() };
    let lost = torn_spool_lines(&project, label);
    if !was_initialised {
        assert_eq!(project.status().unwrap().files, found.len() as u64, "{label}");
        assert!(test.changes().is_empty(), "{label}: the first look is baseline, cut or not");
        return;
    }
    check_promises(&project, place);
    if project.interrupted().unwrap().is_some() {
        check_recovery(test, &project, place, turn);
    } else {
        let is_whole = found == *place.old || found == *place.new;
        assert!(is_whole, "{label}: {found:?} is neither {:?} nor {:?}", place.old, place.new);
    }
    project.refresh(test.tick()).unwrap();
    let status = project.status().unwrap();
    assert_eq!(status.spooled, 0, "{label}");
    let is_told = status.gaps.iter().any(|(gap, _)| gap.path.as_bytes() == b"spool");
    assert_eq!(is_told, lost > 0, "{label}: an event that was lost is listed: {:?}", status.gaps);
    check_messages(&project, place);
    check_promises(&project, place);
    check_recorded(&project, place, &files(&test.root()));
    assert_clean(&project, label);
}

/// Whether the cut took something that git had not synced: Retake borrows what git has, and
/// nobody was promised anything of it yet.
fn is_damaged_repository(root: &Path) -> bool {
    let check = || git::command(root).args(["fsck", "--full"]).output().unwrap();
    root.join(".git").exists() && !check().status.success()
}

/// How many events were being spooled when the power failed. Whether they were acknowledged is
/// found out by looking for their messages; that something was there is told, not hidden.
fn torn_spool_lines(project: &Project, label: &str) -> usize {
    let found = project.check_health(true, &mut |_, _| {}).unwrap().verification;
    let is_torn = |problem: &StoreProblem| matches!(problem, StoreProblem::SpoolLine(line) if line.contains('\0'));
    assert!(found.problems.iter().all(is_torn), "{label}: {:?}", found.problems);
    found.problems.len()
}

fn assert_clean(project: &Project, label: &str) {
    let found = project.check_health(true, &mut |_, _| {}).unwrap().verification;
    assert_eq!(found.problems, [], "{label}");
}

/// Everything that was acknowledged is there, byte for byte.
fn check_promises(project: &Project, place: &Place<'_>) {
    let kept = place.so_far.iter().enumerate().filter(|(at, told)| !place.is_released(told, *at));
    for (_, told) in kept {
        match told {
            Told::Change { path, before, after, .. } => {
                check_change(project, path, &[before.clone(), after.clone()], place.label);
            }
            Told::Checkpoint { id, files, .. } => check_checkpoint(project, id, files, place),
            Told::Approval { dialog, commit, files } => {
                check_approval(project, dialog, &commit.parse().unwrap(), files, place.label);
            }
            Told::Operation(id) => check_operation(project, id, place.label),
            Told::Purged(oid) => {
                let is_there = project.store().has(&oid.parse().unwrap()).unwrap();
                assert!(!is_there, "{}: {oid} was purged", place.label);
            }
            _ => {}
        }
    }
}

fn check_checkpoint(project: &Project, id: &str, files: &Files, place: &Place<'_>) {
    let label = place.label;
    let point = project.store().checkpoint(&id.parse().unwrap()).unwrap();
    let point = point.unwrap_or_else(|| panic!("{label}: no checkpoint {id}"));
    // A tree still names a content that a purge has removed.
    let is_purged = place.released_paths().any(|path| files.contains_key(path));
    let has_all = is_purged || tree_files(project, &point.tree) == *files;
    assert!(has_all, "{label}: checkpoint {id}");
}

fn check_approval(project: &Project, dialog: &str, commit: &ObjectId, files: &Files, label: &str) {
    let sessions = project.store().work_sessions(&dialog.into()).unwrap();
    let is_it = |session: &WorkSession| session.approved_commit == Some(*commit);
    assert!(sessions.iter().any(is_it), "{label}: {dialog}: {sessions:?}");
    let tree = tree_of(project, commit);
    assert!(tree_files(project, &tree) == *files, "{label}: approval of {dialog}");
}

fn check_operation(project: &Project, id: &str, label: &str) {
    let operations = project.operations(100).unwrap();
    let found = operations.iter().find(|operation| operation.id.to_string() == id);
    let is_done = found.is_some_and(|found| found.state == OperationState::Done);
    assert!(is_done, "{label}: operation {id}: {found:?}");
}

/// A change of this path from the one content to the other is on record, and both can be read.
fn check_change(project: &Project, path: &str, sides: &[Option<String>; 2], label: &str) {
    let filter = ChangeFilter { path: Some(path.parse().unwrap()), ..ChangeFilter::default() };
    let recorded = project.changes(&filter).unwrap();
    let is_it = recorded.iter().any(|change| {
        let contents = [&change.before, &change.after].map(|side| project.content(side));
        // What can be read was compared with its id.
        let ids =
            contents.map(|content| content.ok().flatten().map(|bytes| super::told::id(&bytes)));
        ids == *sides
    });
    assert!(is_it, "{label}: {path} {sides:?}: {recorded:?}");
}

/// Each message is on record once.
fn check_messages(project: &Project, place: &Place<'_>) {
    let events = project.store().events_after(0, 10_000).unwrap();
    let texts: Vec<_> = events
        .iter()
        .filter(|event| event.kind == JournalKind::UserMessage)
        .filter_map(|event| event.body["text"].as_str())
        .collect();
    let once: BTreeSet<_> = texts.iter().collect();
    assert_eq!(once.len(), texts.len(), "{}: {texts:?}", place.label);
    for (at, told) in place.so_far.iter().enumerate() {
        if let Told::Message { text, .. } = told
            && !place.is_released(told, at)
        {
            assert!(once.contains(&text.as_str()), "{}: {text}: {texts:?}", place.label);
        }
    }
}

/// Both versions of every file are in the store, and the operation can be ended either way.
fn check_recovery(test: &TestProject, project: &Project, place: &Place<'_>, turn: usize) {
    let label = place.label;
    assert!(matches!(place.so_far.last(), Some(Told::Verb(_))), "{label}: {:?}", place.so_far);
    for file in place.old.values().chain(place.new.values()) {
        let (_, oid) = file.rsplit_once(' ').unwrap();
        let is_there = project.store().has(&oid.parse().unwrap()).unwrap();
        assert!(is_there, "{label}: {file} is not in the store");
    }
    let (how, goal) = if turn.is_multiple_of(2) {
        (RecoveryChoice::Resume, place.new)
    } else {
        (RecoveryChoice::Undo, place.old)
    };
    let applied = project.recover(how, test.tick()).unwrap();
    assert!(applied.is_whole(), "{label}, {how:?}: {:?}", applied.plan);
    let now = files(&test.root());
    assert!(now == *goal, "{label}, {how:?}: {now:?} is not {goal:?}");
    assert!(project.interrupted().unwrap().is_none(), "{label}");
}

/// Whatever lies in the project is in the store after a look.
fn check_recorded(project: &Project, place: &Place<'_>, found: &Files) {
    let released: Vec<_> = place.released_paths().collect();
    for (path, file) in found.iter().filter(|(path, _)| !released.contains(path)) {
        let (_, oid) = file.rsplit_once(' ').unwrap();
        let is_there = project.store().has(&oid.parse().unwrap()).unwrap();
        assert!(is_there, "{}: {path} is not in the store", place.label);
    }
}
