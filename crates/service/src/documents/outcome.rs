//! A plan and its outcome: one shape for both.

use retake_engine::model::{self, ChangeId, ObjectId, OperationKind};
use retake_engine::{self as engine, Plan, PlanReason, Project, RewindOutcome, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::enum_schemas;
use super::path::{LocatePaths as _, PathName};
use crate::confirm::{Confirmation, confirmations};
use crate::describe::DialogNames;
use crate::plan_words::{PlanDetails, PlanTense, action_label, undone_answers};
use crate::{ApiError, Masking, describe};

/// What an operation would do, or did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Outcome)]
pub struct OperationOutcome {
    /// The operation that it was; null if nothing was done.
    #[schema(example = "o12")]
    pub operation: Option<String>,
    /// What it is.
    #[schema(schema_with = enum_schemas::operation_kind)]
    pub kind: OperationKind,
    /// What it is called, for people.
    pub title: String,
    /// The dialog that it is about, if it is one.
    pub dialog: Option<String>,
    /// The checkpoint of everything as it was before.
    pub safety: Option<String>,
    /// The checkpoint that names a restored state.
    pub checkpoint: Option<String>,
    /// Whether only the plan was asked for.
    pub dry_run: bool,
    /// Whether everything that was asked for is (or would be) done.
    pub whole: bool,
    /// Each file that is concerned.
    pub files: Vec<PlannedFileDocument>,
    /// What goes along with it, in sentences: the answers whose work a restore undoes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consequences: Vec<String>,
    /// Other dialogs that changed some of these files later.
    pub crosses: Vec<String>,
    /// Changes that nobody asked for and that are taken back too, since they stand in the way.
    pub cascaded: Vec<String>,
    /// What becomes of the conversation, if it goes along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<RewoundConversation>,
    /// What is not protected: changes of it are not known, so they cannot be taken back.
    pub not_covered: Vec<UncoveredPath>,
    /// Where there is nothing to undo: the newest calls to which no change is ascribed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub considered: Vec<ConsideredCall>,
    /// Newer turns that an undo passes over, since git took them back; they count again if git
    /// brings them back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    /// Where there is nothing to undo: turns that an earlier undo left, and that are tried again in
    /// another way (`cascade`, `markers`, `across_git`), or once their files have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_before: Vec<String>,
    /// Where there is nothing else to undo: unreviewed changes that several dialogs can have made, which
    /// no undo takes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
    /// The stable names of what a person must say yes to before it is done.
    pub asks: Vec<String>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Confirmation>,
    /// Why it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ApiError>,
}

impl OperationOutcome {
    /// What a plan would do.
    pub fn planned(project: &Project, plan: &Plan) -> Result<Self, StoreError> {
        Ok(Self { dry_run: true, ..Self::done(project, plan, None, None)? })
    }

    /// A plan that was not carried out, and why.
    pub fn refused(project: &Project, plan: &Plan, why: ApiError) -> Result<Self, StoreError> {
        Ok(Self { error: Some(why), ..Self::done(project, plan, None, None)? })
    }

    /// The outcome of an applied plan.
    pub fn applied(project: &Project, applied: &engine::AppliedPlan) -> Result<Self, StoreError> {
        Self::done(project, &applied.plan, applied.operation.as_ref(), applied.checkpoint)
    }

    /// A plan that was carried out.
    pub fn done(
        project: &Project,
        plan: &Plan,
        operation: Option<&model::Operation>,
        checkpoint: Option<ObjectId>,
    ) -> Result<Self, StoreError> {
        let questions = confirmations(project, plan, describe::unescaped)?;
        let outcome = Self {
            operation: operation.map(|operation| operation.id.to_string()),
            kind: plan.kind,
            title: plan.title.clone(),
            dialog: plan.dialog.as_ref().map(|id| id.0.clone()),
            safety: operation.map(|operation| operation.safety.to_string()),
            checkpoint: checkpoint.map(|id| id.to_string()),
            dry_run: false,
            whole: plan.is_whole(),
            files: planned_files(project, plan)?,
            consequences: consequences(project, plan)?,
            crosses: plan.crosses.iter().map(|id| id.0.clone()).collect(),
            cascaded: id_strings(&plan.cascaded),
            conversation: plan.rewind.as_deref().map(RewoundConversation::from),
            not_covered: plan.not_covered.iter().map(UncoveredPath::from).collect(),
            considered: Vec::new(),
            passed: plan.passed.clone(),
            left_before: Vec::new(),
            shared: Vec::new(),
            asks: questions.iter().map(|question| question.code.clone().into_owned()).collect(),
            questions,
            error: None,
        };
        Ok(outcome.located(project.root()))
    }

    /// Without secrets, of which people may have written some into what it is called by.
    #[must_use]
    pub fn masked(mut self, masking: Masking) -> Self {
        self.title = masking.mask_text(&self.title).into_owned();
        if let Some(conversation) = &mut self.conversation {
            conversation.before = masking.mask_optional(conversation.before.as_deref());
        }
        for call in &mut self.considered {
            call.command = masking.mask_optional(call.command.as_deref());
        }
        self
    }

    /// That there is nothing to undo, with what was considered.
    pub fn nothing_to_undo(nothing: &engine::NothingToUndo) -> Self {
        Self {
            whole: nothing.is_whole(),
            not_covered: nothing.gaps.iter().map(UncoveredPath::from).collect(),
            considered: nothing.calls.iter().map(ConsideredCall::from).collect(),
            passed: nothing.taken_back_by_git.clone(),
            left_before: nothing.left.clone(),
            shared: nothing.shared.iter().map(|change| change.id.to_string()).collect(),
            ..Self::nothing(OperationKind::Undo)
        }
    }

    /// The same, marked as a dry run or not.
    #[must_use]
    pub fn with_dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// That there is nothing to undo, redo or reset.
    pub fn nothing(kind: OperationKind) -> Self {
        Self {
            operation: None,
            kind,
            title: format!("nothing to {kind}"),
            dialog: None,
            safety: None,
            checkpoint: None,
            dry_run: false,
            whole: true,
            files: Vec::new(),
            consequences: Vec::new(),
            crosses: Vec::new(),
            cascaded: Vec::new(),
            conversation: None,
            not_covered: Vec::new(),
            considered: Vec::new(),
            passed: Vec::new(),
            left_before: Vec::new(),
            shared: Vec::new(),
            asks: Vec::new(),
            questions: Vec::new(),
            error: None,
        }
    }
}

/// A call that could have changed files and to which no change is ascribed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsideredCall {
    /// The dialog.
    pub dialog: String,
    /// The agent.
    #[serde(default)]
    pub agent: String,
    /// The product of the agent.
    #[serde(default)]
    pub kind: Option<String>,
    /// The agent's own id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The shell command, if it was one.
    pub command: Option<String>,
}

