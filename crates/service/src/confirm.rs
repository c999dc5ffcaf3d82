//! Confirmations that a plan needs from a person before it is applied.
//!
//! Invariant: what replaces a person's edits, takes back what was not named, touches files of
//! another dialog, deletes files or is known to become half of what was asked for is never done
//! without a yes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use retake_engine::model::{Actor, Change, ChangeId, OperationKind, ProjectPath};
use retake_engine::{FileAction, Plan, PlanReason, Project, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::describe::{self, DialogNames, FormatName, list_names, plural};

/// Maximum names that one question lists; the rest is counted.
const MAX_LISTED_NAMES: usize = 10;

/// One thing that a person must say yes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Question)]
pub struct Confirmation {
    /// A stable name.
    #[schema(value_type = String, example = "deletes_files")]
    pub code: Cow<'static, str>,
    /// What it is about, a sentence without its full stop.
    pub text: String,
}

/// Returns the confirmations that this plan needs; `show` escapes foreign names.
pub fn confirmations(
    project: &Project,
    plan: &Plan,
    show: FormatName,
) -> Result<Vec<Confirmation>, StoreError> {
    let mut questions = Vec::new();
    let mut ask = |code: &'static str, text: Option<String>| {
        questions.extend(text.map(|text| Confirmation { code: code.into(), text }));
    };
    let replaced: Vec<_> = plan.replaces_user_edits().map(|file| &file.path).collect();
    ask("replaces_your_edits", describe_paths("It replaces edits of yours", &replaced, show));
    let cascaded: BTreeSet<_> = plan.cascaded.iter().copied().collect();
    let taken: BTreeSet<_> = plan.writes().flat_map(|file| file.changes.iter().copied()).collect();
    let taken = load_changes(project, &taken)?;
    let is_yours = |change: &&Change| matches!(change.actor, Actor::User | Actor::Unknown);
    let yours = taken.iter().filter(is_yours).map(|change| describe_change(change, show));
    ask(
        "takes_your_edits",
        describe_list("It takes back edits of yours", &yours.collect::<Vec<_>>()),
    );
    let others = taken.iter().filter(|change| cascaded.contains(&change.id) && !is_yours(change));
    let names = DialogNames::load(project, show)?;
    let by = |change| format!("{} by {}", describe_change(change, show), names.maker(change));
    ask(
        "cascades",
        describe_list("It takes back later changes too", &others.map(by).collect::<Vec<_>>()),
    );
    if !plan.crosses.is_empty() {
        let crossed: Vec<_> = plan.crosses.iter().map(|id| names.dialog(id)).collect();
        let text =
            format!("{} changed some of these files, too", list_names(&crossed, MAX_LISTED_NAMES));
        ask("crosses_dialogs", Some(text));
    }
    if plan.since.is_some() {
        let mut dialogs: Vec<_> = Vec::new();
        for id in taken.iter().filter_map(|change| change.dialog.as_ref()) {
            let name = names.dialog(id);
            if !dialogs.contains(&name) {
                dialogs.push(name);
            }
        }
        ask("several_dialogs", describe_dialogs(plan, &dialogs));
    }
    if plan.writes().next().is_some() {
        let stuck = plan.left().filter(|file| matches!(file.reason, PlanReason::NotWritable(_)));
        let stuck: Vec<_> = stuck.map(|file| &file.path).collect();
        ask("leaves_unwritable", describe_paths("It leaves what cannot be written", &stuck, show));
    }
    if matches!(plan.kind, OperationKind::Restore | OperationKind::Reset) {
        let deleted = plan.writes().filter(|file| file.action == FileAction::Delete);
        let deleted: Vec<_> = deleted.map(|file| &file.path).collect();
        let count = plural(deleted.len() as u64, "file", "files");
        ask("deletes_files", describe_paths(&format!("It removes {count}"), &deleted, show));
    }
    Ok(questions)
}

/// Describes what a choice by time takes back of several dialogs; of a single one it needs no yes.
fn describe_dialogs(plan: &Plan, dialogs: &[String]) -> Option<String> {
    let removed = plan.writes().filter(|file| file.action == FileAction::Delete).count();
    let removed = if removed == 0 { String::new() } else { format!(", {removed} of them removed") };
    let files = plural(plan.writes().count() as u64, "file", "files");
    let count = dialogs.len();
    let what = format!("It takes back work of {count} dialogs in {files}{removed}");
    (count > 1).then(|| format!("{what}: {}", list_names(dialogs, MAX_LISTED_NAMES)))
}

fn load_changes(project: &Project, ids: &BTreeSet<ChangeId>) -> Result<Vec<Change>, StoreError> {
    let mut found = Vec::new();
    for id in ids {
        found.extend(project.change(*id)?);
    }
    Ok(found)
}

fn describe_paths(what: &str, paths: &[&ProjectPath], show: FormatName) -> Option<String> {
    describe_list(what, &paths.iter().map(|path| show(path.as_bytes())).collect::<Vec<_>>())
}

fn describe_change(change: &Change, show: FormatName) -> String {
    format!("{} in {}", change.id, describe::describe_path(change, show))
}

fn describe_list(what: &str, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("{what}: {}", list_names(names, MAX_LISTED_NAMES)))
}
