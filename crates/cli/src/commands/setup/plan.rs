//! Plans and applies the change that setup makes to each file.
//!
//! A plan only reads. Applying reads again: if the file is not what the plan saw, it is planned
//! again, so that an edit made in between is kept.

use retake_agents::AgentKind;
use retake_agents::setup::{HookCommand, SetupError, SetupLevel, SetupTarget};
use retake_engine::model::ErrorCode;

use super::record::{SetupRecord, SetupRecords};
use crate::failure::ApiError;
use retake_service::setup::files::WriteAttempt;
use retake_service::setup::{SetupEnvironment, files, symlinks};

/// Maximum attempts to write a file that keeps changing.
const MAX_WRITE_ATTEMPTS: usize = 5;

/// Goal of a setup run.
#[derive(Debug)]
pub(super) enum SetupGoal {
    /// Hooks with this command are there.
    Add(HookCommand),
    /// No hooks of ours are there.
    Remove,
}

/// Goal, level and environment of a setup run.
#[derive(Debug)]
pub(super) struct SetupJob<'a> {
    pub(super) goal: SetupGoal,
    pub(super) level: SetupLevel,
    pub(super) machine: &'a SetupEnvironment,
    pub(super) records: &'a SetupRecords,
}

/// Action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetupFileAction {
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
pub(super) struct SetupStep {
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// It is there, but cannot be run, and will be.
    pub(super) fixes_mode: bool,
}

impl SetupStep {
    pub(super) fn action(&self) -> SetupFileAction {
        match (&self.before, &self.after) {
            (now, then) if now == then && !self.fixes_mode => SetupFileAction::Nothing,
            (None, _) => SetupFileAction::Create,
            (_, None) => SetupFileAction::Delete,
            _ => SetupFileAction::Change,
        }
    }
}

/// Planned change of one file of an agent.
#[derive(Debug)]
pub(super) struct PlannedSetupFile {
    pub(super) agent: AgentKind,
    pub(super) target: SetupTarget,
    /// The file for people, with where its links lead.
    pub(super) shown: String,
    /// The step, or why the file is left as it is.
    pub(super) step: Result<SetupStep, ApiError>,
}

impl PlannedSetupFile {
    /// Looks at a file and says what is to be done.
    pub(super) fn new(agent: AgentKind, target: SetupTarget, job: &SetupJob<'_>) -> Self {
        let shown = symlinks::display_with_link(&target.path, job.machine);
        let step = job.plan(agent, &target);
        Self { agent, target, shown, step }
    }

    /// Returns true if the file will be written.
    pub(super) fn writes(&self) -> bool {
        self.step.as_ref().is_ok_and(|step| step.action() != SetupFileAction::Nothing)
    }

    /// Applies the step. A failure replaces it.
    pub(super) fn apply(&mut self, job: &SetupJob<'_>) {
        for _ in 0..MAX_WRITE_ATTEMPTS {
            let Ok(step) = &self.step else { return };
            // A link may have come since the plan.
            let place = symlinks::check_inside_project(
                self.agent,
                &self.target.path,
                job.level,
                job.machine,
            );
            match place.and_then(|()| job.apply_step(&self.target, step)) {
                Ok(WriteAttempt::Done) => return,
                Ok(WriteAttempt::Changed) => self.step = job.plan(self.agent, &self.target),
                Err(failure) => self.step = Err(failure),
            }
        }
        let message = format!("{} keeps changing, nothing was written", self.target.path.display());
        self.step = Err(ApiError::new(ErrorCode::KeepsChanging, message, "run it again later"));
    }
}

