//! Changes: one file's step from `before` to `after`.

use retake_engine::model::{
    self, Actor, ChangeMethod, ChangeStatus, ChangeType, Confidence, FileKind, FileState, Millis,
    ProjectPath,
};
use retake_engine::{Project, StoreError, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{hex, hex_if_needed};
use super::{
    AddedAgainDocument, CallerDocument, DiffRenderer, DiffView, FileDiffDocument, LocatePaths as _,
    MessageDocument, enum_schemas,
};
use crate::Masking;

/// One file's step from `before` to `after`, made by an actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Change)]
pub struct ChangeDocument {
    /// Its name: `c` and its `seq`.
    #[schema(example = "c12")]
    pub id: String,
    /// Its place in the project's order.
    pub seq: u64,
    /// The dialog, if an agent made it.
    pub dialog: Option<String>,
    /// The agent, if exactly one can have made it.
    pub agent: Option<String>,
    /// The product of the agent.
    #[schema(example = "claude-code")]
    pub kind: Option<String>,
    /// The turn of its dialog: how many messages the person had sent.
    pub turn: Option<u64>,
    /// The place in the agent's message history of the message that asked for the call.
    pub message_index: Option<u64>,
    /// Who made it.
    #[schema(schema_with = enum_schemas::actor)]
    pub actor: Actor,
    /// How sure that is, strongest first.
    #[schema(schema_with = enum_schemas::confidence)]
    pub confidence: Confidence,
    /// The agent's tool call, if exactly one can have made it.
    pub call: Option<String>,
    /// The tool's name as the agent gave it.
    pub tool: Option<String>,
    /// The model that asked for the call, as the agent names it; null if that is not known (yet).
    #[serde(default)]
    pub model: Option<String>,
    /// Every call that can have made it.
    pub candidates: Vec<CandidateDocument>,
    /// The path after it; the path before it if it was deleted.
    pub path: String,
    /// The path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// The absolute path, beneath the project's root as it is known now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "/home/me/project/src/main.rs")]
    pub file_path: Option<String>,
    /// The first line that it changed, as lines are numbered after it, from 1; null if it changed
    /// none, or the file is gone.
    #[serde(default)]
    pub line: Option<u32>,
    /// The path before a rename.
    pub old_path: Option<String>,
    /// The old path's exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path_hex: Option<String>,
    /// What happened to the path.
    #[schema(schema_with = enum_schemas::change_type)]
    pub change_type: ChangeType,
    /// How it happened.
    #[schema(schema_with = enum_schemas::change_method)]
    pub operation: ChangeMethod,
    /// The state before; null if the file did not exist.
    pub before: Option<SideDocument>,
    /// The state after; null if the file is gone.
    pub after: Option<SideDocument>,
    /// Lines added; null for what has no lines.
    pub added: Option<u32>,
    /// Lines removed; null for what has no lines.
    pub removed: Option<u32>,
    /// The places where lines changed; null for what has no lines, and for later changes of a long
    /// list: the change itself has them.
    pub hunks: Option<Vec<HunkDocument>>,
    /// What was decided about it; null for what no agent did, on which nobody decides.
    #[schema(schema_with = enum_schemas::review_status)]
    pub status: Option<ChangeStatus>,
    /// When it was recorded.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// The same in milliseconds since the epoch.
    pub at: Millis,
    /// The change that this one belongs to: a formatter's rewrite of it.
    pub joins: Option<String>,
    /// The operation of Retake that made it; null for what others did.
    #[schema(example = "o7")]
    pub made_by: Option<String>,
    /// The rejections that stand and whose lines it brings again.
    #[serde(default)]
    pub again: Vec<AddedAgainDocument>,
    /// Who reported it or asked for it; null for what earlier versions recorded.
    pub said_by: Option<CallerDocument>,
}

impl From<&model::Change> for ChangeDocument {
    fn from(change: &model::Change) -> Self {
        let lines = change.lines.as_ref();
        Self {
            id: change.id.to_string(),
            seq: change.id.0,
            dialog: change.dialog.as_ref().map(|id| id.0.clone()),
            agent: change.agent.as_ref().map(|id| id.0.clone()),
            kind: change.kind.clone(),
            turn: change.turn,
            message_index: change.message_index,
            actor: change.actor,
            confidence: change.confidence,
            call: change.call.as_ref().map(|id| id.0.clone()),
            tool: change.tool.clone(),
            model: change.model.clone(),
            candidates: change.candidates.iter().map(CandidateDocument::from).collect(),
            path: change.path.to_string(),
            path_hex: hex_if_needed(&change.path),
            file_path: None,
            line: change.first_changed_line(),
            old_path: change.old_path.as_ref().map(ToString::to_string),
            old_path_hex: change.old_path.as_ref().and_then(hex_if_needed),
            change_type: change.change_type,
            operation: change.method,
            before: SideDocument::of(&change.before),
            after: SideDocument::of(&change.after),
            added: lines.map(|lines| lines.added),
            removed: lines.map(|lines| lines.removed),
            hunks: lines
                .filter(|lines| has_hunks(lines))
                .map(|lines| HunkDocument::numbered(&lines.hunks)),
            status: change.review_status(),
            timestamp: iso_8601(change.at),
            at: change.at,
            joins: change.joins.map(|id| id.to_string()),
            made_by: change.made_by.map(|id| id.to_string()),
            again: Vec::new(),
            said_by: change.said_by.as_ref().map(CallerDocument::from),
        }
    }
}

/// Documents with changes: each change gets the rejections whose lines it brings again.
pub trait LoadRepeats: Sized {
    /// Loads the rejections.
    fn load_repeats(&mut self, project: &Project, masking: Masking) -> Result<(), StoreError>;

    /// The document with the rejections.
    fn with_repeats(mut self, project: &Project, masking: Masking) -> Result<Self, StoreError> {
        self.load_repeats(project, masking)?;
        Ok(self)
    }
}

impl LoadRepeats for ChangeDocument {
    fn load_repeats(&mut self, project: &Project, masking: Masking) -> Result<(), StoreError> {
        let repeated = project.rejections_repeated_by(model::ChangeId(self.seq))?;
        self.again = AddedAgainDocument::read(project, &repeated, masking)?;
        Ok(())
    }
}

impl<T: LoadRepeats> LoadRepeats for Vec<T> {
    fn load_repeats(&mut self, project: &Project, masking: Masking) -> Result<(), StoreError> {
        self.iter_mut().try_for_each(|one| one.load_repeats(project, masking))
    }
}

/// Returns false if the hunks were left out of a long list.
fn has_hunks(lines: &model::LineChanges) -> bool {
    !lines.hunks.is_empty() || (lines.added == 0 && lines.removed == 0)
}

/// A call that can have made a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Candidate)]
pub struct CandidateDocument {
    /// The dialog.
    pub dialog: String,
    /// The agent within the dialog.
    pub agent: String,
    /// The product of the agent.
    #[serde(default)]
    pub kind: Option<String>,
    /// The model that asked for the call, as the agent names it.
    #[serde(default)]
    pub model: Option<String>,
    /// The agent's id of the call.
    pub call: String,
    /// The tool's name as the agent gave it.
    pub tool: String,
}

impl From<&model::CandidateCall> for CandidateDocument {
    fn from(candidate: &model::CandidateCall) -> Self {
        Self {
            dialog: candidate.dialog.0.clone(),
            agent: candidate.agent.0.clone(),
            kind: candidate.kind.clone(),
            model: candidate.model.clone(),
            call: candidate.call.0.clone(),
            tool: candidate.tool.clone(),
        }
    }
}

/// A place where lines changed; line numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Hunk)]
pub struct HunkDocument {
    /// The number by which it is named, from 1.
    pub number: u32,
    /// First line on the old side.
    pub old_start: u32,
    /// Lines on the old side.
    pub old_lines: u32,
    /// First line on the new side.
    pub new_start: u32,
    /// Lines on the new side.
    pub new_lines: u32,
}

impl HunkDocument {
    fn numbered(hunks: &[model::Hunk]) -> Vec<Self> {
        let hunk = |(number, hunk): (u32, &model::Hunk)| Self {
            number,
            old_start: hunk.old_start,
            old_lines: hunk.old_lines,
            new_start: hunk.new_start,
            new_lines: hunk.new_lines,
        };
        (1..).zip(hunks).map(hunk).collect()
    }
}

/// One side of a change that existed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schema(as = Side)]
pub enum SideDocument {
    /// It was not captured; the gaps say why.
    Unknown,
    /// A regular file.
    File(SideState),
    /// A symbolic link; its content is the target's text.
    Link(SideState),
}

/// A captured state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SideState {
    /// The content's id, which is git's.
    #[schema(example = "5626abf0f72e58d7a153368ba57db4c673c0e171")]
    pub oid: String,
    /// The content's length in bytes.
    pub size: u64,
    /// The permission bits in octal digits.
    #[schema(example = "0644")]
    pub mode: String,
}

