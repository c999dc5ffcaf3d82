//! The run that something happens in: an agent with hooks, or another run.
//!
//! Whatever reports itself needs no `retake run` around it, which would claim the person's edits
//! as well. So with the first report the call of the run around it ends.

use anyhow::Result;
use retake_engine::Project;
use retake_engine::model::{CallId, DialogId, Event, EventKind};
use serde_json::Value;

/// Tells what is run in which dialog that is.
pub(super) const VARIABLE: &str = "RETAKE_RUN";
/// The one call of such a dialog.
pub(super) const CALL: &str = "run";

/// The end of the call of the run around this, if there is one and its call is open.
pub(in crate::commands) fn end_of_the_run_around(project: &Project) -> Result<Option<Event>> {
    let Ok(dialog) = std::env::var(VARIABLE) else { return Ok(None) };
    let dialog = DialogId(dialog);
    if !project.is_open(&dialog, &CallId::from(CALL))? {
        return Ok(None);
    }
    Ok(Some(Event::new(dialog, end(None))))
}

/// The end of the call of a run.
pub(super) fn end(ok: Option<bool>) -> EventKind {
    let (call, tool, input) = (Some(CallId::from(CALL)), None, Value::Null);
    EventKind::ToolEnd { call, ok, tool, input, background: false, task: None }
}
