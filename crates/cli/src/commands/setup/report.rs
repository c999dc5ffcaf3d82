//! Output of setup: the diff before, the result after, and notes for the person.

use std::fmt::Write as _;

use anyhow::Result;
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use retake_agents::AgentKind;
use retake_agents::setup::codex_trust::moves_others;
use retake_agents::setup::{FoundHooks, SetupLevel, setup_targets};
use serde_json::{Value, json};

use super::plan::{PlannedSetupFile, SetupFileAction, SetupStep};
use crate::context::{CommandContext, Exit};
use crate::escape::{escape, escape_text};
use crate::failure::ApiError;
use crate::output::{TextStyle, print_message};
use crate::table::{TableCell, TextTable};
use retake_service::setup::{SetupEnvironment, codex_approval};

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
            let diffs = self.render_diffs(planned);
            let nothing = if diffs.is_empty() { "Nothing would be written.\n" } else { "" };
            self.context.out.paged((diffs + nothing).as_bytes())?;
            print_failures(planned);
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
            print_failures(planned);
            print_message("error", TextStyle::Bad, &failure.message);
            failure.hint.iter().for_each(|hint| print_message("hint", TextStyle::Mark, hint));
        }
        Ok(Exit::Partly)
    }

    /// It was done, as far as it could be.
    pub(super) fn print_done(&self, planned: &[PlannedSetupFile]) -> Result<Exit> {
        if self.context.json {
            self.context.out.json(&self.document(planned, true, None))?;
            return Ok(exit_of(planned));
        }
        let mut table = TextTable::default();
        for file in planned {
            let (word, style) = match &file.step {
                Ok(step) => (self.action_word(file, step), TextStyle::Good),
                Err(_) => ("left as it is", TextStyle::Bad),
            };
            table.row([
                TableCell::new(file.agent.title(), TextStyle::Bold),
                TableCell::new(word, style),
                TableCell::new(escape(&file.shown), TextStyle::Plain),
            ]);
        }
        let mut text = table.render("", self.context.out.colour);
        for note in self.notes(planned) {
            let _ = write!(text, "\n{}\n", escape_text(&note));
        }
        self.context.out.text(&text)?;
        print_failures(planned);
        Ok(exit_of(planned))
    }

    /// The differences of all files, as a unified diff.
    pub(super) fn render_diffs(&self, planned: &[PlannedSetupFile]) -> String {
        let mut text = String::new();
        for file in planned.iter().filter(|file| file.writes()) {
            let Ok(step) = &file.step else { continue };
            let mut diff = unified_diff(&file.shown, step, CONTEXT_LINES);
            if step.fixes_mode {
                let _ = writeln!(diff, "{}: made executable", file.shown);
            }
            // On a terminal nothing in a settings file may move the cursor.
            let diff = if self.context.out.terminal { escape_text(&diff) } else { diff };
            text.push_str(&colour_diff(&diff, self.context.out.colour));
        }
        text
    }

    fn action_word(&self, file: &PlannedSetupFile, step: &SetupStep) -> &'static str {
        match (step.action(), self.remove) {
            (SetupFileAction::Nothing, true) => "nothing to remove",
            (SetupFileAction::Nothing, false) if self.is_edited(file) => {
                "already there, with your additions"
            }
            (SetupFileAction::Nothing, false) => "already there",
            (_, true) => "removed",
            (_, false) if step.before == step.after => "made executable",
            (_, false) => "added",
        }
    }

    /// Returns the hooks of ours in a file afterwards.
    fn hooks_found(&self, file: &PlannedSetupFile) -> Option<FoundHooks> {
        let text = file.step.as_ref().ok()?.after.as_deref()?;
        file.target.form.find(text, self.machine.hook_command()).ok()
    }

    fn is_edited(&self, file: &PlannedSetupFile) -> bool {
        self.hooks_found(file).is_some_and(|found| found.is_edited)
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
        if planned.iter().any(|file| file.agent == AgentKind::Codex && self.needs_approval(file)) {
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

    fn needs_approval(&self, file: &PlannedSetupFile) -> bool {
        file.writes() || file.step.is_ok() && codex_approval(&file.target, self.machine).is_some()
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
const CODEX_APPROVAL_HINT: &str = "Codex runs hooks only after you approved them: start \
     `codex`, type /hooks, look at Retake's and approve them.\nUntil then Codex skips them \
     without a word, and again after any change of them.";

/// Note that approved Codex hooks moved, and need approval again.
const CODEX_MOVED_HINT: &str = "Hooks of yours for Codex have another position now. Codex skips those \
     that you approved before, until you approve them again: start `codex`, type /hooks.";

/// Context lines around a change in diffs for people.
const CONTEXT_LINES: u32 = 3;

fn print_failures(planned: &[PlannedSetupFile]) {
    for failure in planned.iter().filter_map(|file| file.step.as_ref().err()) {
        print_message("error", TextStyle::Bad, &failure.message);
        failure.hint.iter().for_each(|hint| print_message("hint", TextStyle::Mark, hint));
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
