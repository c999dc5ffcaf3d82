//! `retake history import`: takes in a conversation that an agent wrote down.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use retake_agents::history::{HistoryFormat, ReadProblem};
use retake_engine::model::{DialogId, ErrorCode};
use retake_service::documents::ImportedHistory;
use retake_service::history::{
    ParsedConversation, is_database, opencode_session, opencode_sessions,
};

use super::legacy;
use crate::args::HistoryImportArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::plural;
use crate::escape::escape;
use crate::failure::ApiError;
use crate::output::{TextStyle, print_message, warn};

/// File of the model's history in a task's folder.
const API_HISTORY_FILE: &str = "api_conversation_history.json";
/// File of the messages shown to people.
const UI_MESSAGES_FILE: &str = "ui_messages.json";
/// File that lists the files in the agent's context.
const TASK_METADATA_FILE: &str = "task_metadata.json";
/// Maximum conversations of a database that an error lists.
const MAX_LISTED_CONVERSATIONS: usize = 20;

pub(super) fn run(context: &CommandContext, options: &HistoryImportArgs) -> Result<Exit> {
    let project = context.open()?;
    let path = context.cwd.join(&options.path);
    let source = ImportSource::find(&path, options)?;
    let found = source.read(options)?;
    let dialog = target_dialog(&source, &found, options)?;
    let import = found.import_request(dialog, options.agent.as_deref())?;
    let added =
        if options.dry_run { None } else { Some(context.run_request(&project, import.clone())?) };
    let backup = match &source.legacy {
        // Messages that could not be read are in the old file only.
        Some(old) if !options.dry_run && found.conversation.problems.is_empty() => {
            Some(legacy::migrate(&project, old, &import, &found.conversation, context.now())?)
        }
        _ => None,
    };
    let done = ImportedHistory::new(&found, &import, added.as_ref());
    if context.json {
        context.out.json(&done)?;
    } else {
        context.out.text(&describe_imported(&done))?;
    }
    if done.messages == 0 && import.display.is_empty() {
        warn(&format!("the conversation of dialog {} is empty: {}", done.dialog, path.display()));
    }
    for problem in &done.problems {
        warn(&format!("{}: {}: {}", path.display(), problem.place, problem.why));
    }
    if let Some(backup) = backup {
        let text = format!("the old file is kept as {}", backup.display());
        print_message("note", TextStyle::Mark, &text);
    }
    if let (Some(old), false) = (&source.legacy, done.problems.is_empty()) {
        let text = format!("{} is left as it is: not all of it could be read", old.display());
        print_message("note", TextStyle::Mark, &text);
    }
    source.warn_skipped();
    Ok(if done.problems.is_empty() { Exit::Done } else { Exit::Partly })
}

fn describe_imported(done: &ImportedHistory) -> String {
    let dialog = escape(&done.dialog);
    match (done.added, done.known) {
        (Some(0), Some(known)) => format!(
            "Dialog {dialog} has all of it already: {}.\n",
            plural(known, "message", "messages")
        ),
        (Some(added), Some(known)) => format!(
            "Imported {} of dialog {dialog} ({}); {known} were on record.\n",
            plural(added, "entry", "entries"),
            done.form
        ),
        _ => format!(
            "Would import dialog {dialog} ({}): {}.\n",
            done.form,
            plural(done.messages, "message", "messages")
        ),
    }
}

/// Where a conversation is read from.
struct ImportSource {
    /// The path that the person named.
    named: PathBuf,
    /// The model's history.
    messages: Option<PathBuf>,
    /// The messages shown to people, if in a separate file.
    display: Option<PathBuf>,
    /// The legacy file that is migrated.
    legacy: Option<PathBuf>,
    /// The dialog that the folder is named after.
    task: Option<String>,
}

impl ImportSource {
    fn find(path: &Path, options: &HistoryImportArgs) -> Result<Self, ApiError> {
        if path.is_dir() {
            Self::from_folder(path)
        } else {
            Ok(Self::from_file(path, options.form))
        }
    }

    fn from_folder(folder: &Path) -> Result<Self, ApiError> {
        let there = |name: &str| Some(folder.join(name)).filter(|path| path.is_file());
        let (new, display) = (there(API_HISTORY_FILE), there(UI_MESSAGES_FILE));
        let old = there(legacy::LEGACY_FILE).filter(|_| new.is_none());
        if new.is_none() && old.is_none() && display.is_none() {
            let message = format!("{} has no conversation", folder.display());
            let hint =
                format!("name a file, or a folder with {API_HISTORY_FILE} or {UI_MESSAGES_FILE}");
            return Err(ApiError::new(ErrorCode::NoHistory, message, hint));
        }
        let task = folder.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let (named, messages) = (folder.to_owned(), new.or_else(|| old.clone()));
        Ok(Self { named, messages, display, legacy: old, task })
    }

