//! The context of every command: the home, the folder, the clock and the output.

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use retake_engine::model::{Caller, DialogId, ErrorCode, Millis, ProjectPath};
use retake_engine::settings::{Settings, SettingsError};
use retake_engine::{ChangeFilter, Project, RecordOutcome, RefreshOutcome, Retake};
use retake_server::{CallError, ConnectError, DaemonClient};
use retake_service::request::{
    CarryOutRejections, ProgressFn, ProjectCommand, RecordEvents, RefreshProject, Submission,
};
use retake_service::setup::usual_home;

use crate::args::{ChangeFilterArgs, GlobalArgs};
use crate::describe::display_folder;
use crate::failure::ApiError;
use crate::output::{Output, TextStyle, print_message, warn};
use crate::progress::DelayedProgressBar;
use crate::time::{self, DateStyle, DayBoundary, TimeFormat};

/// Result of a command, as an exit code; failures are errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Done, and there is a problem.
    Problem,
    /// Done in part.
    Partly,
    /// The exit code of a program that was run.
    Code(u8),
}

impl Exit {
    /// Returns the exit code of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Problem => 1,
            Self::Partly => 3,
            Self::Code(code) => code,
        }
    }
}

/// Inputs of a command: options, environment and output.
#[derive(Debug)]
pub(crate) struct CommandContext {
    /// Retake on this machine.
    pub(crate) retake: Retake,
    /// The folder that `--project` names.
    pub(crate) project: Option<PathBuf>,
    /// Retake's own folder, if the person named it.
    pub(crate) named_home: Option<PathBuf>,
    /// The home that is used when none is named, if the environment says where it is.
    default_home: Option<PathBuf>,
    /// The current folder.
    pub(crate) cwd: PathBuf,
    /// Whether JSON is wanted.
    pub(crate) json: bool,
    /// Whether the scan is skipped.
    pub(crate) no_look: bool,
    /// Where output goes.
    pub(crate) out: Output,
    /// How times are shown.
    pub(crate) times: TimeFormat,
    /// The person's home folder, if the environment says where it is.
    pub(crate) user_home: Option<PathBuf>,
    /// Who runs the command.
    pub(crate) caller: RefCell<Caller>,
    /// Whether the caller was looked for among the open calls of all projects.
    pub(crate) is_looked_for_anywhere: Cell<bool>,
    /// Whether requests skip the daemon: by option, or since none answered.
    no_daemon: Cell<bool>,
}

impl CommandContext {
    /// Reads the environment, once; `caller` runs the command.
    pub(crate) fn new(global: &GlobalArgs, caller: Caller) -> Result<Self> {
        let folder = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let user_home = folder("HOME");
        let default_home = default_home(folder("XDG_DATA_HOME"), user_home.as_deref());
        let (home, default_home) = match (&global.home, default_home) {
            (Some(home), default) => (std::path::absolute(home)?, default.ok()),
            (None, default) => {
                let home = default?;
                (home.clone(), Some(home))
            }
        };
        let named_home = global.home.is_some().then(|| home.clone());
        let retake = Retake::new(home)
            .user_home(user_home)
            .config_home(folder("XDG_CONFIG_HOME"))
            .temp(Some(std::env::temp_dir()))
            .said_by(caller.clone());
        Ok(Self {
            retake,
            project: global.project.clone(),
            named_home,
            default_home,
            cwd: std::env::current_dir().context("the current folder cannot be found")?,
            json: global.json,
            no_look: global.no_look,
            out: Output::detect(),
            times: TimeFormat {
                style: global.date.unwrap_or_else(DateStyle::from_env),
                now: time::now(),
            },
            user_home: folder("HOME"),
            caller: RefCell::new(caller),
            is_looked_for_anywhere: Cell::new(false),
            no_daemon: Cell::new(global.no_daemon),
        })
    }

    /// Returns true if the home is the one that is used when none is named.
    pub(crate) fn is_default_home(&self) -> bool {
        self.default_home.as_deref() == Some(self.retake.folder())
    }

    /// The time now.
    #[expect(clippy::unused_self, reason = "the clock is part of the context")]
    pub(crate) fn now(&self) -> Millis {
        time::now()
    }

