//! Notices in the reply to an event, beside those about the event itself.
//!
//! A reply may reach a model: names are quoted.

use std::collections::HashSet;

use retake_model::foreign_text::{escape, quote_name};
use retake_model::{Gap, Operation, ProjectPath};
use retake_store::{Batch, StoreError};

use crate::scan::context::ScanContext;
use crate::scan::observation::Observation;
use crate::submission::{Notice, NoticeCode};

/// Maximum gaps and paths named in the reply to an event; more are only counted.
const MAX_NAMED: usize = 5;

/// Notice of ignored files that were created while a call was open: they are in no change and no
/// checkpoint.
pub(super) fn ignored_files_notice(
    observation: &Observation,
    context: &ScanContext<'_>,
) -> Option<Notice> {
    let call = context.calls.live.iter().find(|live| context.may_have_changed_files(live))?;
    // A folder that contains recorded files is not ignored.
    let is_left_out =
        |path: &&ProjectPath| !observation.changes.iter().any(|seen| seen.path.is_beneath(path));
    let made: Vec<_> = observation.new_ignored.iter().filter(is_left_out).collect();
    let names: Vec<_> =
        made.iter().take(MAX_NAMED).map(|path| quote_name(path.as_bytes())).collect();
    let more = made.len().saturating_sub(MAX_NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (command, names) = (escape(call.describe()), names.join(", "));
    let message = format!("ignored, so not recorded, although `{command}` made it: {names}{rest}");
    (!made.is_empty()).then(|| Notice::new(NoticeCode::Ignored, message))
}

/// Until it is finished or taken back nothing else can be undone, so each reply has the notice.
pub(super) fn interrupted_notice(batch: &Batch<'_>) -> Result<Option<Notice>, StoreError> {
    let notice = |operation: Operation| {
        let (id, title) = (operation.id, escape(&operation.title));
        let message = format!("operation {id} ({title}) was interrupted; see `retake recover`");
        Notice::new(NoticeCode::Interrupted, message)
    };
    Ok(batch.unfinished_operation()?.map(notice))
}

/// A gap is reported once, when it opens; after that `status` lists it, as it does if there are
/// many.
pub(super) fn new_gap_notices(
    batch: &Batch<'_>,
    observation: &Observation,
) -> Result<Vec<Notice>, StoreError> {
    if observation.gaps.is_empty() {
        return Ok(Vec::new());
    }
    let on_record = batch.gaps()?;
    let known: HashSet<_> = on_record.iter().map(|(gap, _)| (&gap.path, gap.reason)).collect();
    let is_new = |gap: &&Gap| !known.contains(&(&gap.path, gap.reason));
    let new: Vec<_> = observation.gaps.iter().filter(is_new).collect();
    let text = |gap: &&Gap| {
        let (path, reason) = (quote_name(gap.path.as_bytes()), gap.reason.as_str());
        format!("{path} is not protected ({reason}): {}", escape(&gap.detail))
    };
    let more = new.len().saturating_sub(MAX_NAMED);
    let rest = format!("{more} more are not protected; see `retake status`");
    let messages = new.iter().take(MAX_NAMED).map(text).chain((more > 0).then_some(rest));
    Ok(messages.map(|message| Notice::new(NoticeCode::Gap, message)).collect())
}
