//! Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, one line per content block.
//!
//! Lines of one assistant message share `message.id`; results of its first calls may stand between
//! them, so a message stays open until another one begins. A subagent has a file of its own, in
//! which every line is a `isSidechain`; older versions also put such lines into the main file.

use serde_json::Value;

use crate::prompt::{Prompt, element_text};
use crate::transcript::{Speaker, TranscriptParser, call_by_id, texts};
use crate::wire::{fingerprint, is_true, list, text};

/// Prefixes of texts that Claude Code itself writes where a person's text goes.
const SYNTHETIC_PREFIXES: &[&str] =
    &["<local-command-stdout>", "<local-command-caveat>", "[Request interrupted by user"];

pub(crate) fn read_line(parser: &mut TranscriptParser, line: &Value) {
    let by = match text(line, "/type") {
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        _ => return,
    };
    let side = is_true(line, "/isSidechain");
    // The file belongs to the agent of its first line.
    if *parser.state.sidechain.get_or_insert(side) != side {
        return;
    }
    match by {
        Speaker::User => read_user(parser, line),
        Speaker::Assistant => read_assistant(parser, line),
    }
}

fn read_assistant(parser: &mut TranscriptParser, line: &Value) {
    let Some(id) = text(line, "/message/id") else {
        return;
    };
    let is_call = |block: &&Value| text(block, "/type") == Some("tool_use");
    let calls = list(line, "/message/content").iter().filter(is_call);
    let calls = calls.filter_map(|call| text(call, "/id")).map(call_by_id).collect();
    let content = line.pointer("/message/content").unwrap_or(&Value::Null);
    parser.grow_assistant(fingerprint(id), &texts(content), calls);
    // Messages that Claude Code itself makes up are by `<synthetic>`.
    parser.set_open_model(text(line, "/message/model").filter(|model| !model.starts_with('<')));
}

fn read_user(parser: &mut TranscriptParser, line: &Value) {
    let bookkeeping = ["/isMeta", "/isCompactSummary", "/isVisibleInTranscriptOnly"];
    if bookkeeping.iter().any(|key| is_true(line, key)) || holds_a_result(line) {
        return;
    }
    let content = line.pointer("/message/content").unwrap_or(&Value::Null);
    let words = texts(content).join("\n");
    let Some(words) = Prompt::of(&words).message() else {
        return;
    };
    let written = |block: &Value| matches!(text(block, "/type"), Some("text" | "image"));
    let something = !words.is_empty() || list(line, "/message/content").iter().any(written);
    if something && !SYNTHETIC_PREFIXES.iter().any(|start| words.trim_start().starts_with(start)) {
        let typed = typed_command(words);
        parser.add_message(Speaker::User, typed.as_deref().unwrap_or(words), vec![]);
    }
}

fn holds_a_result(line: &Value) -> bool {
    let is_result = |block: &Value| text(block, "/type") == Some("tool_result");
    line.get("toolUseResult").is_some() || list(line, "/message/content").iter().any(is_result)
}

/// Restores a slash command as typed: the file has its name and arguments in elements.
fn typed_command(words: &str) -> Option<String> {
    let marked = ["<command-name>", "<command-message>"];
    marked.iter().find(|mark| words.trim_start().starts_with(**mark))?;
    let name = element_text(words, "<command-name>", "</command-name>")?;
    let arguments = element_text(words, "<command-args>", "</command-args>");
    Some(arguments.map_or_else(|| name.to_owned(), |arguments| format!("{name} {arguments}")))
}