    /// Returns the folder at or above which the project is searched.
    pub(crate) fn start_folder(&self) -> &Path {
        self.project.as_deref().unwrap_or(&self.cwd)
    }

    /// Opens the project to read its record; warns of an interrupted operation.
    pub(crate) fn open(&self) -> Result<Project> {
        let project = self.open_to_write()?;
        warn_of_interrupted(&project)?;
        Ok(project)
    }

    /// Opens the project for a request, which itself reports an interrupted operation.
    pub(crate) fn open_to_write(&self) -> Result<Project> {
        let project = self.retake.open(self.start_folder())?;
        self.resolve_caller(&project);
        warn_of_settings(project.settings_problem());
        Ok(project)
    }

    /// Opens the project and scans its files, unless that is not wanted or not possible.
    pub(crate) fn open_and_scan(&self) -> Result<(Project, Option<RefreshOutcome>)> {
        let (project, refreshed) = self.open_and_scan_without_warning()?;
        warn_of_interrupted(&project)?;
        Ok((project, refreshed))
    }

    /// Like [`Self::open_and_scan`], for a command that reports interruptions in its own way.
    pub(crate) fn open_and_scan_without_warning(
        &self,
    ) -> Result<(Project, Option<RefreshOutcome>)> {
        self.open_and_scan_with(RefreshProject {})
    }

    /// Like [`Self::open_and_scan_without_warning`], with the request that scans.
    pub(crate) fn open_and_scan_with(
        &self,
        scan: impl ProjectCommand<Answer = RefreshOutcome>,
    ) -> Result<(Project, Option<RefreshOutcome>)> {
        let project = self.open_to_write()?;
        if self.no_look {
            return Ok((project, None));
        }
        let mut bar = DelayedProgressBar::new("Reading");
        let refreshed =
            self.run_request_with_progress(&project, scan, &mut |done, all| bar.set(done, all));
        drop(bar);
        match refreshed {
            Ok(refreshed) => Ok((project, Some(refreshed))),
            // What is on record is worth showing even if nothing can be added to it.
            Err(error) => {
                warn(&format!(
                    "the files could not be scanned, this is what is on record: {error}"
                ));
                Ok((project, None))
            }
        }
    }

    /// Runs a request for the project around the current folder. If a daemon does it, nothing is
    /// opened here.
    pub(crate) fn run_request_in_cwd<V: ProjectCommand>(&self, command: &V) -> Result<V::Answer> {
        let start = self.cwd.join(self.start_folder());
        if let Some(answer) = self.run_in_daemon(&start, false, command, &mut |_, _| {}) {
            if let Ok(located) = self.retake.locate(&start) {
                let settings = Settings::load(self.retake.folder(), located.folder());
                warn_of_settings(settings.err().as_ref());
            }
            return Ok(answer?);
        }
        let project = self.open_to_write()?;
        self.permit(&project, command)?;
        Ok(command.run(&project, self.now(), &mut |_, _| {})?)
    }

    /// Runs a request for the project, in the daemon if one answers, else in process.
    pub(crate) fn run_request<V: ProjectCommand>(
        &self,
        project: &Project,
        command: V,
    ) -> Result<V::Answer> {
        self.run_request_with_progress(project, command, &mut |_, _| {})
    }

    /// Like [`Self::run_request`], for long work: reports progress.
    #[expect(clippy::needless_pass_by_value, reason = "a command is built for one run")]
    pub(crate) fn run_request_with_progress<V: ProjectCommand>(
        &self,
        project: &Project,
        command: V,
        progress: ProgressFn<'_>,
    ) -> Result<V::Answer> {
        if let Some(answer) = self.run_in_daemon(project.root(), false, &command, progress) {
            return Ok(answer?);
        }
        self.permit(project, &command)?;
        Ok(command.run(project, self.now(), progress)?)
    }

