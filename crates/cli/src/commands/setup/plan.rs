//! Plans and applies the change that setup makes to each file.
//!
//! A plan only reads. Applying reads again: if the file is not what the plan saw, it is planned
//! again, so that an edit made in between is kept.

use retake_agents::Agent;
use retake_agents::setup::{HookCommand, Level, SetupError, Target};

use super::files::Attempt;
use super::record::{Record, Records};
use super::{Machine, files, place};
use crate::failure::Failure;

/// Maximum attempts to write a file that keeps changing.
const TRIES: usize = 5;

/// Goal of a setup run.
#[derive(Debug)]
pub(super) enum Aim {
    /// Hooks with this command are there.
    Add(HookCommand),
    /// No hooks of ours are there.
    Remove,
}

/// Goal, level and environment of a setup run.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) aim: Aim,
    pub(super) level: Level,
    pub(super) machine: &'a Machine,
    pub(super) records: &'a Records,
}

/// Action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing: it is as it should be.
    Nothing,
    /// It is made.
    Create,
    /// It gets another text.
    Change,
    /// It is removed.
    Delete,
}

/// A file's text before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) now: Option<String>,
    pub(super) then: Option<String>,
    /// It is there, but cannot be run, and will be.
    pub(super) mends_mode: bool,
}

impl Step {
    pub(super) fn act(&self) -> Act {
        match (&self.now, &self.then) {
            (now, then) if now == then && !self.mends_mode => Act::Nothing,
            (None, _) => Act::Create,
            (_, None) => Act::Delete,
            _ => Act::Change,
        }
    }
}

/// Planned change of one file of an agent.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) agent: Agent,
    pub(super) target: Target,
    /// The file for people, with where its links lead.
    pub(super) shown: String,
    /// The step, or why the file is left as it is.
    pub(super) step: Result<Step, Failure>,
}

impl Planned {
    /// Looks at a file and says what is to be done.
    pub(super) fn new(agent: Agent, target: Target, job: &Job<'_>) -> Self {
        let shown = place::shown(&target.path, job.machine);
        let step = job.plan(agent, &target);
        Self { agent, target, shown, step }
    }

    /// Returns true if the file will be written.
    pub(super) fn writes(&self) -> bool {
        self.step.as_ref().is_ok_and(|step| step.act() != Act::Nothing)
    }

    /// Applies the step. A failure replaces it.
    pub(super) fn carry_out(&mut self, job: &Job<'_>) {
        for _ in 0..TRIES {
            let Ok(step) = &self.step else { return };
            // A link may have come since the plan.
            let place = place::check(self.agent, &self.target.path, job.level, job.machine);
            match place.and_then(|()| job.carry_out(&self.target, step)) {
                Ok(Attempt::Done) => return,
                Ok(Attempt::Changed) => self.step = job.plan(self.agent, &self.target),
                Err(failure) => self.step = Err(failure),
            }
        }
        let message = format!("{} keeps changing, nothing was written", self.target.path.display());
        self.step = Err(Failure::new("keeps_changing", message, "run it again later"));
    }
}

impl Job<'_> {
    fn plan(&self, agent: Agent, target: &Target) -> Result<Step, Failure> {
        place::check(agent, &target.path, self.level, self.machine)?;
        let now = files::read(&target.path)?;
        let then = match (&self.aim, &now) {
            (Aim::Add(command), now) => {
                let then = target.form.add(now.as_deref(), command);
                Some(then.map_err(|error| refusal(target, &error))?)
            }
            (Aim::Remove, None) => None,
            (Aim::Remove, Some(text)) => self.without_ours(target, text)?,
        };
        let mends_mode = matches!(self.aim, Aim::Add(_))
            && target.is_executable()
            && files::lacks_execution(&target.path);
        Ok(Step { now, then, mends_mode })
    }

    /// Returns the text without our hooks: the original, if the file was not edited since.
    fn without_ours(&self, target: &Target, text: &str) -> Result<Option<String>, Failure> {
        match self.records.find(&target.path) {
            Some(record) if record.after == text => Ok(record.before),
            record => {
                // Without a record it is unknown whether the file existed before: it stays.
                let before = record.map_or(Some(String::new()), |record| record.before);
                let without = target.form.remove(text, before.as_deref(), self.machine.own());
                without.map_err(|error| refusal(target, &error))
            }
        }
    }

    fn carry_out(&self, target: &Target, step: &Step) -> Result<Attempt, Failure> {
        let known = self.records.find(&target.path);
        let now = step.now.as_deref();
        let attempt = match (&self.aim, &step.then) {
            _ if step.act() == Act::Nothing => Attempt::Done,
            (Aim::Add(_), Some(then)) => return self.add(target, step, then, known),
            (Aim::Remove, Some(then)) => {
                files::write(&target.path, now, then, target.is_executable())?
            }
            (_, None) => {
                let folders = known.map(|known| known.folders).unwrap_or_default();
                files::remove(&target.path, now, &folders)?
            }
        };
        if matches!(self.aim, Aim::Remove) && attempt == Attempt::Done {
            self.records.forget(&target.path)?;
        }
        Ok(attempt)
    }

    fn add(
        &self,
        target: &Target,
        step: &Step,
        then: &str,
        known: Option<Record>,
    ) -> Result<Attempt, Failure> {
        let before = match &step.now {
            Some(now) => self.without_ours(target, now)?,
            None => None,
        };
        let mut folders = known.map(|known| known.folders).unwrap_or_default();
        let missing = files::missing_folders(&place::real_path(&target.path)?);
        folders.retain(|folder| !missing.contains(folder));
        folders.extend(missing);
        self.records.keep(&target.path, before, then.to_owned(), folders)?;
        files::write(&target.path, step.now.as_deref(), then, target.is_executable())
    }
}

