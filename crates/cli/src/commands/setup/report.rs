//! Output of setup: the diff before, the result after, and notes for the person.

use std::fmt::Write as _;

use anyhow::Result;
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use retake_agents::Agent;
use retake_agents::setup::codex_trust::moves_others;
use retake_agents::setup::{Found, Level, targets};
use serde_json::{Value, json};

use super::Machine;
use super::plan::{Act, Planned, Step};
use super::standing;
use crate::context::{Context, Exit};
use crate::escape::{escape, escape_text};
use crate::failure::Failure;
use crate::output::{Style, tell};
use crate::table::{Cell, Table};

/// Inputs of all reports.
pub(super) struct Report<'a> {
    pub(super) context: &'a Context,
    pub(super) machine: &'a Machine,
    pub(super) remove: bool,
    pub(super) level: Level,
}

impl Report<'_> {
    /// Only what would be written.
    pub(super) fn preview(&self, planned: &[Planned]) -> Result<Exit> {
        if self.context.json {
            self.context.out.json(&self.document(planned, false, None))?;
        } else {
            let diffs = self.diffs(planned);
            let nothing = if diffs.is_empty() { "Nothing would be written.\n" } else { "" };
            self.context.out.paged((diffs + nothing).as_bytes())?;
            tell_failures(planned);
        }
        Ok(exit(planned))
    }

    /// The person did not say yes.
    pub(super) fn refused(&self, planned: &[Planned], failure: &Failure) -> Result<Exit> {
        if self.context.json {
            let document = self.document(planned, false, Some(failure));
            self.context.out.json(&document)?;
        } else {
            tell_failures(planned);
            tell("error", Style::Bad, &failure.message);
            failure.hint.iter().for_each(|hint| tell("hint", Style::Mark, hint));
        }
        Ok(Exit::Partly)
    }

    /// It was done, as far as it could be.
    pub(super) fn done(&self, planned: &[Planned]) -> Result<Exit> {
        if self.context.json {
            self.context.out.json(&self.document(planned, true, None))?;
            return Ok(exit(planned));
        }
        let mut table = Table::default();
        for file in planned {
            let (word, style) = match &file.step {
                Ok(step) => (self.word(file, step), Style::Good),
                Err(_) => ("left as it is", Style::Bad),
            };
            table.row([
                Cell::new(file.agent.title(), Style::Bold),
                Cell::new(word, style),
                Cell::new(escape(&file.shown), Style::Plain),
            ]);
        }
        let mut text = table.render("", self.context.out.colour);
        for note in self.notes(planned) {
            let _ = write!(text, "\n{}\n", escape_text(&note));
        }
        self.context.out.text(&text)?;
        tell_failures(planned);
        Ok(exit(planned))
    }

    /// The differences of all files, as a unified diff.
    pub(super) fn diffs(&self, planned: &[Planned]) -> String {
        let mut text = String::new();
        for file in planned.iter().filter(|file| file.writes()) {
            let Ok(step) = &file.step else { continue };
            let mut diff = unified(&file.shown, step, CONTEXT_LINES);
            if step.mends_mode {
                let _ = writeln!(diff, "{}: made executable", file.shown);
            }
            // On a terminal nothing in a settings file may move the cursor.
            let diff = if self.context.out.terminal { escape_text(&diff) } else { diff };
            text.push_str(&painted(&diff, self.context.out.colour));
        }
        text
    }

    fn word(&self, file: &Planned, step: &Step) -> &'static str {
        match (step.act(), self.remove) {
            (Act::Nothing, true) => "nothing to remove",
            (Act::Nothing, false) if self.is_edited(file) => "already there, with your additions",
            (Act::Nothing, false) => "already there",
            (_, true) => "removed",
            (_, false) if step.now == step.then => "made executable",
            (_, false) => "added",
        }
    }

    /// Returns the hooks of ours in a file afterwards.
    fn found(&self, file: &Planned) -> Option<Found> {
        let text = file.step.as_ref().ok()?.then.as_deref()?;
        file.target.form.find(text, self.machine.own()).ok()
    }

    fn is_edited(&self, file: &Planned) -> bool {
        self.found(file).is_some_and(|found| found.is_edited)
    }

    /// Notes for the person: remaining steps and warnings.
    fn notes(&self, planned: &[Planned]) -> Vec<String> {
        let mut notes: Vec<_> = planned.iter().filter_map(|file| self.moved(file)).collect();
        if self.remove {
            notes.extend(planned.iter().filter_map(|file| self.left(file)));
            return notes;
        }
        let agrees =
            |agent: &Agent| planned.iter().any(|file| file.agent == *agent && file.step.is_ok());
        let agents: Vec<_> = Agent::ALL.into_iter().filter(agrees).collect();
        if planned.iter().any(|file| file.agent == Agent::Codex && self.needs_approval(file)) {
            notes.push(APPROVE_CODEX.to_owned());
        }
        if agents.contains(&Agent::Cursor) {
            notes.push("Cursor's hooks are untested: they follow its documentation.".to_owned());
        }
        for file in planned {
            notes.extend(self.switched_off(file));
        }
        if self.level == Level::Here {
            notes.extend(agents.iter().filter_map(|agent| self.doubled(*agent)));
        }
        if planned.iter().any(Planned::writes) {
            notes.push("Agents that run now take notice when they are started again.".to_owned());
        }
        notes
    }

    /// Codex knows approved hooks by their position.
    fn moved(&self, file: &Planned) -> Option<String> {
        let step = file.step.as_ref().ok().filter(|_| file.agent == Agent::Codex)?;
        let now = step.now.as_deref().unwrap_or_default();
        let then = step.then.as_deref().unwrap_or_default();
        moves_others(now, then, self.machine.own()).then(|| MOVED_CODEX.to_owned())
    }

    /// Commands of the person's own are not taken out.
    fn left(&self, file: &Planned) -> Option<String> {
        let theirs = self.found(file)?.theirs;
        let command = theirs.first()?;
        Some(format!("{} calls Retake in a command of yours: left: {command}", file.shown))
    }

    fn switched_off(&self, file: &Planned) -> Option<String> {
        let why = self.found(file)?.switched_off?;
        let (title, path) = (file.agent.title(), &file.shown);
        Some(format!("{title} runs no hooks, since {why} in {path}: that is yours to change."))
    }

    fn needs_approval(&self, file: &Planned) -> bool {
        file.writes()
            || file.step.is_ok() && standing::approval(&file.target, self.machine).is_some()
    }

    /// Most agents run the hooks of both levels.
    fn doubled(&self, agent: Agent) -> Option<String> {
        let of_user = targets(agent, Level::User, &self.machine.folders);
        let twice = of_user.iter().any(|target| self.machine.calls_us(target));
        let title = agent.title();
        twice.then(|| {
            format!(
                "{title} has Retake's hooks for all of your projects, too; one of them is enough."
            )
        })
    }

    fn document(&self, planned: &[Planned], done: bool, error: Option<&Failure>) -> Value {
        let file = |file: &Planned| {
            let path = file.target.path.display().to_string();
            let mut document = json!({ "agent": file.agent.name(), "path": path });
            match &file.step {
                Ok(step) => {
                    document["action"] = action(step.act()).into();
                    document["done"] = done.into();
                    // Context lines may hold keys, and were not asked for.
                    document["diff"] = unified(&path, step, 0).into();
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
            "level": if self.level == Level::Here { "here" } else { "user" },
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
const APPROVE_CODEX: &str = "Codex runs hooks only after you approved them: start \
     `codex`, type /hooks, look at Retake's and approve them.\nUntil then Codex skips them \
     without a word, and again after any change of them.";

/// Note that approved Codex hooks moved, and need approval again.
const MOVED_CODEX: &str = "Hooks of yours for Codex have another position now. Codex skips those \
     that you approved before, until you approve them again: start `codex`, type /hooks.";

/// Context lines around a change in diffs for people.
const CONTEXT_LINES: u32 = 3;

fn tell_failures(planned: &[Planned]) {
    for failure in planned.iter().filter_map(|file| file.step.as_ref().err()) {
        tell("error", Style::Bad, &failure.message);
        failure.hint.iter().for_each(|hint| tell("hint", Style::Mark, hint));
    }
}

fn action(act: Act) -> &'static str {
    match act {
        Act::Nothing => "none",
        Act::Create => "create",
        Act::Change => "change",
        Act::Delete => "delete",
    }
}

fn exit(planned: &[Planned]) -> Exit {
    if planned.iter().any(|file| file.step.is_err()) { Exit::Partly } else { Exit::Done }
}

fn unified(path: &str, step: &Step, context: u32) -> String {
    let (now, then) = (step.now.as_deref(), step.then.as_deref());
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

fn painted(diff: &str, colour: bool) -> String {
    let paint = |line: &str| {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("---") || line.starts_with("+++") => Style::Bold,
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Bad,
            Some(b'@') => Style::Mark,
            _ => Style::Plain,
        };
        style.paint(line, colour) + "\n"
    };
    diff.split_terminator('\n').map(paint).collect()
}