    /// Carries out the rejections that an event made due, as a daemon does by itself. A failure is a
    /// warning: the event counts, and they wait on.
    pub(crate) fn carry_out_due_rejections(&self, project: &Project) {
        let done = project.has_waiting_rejections().map_err(Into::into).and_then(|waits| {
            if waits { self.run_request(project, CarryOutRejections {}).map(drop) } else { Ok(()) }
        });
        if let Err(error) = done {
            warn(&format!("rejections still wait: {error:#}"));
        }
    }

    /// Records an event in the other projects that it concerns. Failures are warnings; the event
    /// counts all the same.
    pub(crate) fn relay_to_other_projects(
        &self,
        recorded: &RecordOutcome,
        submission: &Submission,
    ) {
        let Some(relay) = &recorded.relay else { return };
        let record = RecordEvents { submissions: vec![relay.relayed_submission(submission)] };
        for other in &relay.to {
            let answer = self.run_in_daemon(&other.root, false, &record, &mut |_, _| {});
            let done = answer.unwrap_or_else(|| {
                let project = self.retake.open(&other.root)?;
                record.run(&project, self.now(), &mut |_, _| {})
            });
            if let Err(failure) =
                done.and_then(|done| done.into_iter().collect::<Result<Vec<_>, _>>())
            {
                let root = other.root.display();
                warn(&format!("not recorded in {root}: {}", failure.message));
            }
        }
    }

    /// Runs a request in the daemon for the project at or above a folder; none if it must run here.
    pub(crate) fn run_in_daemon<V: ProjectCommand>(
        &self,
        start: &Path,
        create: bool,
        command: &V,
        progress: ProgressFn<'_>,
    ) -> Option<Result<V::Answer, ApiError>> {
        let (client, caller) = (self.connect_daemon()?, self.caller.borrow().clone());
        match client.run(start, create, caller, command.clone(), progress) {
            Ok(answer) => Some(Ok(answer)),
            Err(CallError::Failed(failure)) => Some(Err(failure)),
            Err(CallError::NotDone) => None,
            Err(CallError::Lost(pid)) => Some(Err(ApiError::new(
                ErrorCode::DaemonLost,
                format!("the daemon, process {pid}, began to do this and no longer answers"),
                "see with `retake status` and `retake ops` whether it was done",
            ))),
        }
    }

    /// Connects to the daemon; if none answers, it is not tried again.
    fn connect_daemon(&self) -> Option<DaemonClient> {
        if self.no_daemon.get() {
            return None;
        }
        let found = DaemonClient::connect(self.retake.folder());
        self.no_daemon.set(found.is_err());
        match &found {
            Err(ConnectError::Older(daemon)) => print_message(
                "note",
                TextStyle::Mark,
                &format!(
                    "the daemon, process {}, has the older version {} and was asked to stop",
                    daemon.pid, daemon.version
                ),
            ),
            Err(ConnectError::Newer(daemon)) => warn(&format!(
                "the daemon, process {}, has the newer version {}; this is retake {}, update it",
                daemon.pid,
                daemon.version,
                env!("CARGO_PKG_VERSION"),
            )),
            Ok(_) | Err(ConnectError::Absent | ConnectError::TimedOut) => {}
        }
        found.ok()
    }

    /// Returns true if requests skip the daemon.
    pub(crate) fn skips_daemon(&self) -> bool {
        self.no_daemon.get()
    }

    /// Resolves the filter's options in this project.
    pub(crate) fn resolve_filter(
        &self,
        project: &Project,
        filter: &ChangeFilterArgs,
    ) -> Result<ChangeFilter> {
        let since = filter
            .since
            .as_deref()
            .map(|text| self.resolve_time(text, DayBoundary::Start))
            .transpose()?;
        Ok(ChangeFilter {
            dialogs: filter
                .dialog
                .iter()
                .map(|text| resolve_dialog(project, text))
                .collect::<Result<_>>()?,
            agents: filter.agent.iter().map(|text| text.as_str().into()).collect(),
            path: match &filter.file {
                Some(path) => self.resolve_path(project, path)?,
                None => None,
            },
            since,
            ..ChangeFilter::default()
        })
    }

    /// A folder for people, with `~` for their home.
    pub(crate) fn display_folder(&self, folder: &Path) -> String {
        display_folder(folder, self.user_home.as_deref())
    }

