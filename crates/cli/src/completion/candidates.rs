//! Candidates from the record of the project that the command line is about.

use std::ffi::OsString;
use std::path::PathBuf;

use clap_complete::engine::CompletionCandidate;
use retake_engine::model::{
    Actor, Caller, CallerChannel, CallerEvidence, ChangeStatus, CommentState, QueuedRejection,
    ReviewComment,
};
use retake_engine::{ChangeFilter, Dialog, Project, ReviewScope};
use retake_service::review::SCOPE_FORMS;

use crate::args::{ColourChoice, GlobalArgs};
use crate::checkpoint_id::short_checkpoint_id;
use crate::commands::describe_lines;
use crate::context::CommandContext;
use crate::describe::{describe_path, display_path, first_words};
use crate::escape::escape;
use crate::time::{DateStyle, TimeFormat};

/// Maximum number of candidates from the record, the newest ones.
const MAX_CANDIDATES: usize = 200;
/// Number of hunks after which no further file is read for more.
const MAX_HUNKS: usize = 50;

/// A word that names a value on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedValue {
    /// Any change.
    Change,
    /// A change of an agent that waits for review.
    PendingChange,
    /// A change of an agent that is in the files.
    AgentChange,
    /// A dialog.
    Dialog,
    /// An agent of any dialog.
    Agent,
    /// A checkpoint.
    Checkpoint,
    /// A scope of a review.
    Scope,
    /// A hunk of a review that is not reviewed.
    Hunk,
    /// A comment in one of these states.
    Comment(&'static [CommentState]),
    /// A rejection that waits in the queue.
    WaitingRejection,
}

/// Where the record of a command line is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordPlace {
    project: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl RecordPlace {
    /// Reads `--project` and `--home` from the words before the last one, which is being written.
    pub(super) fn from_words(words: &[OsString]) -> Self {
        let before = &words[..words.len().saturating_sub(1)];
        let before = before.split(|word| word == "--").next().unwrap_or_default();
        let home = std::env::var_os("RETAKE_HOME").filter(|home| !home.is_empty());
        Self {
            project: option_value(before, "--project"),
            home: option_value(before, "--home").or(home.map(PathBuf::from)),
        }
    }

    /// Candidates for a value; none if the record cannot be read.
    pub(super) fn candidates(&self, value: RecordedValue) -> Vec<CompletionCandidate> {
        self.read(value).unwrap_or_default()
    }

    fn read(&self, value: RecordedValue) -> anyhow::Result<Vec<CompletionCandidate>> {
        let global = GlobalArgs {
            json: false,
            project: self.project.clone(),
            home: self.home.clone(),
            no_look: true,
            no_daemon: true,
            color: ColourChoice::Never,
            date: Some(DateStyle::Relative),
        };
        let caller = Caller::person(CallerChannel::CommandLine, CallerEvidence::None);
        let context = CommandContext::new(&global, caller)?;
        let project = context.retake.open_read_only(context.start_folder())?;
        let reader = RecordReader { project, times: context.times };
        match value {
            RecordedValue::Change => reader.changes(&ChangeFilter::default()),
            RecordedValue::PendingChange => reader.agent_changes(&[ChangeStatus::Pending]),
            RecordedValue::AgentChange => {
                reader.agent_changes(&[ChangeStatus::Pending, ChangeStatus::Accepted])
            }
            RecordedValue::Dialog => reader.dialogs(),
            RecordedValue::Agent => reader.agents(),
            RecordedValue::Checkpoint => reader.checkpoints(),
            RecordedValue::Scope => reader.scopes(),
            RecordedValue::Hunk => reader.hunks(),
            RecordedValue::Comment(states) => reader.comments(states),
            RecordedValue::WaitingRejection => reader.waiting_rejections(),
        }
    }
}

struct RecordReader {
    project: Project,
    times: TimeFormat,
}

impl RecordReader {
    fn agent_changes(&self, statuses: &[ChangeStatus]) -> anyhow::Result<Vec<CompletionCandidate>> {
        let (actors, statuses) = (vec![Actor::Agent], statuses.to_vec());
        self.changes(&ChangeFilter { actors, statuses, ..ChangeFilter::default() })
    }

    fn changes(&self, filter: &ChangeFilter) -> anyhow::Result<Vec<CompletionCandidate>> {
        let filter = ChangeFilter { limit: Some(MAX_CANDIDATES), ..filter.clone() };
        let changes = self.project.changes_with_few_hunks(&filter, 0)?;
        let candidate = |(order, change): (usize, &retake_engine::model::Change)| {
            let about = format!("{}, {}", describe_path(change), self.times.show(change.at));
            described(change.id.to_string(), &about, order)
        };
        Ok(changes.iter().enumerate().map(candidate).collect())
    }