impl SideDocument {
    /// A side; none if the file did not exist.
    pub fn of(side: &model::PathState) -> Option<Self> {
        match side {
            model::PathState::Absent => None,
            model::PathState::Unknown => Some(Self::Unknown),
            model::PathState::Known(state) => Some(Self::captured(state)),
        }
    }

    fn captured(state: &FileState) -> Self {
        let captured =
            SideState { oid: state.oid.to_string(), size: state.size, mode: octal(state.mode) };
        match state.kind {
            FileKind::File => Self::File(captured),
            FileKind::Link => Self::Link(captured),
        }
    }
}

/// Permission bits as people know them: `0644`.
pub fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

/// The exact content of a side: as text if it is UTF-8, else in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Content)]
pub struct ContentDocument {
    /// Its state.
    #[serde(flatten)]
    pub state: SideDocument,
    /// The content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The content, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
}

impl ContentDocument {
    /// The content of a state of a path; one that is no text is left out if its file usually
    /// holds secrets.
    pub fn new(path: &ProjectPath, state: &FileState, bytes: &[u8], masking: Masking) -> Self {
        let (text, hex) = match std::str::from_utf8(bytes) {
            Ok(text) => (Some(masking.mask_content(path, text).into_owned()), None),
            Err(_) if masking.is_secret_file(path) => (None, None),
            Err(_) => (None, Some(hex(bytes))),
        };
        Self { state: SideDocument::captured(state), text, hex }
    }
}