impl SetupJob<'_> {
    fn plan(&self, agent: AgentKind, target: &SetupTarget) -> Result<SetupStep, ApiError> {
        symlinks::check_inside_project(agent, &target.path, self.level, self.machine)?;
        let now = files::read(&target.path)?;
        let then = match (&self.goal, &now) {
            (SetupGoal::Add(command), now) => {
                let then = target.form.add(now.as_deref(), command);
                Some(then.map_err(|error| refused_failure(target, &error))?)
            }
            (SetupGoal::Remove, None) => None,
            (SetupGoal::Remove, Some(text)) => self.text_without_hooks(target, text)?,
        };
        let mends_mode = matches!(self.goal, SetupGoal::Add(_))
            && target.is_executable()
            && files::is_not_executable(&target.path);
        Ok(SetupStep { before: now, after: then, fixes_mode: mends_mode })
    }

    /// Returns the text without our hooks: the original, if the file was not edited since.
    fn text_without_hooks(
        &self,
        target: &SetupTarget,
        text: &str,
    ) -> Result<Option<String>, ApiError> {
        match self.records.find(&target.path) {
            Some(record) if record.after == text => Ok(record.before),
            record => {
                // Without a record it is unknown whether the file existed before: it stays.
                let before = record.map_or(Some(String::new()), |record| record.before);
                let without =
                    target.form.remove(text, before.as_deref(), self.machine.hook_command());
                without.map_err(|error| refused_failure(target, &error))
            }
        }
    }

    fn apply_step(&self, target: &SetupTarget, step: &SetupStep) -> Result<WriteAttempt, ApiError> {
        let known = self.records.find(&target.path);
        let now = step.before.as_deref();
        let attempt = match (&self.goal, &step.after) {
            _ if step.action() == SetupFileAction::Nothing => WriteAttempt::Done,
            (SetupGoal::Add(_), Some(then)) => return self.add_hooks(target, step, then, known),
            (SetupGoal::Remove, Some(then)) => {
                files::write(&target.path, now, then, target.is_executable())?
            }
            (_, None) => {
                let folders = known.map(|known| known.folders).unwrap_or_default();
                files::remove(&target.path, now, &folders)?
            }
        };
        if matches!(self.goal, SetupGoal::Remove) && attempt == WriteAttempt::Done {
            self.records.remove(&target.path)?;
        }
        Ok(attempt)
    }

    fn add_hooks(
        &self,
        target: &SetupTarget,
        step: &SetupStep,
        then: &str,
        known: Option<SetupRecord>,
    ) -> Result<WriteAttempt, ApiError> {
        let before = match &step.before {
            Some(now) => self.text_without_hooks(target, now)?,
            None => None,
        };
        let mut folders = known.map(|known| known.folders).unwrap_or_default();
        let missing = files::missing_folders(&symlinks::real_path(&target.path)?);
        folders.retain(|folder| !missing.contains(folder));
        folders.extend(missing);
        self.records.save(&target.path, before, then.to_owned(), folders)?;
        files::write(&target.path, step.before.as_deref(), then, target.is_executable())
    }
}

/// Failure for a file that is left as it is.
fn refused_failure(target: &SetupTarget, error: &SetupError) -> ApiError {
    let (code, hint) = match error {
        SetupError::NotJson { .. } => (ErrorCode::NotJson, "correct the file, then run it again"),
        SetupError::Shape { .. } => (ErrorCode::WrongShape, "correct the file, then run it again"),
        SetupError::Foreign { .. } => {
            (ErrorCode::ForeignFile, "Retake does not change files of others")
        }
        SetupError::Edited => {
            (ErrorCode::EditedFile, "look at your changes, then remove it yourself")
        }
        SetupError::Endless => (ErrorCode::Endless, "remove them, then run it again"),
        SetupError::PathNotText(_) => (ErrorCode::NotText, "put Retake at another place"),
    };
    files::left_unchanged(code, &target.path, &error.to_string(), hint)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests play the user, who writes files directly")]
mod tests {
    use std::path::{Path, PathBuf};

    use retake_agents::setup::{ConfigFolders, setup_targets};

    use super::*;

    fn machine(home: &Path) -> SetupEnvironment {
        let command = HookCommand::new(Path::new("/bin/retake"), None).unwrap();
        SetupEnvironment {
            folders: ConfigFolders::new(home, home.join("project"), &|_| None),
            home: home.to_owned(),
            project: home.join("project"),
            path: Vec::new(),
            command: Ok(command),
            named_home: None,
        }
    }

    fn codex(machine: &SetupEnvironment) -> (SetupTarget, PathBuf) {
        let target = setup_targets(AgentKind::Codex, SetupLevel::User, &machine.folders).remove(0);
        let path = target.path.clone();
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        (target, path)
    }

    /// A plan of a file that is edited before it is carried out.
    #[test]
    fn an_edit_between_planning_and_writing_is_kept() {
        let temp = tempfile::tempdir().unwrap();
        let records = SetupRecords::new(&temp.path().join("retake"));
        let machine = machine(temp.path());
        let (target, path) = codex(&machine);
        let text = || std::fs::read_to_string(&path).unwrap();
        let job =
            |goal| SetupJob { goal, level: SetupLevel::User, machine: &machine, records: &records };

        let add = job(SetupGoal::Add(machine.hook_command().unwrap().clone()));
        std::fs::write(&path, "{}\n").unwrap();
        let mut planned = PlannedSetupFile::new(AgentKind::Codex, target.clone(), &add);
        std::fs::write(&path, "{\n  \"mine\": 1\n}\n").unwrap();
        planned.apply(&add);
        assert!(text().contains("\"mine\": 1,\n  \"hooks\""), "{}", text());

        let remove = job(SetupGoal::Remove);
        let mut planned = PlannedSetupFile::new(AgentKind::Codex, target, &remove);
        let edited = text().replace("\"mine\": 1", "\"mine\": 2");
        std::fs::write(&path, edited).unwrap();
        planned.apply(&remove);
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
            assert_eq!(written, WriteAttempt::Changed);
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), there);
            let removed = files::remove(&path, Some("else"), &[]).unwrap();
            assert_eq!(removed, WriteAttempt::Changed);
            let _ = std::fs::remove_file(&path);
            assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
        }
    }
}
