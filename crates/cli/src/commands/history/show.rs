//! `retake history`: the messages of a dialog, the model's history, and its views.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{AgentId, AgentRef, DialogId, MAIN_AGENT, Millis};
use retake_engine::{ConversationMessage, Project, StoreError};
use retake_service::Masking;
use retake_service::documents::{
    self, ConversationViews, HistoryEvent, HistoryPage, ModelHistory, ModelMessageDocument,
    ModelPage,
};
use serde_json::Value;

use super::resolve_conversation;
use crate::args::HistoryShowArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::{first_line, format_count, plural};
use crate::escape::{escape, escape_text};
use crate::layout::{Column, TableCell, TextTable, render_paragraph};
use crate::output::TextStyle;

/// Maximum lines shown of a message.
const MAX_MESSAGE_LINES: usize = 6;

pub(super) fn run(context: &CommandContext, options: &HistoryShowArgs) -> Result<Exit> {
    let project = context.open()?;
    let (dialog, agent) = resolve_conversation(&project, &options.conversation)?;
    let of = AgentRef { dialog: &dialog, agent: &agent };
    if options.views {
        show_views(context, &project, of)
    } else if options.model {
        show_model_history(context, &project, of, options)
    } else {
        show_messages(context, &project, of, options)
    }
}

/// A message as a person reads it.
struct ShownMessage {
    at: Option<Millis>,
    who: &'static str,
    text: String,
    remark: String,
    hidden: bool,
}

