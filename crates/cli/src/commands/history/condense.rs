//! `retake history condense` and `back`.
//!
//! The model is called from this process, with the environment of the person who runs the command;
//! a daemon only shows the outcome.

use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use retake_engine::model::ErrorCode;
use retake_engine::{CondenseMethod, CondenseOutcome, CondensePlan, Project};
use retake_service::documents::{CondensedHistory, ConversationView};
use retake_service::summary::HttpSummariser;
use retake_service::{Masking, request, tokens};

use super::resolve_conversation;
use crate::args::{ConversationArgs, HistoryCondenseArgs};
use crate::context::{CommandContext, Exit};
use crate::describe::{format_count, plural};
use crate::escape::{escape, escape_text};
use crate::failure::{ApiError, declined_failure};
use crate::output::{TextStyle, is_interactive, print_message};
use crate::question::confirm;

pub(super) fn run(context: &CommandContext, options: &HistoryCondenseArgs) -> Result<Exit> {
    let project = context.open()?;
    let (dialog, agent) = resolve_conversation(&project, &options.conversation)?;
    let plan = project.plan_condense(&dialog, &agent, options.keep, &tokens::count_tokens)?;
    if options.dry_run {
        if context.json {
            context.out.json(&CondensedHistory::planned(&plan))?;
        } else {
            let subject = describe_subject(&project, &plan)?;
            context.out.text(&format!("Would summarise {subject}\n"))?;
        }
        return Ok(Exit::Done);
    }
    let settings = &project.settings().summary;
    let summariser = HttpSummariser::new(settings, |name| std::env::var(name).ok())?;
    if !options.yes
        && !confirm_upload(&project, &plan, settings.url.as_deref().unwrap_or_default())?
    {
        return Err(declined_failure("nothing was sent, and nothing was condensed").into());
    }
    let pause = |time: Duration| {
        let seconds = time.as_secs();
        print_message("note", TextStyle::Mark, &format!("the model is asked again in {seconds} s"));
        thread::sleep(time);
    };
    let with = plan.summarise(&summariser.request_options(settings, &pause), context.now())?;
    let done = context.run_request(&project, request::CondenseHistory { with })?;
    if context.json {
        context.out.json(&CondensedHistory::done(&plan, &done, Masking::Off))?;
    } else {
        context.out.text(&describe_condensed(&done))?;
    }
    Ok(match done.how {
        CondenseMethod::Summary(_) => Exit::Done,
        CondenseMethod::Forced(_) => Exit::Partly,
    })
}

fn describe_subject(project: &Project, plan: &CondensePlan) -> Result<String> {
    Ok(format!(
        "{} of {}, about {} of {} tokens",
        plural(plan.replaced.len() as u64, "message", "messages"),
        escape(project.dialog_name(&plan.dialog)?),
        format_count(plan.tokens_replaced(&tokens::count_tokens)),
        format_count(plan.tokens_before),
    ))
}

/// Asks the person whether the messages may be sent to the model.
fn confirm_upload(project: &Project, plan: &CondensePlan, url: &str) -> Result<bool> {
    let question = format!("Send {} to {url}?", describe_subject(project, plan)?);
    if !is_interactive() {
        return Err(ApiError::new(
            ErrorCode::NeedsYes,
            format!("there is no terminal to ask on: {question}"),
            "look at it with --dry-run, then pass --yes",
        )
        .into());
    }
    confirm(&escape_text(question), None)
}

fn describe_condensed(done: &CondenseOutcome) -> String {
    let messages = plural(done.replaced.len() as u64, "message", "messages");
    let mut text = match &done.how {
        CondenseMethod::Summary(summary) => {
            format!("A summary stands for {messages} now:\n\n{}\n\n", escape_text(summary))
        }
        CondenseMethod::Forced(why) => format!(
            "There is no summary: {}\nThe oldest {messages} are hidden instead.\n",
            escape_text(why)
        ),
    };
    let (before, after) = (done.tokens_before, done.tokens_after);
    let _ = writeln!(text, "About {after} tokens are left of {before}.");
    text.push_str("Nothing was removed: `retake history back` shows everything again.\n");
    text
}

pub(super) fn restore_previous_view(
    context: &CommandContext,
    conversation: &ConversationArgs,
) -> Result<Exit> {
    let project = context.open()?;
    let (dialog, agent) = resolve_conversation(&project, conversation)?;
    let view =
        context.run_request(&project, request::UnhideMessages { dialog: dialog.clone(), agent })?;
    if context.json {
        context.out.json(&ConversationView::from(&view))?;
        return Ok(Exit::Done);
    }
    let shown = plural(view.shown, "message", "messages");
    let dialog = escape(project.dialog_name(&dialog)?);
    context.out.text(&match view.hidden {
        0 if view.shown == 0 => {
            format!("The conversation of {dialog} is shown again; the model got nothing.\n")
        }
        0 => format!("All {shown} of {dialog} are shown again.\n"),
        hidden => format!("{shown} of {dialog} are shown now, {hidden} are still hidden.\n"),
    })?;
    Ok(Exit::Done)
}