    /// Parses a time relative to now.
    pub(crate) fn resolve_time(&self, text: &str, end: DayBoundary) -> Result<Millis> {
        time::parse(text, self.now(), end).map_err(anyhow::Error::msg)
    }

    /// Resolves a path that a person wrote to one in the project; `None` is all of it.
    pub(crate) fn resolve_path(
        &self,
        project: &Project,
        path: &Path,
    ) -> Result<Option<ProjectPath>> {
        if path.as_os_str().is_empty() {
            let hint = "name a file of the project";
            return Err(ApiError::new(ErrorCode::OutsideProject, "a path is empty", hint).into());
        }
        let placed = match path.to_str() {
            Some(text) => project.resolve_path(&self.cwd, text),
            None => project_path_from_bytes(project.root(), &self.cwd.join(path)),
        };
        if placed.is_some() {
            return Ok(placed);
        }
        let is_root = self.cwd.join(path).canonicalize().is_ok_and(|path| path == project.root());
        if is_root {
            return Ok(None);
        }
        let message =
            format!("{} is outside of the project {}", path.display(), project.root().display());
        Err(ApiError::new(
            ErrorCode::OutsideProject,
            message,
            "name a file of the project, or pass --project DIR",
        )
        .into())
    }
}

fn warn_of_settings(problem: Option<&SettingsError>) {
    if let Some(problem) = problem {
        warn(&format!("the defaults are in force: {problem}"));
    }
}

/// Until it is recovered nothing else is written, so every command warns, once.
fn warn_of_interrupted(project: &Project) -> Result<()> {
    if let Some(operation) = project.unfinished_operation()? {
        let (id, title) = (operation.id, operation.title);
        warn(&format!("operation {id} ({title}) was interrupted; see `retake recover`"));
    }
    Ok(())
}

/// Resolves a name that is not UTF-8 as it is, without following symlinks.
fn project_path_from_bytes(root: &Path, path: &Path) -> Option<ProjectPath> {
    let rest: &OsStr = path.strip_prefix(root).ok()?.as_os_str();
    ProjectPath::new(rest.as_bytes()).ok()
}

/// The dialog that a person named, else the latest one.
pub(crate) fn dialog_or_latest(project: &Project, text: Option<&str>) -> Result<DialogId> {
    match text {
        Some(text) => resolve_dialog(project, text),
        None => Ok(project.latest_dialog()?.id),
    }
}

/// The dialog that has the id or the short name that a person wrote, or whose id alone begins so.
pub(crate) fn resolve_dialog(project: &Project, text: &str) -> Result<DialogId> {
    let text = text.trim_end_matches('…'); // as ids are shortened in lists
    if text.is_empty() {
        let message = "the name of a dialog is empty";
        return Err(ApiError::new(ErrorCode::UnknownDialog, message, "see `retake dialogs`").into());
    }
    match project.dialogs_by_name(text)?.as_slice() {
        [id] => Ok(id.clone()),
        [] => Err(ApiError::new(
            ErrorCode::UnknownDialog,
            format!("there is no dialog '{text}' in this project"),
            "see `retake dialogs`",
        )
        .into()),
        [first, second, ..] if first.0 == text => {
            let name = project.dialog(first)?.map(|dialog| dialog.numbered_name);
            let name = name.unwrap_or_default();
            Err(ApiError::new(
                ErrorCode::UnknownDialog,
                format!("'{text}' is the id of one dialog and the name of another one"),
                format!("write {name} for the one, {second} for the other"),
            )
            .into())
        }
        [first, second, ..] => Err(ApiError::new(
            ErrorCode::UnknownDialog,
            format!("several dialogs begin with '{text}': {first}, {second}…"),
            "write more of the id",
        )
        .into()),
    }
}

fn default_home(data: Option<PathBuf>, user_home: Option<&Path>) -> Result<PathBuf> {
    let home = usual_home(data, user_home).ok_or_else(|| {
        ApiError::new(ErrorCode::NoHome, "neither RETAKE_HOME nor HOME is set", "pass --home DIR")
    })?;
    Ok(home)
}
