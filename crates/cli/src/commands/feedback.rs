//! `retake feedback`: what an agent was not told yet, to read or to pass on.
//!
//! Invariant: it counts as told only if the person says so, or if it is on the clipboard.

use anyhow::Result;
use retake_engine::model::{DialogId, ErrorCode};
use retake_engine::{FeedbackChannel, Project};
use retake_service::Masking;
use retake_service::describe::list_names;
use retake_service::documents::FeedbackDocument;
use retake_service::request::TakeFeedback;

use crate::args::FeedbackArgs;
use crate::clipboard::copy_to_clipboard;
use crate::commands::review::carry_out_due;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::describe::dialog_names;
use crate::escape::escape_text;
use crate::failure::ApiError;
use crate::output::{TextStyle, print_hint, print_message};

/// Maximum dialogs that are named.
const MAX_NAMED_DIALOGS: usize = 9;
/// Maximum copies: what is added meanwhile is copied, too.
const MAX_COPIES: usize = 3;

pub(super) fn run(context: &CommandContext, options: &FeedbackArgs) -> Result<Exit> {
    let (project, _) = context.open_and_scan()?;
    carry_out_due(context, &project)?;
    // An agent hears what is for itself.
    let own = context.caller.borrow().dialog().cloned();
    let dialog = match (own, options.dialog.as_deref()) {
        (Some(own), None) => Some(own),
        (_, named) => dialog_to_tell(&project, named)?,
    };
    let Some(dialog) = dialog else {
        return report_nothing(context, &project);
    };
    let hear = TakeFeedback { dialog: dialog.clone(), channel: FeedbackChannel::Asked };
    context.permit(&project, &hear)?;
    let feedback = Feedback { context, project: &project, dialog: &dialog };
    if options.copy {
        feedback.copy()
    } else if options.told {
        feedback.count_as_told()
    } else {
        feedback.print(false)
    }
}

/// The dialog that is named, else the only one whose agent has something to hear.
fn dialog_to_tell(project: &Project, named: Option<&str>) -> Result<Option<DialogId>> {
    if let Some(named) = named {
        return resolve_dialog(project, named).map(Some);
    }
    let mut found = Vec::new();
    for (dialog, _) in project.dialogs()? {
        if !project.unheard_feedback(&dialog.id)?.0.is_empty() {
            found.push(dialog.id);
        }
    }
    if found.len() <= 1 {
        return Ok(found.pop());
    }
    let known = dialog_names(project)?;
    let dialogs: Vec<_> = found.iter().map(|id| known.dialog(id)).collect();
    let listed = list_names(&dialogs, MAX_NAMED_DIALOGS);
    let message = format!("{} agents have something to hear: {listed}", dialogs.len());
    let hint = format!("name one: retake feedback {}", dialogs[0]);
    Err(ApiError::new(ErrorCode::NeedsDialog, message, hint).into())
}

/// Reports that no agent has anything to hear, which is no error.
fn report_nothing(context: &CommandContext, project: &Project) -> Result<Exit> {
    if context.json {
        let dialog = project.latest_dialog()?.id;
        return Feedback { context, project, dialog: &dialog }.print(false);
    }
    let drafts = project.draft_comments()?;
    let drafts = match drafts {
        0 => String::new(),
        _ => " Drafts of comments are not sent yet: `retake comment send`.".to_owned(),
    };
    context.out.text(&format!("Each agent has heard everything.{drafts}\n"))?;
    Ok(Exit::Done)
}

/// What the agent of a dialog was not told.
struct Feedback<'a> {
    context: &'a CommandContext,
    project: &'a Project,
    dialog: &'a DialogId,
}

impl Feedback<'_> {
    fn document(&self) -> Result<FeedbackDocument> {
        let (items, text) = self.project.unheard_feedback(self.dialog)?;
        // It is passed on to an agent, as what its hooks tell it.
        let masking = Masking::from(&self.project.settings().api);
        Ok(FeedbackDocument::waiting(&self.dialog.0, &items, &text, masking))
    }

    fn print(&self, taken: bool) -> Result<Exit> {
        let document = FeedbackDocument { taken, ..self.document()? };
        self.show(&document)?;
        Ok(Exit::Done)
    }

    fn show(&self, document: &FeedbackDocument) -> Result<()> {
        if self.context.json {
            self.context.out.json(document)?;
        } else if document.text.is_empty() {
            self.context.out.text(&format!("{} has heard everything.\n", self.name()?))?;
        } else {
            self.context.out.paged(escape_text(&document.text).as_bytes())?;
        }
        Ok(())
    }

    fn name(&self) -> Result<String> {
        Ok(dialog_names(self.project)?.dialog(self.dialog))
    }

    /// Counts what waits as told, and shows it.
    fn count_as_told(&self) -> Result<Exit> {
        let before = self.document()?;
        let told = self.take()?;
        let text = told.clone().unwrap_or_default();
        let document = FeedbackDocument { text, taken: told.is_some(), ..before };
        self.show(&document)?;
        Ok(Exit::Done)
    }

    fn take(&self) -> Result<Option<String>> {
        let (dialog, channel) = (self.dialog.clone(), FeedbackChannel::Clipboard);
        let taken = self.context.run_request(self.project, TakeFeedback { dialog, channel })?;
        Ok(taken.map(|(_, text)| text))
    }

    /// Puts it on the clipboard, and counts it as told once it is there.
    fn copy(&self) -> Result<Exit> {
        let mut document = self.document()?;
        if document.text.is_empty() {
            self.show(&document)?;
            return Ok(Exit::Done);
        }
        let mut way = None;
        for _ in 0..MAX_COPIES {
            let Some(found) = copy_to_clipboard(&document.text) else { break };
            way = Some(found);
            let Some(told) = self.take()? else { break };
            document.taken = true;
            if told == document.text {
                break;
            }
            document.text = told;
        }
        let Some(way) = way else {
            self.show(&document)?;
            let text = "no clipboard was found (wl-copy, xclip, xsel, pbcopy, or a terminal), so \
                        this does not count as told";
            print_message("warning", TextStyle::Warn, text);
            let name = self.name()?;
            print_hint(&format!("copy it from here, then `retake feedback {name} --told`"));
            return Ok(Exit::Partly);
        };
        if self.context.json {
            self.context.out.json(&document)?;
        } else {
            let name = self.name()?;
            let text = format!(
                "Copied with {way}: paste it into the conversation of {name}. It counts as told.\n"
            );
            self.context.out.text(&text)?;
        }
        Ok(Exit::Done)
    }
}
