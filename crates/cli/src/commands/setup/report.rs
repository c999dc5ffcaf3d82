//! Output of setup: what would be written, what was, and notes for the person.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use retake_agents::AgentKind;
use retake_agents::setup::codex_trust::moves_others;
use retake_agents::setup::{FoundHooks, SetupLevel, program_names, setup_targets};
use retake_engine::model::ErrorCode;
use retake_service::setup::SetupEnvironment;
use serde_json::{Value, json};

use super::home_path::with_tilde;
use super::plan::{PlannedSetupFile, SetupFileAction, SetupStep};
use super::table::{SetupTable, needs_approval};
use crate::context::{CommandContext, Exit};
use crate::escape::escape_text;
use crate::failure::ApiError;
use crate::output::{
    Output, TextStyle, print_cancelled, print_hint, print_message, print_to_person,
};

/// Inputs of all reports.
pub(super) struct SetupReport<'a> {
    pub(super) context: &'a CommandContext,
    pub(super) machine: &'a SetupEnvironment,
    pub(super) remove: bool,
    pub(super) level: SetupLevel,
}

impl SetupReport<'_> {
    /// Only what would be written.
    pub(super) fn print_preview(&self, planned: &[PlannedSetupFile]) -> Result<Exit> {
        if self.context.json {
            self.context.out.json(&self.document(planned, false, None))?;
        } else {
            let diffs = self.render_diffs(planned, self.context.out.terminal);
            let nothing = if diffs.is_empty() { "Nothing would be written.\n" } else { "" };
            self.context.out.paged((diffs + nothing).as_bytes())?;
            self.print_failures(planned);
        }
        Ok(exit_of(planned))
    }

    /// The person did not say yes.
    pub(super) fn print_refused(
        &self,
        planned: &[PlannedSetupFile],
        failure: &ApiError,
    ) -> Result<Exit> {
        if self.context.json {
            let document = self.document(planned, false, Some(failure));
            self.context.out.json(&document)?;
        } else {
            self.print_failures(planned);
            if failure.code == ErrorCode::Declined {
                print_cancelled(&failure.message);
            } else {
                self.print_failure(failure);
            }
        }
        Ok(Exit::Partly)
    }

    /// It was done, as far as it could be.
    pub(super) fn print_done(&self, planned: &[PlannedSetupFile]) -> Result<Exit> {
        if self.context.json {
            self.context.out.json(&self.document(planned, true, None))?;
            return Ok(exit_of(planned));
        }
        let table = SetupTable { done: true, ..self.table() };
        let mut text = table.render(planned, self.context.out);
        let notes = self.notes(planned);
        text.push_str(if notes.is_empty() { "" } else { "\n" });
        for note in notes {
            let _ = writeln!(text, "{}", escape_text(with_tilde(&note, &self.machine.home)));
        }
        self.context.out.text(&text)?;
        self.print_failures(planned);
        Ok(exit_of(planned))
    }

    /// Shows the person at the terminal what would be done, before the question.
    pub(super) fn show_plan(&self, planned: &[PlannedSetupFile]) {
        print_to_person(&self.table().render(planned, Output::stderr()));
    }

    /// Prints what comes next, if all files are as wanted.
    pub(super) fn print_next_step(&self, planned: &[PlannedSetupFile]) -> Result<()> {
        if self.context.json || exit_of(planned) != Exit::Done {
            return Ok(());
        }
        let text = if self.remove {
            self.removed_text(planned)
        } else {
            format!("Done. Start {} in a project, then run: retake status\n", programs(planned))
        };
        Ok(self.context.out.text(&text)?)
    }

    /// Describes the state after a removal. Hooks of the other level are still called.
    fn removed_text(&self, planned: &[PlannedSetupFile]) -> String {
        let (other, option) = match self.level {
            SetupLevel::User => (SetupLevel::Here, "--here "),
            SetupLevel::Here => (SetupLevel::User, ""),
        };
        let is_called = |agent: &AgentKind| {
            let targets = setup_targets(*agent, other, &self.machine.folders);
            targets.iter().any(|target| self.machine.calls_us(target))
        };
        let agents: BTreeSet<_> = planned.iter().map(|file| file.agent).collect();
        let still: Vec<_> = agents.iter().filter(|agent| is_called(agent)).collect();
        if still.is_empty() {
            return "Done. Retake is no longer called by these agents.\n".to_owned();
        }
        let titles: Vec<_> = still.into_iter().map(|agent| agent.title()).collect();
        let place = if other == SetupLevel::Here { "in this project" } else { "in all projects" };
        format!(
            "Done. {} still calls Retake {place}: `retake setup {option}--remove` ends that, too.\n",
            titles.join(", ")
        )
    }

    fn table(&self) -> SetupTable<'_> {
        SetupTable { machine: self.machine, remove: self.remove, done: false }
    }

    fn print_failures(&self, planned: &[PlannedSetupFile]) {
        for failure in planned.iter().filter_map(|file| file.step.as_ref().err()) {
            self.print_failure(failure);
        }
    }

    fn print_failure(&self, failure: &ApiError) {
        let shown = |text: &str| with_tilde(text, &self.machine.home);
        print_message("error", TextStyle::Bad, &shown(&failure.message));
        if let Some(hint) = &failure.hint {
            print_hint(&shown(hint));
        }
    }

    /// The differences of all files, as a unified diff; escaped, if a person reads it at a terminal.
    pub(super) fn render_diffs(&self, planned: &[PlannedSetupFile], at_terminal: bool) -> String {
        let mut text = String::new();
        for file in planned.iter().filter(|file| file.writes()) {
            let Ok(step) = &file.step else { continue };
            let shown = with_tilde(&file.shown, &self.machine.home);
            let mut diff = unified_diff(&shown, step, CONTEXT_LINES);
            if step.fixes_mode {
                let _ = writeln!(diff, "{shown}: made executable");
            }
            // On a terminal nothing in a settings file may move the cursor.
            let diff = if at_terminal { escape_text(&diff) } else { diff };
            text.push_str(&colour_diff(&diff, self.context.out.colour));
        }
        text
    }

    /// Returns the hooks of ours in a file afterwards.
    fn hooks_found(&self, file: &PlannedSetupFile) -> Option<FoundHooks> {
        let text = file.step.as_ref().ok()?.after.as_deref()?;
        file.target.form.find(text, self.machine.hook_command()).ok()
    }

    /// Notes for the person: remaining steps and warnings.
    fn notes(&self, planned: &[PlannedSetupFile]) -> Vec<String> {
        let mut notes: Vec<_> = planned.iter().filter_map(|file| self.moved_note(file)).collect();
        if self.remove {
            notes.extend(planned.iter().filter_map(|file| self.left_commands_note(file)));
            return notes;
        }
        let agrees = |agent: &AgentKind| {
            planned.iter().any(|file| file.agent == *agent && file.step.is_ok())
        };
        let agents: Vec<_> = AgentKind::ALL.into_iter().filter(agrees).collect();
        if planned.iter().any(|file| needs_approval(file, self.machine)) {
            notes.push(CODEX_APPROVAL_HINT.to_owned());
        }
        if agents.contains(&AgentKind::Cursor) {
            notes.push("Cursor's hooks are untested: they follow its documentation.".to_owned());
        }
        for file in planned {
            notes.extend(self.switched_off_note(file));
        }
        if self.level == SetupLevel::Here {
            notes.extend(agents.iter().filter_map(|agent| self.duplicate_hooks_note(*agent)));
        }
        if planned.iter().any(PlannedSetupFile::writes) {
            notes.push("Agents that run now take notice when they are started again.".to_owned());
        }
        notes
    }

    /// Codex knows approved hooks by their position.
    fn moved_note(&self, file: &PlannedSetupFile) -> Option<String> {
        let step = file.step.as_ref().ok().filter(|_| file.agent == AgentKind::Codex)?;
        let now = step.before.as_deref().unwrap_or_default();
        let then = step.after.as_deref().unwrap_or_default();
        moves_others(now, then, self.machine.hook_command()).then(|| CODEX_MOVED_HINT.to_owned())
    }

    /// Commands of the person's own are not taken out.
    fn left_commands_note(&self, file: &PlannedSetupFile) -> Option<String> {
        let theirs = self.hooks_found(file)?.theirs;
        let command = theirs.first()?;
        Some(format!("{} calls Retake in a command of yours: left: {command}", file.shown))
    }

    fn switched_off_note(&self, file: &PlannedSetupFile) -> Option<String> {
        let why = self.hooks_found(file)?.switched_off?;
        let (title, path) = (file.agent.title(), &file.shown);
        Some(format!("{title} runs no hooks, since {why} in {path}: that is yours to change."))
    }

    /// Most agents run the hooks of both levels.
    fn duplicate_hooks_note(&self, agent: AgentKind) -> Option<String> {
        let of_user = setup_targets(agent, SetupLevel::User, &self.machine.folders);
        let twice = of_user.iter().any(|target| self.machine.calls_us(target));
        let title = agent.title();
        twice.then(|| {
            format!(
                "{title} has Retake's hooks for all of your projects, too; one of them is enough."
            )
        })
    }

    fn document(
        &self,
        planned: &[PlannedSetupFile],
        done: bool,
        error: Option<&ApiError>,
    ) -> Value {
        let file = |file: &PlannedSetupFile| {
            let path = file.target.path.display().to_string();
            let mut document = json!({ "agent": file.agent.name(), "path": path });
            match &file.step {
                Ok(step) => {
                    document["action"] = action_name(step.action()).into();
                    document["done"] = done.into();
                    // Context lines may hold keys, and were not asked for.
                    document["diff"] = unified_diff(&path, step, 0).into();
                }
                Err(failure) => {
                    document["action"] = "leave".into();
                    document["done"] = false.into();
                    document["error"] = json!(failure);
                }
            }
            document
        };
        let mut document = json!({
            "act": if self.remove { "remove" } else { "add" },
            "level": if self.level == SetupLevel::Here { "here" } else { "user" },
            "files": planned.iter().map(file).collect::<Vec<_>>(),
            "notes": self.notes(planned),
        });
        if let Some(error) = error {
            document["error"] = json!(error);
        }
        document
    }
}