/// The content of one side of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SideContent {
    /// The change.
    pub change: String,
    /// `before` or `after`.
    pub side: String,
    /// The content.
    pub content: ContentDocument,
}

/// Changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Changes)]
pub struct ChangeList {
    /// The changes.
    pub changes: Vec<ChangeDocument>,
}

impl From<&[model::Change]> for ChangeList {
    fn from(changes: &[model::Change]) -> Self {
        Self { changes: changes.iter().map(ChangeDocument::from).collect() }
    }
}

impl LoadRepeats for ChangeList {
    fn load_repeats(&mut self, project: &Project, masking: Masking) -> Result<(), StoreError> {
        self.changes.load_repeats(project, masking)
    }
}

/// A change, the difference that it made, and what was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShownChange {
    /// The change.
    pub change: ChangeDocument,
    /// The difference that it made.
    pub diff: FileDiffDocument,
    /// The message of the person that it was made for.
    pub message: Option<MessageDocument>,
    /// What the agent said with it.
    pub said: Option<String>,
}

impl ShownChange {
    /// Everything about a change.
    pub fn read(
        project: &Project,
        change: &model::Change,
        view: impl Into<DiffView>,
        masking: Masking,
    ) -> Result<Self, StoreError> {
        let mut renderer = DiffRenderer::for_one_file(project, view.into(), masking);
        let diff = renderer.render_net(&change.into())?;
        let message = project.message_for_change(change)?;
        let said = project.agent_text_for_change(change)?;
        let shown = Self {
            change: ChangeDocument::from(change).with_repeats(project, masking)?,
            diff,
            message: message.map(|message| MessageDocument::new(&message, masking)),
            said: masking.mask_optional(said.as_deref()),
        };
        Ok(shown.located(project.root()))
    }
}
