//! `retake session`: what a dialog did since its last approval.
//!
//! The document has exactly the fields of STAT-1…STAT-8. Where a file's earlier
//! content is not known, or is no text, `diff` and `base_content` are null: nothing
//! is made up.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{DialogId, Side, WorkSession};
use retake_engine::{
    DiffBody, DiffLine, Project, SessionFile, SessionStatus, TOO_LARGE_TO_SHOW, VerbError,
};
use serde_json::{Value, json};

use crate::args::Session;
use crate::context::{Context, Exit, dialog_or_latest};
use crate::describe::{name, plural, short_id};
use crate::escape::escape;
use crate::json;
use crate::output::Style;
use crate::quote::git_name;
use crate::table::{Cell, Table};
use crate::time::{iso, local};

pub(super) fn run(context: &Context, options: &Session) -> Result<Exit> {
    let (project, _) = context.open_and_look()?;
    let dialog = match dialog_or_latest(&project, options.dialog.as_deref()) {
        Err(error) if matches!(error.downcast_ref(), Some(VerbError::NoDialog)) => {
            return no_dialog(context, options.all);
        }
        other => other?,
    };
    if options.all {
        return sessions(context, &dialog, &project.store().work_sessions(&dialog)?);
    }
    let status = project.session_status(&dialog)?;
    let mut files = Vec::new();
    for file in &status.changed_files {
        files.push(ChangedFile::read(&project, file)?);
    }
    if context.json {
        context.out.json(&document(&status, &files))?;
    } else {
        context.out.paged(told(context, &status, &files).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn no_dialog(context: &Context, all: bool) -> Result<Exit> {
    if !context.json {
        context.out.text("No agent has worked in this project yet.\n")?;
    } else if all {
        context.out.json(&json!({ "dialog": null, "sessions": [] }))?;
    } else {
        context.out.json(&json!({
            "active_session": null, "session_ref": null, "has_unapproved": false,
            "last_approved_at": null, "changed_files": [],
        }))?;
    }
    Ok(Exit::Done)
}

/// A file of the session with what is told of it.
struct ChangedFile<'a> {
    file: &'a SessionFile,
    status: &'static str,
    added: u64,
    removed: u64,
    /// The difference, with its two header lines; only of text that was modified.
    diff: Option<String>,
    base_content: Option<String>,
    is_binary: bool,
    is_too_large: bool,
}

impl<'a> ChangedFile<'a> {
    fn read(project: &Project, file: &'a SessionFile) -> Result<Self> {
        let status = match (file.base.is_absent(), file.now.is_absent()) {
            (true, _) => "added",
            (_, true) => "deleted",
            _ => "modified",
        };
        let size = |side: &Side| side.known().map_or(0, |state| state.size);
        let mut told = Self {
            file,
            status,
            added: 0,
            removed: 0,
            diff: None,
            base_content: None,
            is_binary: false,
            is_too_large: [&file.base, &file.now].iter().any(|side| size(side) > TOO_LARGE_TO_SHOW),
        };
        if told.is_too_large {
            told.is_binary = is_large_binary(project, file)?;
        } else {
            let base = match &file.base_content {
                Some(merged) => Some(merged.clone()),
                None => content(project, &file.base)?,
            };
            told.compare(base, content(project, &file.now)?.as_deref());
        }
        Ok(told)
    }

    fn compare(&mut self, base: Option<Vec<u8>>, now: Option<&[u8]>) {
        self.is_binary =
            [base.as_deref(), now].into_iter().flatten().any(|bytes| bytes.contains(&0));
        if self.is_binary || self.file.base == Side::Unknown || self.file.now == Side::Unknown {
            return;
        }
        let (old, new) = (base.as_deref().unwrap_or_default(), now.unwrap_or_default());
        if let DiffBody::Lines(lines) = DiffBody::between(old, new) {
            (self.added, self.removed) = json::count(&lines);
            let is_shown = self.status == "modified" && !lines.is_empty();
            self.diff = is_shown.then(|| unified(self.file.path.as_bytes(), &lines));
        }
        self.base_content = base.and_then(|base| String::from_utf8(base).ok());
    }
}

/// The exact content of a side; none if it did not exist or was not captured.
fn content(project: &Project, side: &Side) -> Result<Option<Vec<u8>>> {
    Ok(if *side == Side::Unknown { None } else { project.content(side)? })
}

/// Large content is looked through for a NUL byte without being kept.
fn is_large_binary(project: &Project, file: &SessionFile) -> Result<bool> {
    let mut seen = NulSeen(file.base_content.as_ref().is_some_and(|bytes| bytes.contains(&0)));
    let base = if file.base_content.is_some() { None } else { file.base.known() };
    for state in base.into_iter().chain(file.now.known()) {
        project.store().read_into(&state.oid, &mut seen)?;
    }
    Ok(seen.0)
}

struct NulSeen(bool);

impl std::io::Write for NulSeen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 |= bytes.contains(&0);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The difference as standard parsers read it (STAT-7).
fn unified(path: &[u8], lines: &[DiffLine]) -> String {
    let mut text = Vec::new();
    for (sign, prefix) in [("---", "a/"), ("+++", "b/")] {
        text.extend(format!("{sign} {}\n", git_name(prefix, path, false)).bytes());
    }
    for line in lines {
        let header;
        let (sign, content): (&str, &[u8]) = match line {
            DiffLine::Header(place) => {
                header = place.to_string();
                ("", header.as_bytes())
            }
            DiffLine::Context(content) => (" ", content),
            DiffLine::Removed(content) => ("-", content),
            DiffLine::Added(content) => ("+", content),
            DiffLine::NoNewline => ("", b"\\ No newline at end of file"),
        };
        text.extend(sign.bytes());
        text.extend(content);
        text.push(b'\n');
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn document(status: &SessionStatus, files: &[ChangedFile<'_>]) -> Value {
    let active = status.active.as_ref();
    json!({
        "active_session": active.map(WorkSession::name),
        "session_ref": active.map(WorkSession::ref_name),
        "has_unapproved": status.has_unapproved(),
        "last_approved_at": status.last_approved_at.map(iso),
        "changed_files": files.iter().map(file_document).collect::<Vec<_>>(),
    })
}

fn file_document(told: &ChangedFile<'_>) -> Value {
    let mut document = json::path(&told.file.path);
    document["status"] = told.status.into();
    document["additions"] = told.added.into();
    document["deletions"] = told.removed.into();
    document["diff"] = told.diff.as_deref().into();
    document["base_content"] = told.base_content.as_deref().into();
    document["is_binary"] = told.is_binary.into();
    document["is_too_large"] = told.is_too_large.into();
    document
}

fn told(context: &Context, status: &SessionStatus, files: &[ChangedFile<'_>]) -> String {
    let dialog = short_id(&status.dialog.0);
    let session = status.active.as_ref().map_or_else(|| "no session".to_owned(), WorkSession::name);
    let approved = status.last_approved_at.map_or_else(
        || "nothing is approved yet".to_owned(),
        |at| format!("last approved {}", local(at)),
    );
    let head = format!("Dialog {dialog}, {session} ({approved})");
    let mut text = context.out.paint(&head, Style::Bold) + "\n";
    if files.is_empty() {
        text.push_str("Nothing that it did waits for approval.\n");
        return text;
    }
    let mut table = Table::default();
    for file in files {
        let (letter, style) = match file.status {
            "added" => ("A", Style::Good),
            "deleted" => ("D", Style::Bad),
            _ => ("M", Style::Warn),
        };
        table.row([
            Cell::new(letter, style),
            Cell::new(name(&file.file.path), Style::Plain),
            Cell::right(format!("+{}", file.added), Style::Good),
            Cell::right(format!("-{}", file.removed), Style::Bad),
            Cell::new(remark(file), Style::Dim),
        ]);
    }
    text.push_str(&table.render("  ", context.out.colour));
    let count = plural(files.len() as u64, "file", "files");
    let _ = writeln!(text, "{count}; `retake approve` keeps this, `retake reset` takes it back.");
    text
}

fn remark(file: &ChangedFile<'_>) -> &'static str {
    match (file.is_binary, file.is_too_large, file.file.base) {
        (_, _, Side::Unknown) => "what it was before is not known",
        (true, _, _) => "binary",
        (_, true, _) => "too large to show",
        _ => "",
    }
}

fn sessions(context: &Context, dialog: &DialogId, sessions: &[WorkSession]) -> Result<Exit> {
    if context.json {
        let list: Vec<_> = sessions.iter().map(session_document).collect();
        context.out.json(&json!({ "dialog": dialog.0, "sessions": list }))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::default();
    for session in sessions {
        let commit = session.approved_commit.map(|id| id.to_string()[..8].to_owned());
        table.row([
            Cell::new(session.name(), Style::Mark),
            Cell::new(session.state.as_str(), Style::Plain),
            Cell::new(local(session.opened_at), Style::Dim),
            Cell::new(session.closed_at.map_or_else(|| "-".to_owned(), local), Style::Dim),
            Cell::new(commit.unwrap_or_else(|| "-".to_owned()), Style::Mark),
            Cell::new(session.message.as_deref().map_or_else(String::new, escape), Style::Plain),
        ]);
    }
    context.out.paged(table.render("", context.out.colour).as_bytes())?;
    Ok(Exit::Done)
}

fn session_document(session: &WorkSession) -> Value {
    json!({
        "session": session.name(),
        "session_ref": session.ref_name(),
        "state": session.state.as_str(),
        "opened_at": iso(session.opened_at),
        "closed_at": session.closed_at.map(iso),
        "base": session.base.to_string(),
        "tip": session.tip.to_string(),
        "approved_commit": session.approved_commit.map(|id| id.to_string()),
        "message": session.message,
    })
}
