//! `retake daemon`: starts, stops and shows the process that serves all projects of a home.

mod access;
mod detached;
mod log;

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use retake_engine::iso_8601;
use retake_engine::model::ErrorCode;
use retake_engine::settings::{DEFAULT_HTTP_PORT, Settings};
use retake_server::http::{HttpOptions, TokenLifetimes, TokenScope};
use retake_server::{CallError, ConnectError, Daemon, DaemonClient, DaemonStatus, RunFolder};
use retake_service::request::RefreshProject;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::{self, DaemonCodeArgs, DaemonCommand, DaemonRunArgs};
use crate::context::{CommandContext, Exit};
use crate::describe::plural;
use crate::escape::escape_text;
use crate::failure::ApiError;
use crate::output::{TextStyle, print_message, warn};
use crate::time;

pub(crate) use detached::start_detached;
pub(crate) use log::{log_to_file, log_to_stderr};

/// Timeout of a start until the daemon answers, and of a stop until it is gone.
const START_STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval at which a start or stop is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(super) fn run(context: &CommandContext, options: &args::DaemonArgs) -> Result<Exit> {
    match &options.command {
        DaemonCommand::Start(options) => start(context, *options),
        DaemonCommand::Stop => stop(context),
        DaemonCommand::Status => status(context),
        DaemonCommand::Code(options) => print_code(context, *options),
        DaemonCommand::Token(options) => access::token(context, options),
        DaemonCommand::Logout(options) => access::logout(context, options),
        DaemonCommand::Run(options) => serve(context, *options),
    }
}

/// Runs the daemon in this process until shutdown.
fn serve(context: &CommandContext, options: DaemonRunArgs) -> Result<Exit> {
    if options.detached {
        detached::leave_terminal();
    }
    raise_file_limit();
    let daemon = Daemon::open(context.retake.clone(), time::now)?;
    let settings = settings_or_default(context);
    let idle = options.idle_seconds.map_or(settings.daemon.idle_timeout(), Duration::from_secs);
    let http = http_options(context, &settings);
    let idle_tracker = daemon.idle();
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context("signals")?;
    thread::spawn(move || {
        for _ in &mut signals {
            idle_tracker.request_shutdown("it was sent a signal");
        }
    });
    tracing::info!(pid = std::process::id(), "the daemon serves");
    let because = daemon.serve(idle, &http)?;
    tracing::info!("the daemon ends: {because}");
    Ok(Exit::Done)
}

/// Where the daemon speaks HTTP. Without a setting, the daemon of the default home has a fixed
/// port, and those of other homes take any: so they do not compete for it.
fn http_options(context: &CommandContext, settings: &Settings) -> HttpOptions {
    let default_port = if context.is_default_home() { DEFAULT_HTTP_PORT } else { 0 };
    let lifetimes = TokenLifetimes {
        login_days: settings.http.login_days,
        agent_token_days: settings.http.agent_token_days,
    };
    let port = settings.http.port.or(settings.daemon.port).unwrap_or(default_port);
    HttpOptions { port, lifetimes, ..HttpOptions::default() }
}

/// Raises the limit of open files: each project takes a dozen.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::info!("no more files can be open: {error}");
    }
}

/// Loads the settings; invalid ones must not keep the daemon from starting.
fn settings_or_default(context: &CommandContext) -> Settings {
    Settings::load_home(context.retake.folder()).unwrap_or_else(|problem| {
        warn(&format!("the defaults are in force: {problem}"));
        Settings::default()
    })
}

