//! `retake comment`: what the person says about places of an agent's work.

mod list;
mod place;

use anyhow::Result;
use retake_engine::model::{CommentKind, CommentState, ReviewComment};
use retake_engine::{NewComment, Project};
use retake_service::Masking;
use retake_service::documents::{CommentDocument, CommentList};
use retake_service::request::{
    AddComment, ChangeComment, CommentAct, RefreshProject, SendComments,
};
use serde_json::json;

use crate::args::{CommentAddArgs, CommentArgs, CommentCommand, CommentSendArgs};
use crate::commands::scope::exit_with_usage;
use crate::context::{CommandContext, Exit, resolve_dialog};
use crate::describe::{dialog_names, plural};
use crate::layout::render_paragraph;
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext, options: &CommentArgs) -> Result<Exit> {
    let Some(command) = &options.command else { return list::run(context) };
    match command {
        CommentCommand::Add(options) => add(context, options),
        CommentCommand::Send(options) => send(context, options),
        CommentCommand::Edit(words) => {
            change(context, words.comment, CommentAct::Edit(checked_text(&words.text)))
        }
        CommentCommand::Answer(words) => {
            change(context, words.comment, CommentAct::Answer(checked_text(&words.text)))
        }
        CommentCommand::Resolve(one) => change(context, one.comment, CommentAct::Resolve),
        CommentCommand::Remove(one) => change(context, one.comment, CommentAct::Remove),
    }
}

/// A text that says something; exits if it is empty.
fn checked_text(text: &str) -> String {
    if text.trim().is_empty() {
        exit_with_usage("the text is empty");
    }
    text.to_owned()
}

fn add(context: &CommandContext, options: &CommentAddArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let text = checked_text(&options.text);
    if !context.no_look {
        context.run_request(&project, RefreshProject {})?;
    }
    let place = place::resolve(context, &project, options)?;
    let dialog =
        options.dialog.as_deref().map(|text| resolve_dialog(&project, text)).transpose()?;
    let kind = if options.question { CommentKind::Question } else { CommentKind::Order };
    let comment = NewComment { place, kind, text, dialog };
    let made = context.run_request(&project, AddComment { comment })?;
    if context.json {
        context.out.json(&CommentDocument::new(&made, Masking::Off))?;
    } else {
        context.out.text(&describe_draft(&made))?;
    }
    Ok(Exit::Done)
}

/// Describes a comment that was just made.
pub(super) fn describe_draft(made: &ReviewComment) -> String {
    let (id, place) = (made.id, list::describe_place(made));
    let what = match made.kind {
        CommentKind::Order => "Comment",
        CommentKind::Question => "Question",
    };
    format!("{what} {id} on {place} is a draft; `retake comment send` sends it.\n")
}

fn send(context: &CommandContext, options: &CommentSendArgs) -> Result<Exit> {
    let project = context.open_to_write()?;
    let ids = options.comments.clone();
    let sent = context.run_request(&project, SendComments { ids })?;
    if context.json {
        let comments = sent.iter().map(|comment| CommentDocument::new(comment, Masking::Off));
        context.out.json(&CommentList { comments: comments.collect() })?;
    } else {
        let text = describe_sent(&project, &sent)?;
        context.out.text(&render_paragraph(&text, "", TextStyle::Plain, context.out))?;
    }
    Ok(Exit::Done)
}

/// Describes who hears comments that were just sent, and when.
fn describe_sent(project: &Project, sent: &[ReviewComment]) -> Result<String> {
    if sent.is_empty() {
        return Ok("There is no draft to send.".to_owned());
    }
    let names = dialog_names(project)?;
    let mut dialogs: Vec<String> = Vec::new();
    for id in sent.iter().filter_map(|comment| comment.dialog.as_ref()) {
        let name = names.dialog(id);
        if !dialogs.contains(&name) {
            dialogs.push(name);
        }
    }
    let count = plural(sent.len() as u64, "comment", "comments");
    let (dialogs, hears) =
        (dialogs.join(", "), if dialogs.len() == 1 { "which hears" } else { "which hear" });
    let them = if sent.len() == 1 { "it" } else { "them" };
    Ok(format!(
        "Sent {count} to {dialogs}, {hears} {them} with your next message or when a turn ends; \
         `retake feedback` shows the words."
    ))
}

fn change(context: &CommandContext, id: u64, act: CommentAct) -> Result<Exit> {
    let project = context.open_to_write()?;
    let changed = context.run_request(&project, ChangeComment { id, act })?;
    if context.json {
        match &changed {
            Some(comment) => context.out.json(&CommentDocument::new(comment, Masking::Off))?,
            None => context.out.json(&json!({ "removed": id }))?,
        }
        return Ok(Exit::Done);
    }
    let words = match changed.map(|comment| comment.state) {
        None => "is removed",
        Some(CommentState::Draft) => "has its new words; `retake comment send` sends it",
        Some(CommentState::Sent) => "is sent",
        Some(CommentState::Answered) => "is answered",
        Some(CommentState::Resolved) => "is settled",
    };
    context.out.text(&format!("Comment {id} {words}.\n"))?;
    Ok(Exit::Done)
}
