//! `retake history`: the messages of a dialog, the model's history, and its views.

use std::fmt::Write as _;

use anyhow::Result;
use retake_engine::model::{AgentId, DialogId, MAIN_AGENT, Millis};
use retake_engine::{Project, Spoken, StoreError};
use retake_server::Masking;
use retake_server::documents::{
    self, ConversationViews, HistoryEvent, HistoryPage, ModelHistory, ModelMessage, ModelPage,
};
use serde_json::Value;

use super::meant;
use crate::args::HistoryShow;
use crate::commands::message::first_words;
use crate::context::{Context, Exit};
use crate::describe::{plural, short_id};
use crate::escape::{escape, escape_text};
use crate::output::Style;
use crate::table::{Cell, Table};
use crate::time::local;

/// Maximum lines shown of a message.
const LINES: usize = 6;

pub(super) fn run(context: &Context, options: &HistoryShow) -> Result<Exit> {
    let project = context.open()?;
    let (dialog, agent) = meant(&project, &options.talk)?;
    if options.views {
        views(context, &project, &dialog, &agent)
    } else if options.model {
        model(context, &project, (&dialog, &agent), options)
    } else {
        said(context, &project, (&dialog, &agent), options)
    }
}

/// A message as a person reads it.
struct Entry {
    at: Option<Millis>,
    who: &'static str,
    text: String,
    remark: String,
    hidden: bool,
}

