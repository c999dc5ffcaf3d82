//! Request bodies of the routes that decide and go back. Unknown fields are rejected.

use retake_engine::model::{CallId, ChangeId, DialogId, ErrorCode, Millis, RewindScope};
use retake_engine::{
    CascadePolicy, GoToOptions, Project, RecoveryChoice, Selection, TakeBackOptions,
};
use retake_service::ApiError;
use retake_service::request::{ChangeScope, HunkSelection};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::apply::Consent;
use super::{find_agent, find_dialog, parse_change_id, resolve_path};

/// A body with what every verb that writes files takes besides.
macro_rules! body {
    ($(#[$about:meta])* $name:ident { $($(#[$told:meta])* $field:ident: $kind:ty,)* }) => {
        #[derive(Clone, Debug, Default, Deserialize, ToSchema)]
        #[serde(default, deny_unknown_fields)]
        $(#[$about])*
        pub(super) struct $name {
            $($(#[$told])* pub(super) $field: $kind,)*
            /// Only tell what would be done.
            pub(super) dry_run: bool,
            /// Say yes to everything that the plan asks.
            pub(super) yes: bool,
            /// Say yes to these of the plan's `asks`.
            pub(super) agreed: Vec<String>,
            /// Carry out the plan with this digest, and no other.
            pub(super) plan_digest: Option<String>,
        }

        impl $name {
            pub(super) fn consent(&self) -> Consent {
                Consent {
                    dry_run: self.dry_run,
                    yes: self.yes,
                    agreed: self.agreed.clone(),
                    plan_digest: self.plan_digest.clone(),
                }
            }
        }
    };
}

body! {
    /// Which changes to take back, and how; what is given all must hold.
    #[schema(as = TakeBack)]
    TakeBackBody {
        /// These changes.
        #[schema(example = json!(["c12"]))]
        changes: Vec<String>,
        /// Only these places of the one change.
        hunks: Vec<u32>,
        /// Of this file, or of everything in this folder.
        path: Option<String>,
        /// Of this dialog.
        dialog: Option<String>,
        /// Of this agent.
        agent: Option<String>,
        /// Of this tool call.
        call: Option<String>,
        /// Of the answer to this message of the dialog, from 1.
        message: Option<u64>,
        /// Recorded later than this, in milliseconds since the epoch.
        after: Option<Millis>,
        /// Everything that agents did, if nothing else is said.
        all: bool,
        /// Why, for the agents; only of a reject.
        reason: Option<String>,
        /// Take back changes that another agent may have made.
        include_shared: bool,
        /// Take back later changes that stand in the way, whoever made them.
        cascade: bool,
        /// Write both versions between markers where later changes stand in the way.
        markers: bool,
        /// Take back what git changed since.
        across_git: bool,
    }
}

body! {
    /// How to take back the newest step, or to bring it back.
    #[schema(as = Step)]
    StepBody {
        /// Take back later changes that stand in the way, whoever made them.
        cascade: bool,
        /// Write both versions between markers where later changes stand in the way.
        markers: bool,
        /// Take back what git changed since.
        across_git: bool,
        /// What goes back, or comes back.
        rewind: RewindChoice,
    }
}

body! {
    /// Which state to go back to.
    #[schema(as = Restore)]
    RestoreBody {
        /// The checkpoint; four digits of its id are enough.
        checkpoint: Option<String>,
        /// Instead: the state before this message of the dialog, from 1.
        before_message: Option<u64>,
        /// The dialog of the message; with `checkpoint`, only what this dialog changed since.
        dialog: Option<String>,
        /// Only these files and folders.
        paths: Vec<String>,
        /// Also what other dialogs and the person changed.
        exact: bool,
        /// Also what git changed since.
        across_git: bool,
        /// What goes back.
        rewind: RewindChoice,
    }
}

body! {
    /// Which dialog to take back to its last approval.
    #[schema(as = Reset)]
    ResetBody {
        /// The dialog.
        #[schema(required, value_type = String)]
        dialog: Option<String>,
        /// Compare trees instead of taking back changes.
        exact: bool,
        /// Take back later changes that stand in the way, whoever made them.
        cascade: bool,
        /// Write both versions between markers where later changes stand in the way.
        markers: bool,
        /// Take back what git changed since.
        across_git: bool,
    }
}

/// What goes back: the files, what is shown of the conversation, or both.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Rewinding)]
pub(super) enum RewindChoice {
    /// Only the files.
    #[default]
    Files,
    /// Only the conversation: no file changes.
    Conversation,
    /// The files, and then the conversation.
    Both,
}

impl From<RewindChoice> for RewindScope {
    fn from(rewinding: RewindChoice) -> Self {
        match rewinding {
            RewindChoice::Files => Self::Files,
            RewindChoice::Conversation => Self::Conversation,
            RewindChoice::Both => Self::Both,
        }
    }
}

/// Which changes to keep; what is given all must hold.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = Keep)]
pub(super) struct AcceptBody {
    /// These changes.
    #[schema(example = json!(["c12"]))]
    changes: Vec<String>,
    /// Only these places of the one change.
    pub(super) hunks: Vec<u32>,
    /// Of this file, or of everything in this folder.
    path: Option<String>,
    /// Of this dialog.
    dialog: Option<String>,
    /// Of this agent.
    agent: Option<String>,
    /// Everything that agents did, if nothing else is said.
    all: bool,
}

/// Which dialog to approve.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Approve)]
pub(super) struct ApproveBody {
    /// The dialog.
    pub(super) dialog: String,
    /// What the person says to it.
    #[serde(default)]
    pub(super) message: Option<String>,
}

/// How to settle an operation that was interrupted.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Recover)]
pub(super) struct RecoverBody {
    /// How.
    pub(super) how: RecoveryMode,
}

/// How an interrupted operation is settled.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = How)]
pub(super) enum RecoveryMode {
    /// Write the rest.
    Resume,
    /// Take back what was written.
    Undo,
}

impl From<RecoveryMode> for RecoveryChoice {
    fn from(how: RecoveryMode) -> Self {
        match how {
            RecoveryMode::Resume => Self::Resume,
            RecoveryMode::Undo => Self::Undo,
        }
    }
}

impl AcceptBody {
    /// What that is to the engine.
    pub(super) fn scope(&self, project: &Project) -> Result<ChangeScope, ApiError> {
        let meant = TakeBackBody {
            changes: self.changes.clone(),
            hunks: self.hunks.clone(),
            path: self.path.clone(),
            dialog: self.dialog.clone(),
            agent: self.agent.clone(),
            all: self.all,
            ..TakeBackBody::default()
        };
        meant.scope(project)
    }
}

impl TakeBackBody {
    /// Which changes that are to the engine.
    pub(super) fn scope(&self, project: &Project) -> Result<ChangeScope, ApiError> {
        let changes: Vec<ChangeId> =
            self.changes.iter().map(|id| parse_change_id(id)).collect::<Result<_, _>>()?;
        if !self.hunks.is_empty() {
            return match changes.as_slice() {
                [one] => Ok(ChangeScope::Hunks(HunkSelection {
                    change: *one,
                    numbers: self.hunks.clone(),
                })),
                _ => Err(bad_value("`hunks` are places of one change", "name it in `changes`")),
            };
        }
        let selection = Selection {
            changes,
            path: self.path.as_deref().map(|path| resolve_path(project, path)).transpose()?,
            dialog: self.dialog.as_deref().map(|id| find_dialog(project, id)).transpose()?,
            agent: self.agent.as_deref().map(|id| find_agent(project, id)).transpose()?,
            call: self.call.as_deref().map(CallId::from),
            message: self.message,
            after: self.after,
            last: false,
            include_shared: self.include_shared,
        };
        self.check_selection(project, &selection)?;
        Ok(ChangeScope::Changes(selection))
    }

    fn check_selection(&self, project: &Project, selection: &Selection) -> Result<(), ApiError> {
        let says_nothing = selection.changes.is_empty()
            && selection.path.is_none()
            && selection.dialog.is_none()
            && selection.agent.is_none()
            && selection.call.is_none()
            && selection.after.is_none();
        if says_nothing && !self.all {
            return Err(bad_value(
                "nothing says which changes are meant",
                "name some, or send `all`",
            ));
        }
        match (&selection.dialog, selection.message) {
            (None, Some(_)) => Err(bad_value("`message` is of a dialog", "name it in `dialog`")),
            (Some(dialog), Some(number)) => check_message(project, dialog, number),
            (_, None) => Ok(()),
        }
    }

    /// Refuses a reason, where no agent would be told of it.
    pub(super) fn check_no_reason(&self) -> Result<(), ApiError> {
        match self.reason {
            Some(_) => Err(bad_value("`reason` is of a reject", "leave it out, or reject")),
            None => Ok(()),
        }
    }

    /// How; without `cascade` it is `otherwise`.
    pub(super) fn take_back_options(&self, otherwise: CascadePolicy) -> TakeBackOptions {
        take_back_options(self.cascade, otherwise, self.markers, self.across_git)
    }
}

impl StepBody {
    /// How.
    pub(super) fn take_back_options(&self) -> TakeBackOptions {
        take_back_options(self.cascade, CascadePolicy::Leave, self.markers, self.across_git)
    }
}

impl ResetBody {
    /// The dialog.
    pub(super) fn dialog(&self, project: &Project) -> Result<DialogId, ApiError> {
        let id = self.dialog.as_deref();
        find_dialog(project, id.ok_or_else(|| bad_value("`dialog` is missing", "say which one"))?)
    }

    /// How.
    pub(super) fn take_back_options(&self) -> TakeBackOptions {
        take_back_options(self.cascade, CascadePolicy::Leave, self.markers, self.across_git)
    }
}

impl RestoreBody {
    /// How.
    pub(super) fn options(&self, project: &Project) -> Result<GoToOptions, ApiError> {
        let paths: Result<_, _> =
            self.paths.iter().map(|path| resolve_path(project, path)).collect();
        // A message names its checkpoint, and that one its dialog.
        let of = self.dialog.as_deref().filter(|_| self.before_message.is_none());
        Ok(GoToOptions {
            paths: paths?,
            dialog: of.map(|id| find_dialog(project, id)).transpose()?,
            exact: self.exact,
            across_git: self.across_git,
        })
    }

    /// The id of the checkpoint.
    pub(super) fn checkpoint(&self, project: &Project) -> Result<String, ApiError> {
        match (&self.checkpoint, self.before_message, &self.dialog) {
            (Some(id), None, _) => Ok(id.clone()),
            (None, Some(number), Some(id)) => {
                let dialog = find_dialog(project, id)?;
                check_message(project, &dialog, number)?;
                let message = project.message_of_turn(&dialog, number)?;
                message.and_then(|message| message.checkpoint).ok_or_else(|| {
                    let message =
                        format!("no checkpoint was made before message {number} of dialog {id}");
                    ApiError::new(ErrorCode::NoCheckpoint, message, "roll back the message instead")
                })
            }
            _ => Err(bad_value(
                "a state is named by `checkpoint`, or by `before_message` and `dialog`",
                "send one of them",
            )),
        }
    }
}

fn take_back_options(
    cascade: bool,
    otherwise: CascadePolicy,
    markers: bool,
    across_git: bool,
) -> TakeBackOptions {
    let cascade = if cascade { CascadePolicy::All } else { otherwise };
    TakeBackOptions { cascade, markers, across_git }
}

fn check_message(project: &Project, dialog: &DialogId, number: u64) -> Result<(), ApiError> {
    let has = project.dialog(dialog)?.map_or(0, |dialog| dialog.turns);
    if (1..=has).contains(&number) {
        return Ok(());
    }
    let message = format!("dialog {dialog} has {has} messages, so there is no message {number}");
    Err(ApiError::new(ErrorCode::UnknownMessage, message, "they count from 1"))
}

pub(super) fn bad_value(message: &str, hint: &str) -> ApiError {
    ApiError::new(ErrorCode::BadValue, message, hint)
}
