//! The table of setup: a row for each agent, with its file and what happens to it.

use std::path::Path;

use retake_agents::AgentKind;
use retake_agents::setup::{FoundHooks, HookCommand, SetupFileKind};
use retake_service::setup::SetupEnvironment;

use super::home_path::with_tilde;
use super::plan::{PlannedSetupFile, SetupFileAction, SetupStep};
use crate::describe::plural;
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable};
use crate::output::{Output, TextStyle};

/// Inputs of the table.
pub(super) struct SetupTable<'a> {
    pub(super) machine: &'a SetupEnvironment,
    pub(super) remove: bool,
    /// The files were written.
    pub(super) done: bool,
}

/// One row.
struct AgentRow {
    title: &'static str,
    path: String,
    words: String,
    style: TextStyle,
}

impl SetupTable<'_> {
    /// Renders the rows; files of one agent that lie in one folder share a row.
    pub(super) fn render(&self, planned: &[PlannedSetupFile], out: Output) -> String {
        let mut table = TextTable::new([
            Column::WHOLE,
            Column::PATH.at_least(12),
            Column::WRAPPED.at_least(40),
        ]);
        for files in planned.chunk_by(|one, other| one.agent == other.agent) {
            let row = self.row(files);
            table.row([
                TableCell::new(row.title, TextStyle::Bold),
                TableCell::new(escape(row.path), TextStyle::Plain),
                TableCell::new(row.words, row.style),
            ]);
        }
        table.render("", out)
    }

    fn row(&self, files: &[PlannedSetupFile]) -> AgentRow {
        let path = match files {
            [one] => one.shown.clone(),
            several => several[0].target.path.parent().map(folder_text).unwrap_or_default(),
        };
        let left = files.iter().filter(|file| file.step.is_err()).count();
        let mut words: Vec<String> = self.describe_files(files).into_iter().collect();
        match left {
            0 => {}
            _ if files.len() == 1 => words.push("left as it is".to_owned()),
            1 => words.push("1 left as it is".to_owned()),
            count => words.push(format!("{count} left as they are")),
        }
        let writes = files.iter().any(PlannedSetupFile::writes);
        // Afterwards a note tells more of it.
        let is_plan_to_add = !self.remove && !self.done;
        if is_plan_to_add && files.iter().any(|file| needs_approval(file, self.machine)) {
            words.push("then approve them in /hooks".to_owned());
        }
        AgentRow {
            title: files[0].agent.title(),
            path: with_tilde(&path, &self.machine.home),
            words: words.join("; "),
            style: match (left, writes) {
                (0, true) => TextStyle::Good,
                (0, false) => TextStyle::Dim,
                _ => TextStyle::Bad,
            },
        }
    }

    /// `adds 10 hooks`, `adds a plugin`, `removes 7 scripts`; none if no file can be read.
    fn describe_files(&self, files: &[PlannedSetupFile]) -> Option<String> {
        // All files of an agent are of one kind.
        let form = files.first()?.target.form;
        let steps: Vec<_> = files.iter().filter_map(|file| file.step.as_ref().ok()).collect();
        let is_changed = |step: &&SetupStep| step.action() != SetupFileAction::Nothing;
        let changed: Vec<_> = steps.iter().copied().filter(is_changed).collect();
        let Some(step) = changed.first() else {
            return steps.first().map(|step| self.describe_unchanged(form, step).to_owned());
        };
        Some(match form {
            SetupFileKind::Hooks(_) => self.describe_hooks(form, step),
            SetupFileKind::Plugin => self.describe_own_files(&changed, "plugin", "plugins"),
            SetupFileKind::Script(_) => self.describe_own_files(&changed, "script", "scripts"),
        })
    }

    /// `adds 7 scripts`, `adds a script; updates 6 scripts`
    fn describe_own_files(&self, changed: &[&SetupStep], one: &str, many: &str) -> String {
        let groups = changed.chunk_by(|a, b| self.deed(a) == self.deed(b)).map(|group| {
            let (verb, rest) = self.deed(group[0]);
            let what = match group.len() {
                1 => format!("a {one}"),
                count => format!("{count} {many}"),
            };
            format!("{verb} {what}{rest}")
        });
        groups.collect::<Vec<_>>().join("; ")
    }

    /// Describes what happens to a file of Retake's own: the verb, and what stands behind the file.
    fn deed(&self, step: &SetupStep) -> (&'static str, &'static str) {
        match step.action() {
            _ if self.remove => (self.verb("removes", "removed"), ""),
            SetupFileAction::Create => (self.verb("adds", "added"), ""),
            _ if step.before == step.after => (self.verb("makes", "made"), " executable"),
            _ => (self.verb("updates", "updated"), ""),
        }
    }

    fn describe_hooks(&self, form: SetupFileKind, step: &SetupStep) -> String {
        let own = self.machine.hook_command();
        let before = count_hooks(form, step.before.as_deref(), own);
        let after = count_hooks(form, step.after.as_deref(), own);
        let hooks = |count: usize| plural(count as u64, "hook", "hooks");
        if self.remove {
            let removed = before.saturating_sub(after);
            return format!("{} {}", self.verb("removes", "removed"), hooks(removed));
        }
        match after.saturating_sub(before) {
            0 => format!("{} {}", self.verb("updates", "updated"), hooks(after)),
            added => format!("{} {}", self.verb("adds", "added"), hooks(added)),
        }
    }

    fn describe_unchanged(&self, form: SetupFileKind, step: &SetupStep) -> &'static str {
        let own = self.machine.hook_command();
        let is_edited = || find_hooks(form, step.after.as_deref(), own).is_edited;
        match self.remove {
            true => "nothing to remove",
            false if is_edited() => "already there, with your additions",
            false => "already there",
        }
    }

    fn verb(&self, planned: &'static str, done: &'static str) -> &'static str {
        if self.done { done } else { planned }
    }
}

/// Returns true if Codex does not run the hooks of this file before the person approved them.
pub(super) fn needs_approval(file: &PlannedSetupFile, machine: &SetupEnvironment) -> bool {
    file.agent == AgentKind::Codex
        && file.step.is_ok()
        && (file.writes() || retake_service::setup::codex_approval(&file.target, machine).is_some())
}

fn count_hooks(form: SetupFileKind, text: Option<&str>, own: Option<&HookCommand>) -> usize {
    find_hooks(form, text, own).present
}

fn find_hooks(form: SetupFileKind, text: Option<&str>, own: Option<&HookCommand>) -> FoundHooks {
    text.and_then(|text| form.find(text, own).ok()).unwrap_or_default()
}

/// A folder, with the slash that tells it from a file.
fn folder_text(folder: &Path) -> String {
    format!("{}/", folder.display())
}
