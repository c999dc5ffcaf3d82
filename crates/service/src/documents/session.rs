//! Work sessions: what a dialog did since its last approval (STAT-1…STAT-8, API-8…API-11).
//!
//! Where a file's earlier content is not known, or is no text, `diff` and `base_content` are null:
//! nothing is made up.

use std::io;

use retake_engine::iso_8601;
use retake_engine::model::{self, DialogId, SessionState};
use retake_engine::{
    self as engine, DiffBody, DiffOptions, MAX_DIFF_BYTES, Project, SessionFile, StoreError,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::enum_schemas;
use super::path::{LocatePaths as _, PathName};
use crate::patch;
use crate::{ApiError, FileContent, Masking};

/// Maximum bytes of differences and contents in one status.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// What a session is called: `session_2`.
pub(super) fn session_name(number: u64) -> String {
    format!("session_{number}")
}

/// What a dialog did since its last approval (STAT-1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SessionStatus)]
pub struct SessionStatusDocument {
    /// The work session that collects changes.
    #[schema(example = "session_2")]
    pub active_session: Option<String>,
    /// Its branch in the exported repository.
    #[schema(example = "refs/heads/session_2")]
    pub session_ref: Option<String>,
    /// Whether the dialog did something that is not approved.
    pub has_unapproved: bool,
    /// When it was last approved.
    pub last_approved_at: Option<String>,
    /// The files that differ because of what it did.
    pub changed_files: Vec<ChangedFile>,
}

impl SessionStatusDocument {
    /// The status of a dialog, with what is told of each of its changed files.
    pub fn new(status: &engine::SessionStatus, changed_files: Vec<ChangedFile>) -> Self {
        let active = status.active.as_ref();
        Self {
            active_session: active.map(model::WorkSession::name),
            session_ref: active.map(model::WorkSession::ref_name),
            has_unapproved: status.has_unapproved(),
            last_approved_at: status.last_approved_at.map(iso_8601),
            changed_files,
        }
    }

    /// The status of a dialog.
    pub fn read(project: &Project, dialog: &DialogId, masking: Masking) -> Result<Self, ApiError> {
        let status = project.session_status(dialog)?;
        let mut left = MAX_TEXT_BYTES;
        let mut files = Vec::new();
        for file in &status.changed_files {
            let texts = if left > 0 { FileTexts::Written } else { FileTexts::Counted };
            let file = ChangedFile::read_as(project, file, masking, texts)?;
            left = left.saturating_sub(file.text_bytes());
            files.push(file);
        }
        Ok(Self::new(&status, files))
    }
}

/// A file that a dialog changed and nobody approved (STAT-3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangedFile {
    /// The path.
    #[serde(flatten)]
    pub path: PathName,
    /// The path before, if the dialog moved it here; the old path is listed, too, as deleted.
    #[serde(default)]
    pub old_path: Option<String>,
    /// The first line that differs, as lines are numbered now; null if none does.
    #[serde(default)]
    pub line: Option<u32>,
    /// `added`, `modified` or `deleted`.
    pub status: String,
    /// Lines added; 0 for binary files.
    pub additions: u64,
    /// Lines removed; 0 for binary files.
    pub deletions: u64,
    /// The difference, with its two header lines; only of text that was modified. In a long list
    /// the texts of later files are left out.
    pub diff: Option<String>,
    /// The whole text without the dialog's work; null for added, binary and large files.
    pub base_content: Option<String>,
    /// Whether it holds a NUL byte.
    pub is_binary: bool,
    /// Whether it is larger than 1 MB.
    pub is_too_large: bool,
}

impl ChangedFile {
    fn text_bytes(&self) -> usize {
        [&self.diff, &self.base_content].into_iter().flatten().map(String::len).sum()
    }

    /// Reads what is told of a file.
    pub fn read(
        project: &Project,
        file: &SessionFile,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        Self::read_as(project, file, masking, FileTexts::Written)
    }

    fn read_as(
        project: &Project,
        file: &SessionFile,
        masking: Masking,
        texts: FileTexts,
    ) -> Result<Self, StoreError> {
        let status = match (file.base.is_absent(), file.now.is_absent()) {
            (true, _) => "added",
            (_, true) => "deleted",
            _ => "modified",
        };
        let size = |side: &model::PathState| side.known().map_or(0, |state| state.size);
        let mut changed = Self {
            path: PathName::from(&file.path).located(project.root()),
            old_path: file.old_path.as_ref().map(ToString::to_string),
            line: None,
            status: status.to_owned(),
            additions: 0,
            deletions: 0,
            diff: None,
            base_content: None,
            is_binary: false,
            is_too_large: [&file.base, &file.now].iter().any(|side| size(side) > MAX_DIFF_BYTES),
        };
        if changed.is_too_large {
            changed.is_binary = is_large_binary(project, file)?;
        } else {
            let base = match &file.base_content {
                Some(merged) => Some(merged.clone()),
                None => content(project, &file.base)?,
            };
            let now = content(project, &file.now)?;
            changed.compare(file, base.as_deref(), now.as_deref());
            if texts == FileTexts::Written && !changed.is_binary {
                let path = masking.masking_path(project, &file.path, &file.now)?;
                let masked = MaskedName { masking, path: &path };
                changed.write_texts(file, base, now.as_deref(), masked);
            }
        }
        Ok(changed)
    }

    fn compare(&mut self, file: &SessionFile, base: Option<&[u8]>, now: Option<&[u8]>) {
        self.is_binary = [base, now].into_iter().flatten().any(|bytes| bytes.contains(&0));
        if self.is_binary || !is_captured(file) {
            return;
        }
        let none = DiffOptions { context: Some(0), ..DiffOptions::default() };
        let (old, new) = (base.unwrap_or_default(), now.unwrap_or_default());
        if let DiffBody::Lines(lines) = DiffBody::compare(old, new, &none) {
            (self.additions, self.deletions) = patch::count_lines(&lines);
            self.line = now.and_then(|_| patch::first_changed_line(&lines));
        }
    }

