//! A formatter's rewrite belongs to the change that it formats.
//!
//! A rewrite joins the change only if it happens before the turn's end, touches none of the lines
//! that the agent left alone, and changes nothing but layout: white space, quotes, commas,
//! semicolons, brackets. A rewrite that changes a letter may be the person's correction, so it
//! stays the person's.

use retake_model::{Actor, Change, ChangeMethod, Confidence, PathState};
use retake_store::{Batch, StoreError};

use crate::attribution::observed::ObservedChange;
use crate::attribution::rules::Attribution;
use crate::content::comparable::comparable_content;
use crate::content::diff::{added_lines, touched_lines};

/// The attribution to the change that this one formats, if it does.
pub(crate) fn attribute_formatting(
    batch: &Batch<'_>,
    seen: &ObservedChange,
) -> Result<Option<Attribution>, StoreError> {
    let last = match batch.last_change_of(&seen.path) {
        Ok(Some(last)) => last,
        // A damaged row is no reason to record nothing.
        Ok(None) | Err(StoreError::Row(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    if last.actor != Actor::Agent || last.after != seen.before {
        return Ok(None);
    }
    let (Some(dialog), Some(call)) = (&last.dialog, batch.call_that_made(last.id)?) else {
        return Ok(None);
    };
    let turn_goes_on =
        batch.dialog(dialog)?.is_some_and(|dialog| dialog.turn_open && dialog.turns == call.turn);
    if !turn_goes_on || !is_layout_of(batch, &last, &seen.after)? {
        return Ok(None);
    }
    Ok(Some(Attribution {
        actor: Actor::Agent,
        confidence: Confidence::Late,
        calls: vec![call.row],
        dialog: last.dialog.clone(),
        agent: last.agent.clone(),
        turn: Some(call.turn),
        method: ChangeMethod::Command,
        joins: Some(last.joins.unwrap_or(last.id)),
        made_by: None,
    }))
}

fn is_layout_of(batch: &Batch<'_>, last: &Change, after: &PathState) -> Result<bool, StoreError> {
    // Another mode is no layout: a formatter leaves it alone.
    let is_rewrite = match (last.after.known(), after.known()) {
        (Some(written), Some(formatted)) => {
            (written.kind, written.mode) == (formatted.kind, formatted.mode)
        }
        _ => false,
    };
    if !is_rewrite {
        return Ok(false);
    }
    let [original, written, formatted] = [&last.before, &last.after, after];
    let content = |side| comparable_content(batch, side);
    let contents = [content(original)?, content(written)?, content(formatted)?];
    let [Some(original), Some(written), Some(formatted)] = contents else { return Ok(false) };
    Ok(same_words(&written, &formatted)
        && touches_only_written_lines(&original, &written, &formatted))
}

/// Returns true if both are equal, but for layout.
pub(crate) fn same_words(written: &[u8], formatted: &[u8]) -> bool {
    tokens(written).eq(tokens(formatted))
}

/// Tokens: names and numbers whole, every other character by itself, layout left out.
fn tokens(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || !b.is_ascii();
    let layout = |b: u8| b.is_ascii_whitespace() || b"'\"`,;(){}[]".contains(&b);
    bytes
        .chunk_by(move |&a, &b| is_name(a) && is_name(b))
        .filter(move |word| !word.first().is_some_and(|&b| layout(b)))
}

/// Returns true if the rewrite touches only lines that the agent wrote.
fn touches_only_written_lines(original: &[u8], written: &[u8], formatted: &[u8]) -> bool {
    let own = added_lines(original, written);
    let (removed, insertions) = touched_lines(written, formatted);
    // A new line may stand before or after a line of the agent's.
    let beside =
        |at: &u32| own.contains(at) || at.checked_sub(1).is_some_and(|at| own.contains(&at));
    removed.iter().all(|line| own.contains(line)) && insertions.iter().all(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_of_own_lines_only() {
        let original = b"fn a() {}\nfn b() {}\n";
        let written = b"fn a() {}\nfn c( ){ x }\nfn b() {}\n";
        assert!(touches_only_written_lines(
            original,
            written,
            b"fn a() {}\nfn c() {\n    x\n}\nfn b() {}\n"
        ));
        assert!(!touches_only_written_lines(
            original,
            written,
            b"fn a() { }\nfn c( ){ x }\nfn b() {}\n"
        ));
        assert!(same_words(b"x = 'a'", b"x = \"a\";\n"));
        assert!(same_words(b"x=1", b"x = 1"));
        assert!(!same_words(b"x = 1", b"x = 2"));
        assert!(!same_words(b"[1, 2]", b"[12]"));
    }
}
