//! Agents' changes by file: the records of DM-1…DM-7.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use retake_model::{
    Actor, Change, ChangeId, ChangeStatus, ChangeType, Hunk, Means, ProjectPath, Side,
};
use retake_seam::dir::Dir;
use retake_store::{ChangeFilter, StoreError};
use serde_json::{Value, json};

use super::content::Writer;
use super::documents::{hex_if_needed, iso, text};
use super::{Export, Snapshots};
use crate::content::comparable;
use crate::tool::{ToolKind, kind_of};

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
    let path = export.project.root().join(change.path.to_string());
    let mut head = json!({
        "file_path": path.to_string_lossy(),
        "agent_id": change.agent.as_ref().map_or("unknown", |id| id.0.as_str()),
        "change_type": change_type(change),
        "tool_name": change.tool.as_deref().map(canonical),
        "timestamp": iso(change.at),
        "status": status(change.status),
        "tool_call_id": names.of(change),
        "message_index": change.message_index,
        "added_ranges": ranges(change, |hunk| (hunk.new_start, hunk.new_lines)),
        "removed_ranges": ranges(change, |hunk| (hunk.old_start, hunk.old_lines)),
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
        (Means::Patch, Some(lines)) if as_text => {
            let old = comparable(project.store(), &change.before)?;
            let old = old.and_then(|bytes| replaced(&bytes, &lines.hunks));
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

/// The lines that were replaced, from the first to the last (DM-5).
fn replaced(old: &[u8], hunks: &[Hunk]) -> Option<String> {
    let (first, last) = (hunks.first()?, hunks.last()?);
    let from = first.old_start as usize - 1;
    let to = last.old_start as usize - 1 + last.old_lines as usize;
    let lines: Vec<&[u8]> = old.split_inclusive(|&byte| byte == b'\n').collect();
    let lines = lines.get(from..to.max(from))?;
    String::from_utf8(lines.concat()).ok()
}

fn ranges(change: &Change, side: impl Fn(&Hunk) -> (u32, u32)) -> Vec<Value> {
    let hunks = change.lines.as_ref().map_or(&[][..], |lines| &lines.hunks);
    let range = |(start, lines): (u32, u32)| {
        (lines > 0).then(|| json!({ "startLine": start, "endLine": start + lines - 1 }))
    };
    hunks.iter().filter_map(|hunk| range(side(hunk))).collect()
}

/// Three words for five (DM-2): a moved file and one with other permissions are modified.
fn change_type(change: &Change) -> &'static str {
    match change.change_type {
        ChangeType::Create => "create",
        ChangeType::Delete => "delete",
        ChangeType::Modify | ChangeType::Rename | ChangeType::Mode => "modify",
    }
}

/// Three words for four (DM-2): what was taken back is rejected.
fn status(status: ChangeStatus) -> &'static str {
    match status {
        ChangeStatus::Pending => "pending",
        ChangeStatus::Accepted => "accepted",
        ChangeStatus::Rejected | ChangeStatus::Reverted => "rejected",
    }
}

/// The name that all tools of a kind have (DET-4); an unknown one keeps its own.
fn canonical(tool: &str) -> String {
    match kind_of(tool) {
        ToolKind::Read => "Read".to_owned(),
        ToolKind::Write => "Write".to_owned(),
        ToolKind::Edit => "Edit".to_owned(),
        ToolKind::Delete => "Delete".to_owned(),
        ToolKind::Shell => "Bash".to_owned(),
        ToolKind::Other => tool.to_owned(),
    }
}

/// The unique names of records (DM-3).
#[derive(Default)]
struct Names {
    /// How many changes each call made.
    counts: HashMap<(String, String), u64>,
    /// Each change's number among those of its call.
    ordinals: HashMap<ChangeId, u64>,
    reconciled: u64,
}

impl Names {
    fn note(&mut self, change: &Change) {
        let count = match (key(change), change.operation) {
            (_, Means::Reconcile) => &mut self.reconciled,
            (Some(key), _) => self.counts.entry(key).or_default(),
            (None, _) => return,
        };
        self.ordinals.insert(change.id, *count);
        *count += 1;
    }

    fn of(&self, change: &Change) -> String {
        let ordinal = self.ordinals.get(&change.id).copied().unwrap_or(0);
        match (key(change), change.operation) {
            (_, Means::Reconcile) => {
                let dialog = change.dialog.as_ref().map_or("unknown", |id| id.0.as_str());
                let start: String = dialog.chars().take(8).collect();
                format!("reconcile-{start}-{ordinal}")
            }
            (Some(key), _) => match self.counts.get(&key) {
                Some(1) => key.1,
                _ => format!("{}:{ordinal}", key.1),
            },
            // Several calls can have made it.
            (None, _) => format!("shared-{}", change.id),
        }
    }
}

fn key(change: &Change) -> Option<(String, String)> {
    let [only] = change.candidates.as_slice() else { return None };
    Some((only.dialog.0.clone(), only.call.0.clone()))
}