/// Failure for a file that is left as it is.
fn refusal(target: &Target, error: &SetupError) -> Failure {
    let (code, hint) = match error {
        SetupError::NotJson { .. } => ("not_json", "correct the file, then run it again"),
        SetupError::Shape { .. } => ("wrong_shape", "correct the file, then run it again"),
        SetupError::Foreign { .. } => ("foreign_file", "Retake does not change files of others"),
        SetupError::Edited => ("edited_file", "look at your changes, then remove it yourself"),
        SetupError::Endless => ("endless", "remove them, then run it again"),
        SetupError::PathNotText(_) => ("not_text", "put Retake at another place"),
    };
    files::left(code, &target.path, &error.to_string(), hint)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
mod tests {
    use std::path::{Path, PathBuf};

    use retake_agents::setup::{Folders, targets};

    use super::*;

    fn machine(home: &Path) -> Machine {
        let command = HookCommand::new(Path::new("/bin/retake"), None).unwrap();
        Machine {
            folders: Folders::new(home, home.join("project"), &|_| None),
            home: home.to_owned(),
            project: home.join("project"),
            path: Vec::new(),
            command: Ok(command),
            named_home: None,
        }
    }

    fn codex(machine: &Machine) -> (Target, PathBuf) {
        let target = targets(Agent::Codex, Level::User, &machine.folders).remove(0);
        let path = target.path.clone();
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        (target, path)
    }

    /// A plan of a file that is edited before it is carried out.
    #[test]
    fn an_edit_between_planning_and_writing_is_kept() {
        let temp = tempfile::tempdir().unwrap();
        let records = Records::new(&temp.path().join("retake"));
        let machine = machine(temp.path());
        let (target, path) = codex(&machine);
        let text = || std::fs::read_to_string(&path).unwrap();
        let job = |aim| Job { aim, level: Level::User, machine: &machine, records: &records };

        let add = job(Aim::Add(machine.own().unwrap().clone()));
        std::fs::write(&path, "{}\n").unwrap();
        let mut planned = Planned::new(Agent::Codex, target.clone(), &add);
        std::fs::write(&path, "{\n  \"mine\": 1\n}\n").unwrap();
        planned.carry_out(&add);
        assert!(text().contains("\"mine\": 1,\n  \"hooks\""), "{}", text());

        let remove = job(Aim::Remove);
        let mut planned = Planned::new(Agent::Codex, target, &remove);
        let edited = text().replace("\"mine\": 1", "\"mine\": 2");
        std::fs::write(&path, edited).unwrap();
        planned.carry_out(&remove);
        assert_eq!(text(), "{\n  \"mine\": 2\n}\n");
        assert!(records.find(&path).is_none());
    }

    /// The last look is after the new text is on disk, right before it takes the file's place.
    #[test]
    fn a_file_that_is_not_what_it_was_is_not_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("settings.json");
        for (there, expected) in
            [(Some("mine"), None), (Some("mine"), Some("{}")), (None, Some("{}"))]
        {
            if let Some(there) = there {
                std::fs::write(&path, there).unwrap();
            }
            let written = files::write(&path, expected, "new", false).unwrap();
            assert_eq!(written, Attempt::Changed);
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), there);
            let removed = files::remove(&path, Some("else"), &[]).unwrap();
            assert_eq!(removed, Attempt::Changed);
            let _ = std::fs::remove_file(&path);
            assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
        }
    }
}