fn said(
    context: &Context,
    project: &Project,
    (dialog, agent): (&DialogId, &AgentId),
    options: &HistoryShow,
) -> Result<Exit> {
    let is_main = agent.0 == MAIN_AGENT;
    if context.json && is_main {
        let page = HistoryPage { cursor: None, limit: options.limit, whole: options.whole };
        context.out.json(&documents::History::read(project, dialog, page, Masking::Off)?)?;
        return Ok(Exit::Done);
    }
    let mut entries = if is_main { spoken(project, dialog)? } else { Vec::new() };
    if entries.is_empty() {
        entries = displayed(project, dialog, agent, options.whole)?;
    }
    entries.retain(|entry| options.whole || !entry.hidden);
    let first = entries.len().saturating_sub(options.limit);
    if context.json {
        context.out.json(&document(&entries, first))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (number, entry) in entries.iter().enumerate().skip(first) {
        text.push_str(&told(context, number, entry));
    }
    if entries.is_empty() {
        let _ =
            writeln!(text, "Nothing that was said in dialog {} is on record.", short_id(&dialog.0));
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
fn document(entries: &[Entry], first: usize) -> documents::History {
    let event = |(idx, entry): (u64, &Entry)| {
        let content = entry.text.clone();
        match entry.who {
            "you" => HistoryEvent::User { content, checkpoint: None, session: None, idx },
            _ => HistoryEvent::Chat { content, idx },
        }
    };
    documents::History {
        events: (first as u64..).zip(&entries[first..]).map(event).collect(),
        has_more: first > 0,
        cursor: (first > 0).then_some(first as u64),
    }
}

fn told(context: &Context, number: usize, entry: &Entry) -> String {
    let at = entry.at.map_or_else(String::new, |at| format!("  {}", local(at)));
    let head = format!("#{number}  {}{at}{}", entry.who, entry.remark);
    let style = if entry.hidden { Style::Dim } else { Style::Bold };
    let mut text = context.out.paint(&head, style) + "\n";
    let mut lines = entry.text.trim().lines();
    for line in lines.by_ref().take(LINES) {
        let _ = writeln!(text, "    {}", escape_text(line));
    }
    let more = lines.count() as u64;
    if more > 0 {
        let _ = writeln!(text, "    … {}", plural(more, "more line", "more lines"));
    }
    text
}

/// Messages reported by hooks.
fn spoken(project: &Project, dialog: &DialogId) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    for (spoken, hidden) in project.spoken(dialog)? {
        let seq = spoken.seq();
        let event = project.store().events_after(seq - 1, 1)?;
        let at = event.first().filter(|event| event.seq == seq).map(|event| event.at);
        let mut remark = if hidden { "  (hidden)" } else { "" }.to_owned();
        let (who, text) = match spoken {
            Spoken::Person(message) => {
                if let Some(checkpoint) = &message.checkpoint {
                    let _ =
                        write!(remark, "  checkpoint {}", &checkpoint[..8.min(checkpoint.len())]);
                }
                if let Some(session) = message.session {
                    let _ = write!(remark, "  session_{session}");
                }
                ("you", message.text)
            }
            Spoken::Agent { text, .. } => ("agent", text),
        };
        entries.push(Entry { at, who, text, remark, hidden });
    }
    Ok(entries)
}

/// Messages imported from a file, or saved by a program.
fn displayed(
    project: &Project,
    dialog: &DialogId,
    agent: &AgentId,
    whole: bool,
) -> Result<Vec<Entry>, StoreError> {
    let shown = if whole {
        project.display_log(dialog, agent)?
    } else {
        project.display_messages(dialog, agent)?
    };
    let entry = |(at, entry): (usize, &Value)| Entry {
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

fn model(
    context: &Context,
    project: &Project,
    whose: (&DialogId, &AgentId),
    options: &HistoryShow,
) -> Result<Exit> {
    let page = ModelPage { whole: options.whole, cursor: None, limit: options.limit };
    let history = ModelHistory::read(project, whose, page, Masking::Off)?;
    if context.json {
        context.out.json(&history)?;
        return Ok(Exit::Done);
    }
    if history.messages.is_empty() {
        let dialog = short_id(&whose.0.0);
        context.out.text(&format!("What the model got in dialog {dialog} is not on record.\n"))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::default();
    for message in &history.messages {
        let style = if message.hidden { Style::Dim } else { Style::Plain };
        table.row([
            Cell::new(message.idx.to_string(), Style::Mark),
            Cell::new(message.ts.map_or_else(|| "-".to_owned(), local), Style::Dim),
            Cell::new(message.role.clone(), style),
            Cell::right(message.tokens.to_string(), Style::Dim),
            Cell::new(blocks(message), style),
            Cell::new(remark(message), Style::Warn),
        ]);
    }
    let mut text = table.render("", context.out.colour);
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
fn blocks(message: &ModelMessage) -> String {
    let words = |text: &str| escape(first_words(text));
    let told = |block: &Value| match block["type"].as_str() {
        Some("text") => words(block["text"].as_str().unwrap_or_default()),
        Some("tool_use") => format!("[calls {}]", escape(block["name"].as_str().unwrap_or("?"))),
        Some("tool_result") if block["is_error"] == true => "[result: error]".to_owned(),
        Some("tool_result") => "[result]".to_owned(),
        Some(kind) => format!("[{}]", escape(kind)),
        None => "[?]".to_owned(),
    };
    message.content.iter().map(told).collect::<Vec<_>>().join(" ")
}

fn remark(message: &ModelMessage) -> &'static str {
    match (message.is_summary, message.hidden) {
        (true, true) => "summary, hidden",
        (true, false) => "summary",
        (false, true) => "hidden",
        (false, false) => "",
    }
}

fn views(context: &Context, project: &Project, dialog: &DialogId, agent: &AgentId) -> Result<Exit> {
    if context.json {
        context.out.json(&ConversationViews::read(project, dialog, agent)?)?;
        return Ok(Exit::Done);
    }
    let views = project.views(dialog, agent)?;
    if views.is_empty() {
        context.out.text("The conversation is shown as it was told.\n")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::default();
    for view in &views {
        table.row([
            Cell::new(local(view.at), Style::Dim),
            Cell::new(view.why.to_string().replace('_', " "), Style::Plain),
            Cell::new(format!("{} shown", view.shown), Style::Plain),
            Cell::new(format!("{} hidden", view.hidden), Style::Plain),
            Cell::new(view.operation.map_or_else(String::new, |id| id.to_string()), Style::Mark),
        ]);
    }
    context.out.paged(table.render("", context.out.colour).as_bytes())?;
    Ok(Exit::Done)
}
