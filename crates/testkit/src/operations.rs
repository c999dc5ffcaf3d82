//! The operations of the fixture language (accept, reject, rollback, undo, …), and their output.

use std::fmt::Write as _;

use retake_engine::model::{Actor, ChangeId, DialogId, WorkSession};
use retake_engine::{
    AppliedPlan, CascadePolicy, ChangeFilter, GoToOptions, OperationError, Plan, Project,
    RecoveryChoice, Selection, TakeBackOptions,
};

use crate::TestProject;

/// The words of a step after its verb.
pub(crate) struct StepWords<'w>(pub(crate) Vec<&'w str>);

impl<'w> StepWords<'w> {
    pub(crate) fn of(text: &'w str) -> Self {
        Self(text.split(' ').filter(|word| !word.is_empty()).collect())
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'w str> {
        self.0.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    pub(crate) fn selection(&self, project: &Project) -> Selection {
        if self.has("named") {
            return Selection { changes: vec![self.change(project)], ..Selection::default() };
        }
        Selection {
            changes: Vec::new(),
            path: self.value("file").map(|path| path.parse().unwrap()),
            dialog: self.value("dialog").map(Into::into),
            agent: self.value("agent").map(Into::into),
            call: self.value("call").map(Into::into),
            message: self.value("message").map(|number| number.parse().unwrap()),
            after: None,
            last: self.has("last"),
            include_shared: self.has("include-shared"),
        }
    }

    /// A call that made one change stands for it.
    fn change(&self, project: &Project) -> ChangeId {
        let call = self.value("call").expect("a hunk is of a call's change");
        let filter = ChangeFilter { call: Some(call.into()), ..ChangeFilter::default() };
        project.changes(&filter).unwrap().last().expect("the call made a change").id
    }

    fn hunks(&self) -> Option<Vec<u32>> {
        let list = self.value("hunk")?;
        Some(list.split(',').map(|number| number.parse().unwrap()).collect())
    }

    pub(crate) fn options(&self, cascade: CascadePolicy) -> TakeBackOptions {
        TakeBackOptions {
            cascade: if self.has("cascade") { CascadePolicy::All } else { cascade },
            markers: self.has("markers"),
            across_git: self.has("across-git"),
        }
    }
}

/// Runs a verb; `false` if the language does not have it.
pub(crate) fn run_operation(test: &TestProject, verb: &str, rest: &str, seen: &mut String) -> bool {
    let words = StepWords::of(rest);
    if let ("undo" | "redo", Some(times)) =
        (verb, words.0.iter().find_map(|word| word.parse().ok()))
    {
        return (0..times).all(|_| run_operation(test, verb, "", seen));
    }
    let project = test.open();
    match plan_operation(test, &project, verb, &words) {
        Some(Ok(plan)) if words.has("dry") => print_plan(&project, &plan, seen),
        Some(Ok(plan)) => {
            let applied = project.apply(&plan, test.tick());
            print_applied(&project, applied, seen);
        }
        Some(Err(error)) => {
            if matches!(error, OperationError::NothingTo("undo")) {
                print_passed(&project.nothing_to_undo().unwrap().taken_back_by_git, seen);
            }
            print_error(&error, seen);
        }
        None => return run_unplanned(test, &project, verb, &words, seen),
    }
    true
}

/// Plans a verb of the fixture language without applying it.
pub fn plan_line(test: &TestProject, line: &str) -> Result<Plan, OperationError> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    plan_operation(test, &test.open(), verb, &StepWords::of(rest)).expect("a verb that has a plan")
}

fn plan_operation(
    test: &TestProject,
    project: &Project,
    verb: &str,
    words: &StepWords<'_>,
) -> Option<Result<Plan, OperationError>> {
    let at = test.tick();
    let (leave, agents) =
        (words.options(CascadePolicy::Leave), words.options(CascadePolicy::Agents));
    Some(match (verb, words.hunks()) {
        ("reject", Some(hunks)) => {
            project.plan_reject_hunks(words.change(project), &hunks, agents, at)
        }
        ("reject", None) => project.plan_reject(&words.selection(project), agents, at),
        ("rollback", Some(hunks)) => {
            project.plan_rollback_hunks(words.change(project), &hunks, leave, at)
        }
        ("rollback", None) => project.plan_rollback(&words.selection(project), leave, at),
        ("reject-hunks", _) => crate::review::plan_reject_hunks(test, project, words),
        ("undo", _) => project.plan_undo(leave, at).map(|(plan, _)| plan),
        ("redo", _) => project.plan_redo(leave, at).map(|(plan, _)| plan),
        ("restore", _) => {
            let paths = words.0[1..].iter().filter(|word| !is_option(word));
            let options = GoToOptions {
                paths: paths.map(|path| path.parse().unwrap()).collect(),
                exact: words.has("exact"),
                across_git: words.has("across-git"),
                ..GoToOptions::default()
            };
            let checkpoint = project.find_checkpoint(&test.checkpoint_id(words.0[0]));
            checkpoint.and_then(|checkpoint| project.plan_restore(&checkpoint, &options, at))
        }
        ("reset", _) => {
            project.plan_reset(&DialogId::from(words.0[0]), words.has("exact"), leave, at)
        }
        _ => return None,
    })
}