    fn from_file(path: &Path, form: Option<HistoryFormat>) -> Self {
        let is_old = form.is_none() && path.file_name() == Some(OsStr::new(legacy::LEGACY_FILE));
        let new = path.with_file_name(API_HISTORY_FILE);
        let (messages, legacy) = match (is_old, new.is_file()) {
            (true, true) => (new, None),
            (true, false) => (path.to_owned(), Some(path.to_owned())),
            (false, _) => (path.to_owned(), None),
        };
        let folder = path.parent();
        let is_task = folder.and_then(Path::parent).is_some_and(|tasks| tasks.ends_with("tasks"));
        let task = folder.filter(|_| is_task).and_then(Path::file_name).and_then(OsStr::to_str);
        let task = task.map(str::to_owned);
        Self { named: path.to_owned(), messages: Some(messages), display: None, legacy, task }
    }

    fn read(&self, options: &HistoryImportArgs) -> Result<ParsedConversation, ApiError> {
        let Some(messages) = &self.messages else {
            let display = self.display.as_deref().unwrap_or(&self.named);
            return read_conversation(display, options.form, options.dialog.as_deref());
        };
        let mut found = read_conversation(messages, options.form, options.dialog.as_deref())?;
        if let Some(display) = &self.display {
            let conversation = &mut found.conversation;
            match read_conversation(display, Some(HistoryFormat::UiMessages), None) {
                Ok(shown) => {
                    conversation.display = shown.conversation.display;
                    conversation.problems.extend(shown.conversation.problems);
                }
                // The model's history is worth importing alone.
                Err(failure) => conversation
                    .problems
                    .push(ReadProblem { place: UI_MESSAGES_FILE.to_owned(), why: failure.message }),
            }
        }
        Ok(found)
    }

    /// Warns of what was not imported, and why.
    fn warn_skipped(&self) {
        if let Some(messages) = &self.messages
            && messages != &self.named
            && self.named.is_file()
        {
            let (new, old) = (messages.display(), self.named.display());
            print_message(
                "note",
                TextStyle::Mark,
                &format!("{new} counts; {old} is left as it is"),
            );
        }
        let metadata = self.named.join(TASK_METADATA_FILE);
        if metadata.is_file() {
            let text = format!("`retake context import` takes in {}", metadata.display());
            print_message("note", TextStyle::Mark, &text);
        }
    }
}

/// Reads a conversation from a file, which stays as it is.
fn read_conversation(
    path: &Path,
    form: Option<HistoryFormat>,
    dialog: Option<&str>,
) -> Result<ParsedConversation, ApiError> {
    let name = path.display().to_string();
    let cannot = |error: &std::io::Error| {
        let message = format!("cannot read {name}: {error}");
        ApiError::new(ErrorCode::UnreadableHistory, message, "name a file, or the folder of a task")
    };
    let known = fs::metadata(path).map_err(|error| cannot(&error))?;
    if !known.is_file() {
        return Err(cannot(&std::io::Error::other("it is no regular file")));
    }
    let mut content = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut content));
    read.map_err(|error| cannot(&error))?;
    if is_database(&content) {
        let exported = read_from_database(path, dialog)?;
        return ParsedConversation::parse(
            &name,
            exported.as_bytes(),
            Some(HistoryFormat::Opencode),
        );
    }
    ParsedConversation::parse(&name, &content, form)
}

fn read_from_database(path: &Path, dialog: Option<&str>) -> Result<String, ApiError> {
    let exported = match dialog {
        Some(id) => opencode_session(path, id)?,
        None => None,
    };
    if let Some(exported) = exported {
        return Ok(exported);
    }
    let sessions = opencode_sessions(path)?;
    let lines = sessions
        .iter()
        .take(MAX_LISTED_CONVERSATIONS)
        .map(|session| format!("\n  {}  {}  {}", session.id, session.directory, session.title));
    let count = plural(sessions.len() as u64, "conversation", "conversations");
    let message = format!("{} has {count}:{}", path.display(), lines.collect::<String>());
    Err(ApiError::new(ErrorCode::NeedsDialog, message, "name one of them with --dialog"))
}

/// The dialog that a conversation belongs to.
fn target_dialog(
    source: &ImportSource,
    found: &ParsedConversation,
    options: &HistoryImportArgs,
) -> Result<DialogId, ApiError> {
    let named = options.dialog.clone().or_else(|| found.conversation.dialog.clone());
    named.or_else(|| source.task.clone()).map(DialogId).ok_or_else(|| {
        let message = format!("{} does not say which dialog it is of", source.named.display());
        ApiError::new(ErrorCode::NeedsDialog, message, "name it with --dialog; it may be a new one")
    })
}