impl From<&engine::CallWithoutChanges> for ConsideredCall {
    fn from(call: &engine::CallWithoutChanges) -> Self {
        Self {
            dialog: call.dialog.0.clone(),
            agent: call.agent.0.clone(),
            kind: call.kind.clone(),
            call: call.call.0.clone(),
            tool: call.tool.clone(),
            command: call.command.clone(),
        }
    }
}

/// What becomes of what is shown of a conversation. Nothing of it is lost: `retake history back`
/// shows again what is hidden.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RewoundConversation {
    /// The dialog.
    pub dialog: String,
    /// Whose conversation it is.
    pub agent: String,
    /// Whether it shows again what was hidden, instead of hiding.
    pub brings_back: bool,
    /// The message before which it is cut.
    pub before: Option<String>,
    /// Messages of the model's history that are hidden.
    pub hidden: u64,
    /// Messages of the model's history that are shown.
    pub kept: u64,
    /// What was said and is hidden, of the display history.
    pub unsaid: u64,
    /// Whether it was done; null while it is only planned.
    pub done: Option<bool>,
    /// Why it was not.
    pub problem: Option<String>,
}

impl From<&engine::PlannedRewind> for RewoundConversation {
    fn from(rewind: &engine::PlannedRewind) -> Self {
        let RewindOutcome { before, hidden, kept, unsaid } = &rewind.rewound;
        Self {
            dialog: rewind.dialog.0.clone(),
            agent: rewind.agent.0.clone(),
            brings_back: rewind.brings_back(),
            before: Some(before.clone()).filter(|text| !text.is_empty()),
            hidden: *hidden,
            kept: *kept,
            unsaid: *unsaid,
            done: rewind.done,
            problem: rewind.problem.clone(),
        }
    }
}

/// What a reset would do, or did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResetOutcome {
    /// What becomes of the files.
    #[serde(flatten)]
    pub outcome: OperationOutcome,
    /// The work session that is active now; null if nothing was done.
    #[schema(example = "session_3")]
    pub new_session: Option<String>,
}

