//! JSON shapes of the export: DM-9, DM-10 and DM-11.

use std::io::Write;

use retake_model::{Change, ChangeMethod, ChangeType, PathState, ProjectPath};
use retake_store::{Dialog, StoreError};
use serde_json::{Value, json};

use super::content::SnapshotWriter;
use retake_model::iso_8601;

/// One change with both contents (DM-9, DM-10).
pub(super) fn write_snapshot(
    writer: &mut SnapshotWriter<'_>,
    dialog: &Dialog,
    change: &Change,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let mut head = change_head(change);
    head["sessionId"] = dialog.id.0.as_str().into();
    let head = head.to_string();
    // The contents are streamed between the head and the end of the object.
    write!(out, "{},\n\"before\":", &head[..head.len() - 1])?;
    writer.write_side(change.from_path(), &change.before, out)?;
    out.write_all(b",\n\"after\":")?;
    writer.write_side(&change.path, &change.after, out)?;
    write!(out, ",\n\"metadata\":{}}}\n", change_metadata(change))?;
    Ok(())
}

/// One change in the index (DM-11).
pub(super) fn index_row(change: &Change) -> Value {
    let size = |side: &PathState| side.known().map(|state| state.size);
    let lines = change.lines.as_ref();
    let mut row = change_head(change);
    row["stats"] = json!({
        "linesAdded": lines.map(|lines| lines.added),
        "linesRemoved": lines.map(|lines| lines.removed),
        "sizeBefore": size(&change.before),
        "sizeAfter": size(&change.after),
    });
    row
}

fn change_head(change: &Change) -> Value {
    let mut head = json!({
        "id": change.id.to_string(),
        "filePath": change.path.to_string(),
        "operation": operation_name(change),
        "timestamp": iso_8601(change.at),
        "agentId": change.agent.as_ref().map_or("unknown", |id| id.0.as_str()),
    });
    if let Some(old) = &change.old_path {
        head["oldFilePath"] = old.to_string().into();
    }
    if let Some(hex) = hex_if_needed(&change.path) {
        head["filePathHex"] = hex.into();
    }
    head
}

/// Exact bytes beside a path that text cannot carry.
pub(super) fn hex_if_needed(path: &ProjectPath) -> Option<String> {
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    path.as_str().is_none().then(|| path.as_bytes().iter().fold(String::new(), hex))
}

/// `write`, `patch` or `delete`, whatever did it.
fn operation_name(change: &Change) -> &'static str {
    match (change.method, change.change_type) {
        (_, ChangeType::Delete) => "delete",
        (ChangeMethod::Write, _) | (_, ChangeType::Create) => "write",
        (ChangeMethod::Patch, _) => "patch",
        _ if change.lines.is_some() => "patch",
        _ => "write",
    }
}

fn change_metadata(change: &Change) -> Value {
    let mut metadata = json!({ "changeType": change.change_type.as_str() });
    if let Some(lines) = &change.lines {
        metadata["linesAdded"] = lines.added.into();
        metadata["linesRemoved"] = lines.removed.into();
        if let (Some(first), Some(last)) = (lines.hunks.first(), lines.hunks.last())
            && operation_name(change) == "patch"
        {
            metadata["startLine"] = first.new_start.into();
            let end = last.new_start + last.new_lines;
            metadata["endLine"] = end.saturating_sub(1).max(first.new_start).into();
        }
    }
    if operation_name(change) == "write" {
        metadata["isOverwrite"] = (!change.before.is_absent()).into();
    }
    metadata
}

/// A text as JSON.
pub(super) fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}
