//! The names of scopes: one spelling for the command line, HTTP and user interfaces.

use retake_engine::model::{AgentId, CallId, ChangeId, DialogId, ErrorCode};
use retake_engine::{Project, ReviewScope, ScopeChanges, Selection};

use crate::ApiError;

/// The names of scopes, each with what it means.
pub const SCOPE_FORMS: [(&str, &str); 9] = [
    ("all", "all changes of agents that wait for approval"),
    ("last-turn", "the newest turn of an agent"),
    ("unseen", "changes of agents since you closed a review or said that all is seen"),
    ("DIALOG", "a dialog, by its name: claude-2"),
    ("DIALOG:N", "the answer to message N of a dialog: claude-2:3"),
    ("call:ID", "one tool call"),
    ("agent:ID", "one agent of a dialog"),
    ("c12,c13", "these changes"),
    ("everything", "your own changes, too"),
];

/// Finds the scope of a name; `None` if it names none.
pub fn find_scope(project: &Project, name: &str) -> Result<Option<ScopeChanges>, ApiError> {
    let chosen = |selection| Ok(Some(ScopeChanges::Chosen(Box::new(selection))));
    match name {
        "all" => return Ok(Some(ScopeChanges::AllAgents)),
        "last-turn" | "last" => return Ok(Some(ScopeChanges::LastTurn)),
        "unseen" => return Ok(Some(ScopeChanges::SinceSeen)),
        "everything" => return Ok(Some(ScopeChanges::Everything)),
        _ => {}
    }
    if let Some(changes) = parse_changes(name) {
        return chosen(Selection { changes, ..Selection::default() });
    }
    if let Some(seq) = name.strip_prefix("after:").and_then(parse_seq) {
        return Ok(Some(ScopeChanges::After(seq)));
    }
    if let Some(call) = name.strip_prefix("call:") {
        let (dialog, call) = split_dialog(project, call)?;
        let call = Some(CallId::from(call));
        return chosen(Selection { dialog, call, ..Selection::default() });
    }
    if let Some(agent) = name.strip_prefix("agent:") {
        let (dialog, agent) = split_dialog(project, agent)?;
        let agent = Some(AgentId(agent.to_owned()));
        return chosen(Selection { dialog, agent, ..Selection::default() });
    }
    let (text, message) = match name.rsplit_once(':') {
        Some((text, number)) => match number.parse::<u64>() {
            Ok(number) => (text, Some(number)),
            Err(_) => (name, None),
        },
        None => (name, None),
    };
    let text = text.strip_prefix("dialog:").unwrap_or(text);
    let Some(dialog) = find_dialog(project, text)? else { return Ok(None) };
    if let Some(number) = message {
        let has = project.dialog(&dialog)?.map_or(0, |dialog| dialog.turns);
        if !(1..=has).contains(&number) {
            let message = format!("{text} has no message {number}; it has {has}");
            let hint = "`retake dialogs` counts them as turns";
            return Err(ApiError::new(ErrorCode::UnknownMessage, message, hint));
        }
    }
    chosen(Selection { dialog: Some(dialog), message, ..Selection::default() })
}

/// Names a scope, so that [`find_scope`] finds it again.
pub fn format_scope(scope: &ReviewScope) -> String {
    match &scope.changes {
        ScopeChanges::AllAgents => "all".to_owned(),
        ScopeChanges::LastTurn => "last-turn".to_owned(),
        ScopeChanges::SinceSeen => "unseen".to_owned(),
        ScopeChanges::After(seq) => format!("after:{seq}"),
        ScopeChanges::Everything => "everything".to_owned(),
        ScopeChanges::Chosen(selection) => format_selection(selection),
    }
}

fn format_selection(selection: &Selection) -> String {
    if !selection.changes.is_empty() {
        let ids: Vec<_> = selection.changes.iter().map(ToString::to_string).collect();
        return ids.join(",");
    }
    let dialog = selection.dialog.as_ref().map(|dialog| format!("dialog:{dialog}"));
    let within = |what: &str, id: &str| match &dialog {
        Some(dialog) => format!("{what}:{dialog}/{id}"),
        None => format!("{what}:{id}"),
    };
    match (&selection.call, &selection.agent, selection.message) {
        (Some(call), ..) => within("call", &call.0),
        (_, Some(agent), _) => within("agent", &agent.0),
        (_, _, Some(number)) => format!("{}:{number}", dialog.unwrap_or_default()),
        _ => dialog.unwrap_or_else(|| "all".to_owned()),
    }
}

/// Splits `dialog:ID/REST`; without a dialog all of it is the rest.
fn split_dialog<'t>(
    project: &Project,
    text: &'t str,
) -> Result<(Option<DialogId>, &'t str), ApiError> {
    let Some(rest) = text.strip_prefix("dialog:") else { return Ok((None, text)) };
    let Some((dialog, rest)) = rest.split_once('/') else { return Ok((None, text)) };
    Ok((find_dialog(project, dialog)?, rest))
}

/// The dialog of a name, an id or the start of one; an error if several begin so.
fn find_dialog(project: &Project, text: &str) -> Result<Option<DialogId>, ApiError> {
    // Every id begins with nothing.
    if text.is_empty() {
        return Ok(None);
    }
    match project.dialogs_by_name(text)?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        several => {
            let names: Vec<_> = several.iter().map(ToString::to_string).collect();
            let message = format!("several dialogs begin with '{text}': {}", names.join(", "));
            let hint = "name one with more letters";
            Err(ApiError::new(ErrorCode::NeedsDialog, message, hint))
        }
    }
}

/// A place in the order, which the record counts with signed numbers.
fn parse_seq(text: &str) -> Option<u64> {
    text.parse().ok().filter(|seq| i64::try_from(*seq).is_ok())
}

fn parse_changes(text: &str) -> Option<Vec<ChangeId>> {
    text.split(',').map(|id| id.starts_with('c').then(|| id.parse().ok())?).collect()
}