/// Runs a verb that needs no plan; `false` if the language does not have it.
fn run_unplanned(
    test: &TestProject,
    project: &Project,
    verb: &str,
    words: &StepWords<'_>,
    seen: &mut String,
) -> bool {
    let at = test.tick();
    match verb {
        "accept" => {
            let accepted = match words.hunks() {
                Some(hunks) => project.accept_hunks(words.change(project), &hunks, at),
                None => project.accept(&words.selection(project), at),
            };
            let counts = accepted.map(|done| (done.changes.len(), done.already.len()));
            match counts {
                Ok((new, old)) => writeln!(seen, "accepted {new}, already {old}").unwrap(),
                Err(error) => print_error(&error, seen),
            }
        }
        "checkpoint" => {
            let dialog = words.0.get(1).map(|id| DialogId::from(*id));
            let made = project.checkpoint(Some(words.0[0]), dialog.as_ref(), at).unwrap();
            test.name_checkpoint(words.0[0], made.id);
        }
        "approve" => {
            let approved = project.approve(&words.0[0].into(), None, at).unwrap();
            let (name, next) = (approved.session.name(), approved.new_session);
            let _ = writeln!(seen, "approved {name}: {} changes, now {next}", approved.changes);
        }
        "session" => print_session(project, &words.0[0].into(), at, seen),
        "recover" => {
            let how =
                if words.has("resume") { RecoveryChoice::Resume } else { RecoveryChoice::Undo };
            print_applied(project, project.recover(how, at), seen);
        }
        "cat" => {
            let name = words.0.join(" ");
            let found = std::fs::read(test.root().join(&name));
            let shown = found.map_or("absent".into(), |bytes| bytes.escape_ascii().to_string());
            let _ = writeln!(seen, "{name}: {shown}");
        }
        "statuses" => print_statuses(project, seen),
        "pending" => print_pending(project, at, seen),
        _ => return false,
    }
    true
}

fn is_option(word: &str) -> bool {
    matches!(word, "exact" | "across-git" | "dry")
}

pub(crate) fn print_error(error: &OperationError, seen: &mut String) {
    let _ = writeln!(seen, "error: {error}");
}

fn print_applied(
    project: &Project,
    applied: Result<AppliedPlan, OperationError>,
    seen: &mut String,
) {
    match applied {
        Ok(applied) => {
            if applied.operation.is_none() {
                let _ = writeln!(seen, "nothing done");
            }
            print_plan(project, &applied.plan, seen);
        }
        Err(error) => print_error(&error, seen),
    }
}

fn print_passed(steps: &[String], seen: &mut String) {
    for step in steps {
        let _ = writeln!(seen, "passed {step}: git took it back");
    }
}

fn print_plan(project: &Project, plan: &Plan, seen: &mut String) {
    print_passed(&plan.passed, seen);
    for file in &plan.files {
        let _ = write!(seen, "{}: {:?} {}", plan.kind, file.path, file.action.as_str());
        let _ = write!(seen, " {}", file.reason.code());
        if !file.blockers.is_empty() {
            let by = |id: &ChangeId| {
                let change = project.change(*id).unwrap().unwrap();
                change.call.map_or_else(|| change.actor.to_string(), |call| call.0)
            };
            let blockers: Vec<_> = file.blockers.iter().map(by).collect();
            let _ = write!(seen, " blocked by {}", blockers.join(" "));
        }
        seen.push('\n');
    }
    for dialog in &plan.crosses {
        let _ = writeln!(seen, "crosses {dialog}");
    }
}

fn print_session(project: &Project, dialog: &DialogId, at: i64, seen: &mut String) {
    project.refresh(at).unwrap();
    let status = project.session_status(dialog).unwrap();
    let active = status.active.as_ref().map_or("none".into(), WorkSession::name);
    let all: Vec<_> = status.sessions.iter().map(|s| format!("{} {}", s.name(), s.state)).collect();
    let _ = writeln!(seen, "{active} active ({})", all.join(", "));
    for file in &status.changed_files {
        let what = match (file.base.is_absent(), file.now.is_absent()) {
            (true, _) => "added",
            (_, true) => "deleted",
            _ => "modified",
        };
        let _ = writeln!(seen, "  {:?} {what}", file.path);
    }
}

fn print_pending(project: &Project, at: i64, seen: &mut String) {
    project.refresh(at).unwrap();
    let status = project.status().unwrap();
    let rows = status.dialogs.iter().flat_map(|dialog| &dialog.agents).flat_map(|(_, rows)| rows);
    let there = rows.map(|row| ("pending", row));
    for (what, row) in there.chain(status.taken_back_by_git.iter().map(|row| ("by git", row))) {
        let (added, removed) = (row.added.unwrap_or(0), row.removed.unwrap_or(0));
        let _ = writeln!(seen, "{what} {:?} +{added} -{removed}", row.path);
    }
}

fn print_statuses(project: &Project, seen: &mut String) {
    let filter =
        ChangeFilter { actors: vec![Actor::Agent], oldest_first: true, ..ChangeFilter::default() };
    for change in project.changes(&filter).unwrap() {
        let call = change.call.map_or_else(|| "shared".to_owned(), |call| call.0);
        let approved = if change.approved.is_some() { " approved" } else { "" };
        let _ = writeln!(seen, "{call} {:?} {}{approved}", change.path, change.status);
    }
}
