//! Writes agents' changes by file: the records of DM-1…DM-7 with their contents.

use std::collections::BTreeMap;
use std::io::Write;

use retake_model::{Actor, Change, ChangeId, ChangeMethod, PathState, ProjectPath};
use retake_seam::dir::ConfinedDir;
use retake_store::{ChangeFilter, StoreError};
use serde_json::{Value, json};

use super::content::SnapshotWriter;
use super::documents::{hex_if_needed, json_string};
use super::{SnapshotCounts, SnapshotExport};
use crate::content::comparable::comparable_content;
use crate::query::file_record::{FileRecord, replaced_text};
use crate::query::record_name::RecordNames;
use retake_model::iso_8601;

/// Writes `file-changes.json`: from each file's absolute path to its records, oldest first.
pub(super) fn write_file_changes(
    export: &mut SnapshotExport<'_>,
    dir: &ConfinedDir,
) -> Result<(), StoreError> {
    let filter = ChangeFilter {
        dialogs: export.options.dialog.clone().into_iter().collect(),
        actors: vec![Actor::Agent],
        ..ChangeFilter::default()
    };
    let mut paths: BTreeMap<ProjectPath, Vec<ChangeId>> = BTreeMap::new();
    let mut names = RecordNames::default();
    export.project.each_change(filter, &mut |change| {
        names.count_change(change);
        paths.entry(change.path.clone()).or_default().push(change.id);
        Ok(())
    })?;
    let mut out = dir.file("file-changes.json")?;
    out.write_all(b"{")?;
    let mut comma = "\n";
    for (path, ids) in paths {
        let root = export.project.root().join(path.to_string());
        write!(out, "{comma}{}:[", json_string(&root.to_string_lossy()))?;
        comma = ",\n";
        let mut inner = "\n";
        for id in ids {
            let Some(change) = export.project.change(id)? else { continue };
            out.write_all(inner.as_bytes())?;
            inner = ",\n";
            write_record(export, &names, &change, &mut out)?;
        }
        out.write_all(b"\n]")?;
    }
    out.write_all(b"\n}\n")?;
    Ok(out.finish()?)
}

fn write_record(
    export: &mut SnapshotExport<'_>,
    names: &RecordNames,
    change: &Change,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let record = FileRecord { tool_call_id: names.name_of(change), change: change.clone() };
    let path = export.project.root().join(change.path.to_string());
    let mut head = json!({
        "file_path": path.to_string_lossy(),
        "agent_id": record.agent_id(),
        "change_type": record.change_type(),
        "tool_name": record.tool_name(),
        "timestamp": iso_8601(change.at),
        "status": record.status(),
        "tool_call_id": record.tool_call_id,
        "message_index": change.message_index,
        "added_ranges": ranges_json(&record.added_ranges()),
        "removed_ranges": ranges_json(&record.removed_ranges()),
    });
    if let Some(old) = &change.old_path {
        head["old_file_path"] = old.to_string().into();
    }
    if let Some(hex) = hex_if_needed(&change.path) {
        head["file_path_hex"] = hex.into();
    }
    let head = head.to_string();
    out.write_all(&head.as_bytes()[..head.len() - 1])?;
    write_contents(export, change, out)?;
    Ok(out.write_all(b"}")?)
}

/// `old_content`, `pre_tool_content` and `new_content`; in base64 if one of them is no text.
fn write_contents(
    export: &mut SnapshotExport<'_>,
    change: &Change,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let project = export.project;
    // What was left out or is missing was counted with the snapshots.
    let mut uncounted = SnapshotCounts::default();
    let mut writer = SnapshotWriter {
        store: project.store(),
        with_secrets: export.options.with_secrets,
        done: &mut uncounted,
    };
    if writer.is_masked(&change.path) || writer.is_masked(change.from_path()) {
        let nothing =
            br#","old_content":null,"pre_tool_content":null,"new_content":null,"masked":true"#;
        return Ok(out.write_all(nothing)?);
    }
    let mut sound = [&change.before, &change.after].map(|side| side.known().copied());
    let mut as_text = true;
    for side in &mut sound {
        let Some(state) = side else { continue };
        match writer.probe(state)? {
            Some(probe) => as_text &= probe.is_text,
            None => *side = None,
        }
    }
    let [before, after] = sound;
    out.write_all(b",\"old_content\":")?;
    match (change.method, &change.lines) {
        (ChangeMethod::Patch, Some(_)) if as_text => {
            let old = comparable_content(project.store(), &change.before)?;
            let old = old.and_then(|bytes| String::from_utf8(bytes).ok());
            let old = old.map(|text| replaced_text(change, &text));
            out.write_all(Value::from(old).to_string().as_bytes())?;
        }
        _ => write_optional(&writer, before.as_ref(), as_text, out)?,
    }
    out.write_all(b",\"pre_tool_content\":")?;
    write_optional(&writer, before.as_ref(), as_text, out)?;
    out.write_all(b",\"new_content\":")?;
    write_optional(&writer, after.as_ref(), as_text, out)?;
    if !as_text {
        out.write_all(br#","encoding":"base64""#)?;
    }
    let unknown = |side: &PathState| matches!(side, PathState::Unknown);
    if unknown(&change.before) || unknown(&change.after) {
        out.write_all(br#","captured":false"#)?;
    }
    Ok(())
}

fn write_optional(
    writer: &SnapshotWriter<'_>,
    state: Option<&retake_model::FileState>,
    as_text: bool,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    match state {
        Some(state) => writer.content(state, as_text, out),
        None => Ok(out.write_all(b"null")?),
    }
}

fn ranges_json(ranges: &[(u32, u32)]) -> Vec<Value> {
    let range = |(start, end): &(u32, u32)| json!({ "startLine": start, "endLine": end });
    ranges.iter().map(range).collect()
}
