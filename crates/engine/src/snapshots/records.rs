//! Writes agents' changes by file: the records of DM-1…DM-7 with their contents.

use std::collections::BTreeMap;
use std::io::Write;

use retake_model::{Actor, Change, ChangeId, Means, ProjectPath, Side};
use retake_seam::dir::Dir;
use retake_store::{ChangeFilter, StoreError};
use serde_json::{Value, json};

use super::content::Writer;
use super::documents::{hex_if_needed, text};
use super::{Export, Snapshots};
use crate::content::comparable;
use crate::file_record::{FileRecord, Names, replaced_text};
use crate::iso::iso;

/// Writes `file-changes.json`: from each file's absolute path to its records, oldest first.
pub(super) fn write(export: &mut Export<'_>, dir: &Dir) -> Result<(), StoreError> {
    let filter = ChangeFilter {
        dialog: export.options.dialog.clone(),
        actor: Some(Actor::Agent),
        ..ChangeFilter::default()
    };
    let mut paths: BTreeMap<ProjectPath, Vec<ChangeId>> = BTreeMap::new();
    let mut names = Names::default();
    export.project.each_change(filter, &mut |change| {
        names.note(change);
        paths.entry(change.path.clone()).or_default().push(change.id);
        Ok(())
    })?;
    let mut out = dir.file("file-changes.json")?;
    out.write_all(b"{")?;
    let mut comma = "\n";
    for (path, ids) in paths {
        let root = export.project.root().join(path.to_string());
        write!(out, "{comma}{}:[", text(&root.to_string_lossy()))?;
        comma = ",\n";
        let mut inner = "\n";
        for id in ids {
            let Some(change) = export.project.change(id)? else { continue };
            out.write_all(inner.as_bytes())?;
            inner = ",\n";
            record(export, &names, &change, &mut out)?;
        }
        out.write_all(b"\n]")?;
    }
    out.write_all(b"\n}\n")?;
    Ok(out.finish()?)
}

fn record(
    export: &mut Export<'_>,
    names: &Names,
    change: &Change,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let record = FileRecord { tool_call_id: names.of(change), change: change.clone() };
    let path = export.project.root().join(change.path.to_string());
    let mut head = json!({
        "file_path": path.to_string_lossy(),
        "agent_id": record.agent_id(),
        "change_type": record.change_type(),
        "tool_name": record.tool_name(),
        "timestamp": iso(change.at),
        "status": record.status(),
        "tool_call_id": record.tool_call_id,
        "message_index": change.message_index,
        "added_ranges": ranges(&record.added_ranges()),
        "removed_ranges": ranges(&record.removed_ranges()),
    });
    if let Some(old) = &change.old_path {
        head["old_file_path"] = old.to_string().into();
    }
    if let Some(hex) = hex_if_needed(&change.path) {
        head["file_path_hex"] = hex.into();
    }
    let head = head.to_string();
    out.write_all(&head.as_bytes()[..head.len() - 1])?;
    contents(export, change, out)?;
    Ok(out.write_all(b"}")?)
}

/// `old_content`, `pre_tool_content` and `new_content`; in base64 if one of them is no text.
fn contents(
    export: &mut Export<'_>,
    change: &Change,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let project = export.project;
    // What was left out or is missing was counted with the snapshots.
    let mut uncounted = Snapshots::default();
    let mut writer = Writer {
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
    match (change.operation, &change.lines) {
        (Means::Patch, Some(_)) if as_text => {
            let old = comparable(project.store(), &change.before)?;
            let old = old.and_then(|bytes| String::from_utf8(bytes).ok());
            let old = old.map(|text| replaced_text(change, &text));
            out.write_all(Value::from(old).to_string().as_bytes())?;
        }
        _ => optional(&writer, before.as_ref(), as_text, out)?,
    }
    out.write_all(b",\"pre_tool_content\":")?;
    optional(&writer, before.as_ref(), as_text, out)?;
    out.write_all(b",\"new_content\":")?;
    optional(&writer, after.as_ref(), as_text, out)?;
    if !as_text {
        out.write_all(br#","encoding":"base64""#)?;
    }
    let unknown = |side: &Side| matches!(side, Side::Unknown);
    if unknown(&change.before) || unknown(&change.after) {
        out.write_all(br#","captured":false"#)?;
    }
    Ok(())
}

fn optional(
    writer: &Writer<'_>,
    state: Option<&retake_model::FileState>,
    as_text: bool,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    match state {
        Some(state) => writer.content(state, as_text, out),
        None => Ok(out.write_all(b"null")?),
    }
}

fn ranges(ranges: &[(u32, u32)]) -> Vec<Value> {
    let range = |(start, end): &(u32, u32)| json!({ "startLine": start, "endLine": end });
    ranges.iter().map(range).collect()
}