fn start(context: &CommandContext, options: DaemonRunArgs) -> Result<Exit> {
    let home = context.retake.folder();
    if let Some(pid) = RunFolder::in_home(home).owner() {
        let message = format!("the daemon runs already: process {pid}");
        return Err(
            ApiError::new(ErrorCode::DaemonRuns, message, "`retake daemon stop` ends it").into()
        );
    }
    if let Some(link) = RunFolder::in_home(home).linked_file() {
        let message = format!("{} is a symbolic link, which is not followed", link.display());
        let hint = "remove the link; commands work without a daemon";
        return Err(ApiError::new(ErrorCode::Daemon, message, hint).into());
    }
    let mut child = start_detached(home, options.idle_seconds).context("it cannot be started")?;
    let until = Instant::now() + START_STOP_TIMEOUT;
    loop {
        if DaemonClient::connect(home).is_ok() {
            watch_current_project(context);
            return status(context);
        }
        let ended = child.try_wait().context("the daemon")?;
        if ended.is_some() || Instant::now() > until {
            let log = RunFolder::in_home(home).log_path();
            let message = "the daemon does not answer after its start".to_owned();
            let hint = format!("see {}; commands work without it", log.display());
            return Err(ApiError::new(ErrorCode::Daemon, message, hint).into());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Requests a scan of the current project, so that the daemon watches it.
fn watch_current_project(context: &CommandContext) {
    let scanned = context
        .retake
        .open(context.start_folder())
        .map(|project| context.run_request(&project, RefreshProject {}));
    if let Ok(Err(error)) = scanned {
        warn(&format!("this project is not watched yet: {error:#}"));
    }
}

fn stop(context: &CommandContext) -> Result<Exit> {
    let home = context.retake.folder();
    let folder = RunFolder::in_home(home);
    let Some(pid) = folder.owner() else { return report_not_running(context) };
    match DaemonClient::connect(home) {
        // Connecting to an older daemon has asked it to stop already.
        Ok(client) => drop(map_unanswered(client.stop("it was asked to stop"))?),
        Err(ConnectError::Older(_)) => {}
        Err(ConnectError::Newer(newer)) => {
            let message = format!("the daemon, process {pid}, is of the newer {}", newer.version);
            return Err(ApiError::new(
                ErrorCode::DaemonNewer,
                message,
                "stop it with that version",
            )
            .into());
        }
        Err(ConnectError::Absent | ConnectError::TimedOut) => return Err(hung_failure(pid).into()),
    }
    let until = Instant::now() + START_STOP_TIMEOUT;
    while folder.owner() == Some(pid) {
        if Instant::now() > until {
            return Err(hung_failure(pid).into());
        }
        thread::sleep(POLL_INTERVAL);
    }
    if context.json {
        context.out.json(&json!({ "running": false, "stopped": pid }))?;
    } else {
        context.out.text(&format!("The daemon, process {pid}, has stopped.\n"))?;
    }
    Ok(Exit::Done)
}

fn status(context: &CommandContext) -> Result<Exit> {
    let home = context.retake.folder();
    let owner = RunFolder::in_home(home).owner();
    match (DaemonClient::connect(home), owner) {
        (Ok(client), _) => show_status(context, &map_unanswered(client.status())?),
        (Err(_), Some(pid)) => Err(hung_failure(pid).into()),
        (Err(_), None) => report_not_running(context),
    }
}

/// Prints a one-time code with which a browser, or another program, logs in.
fn print_code(context: &CommandContext, options: DaemonCodeArgs) -> Result<Exit> {
    let client = connect(context)?;
    let scope = if options.agent { TokenScope::Agent } else { TokenScope::Human };
    let made = map_unanswered(client.create_code(scope))?;
    if context.json {
        context.out.json(&made)?;
    } else {
        context.out.text(&format!("{}\n", made.code))?;
        let text = format!("for {}, good once, for a minute", escape_text(&made.url));
        print_message("code", TextStyle::Mark, &text);
    }
    Ok(Exit::Done)
}

fn connect(context: &CommandContext) -> Result<DaemonClient, ApiError> {
    DaemonClient::connect(context.retake.folder()).map_err(|_| {
        ApiError::new(ErrorCode::NoDaemon, "no daemon answers", "`retake daemon start` starts one")
    })
}

fn report_not_running(context: &CommandContext) -> Result<Exit> {
    if context.json {
        context.out.json(&json!({ "running": false }))?;
    } else {
        context.out.text("No daemon runs; commands do their work themselves.\n")?;
    }
    Ok(Exit::Done)
}

fn hung_failure(pid: u32) -> ApiError {
    let message = format!("the daemon, process {pid}, does not answer");
    ApiError::new(
        ErrorCode::DaemonHung,
        message,
        format!("`kill -9 {pid}` ends it, and loses nothing"),
    )
}

fn map_unanswered<T>(answer: Result<T, CallError>) -> Result<T, ApiError> {
    answer.map_err(|unanswered| match unanswered {
        CallError::Failed(failure) => failure,
        CallError::Lost(pid) => hung_failure(pid),
        CallError::NotDone => {
            ApiError::new(ErrorCode::Daemon, "the daemon went away", "see `retake daemon status`")
        }
    })
}

fn show_status(context: &CommandContext, status: &DaemonStatus) -> Result<Exit> {
    if context.json {
        let mut document = json!({ "running": true });
        if let (Some(all), Ok(known)) = (document.as_object_mut(), serde_json::to_value(status)) {
            all.extend(known.as_object().cloned().unwrap_or_default());
            all.insert("since".to_owned(), json!(iso_8601(status.since)));
        }
        context.out.json(&document)?;
        return Ok(Exit::Done);
    }
    let mut text = format!(
        "The daemon runs: process {}, version {}, since {}\n",
        status.pid,
        escape_text(&status.version),
        context.times.show(status.since),
    );
    if let Some(address) = &status.http {
        let _ = writeln!(text, "HTTP: {}", escape_text(address));
    }
    if let Some(note) = &status.http_note {
        let _ = writeln!(text, "  {}", escape_text(note));
    }
    let count = plural(status.projects.len() as u64, "project", "projects");
    let _ = writeln!(text, "It serves {count}");
    for project in &status.projects {
        let _ = writeln!(text, "  {}  watching: {}", escape_text(&project.root), project.watch);
    }
    context.out.text(&text)?;
    if status.projects.is_empty() {
        print_message("note", TextStyle::Mark, "a project is served from its first request on");
    }
    Ok(Exit::Done)
}