    fn write_texts(
        &mut self,
        file: &SessionFile,
        base: Option<Vec<u8>>,
        now: Option<&[u8]>,
        MaskedName { masking, path }: MaskedName<'_>,
    ) {
        if !is_captured(file) {
            return;
        }
        let (old, new) = (base.as_deref().unwrap_or_default(), now.unwrap_or_default());
        if self.status == "modified"
            && let DiffBody::Lines(mut lines) = DiffBody::between(old, new)
            && !lines.is_empty()
        {
            let content = |bytes| FileContent { path, bytes };
            masking.mask_diff(content(old), content(new), &mut lines);
            self.diff = Some(patch::render_unified(file.path.as_bytes(), &lines));
        }
        let base = base.and_then(|base| String::from_utf8(base).ok());
        self.base_content = base.map(|base| masking.mask_content(path, &base).into_owned());
    }
}

/// Whether secrets are masked, and the name by which a file's content is.
#[derive(Clone, Copy)]
struct MaskedName<'a> {
    masking: Masking,
    path: &'a model::ProjectPath,
}

fn is_captured(file: &SessionFile) -> bool {
    let is_unknown = |side: &model::PathState| matches!(side, model::PathState::Unknown);
    !is_unknown(&file.base) && !is_unknown(&file.now)
}

/// Whether the texts of a file are written, or only its lines are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileTexts {
    Written,
    Counted,
}

/// The exact content of a side; none if it did not exist or was not captured.
fn content(project: &Project, side: &model::PathState) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(if matches!(side, model::PathState::Unknown) { None } else { project.content(side)? })
}

/// Large content is looked through for a NUL byte without being kept.
fn is_large_binary(project: &Project, file: &SessionFile) -> Result<bool, StoreError> {
    let mut seen = NulDetector(file.base_content.as_ref().is_some_and(|bytes| bytes.contains(&0)));
    let base = if file.base_content.is_some() { None } else { file.base.known() };
    for state in base.into_iter().chain(file.now.known()) {
        project.read_object_into(&state.oid, &mut seen)?;
    }
    Ok(seen.0)
}

struct NulDetector(bool);

impl io::Write for NulDetector {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 |= bytes.contains(&0);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One round of approval of a dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = WorkSession)]
pub struct WorkSessionDocument {
    /// Its name.
    #[schema(example = "session_2")]
    pub session: String,
    /// Its branch in the exported repository.
    #[schema(example = "refs/heads/session_2")]
    pub session_ref: String,
    /// Where it stands.
    #[schema(schema_with = enum_schemas::session_state)]
    pub state: SessionState,
    /// When it was opened.
    #[schema(format = DateTime)]
    pub opened_at: String,
    /// When it was approved or reset.
    pub closed_at: Option<String>,
    /// The approved state that it began from.
    pub base: String,
    /// Its newest checkpoint.
    pub tip: String,
    /// What approving it made.
    pub approved_commit: Option<String>,
    /// What the person said when approving.
    pub message: Option<String>,
}

impl WorkSessionDocument {
    /// A work session.
    pub fn new(session: &model::WorkSession, masking: Masking) -> Self {
        Self {
            session: session.name(),
            session_ref: session.ref_name(),
            state: session.state,
            opened_at: iso_8601(session.opened_at),
            closed_at: session.closed_at.map(iso_8601),
            base: session.base.to_string(),
            tip: session.tip.to_string(),
            approved_commit: session.approved_commit.map(|id| id.to_string()),
            message: masking.mask_optional(session.message.as_deref()),
        }
    }
}

/// The work sessions of a dialog, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = WorkSessions)]
pub struct WorkSessionList {
    /// The dialog; null if there is none yet.
    pub dialog: Option<String>,
    /// Its sessions.
    pub sessions: Vec<WorkSessionDocument>,
}

impl WorkSessionList {
    /// The work sessions of a dialog.
    pub fn new(dialog: &DialogId, sessions: &[model::WorkSession], masking: Masking) -> Self {
        let document = |one: &model::WorkSession| WorkSessionDocument::new(one, masking);
        Self { dialog: Some(dialog.0.clone()), sessions: sessions.iter().map(document).collect() }
    }
}

/// What is sent to approve (API-9).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = ApproveRequest)]
pub struct ApproveDialogBody {
    /// What the person says to it.
    pub message: Option<String>,
}

/// What approving did (API-9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApproveResult {
    /// The approval, a commit on `main`.
    pub approved_commit: String,
    /// The work session that is active now.
    #[schema(example = "session_3")]
    pub new_session: String,
    /// Checkpoints in the approved session.
    pub commits_approved: u64,
}

impl From<&engine::Approval> for ApproveResult {
    fn from(approved: &engine::Approval) -> Self {
        Self {
            approved_commit: approved.commit.to_string(),
            new_session: approved.new_session.clone(),
            commits_approved: approved.checkpoints,
        }
    }
}

/// What resetting did (API-10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResetResult {
    /// The approved state that the dialog's work was taken back to.
    pub reset_to: String,
    /// The work session that is active now.
    #[schema(example = "session_3")]
    pub new_session: String,
}

/// What is sent to restore (API-11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RestoreRequest)]
pub struct RestoreDialogBody {
    /// The checkpoint; the start of its id is enough.
    pub checkpoint_id: String,
}

/// What restoring did (API-11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestoreResult {
    /// The checkpoint.
    pub restored_to: String,
    /// The checkpoint that names the restored state; null if nothing had to change.
    pub new_checkpoint: Option<String>,
}