    fn dialogs(&self) -> anyhow::Result<Vec<CompletionCandidate>> {
        let dialogs = self.project.dialogs()?;
        let candidate = |(order, (dialog, _)): (usize, &(Dialog, Vec<_>))| {
            let kind = dialog.kind.as_deref().unwrap_or("agent");
            let title = dialog.title.as_deref().map(first_words).unwrap_or_default();
            let about = format!("{kind}, {}: {title}", self.times.show(dialog.last_at));
            described(dialog.name.clone(), about.trim_end_matches(": "), order)
        };
        Ok(dialogs.iter().take(MAX_CANDIDATES).enumerate().map(candidate).collect())
    }

    /// The words for scopes, then the dialogs.
    fn scopes(&self) -> anyhow::Result<Vec<CompletionCandidate>> {
        let is_word =
            |form: &str| form.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let words = SCOPE_FORMS.iter().filter(|(form, _)| is_word(form)).enumerate();
        let mut found: Vec<_> =
            words.map(|(order, (form, what))| described((*form).to_owned(), what, order)).collect();
        let count = found.len();
        let dialogs = self.dialogs()?.into_iter().enumerate();
        found.extend(dialogs.map(|(order, dialog)| dialog.display_order(Some(count + order))));
        Ok(found)
    }

    /// The first hunks that are not reviewed.
    fn hunks(&self) -> anyhow::Result<Vec<CompletionCandidate>> {
        let review = self.project.review(&ReviewScope::default())?;
        let mut found = Vec::new();
        for entry in review.entries() {
            for file in review.files(entry)? {
                for hunk in file.hunks.iter().filter(|hunk| !hunk.reviewed) {
                    let about = format!("{}, {}", display_path(&file.path), describe_lines(hunk));
                    found.push(described(hunk.id.to_string(), &about, found.len()));
                }
            }
            if found.len() >= MAX_HUNKS {
                break;
            }
        }
        Ok(found)
    }

    fn comments(&self, states: &[CommentState]) -> anyhow::Result<Vec<CompletionCandidate>> {
        let comments = self.project.comments()?;
        let comments = comments.iter().map(|one| &one.comment);
        let newest = comments.rev().filter(|comment| states.contains(&comment.state));
        let candidate = |(order, comment): (usize, &ReviewComment)| {
            let place = comment.path.as_ref().map(|path| format!("{}: ", display_path(path)));
            let about = format!("{}{}", place.unwrap_or_default(), first_words(&comment.text));
            described(comment.id.to_string(), &about, order)
        };
        Ok(newest.take(MAX_CANDIDATES).enumerate().map(candidate).collect())
    }

    fn waiting_rejections(&self) -> anyhow::Result<Vec<CompletionCandidate>> {
        let waiting = self.project.waiting_rejections()?;
        let candidate = |(order, entry): (usize, &QueuedRejection)| {
            let about = format!("{} in {}", entry.hunk, display_path(&entry.path));
            described(entry.id.to_string(), &about, order)
        };
        Ok(waiting.iter().enumerate().map(candidate).collect())
    }

    fn agents(&self) -> anyhow::Result<Vec<CompletionCandidate>> {
        let mut seen = std::collections::BTreeMap::new();
        for (_, agents) in self.project.dialogs()?.into_iter().take(MAX_CANDIDATES) {
            for agent in agents {
                seen.entry(agent.id.0).or_insert(agent.kind);
            }
        }
        let candidate = |(order, (id, kind)): (usize, (String, Option<String>))| {
            described(id, kind.as_deref().unwrap_or_default(), order)
        };
        Ok(seen.into_iter().enumerate().map(candidate).collect())
    }

    fn checkpoints(&self) -> anyhow::Result<Vec<CompletionCandidate>> {
        let mut candidates = Vec::new();
        for one in self.project.checkpoints(None, MAX_CANDIDATES)? {
            let id = short_checkpoint_id(&self.project, &one.id)?;
            let about = format!("{}, {}", self.times.show(one.at), first_words(&one.message));
            candidates.push(described(id, about.trim_end_matches(", "), candidates.len()));
        }
        Ok(candidates)
    }
}

fn described(value: String, about: &str, order: usize) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(escape(about).into())).display_order(Some(order))
}

/// The value of an option in both of its forms; the last one counts.
fn option_value(words: &[OsString], name: &str) -> Option<PathBuf> {
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        let attached = word.to_str().and_then(|word| word.strip_prefix(name)?.strip_prefix('='));
        if word == name {
            found = words.get(at + 1).map(PathBuf::from);
        } else if let Some(value) = attached {
            found = Some(PathBuf::from(value));
        }
    }
    found.map(expand_home)
}

/// The shell expands `~/` only when the line is run.
fn expand_home(path: PathBuf) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_project_and_home_before_the_word_count() {
        let place = |line: &str| {
            RecordPlace::from_words(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
        };
        let named = place("retake --project /a log --project=/b --home /h --dialog x");
        assert_eq!(named.project, Some("/b".into()));
        assert_eq!(named.home, Some("/h".into()));
        // What is being written is no value yet, and what a program gets is none of ours.
        assert_eq!(place("retake log --project /a").project, None);
        assert_eq!(place("retake run -- x --project /a b").project, None);
    }
}