/// Note on how to approve our hooks in Codex.
const CODEX_APPROVAL_HINT: &str = "Codex runs hooks only after you approve them: start codex, type \
     /hooks.\nUntil then it skips them without a word, and again after any change of them.";

/// Note that approved Codex hooks moved, and need approval again.
const CODEX_MOVED_HINT: &str = "Hooks of yours for Codex have another position now. Codex skips \
     those that\nyou approved before, until you approve them again: start codex, type /hooks.";

/// Context lines around a change in diffs for people.
const CONTEXT_LINES: u32 = 3;

/// The programs of the agents that are set up: `claude or codex`, `one of them` of many.
fn programs(planned: &[PlannedSetupFile]) -> String {
    let mut agents: Vec<_> = planned.iter().map(|file| file.agent).collect();
    agents.dedup();
    let names: Vec<_> = agents.iter().filter_map(|agent| program_names(*agent).first()).collect();
    match names.as_slice() {
        [one] => (*one).to_string(),
        [first, second] => format!("{first} or {second}"),
        [first, second, third] => format!("{first}, {second} or {third}"),
        _ => "one of them".to_owned(),
    }
}

fn action_name(act: SetupFileAction) -> &'static str {
    match act {
        SetupFileAction::Nothing => "none",
        SetupFileAction::Create => "create",
        SetupFileAction::Change => "change",
        SetupFileAction::Delete => "delete",
    }
}

fn exit_of(planned: &[PlannedSetupFile]) -> Exit {
    if planned.iter().any(|file| file.step.is_err()) { Exit::Partly } else { Exit::Done }
}

fn unified_diff(path: &str, step: &SetupStep, context: u32) -> String {
    let (now, then) = (step.before.as_deref(), step.after.as_deref());
    if now == then {
        return String::new();
    }
    let name = |text: Option<&str>| text.map_or("/dev/null", |_| path).to_owned();
    let input = InternedInput::new(now.unwrap_or_default(), then.unwrap_or_default());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    let mut config = UnifiedDiffConfig::default();
    config.context_len(context);
    let hunks = diff.unified_diff(&printer, config, &input);
    format!("--- {}\n+++ {}\n{hunks}", name(now), name(then))
}

fn colour_diff(diff: &str, colour: bool) -> String {
    let paint = |line: &str| {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("---") || line.starts_with("+++") => TextStyle::Bold,
            Some(b'+') => TextStyle::Good,
            Some(b'-') => TextStyle::Bad,
            Some(b'@') => TextStyle::Mark,
            _ => TextStyle::Plain,
        };
        style.paint(line, colour) + "\n"
    };
    diff.split_terminator('\n').map(paint).collect()
}