fn show_messages(
    context: &CommandContext,
    project: &Project,
    of: AgentRef<'_>,
    options: &HistoryShowArgs,
) -> Result<Exit> {
    let AgentRef { dialog, agent } = of;
    let is_main = agent.0 == MAIN_AGENT;
    if context.json && is_main {
        let page = HistoryPage {
            cursor: None,
            limit: options.limit,
            whole: options.whole,
            max_bytes: usize::MAX,
        };
        context.out.json(&documents::DialogHistory::read(project, dialog, page, Masking::Off)?)?;
        return Ok(Exit::Done);
    }
    let mut entries = if is_main { hook_messages(project, dialog)? } else { Vec::new() };
    if entries.is_empty() {
        entries = imported_messages(project, dialog, agent, options.whole)?;
    }
    entries.retain(|entry| options.whole || !entry.hidden);
    let first = entries.len().saturating_sub(options.limit);
    if context.json {
        context.out.json(&history_document(&entries, first))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (number, entry) in entries.iter().enumerate().skip(first) {
        text.push_str(&render_message(context, number, entry));
    }
    if entries.is_empty() {
        let name = escape(project.dialog_name(dialog)?);
        let _ = writeln!(text, "Nothing that was said in {name} is on record.");
    } else if first > 0 {
        let _ = writeln!(
            text,
            "{} before these; see --limit.",
            plural(first as u64, "message", "messages")
        );
    }
    context.out.paged(text.as_bytes())?;
    Ok(Exit::Done)
}

/// The entries of a subagent from one on, in the form that those of the main agent have.
fn history_document(entries: &[ShownMessage], first: usize) -> documents::DialogHistory {
    let event = |(idx, entry): (u64, &ShownMessage)| {
        let content = entry.text.clone();
        match entry.who {
            "you" => HistoryEvent::User { content, checkpoint: None, session: None, idx },
            _ => HistoryEvent::Chat { content, idx },
        }
    };
    documents::DialogHistory {
        events: (first as u64..).zip(&entries[first..]).map(event).collect(),
        has_more: first > 0,
        cursor: (first > 0).then_some(first as u64),
    }
}

fn render_message(context: &CommandContext, number: usize, entry: &ShownMessage) -> String {
    let at = entry.at.map_or_else(String::new, |at| format!("  {}", context.times.show(at)));
    let head = format!("#{number}  {}{at}{}", entry.who, entry.remark);
    let style = if entry.hidden { TextStyle::Dim } else { TextStyle::Bold };
    let mut text = context.out.paint(&head, style) + "\n";
    let mut lines = entry.text.trim().lines();
    for line in lines.by_ref().take(MAX_MESSAGE_LINES) {
        text.push_str(&render_paragraph(&escape_text(line), "    ", TextStyle::Plain, context.out));
    }
    let more = lines.count() as u64;
    if more > 0 {
        let _ = writeln!(text, "    … {}", plural(more, "more line", "more lines"));
    }
    text
}

/// Messages reported by hooks.
fn hook_messages(project: &Project, dialog: &DialogId) -> Result<Vec<ShownMessage>, StoreError> {
    let mut entries = Vec::new();
    for (spoken, hidden) in project.spoken_messages(dialog)? {
        let seq = spoken.seq();
        let event = project.events_after(seq - 1, 1)?;
        let at = event.first().filter(|event| event.seq == seq).map(|event| event.at);
        let mut remark = if hidden { "  (hidden)" } else { "" }.to_owned();
        let (who, text) = match spoken {
            ConversationMessage::Person(message) => {
                if let Some(checkpoint) = &message.checkpoint {
                    let _ =
                        write!(remark, "  checkpoint {}", &checkpoint[..8.min(checkpoint.len())]);
                }
                if let Some(session) = message.session {
                    let _ = write!(remark, "  session_{session}");
                }
                ("you", message.text)
            }
            ConversationMessage::Agent { text, .. } => ("agent", text),
        };
        entries.push(ShownMessage { at, who, text, remark, hidden });
    }
    Ok(entries)
}

/// Messages imported from a file, or saved by a program.
fn imported_messages(
    project: &Project,
    dialog: &DialogId,
    agent: &AgentId,
    whole: bool,
) -> Result<Vec<ShownMessage>, StoreError> {
    let shown = if whole {
        project.display_log(dialog, agent)?
    } else {
        project.display_messages(dialog, agent)?
    };
    let entry = |(at, entry): (usize, &Value)| ShownMessage {
        at: entry["ts"].as_i64(),
        who: match (at, entry["say"].as_str()) {
            (0, Some("text")) | (_, Some("user_feedback")) => "you",
            (_, Some("tool")) => "tool",
            _ => "agent",
        },
        text: entry["text"].as_str().unwrap_or_default().to_owned(),
        remark: String::new(),
        hidden: false,
    };
    Ok(shown.iter().enumerate().map(entry).collect())
}

fn show_model_history(
    context: &CommandContext,
    project: &Project,
    of: AgentRef<'_>,
    options: &HistoryShowArgs,
) -> Result<Exit> {
    let page = ModelPage {
        whole: options.whole,
        cursor: None,
        limit: options.limit,
        max_bytes: usize::MAX,
    };
    let history = ModelHistory::read(project, of, page, Masking::Off)?;
    if context.json {
        context.out.json(&history)?;
        return Ok(Exit::Done);
    }
    if history.messages.is_empty() {
        let name = escape(project.dialog_name(of.dialog)?);
        context.out.text(&format!("What the model got in {name} is not on record.\n"))?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::new([
        Column::WHOLE,
        Column::WHOLE.dropped(1),
        Column::WHOLE,
        Column::WHOLE.dropped(2),
        Column::TITLE,
        Column::WHOLE,
    ]);
    for message in &history.messages {
        let style = if message.hidden { TextStyle::Dim } else { TextStyle::Plain };
        table.row([
            TableCell::new(message.idx.to_string(), TextStyle::Mark),
            TableCell::new(context.times.show_optional(message.ts), TextStyle::Dim),
            TableCell::new(message.role.clone(), style),
            TableCell::right(format_count(message.tokens), TextStyle::Dim),
            TableCell::new(describe_blocks(message), style),
            TableCell::new(describe_remark(message), TextStyle::Warn),
        ]);
    }
    let mut text = table.render("", context.out);
    let _ = writeln!(
        text,
        "{}, about {}",
        plural(history.messages.len() as u64, "message", "messages"),
        plural(history.tokens, "token", "tokens"),
    );
    context.out.paged(text.as_bytes())?;
    Ok(Exit::Done)
}

/// The blocks of a message in a few words.
fn describe_blocks(message: &ModelMessageDocument) -> String {
    let words = |text: &str| escape(first_line(text));
    let describe_block = |block: &Value| match block["type"].as_str() {
        Some("text") => words(block["text"].as_str().unwrap_or_default()),
        Some("tool_use") => format!("[calls {}]", escape(block["name"].as_str().unwrap_or("?"))),
        Some("tool_result") if block["is_error"] == true => "[result: error]".to_owned(),
        Some("tool_result") => "[result]".to_owned(),
        Some(kind) => format!("[{}]", escape(kind)),
        None => "[?]".to_owned(),
    };
    message.content.iter().map(describe_block).collect::<Vec<_>>().join(" ")
}

fn describe_remark(message: &ModelMessageDocument) -> &'static str {
    match (message.is_summary, message.hidden) {
        (true, true) => "summary, hidden",
        (true, false) => "summary",
        (false, true) => "hidden",
        (false, false) => "",
    }
}

fn show_views(
    context: &CommandContext,
    project: &Project,
    AgentRef { dialog, agent }: AgentRef<'_>,
) -> Result<Exit> {
    if context.json {
        context.out.json(&ConversationViews::read(project, dialog, agent)?)?;
        return Ok(Exit::Done);
    }
    let views = project.views(dialog, agent)?;
    if views.is_empty() {
        context.out.text("The conversation is shown as it was told.\n")?;
        return Ok(Exit::Done);
    }
    let mut table = TextTable::default();
    for view in &views {
        table.row([
            TableCell::new(context.times.show(view.at), TextStyle::Dim),
            TableCell::new(view.why.to_string().replace('_', " "), TextStyle::Plain),
            TableCell::new(format!("{} shown", view.shown), TextStyle::Plain),
            TableCell::new(format!("{} hidden", view.hidden), TextStyle::Plain),
            TableCell::new(
                view.operation.map_or_else(String::new, |id| id.to_string()),
                TextStyle::Mark,
            ),
        ]);
    }
    context.out.paged(table.render("", context.out).as_bytes())?;
    Ok(Exit::Done)
}