/// One file of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PlannedFile)]
pub struct PlannedFileDocument {
    /// The path.
    #[serde(flatten)]
    pub path: PathName,
    /// Where the file is before, if it is moved here; that path is listed, too, as `delete`.
    #[serde(default)]
    pub old_path: Option<String>,
    /// `create`, `write`, `delete`, `mode` or `leave`.
    pub action: String,
    /// The same for people: `restore`, `merge`, `bring back`, `remove`, `chmod`, `keep` or `leave`.
    #[serde(default)]
    #[schema(example = "bring back")]
    pub label: String,
    /// What a person should know of it, where the label does not say it all.
    #[serde(default)]
    #[schema(example = "your later edits stay")]
    pub detail: String,
    /// Whether it was done; null while it is only planned.
    pub done: Option<bool>,
    /// Why it is done, or why the file is left alone.
    pub reason: FileReason,
    /// The changes that it takes back.
    pub changes: Vec<String>,
    /// Later changes that stand in the way.
    pub blockers: Vec<String>,
    /// Something that the person should know before.
    pub warning: Option<String>,
}

impl PlannedFileDocument {
    fn new(
        plan: &Plan,
        details: &PlanDetails<'_>,
        file: &engine::PlannedFile,
    ) -> Result<Self, StoreError> {
        let ways = if file.is_left() { suggested_commands(plan, file) } else { Vec::new() };
        let way_out = (!ways.is_empty()).then(|| ways.join("; "));
        Ok(Self {
            path: (&file.path).into(),
            old_path: details.origin(file).map(ToString::to_string),
            action: file.action.as_str().to_owned(),
            label: action_label(file, PlanTense::Planned).to_owned(),
            detail: details.detail(file)?,
            done: file.done,
            reason: FileReason {
                code: file.reason.code().to_owned(),
                message: file.reason.to_string(),
                way_out,
            },
            changes: id_strings(&file.changes),
            blockers: id_strings(&file.blockers),
            warning: file.warning.clone(),
        })
    }
}

/// The files of a plan, each that is moved with the path where it is before.
fn planned_files(project: &Project, plan: &Plan) -> Result<Vec<PlannedFileDocument>, StoreError> {
    let details = PlanDetails::new(project, plan);
    plan.files.iter().map(|file| PlannedFileDocument::new(plan, &details, file)).collect()
}

fn consequences(project: &Project, plan: &Plan) -> Result<Vec<String>, StoreError> {
    Ok(undone_answers(plan, &DialogNames::load(project, describe::unescaped)?))
}

/// Why a file is written, or left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileReason {
    /// A stable name.
    #[schema(example = "merged")]
    pub code: String,
    /// In words.
    pub message: String,
    /// What a person can do about a file that is left.
    pub way_out: Option<String>,
}

/// Something that is not protected, and may have changed unseen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UncoveredPath {
    /// The path.
    #[serde(flatten)]
    pub path: PathName,
    /// Why: a stable name.
    #[schema(example = "too_large")]
    pub reason: String,
}

impl From<&model::Gap> for UncoveredPath {
    fn from(gap: &model::Gap) -> Self {
        Self { path: (&gap.path).into(), reason: gap.reason.as_str().to_owned() }
    }
}

/// What a person can do about a file that is left: one way or another.
///
/// The reason knows an option; here it is known whether that helps with this file and command.
pub fn suggested_commands(plan: &Plan, file: &engine::PlannedFile) -> Vec<String> {
    let (kind, newest) = (plan.kind, file.changes.iter().max());
    let undoes_turn = kind == OperationKind::Undo && !plan.undoes_operation();
    let way = match &file.reason {
        // The turn counts as tried then, and the same command goes on to the one before.
        PlanReason::NotWritable(_) if undoes_turn && newest.is_some() => {
            let changes = id_strings(&file.changes).join(",");
            Some(format!("`retake rollback --change {changes}` tries it again"))
        }
        PlanReason::Conflict(..) => return conflict_commands(file),
        PlanReason::ChangedSince | PlanReason::GoneSince if file.blockers.is_empty() => {
            newest.map(|id| format!("`retake show {id} --before` prints what it was"))
        }
        PlanReason::Shared if !matches!(kind, OperationKind::Reject | OperationKind::Rollback) => {
            newest.map(|id| format!("`retake rollback --change {id}` takes it back"))
        }
        reason => reason.hint().map(ToOwned::to_owned),
    };
    way.into_iter().collect()
}

/// The three ways out of a conflict; later changes cannot go along if that would not help.
fn conflict_commands(file: &engine::PlannedFile) -> Vec<String> {
    let mut ways = vec![
        "leave it: the file stays as it is".to_owned(),
        "--markers writes both versions into the file".to_owned(),
    ];
    if !file.blockers.is_empty() {
        ways.extend(file.reason.hint().map(ToOwned::to_owned));
    }
    ways
}

fn id_strings(changes: &[ChangeId]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}
