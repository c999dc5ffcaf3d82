//! `retake daemon`: starts, stops and shows the process that serves all projects of a home.

mod detached;
mod log;

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use retake_engine::settings::Settings;
use retake_server::door::Look;
use retake_server::http::Scope;
use retake_server::{Client, Daemon, DaemonStatus, NoDaemon, RunFolder, Unanswered};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::{self, DaemonAct, DaemonCode, DaemonRun};
use crate::context::{Context, Exit};
use crate::describe::plural;
use crate::escape::escape_text;
use crate::failure::Failure;
use crate::output::{Style, tell, warn};
use crate::time;

pub(crate) use detached::start_detached;
pub(crate) use log::{log_to_file, log_to_stderr};

/// Timeout of a start until the daemon answers, and of a stop until it is gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval at which a start or stop is polled.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) fn run(context: &Context, options: &args::Daemon) -> Result<Exit> {
    match options.act {
        DaemonAct::Start(options) => start(context, options),
        DaemonAct::Stop => stop(context),
        DaemonAct::Status => status(context),
        DaemonAct::Code(options) => code(context, options),
        DaemonAct::Run(options) => serve(context, options),
    }
}

/// Runs the daemon in this process until shutdown.
fn serve(context: &Context, options: DaemonRun) -> Result<Exit> {
    if options.detached {
        detached::leave_terminal();
    }
    open_more_files();
    let daemon = Daemon::open(context.retake.clone(), time::now)?;
    let settings = settings(context).daemon;
    let idle = options.idle_seconds.map_or(settings.idle(), Duration::from_secs);
    let life = daemon.life();
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context("signals")?;
    thread::spawn(move || {
        for _ in &mut signals {
            life.end("it was sent a signal");
        }
    });
    tracing::info!(pid = std::process::id(), "the daemon serves");
    let because = daemon.serve(idle, settings.port)?;
    tracing::info!("the daemon ends: {because}");
    Ok(Exit::Done)
}

/// Raises the limit of open files: each project takes a dozen.
fn open_more_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::info!("no more files can be open: {error}");
    }
}

/// Loads the settings; invalid ones must not keep the daemon from starting.
fn settings(context: &Context) -> Settings {
    Settings::of_home(context.retake.folder()).unwrap_or_else(|problem| {
        warn(&format!("the defaults are in force: {problem}"));
        Settings::default()
    })
}

fn start(context: &Context, options: DaemonRun) -> Result<Exit> {
    let home = context.retake.folder();
    if let Some(pid) = RunFolder::of(home).owner() {
        let message = format!("the daemon runs already: process {pid}");
        return Err(Failure::new("daemon_runs", message, "`retake daemon stop` ends it").into());
    }
    let mut child = start_detached(home, options.idle_seconds).context("it cannot be started")?;
    let until = Instant::now() + PATIENCE;
    loop {
        if Client::connect(home).is_ok() {
            watch_this(context);
            return status(context);
        }
        let ended = child.try_wait().context("the daemon")?;
        if ended.is_some() || Instant::now() > until {
            let log = RunFolder::of(home).log();
            let message = "the daemon does not answer after its start".to_owned();
            let hint = format!("see {}; commands work without it", log.display());
            return Err(Failure::new("daemon", message, hint).into());
        }
        thread::sleep(PAUSE);
    }
}

/// Requests a scan of the current project, so that the daemon watches it.
fn watch_this(context: &Context) {
    let asked = context.retake.open(context.start()).map(|project| context.ask(&project, Look {}));
    if let Ok(Err(error)) = asked {
        warn(&format!("this project is not watched yet: {error:#}"));
    }
}

fn stop(context: &Context) -> Result<Exit> {
    let home = context.retake.folder();
    let folder = RunFolder::of(home);
    let Some(pid) = folder.owner() else { return not_running(context) };
    match Client::connect(home) {
        // Connecting to an older daemon has asked it to stop already.
        Ok(client) => drop(answered(client.stop("it was asked to stop"))?),
        Err(NoDaemon::Older(_)) => {}
        Err(NoDaemon::Newer(newer)) => {
            let message = format!("the daemon, process {pid}, is of the newer {}", newer.version);
            return Err(Failure::new("daemon_newer", message, "stop it with that version").into());
        }
        Err(NoDaemon::Absent | NoDaemon::Hung) => return Err(hung(pid).into()),
    }
    let until = Instant::now() + PATIENCE;
    while folder.owner() == Some(pid) {
        if Instant::now() > until {
            return Err(hung(pid).into());
        }
        thread::sleep(PAUSE);
    }
    if context.json {
        context.out.json(&json!({ "running": false, "stopped": pid }))?;
    } else {
        context.out.text(&format!("The daemon, process {pid}, has stopped.\n"))?;
    }
    Ok(Exit::Done)
}

fn status(context: &Context) -> Result<Exit> {
    let home = context.retake.folder();
    let owner = RunFolder::of(home).owner();
    match (Client::connect(home), owner) {
        (Ok(client), _) => show(context, &answered(client.status())?),
        (Err(_), Some(pid)) => Err(hung(pid).into()),
        (Err(_), None) => not_running(context),
    }
}

/// Prints a one-time code with which a browser, or another program, logs in.
fn code(context: &Context, options: DaemonCode) -> Result<Exit> {
    let client = Client::connect(context.retake.folder()).map_err(|_| {
        Failure::new("no_daemon", "no daemon answers", "`retake daemon start` starts one")
    })?;
    let scope = if options.agent { Scope::Agent } else { Scope::Human };
    let made = answered(client.code(scope))?;
    if context.json {
        context.out.json(&made)?;
    } else {
        context.out.text(&format!("{}\n", made.code))?;
        let text = format!("for {}, good once, for a minute", escape_text(&made.url));
        tell("code", Style::Mark, &text);
    }
    Ok(Exit::Done)
}

fn not_running(context: &Context) -> Result<Exit> {
    if context.json {
        context.out.json(&json!({ "running": false }))?;
    } else {
        context.out.text("No daemon runs; commands do their work themselves.\n")?;
    }
    Ok(Exit::Done)
}

fn hung(pid: u32) -> Failure {
    let message = format!("the daemon, process {pid}, does not answer");
    Failure::new("daemon_hung", message, format!("`kill -9 {pid}` ends it, and loses nothing"))
}

fn answered<T>(answer: Result<T, Unanswered>) -> Result<T, Failure> {
    answer.map_err(|unanswered| match unanswered {
        Unanswered::Failed(failure) => failure,
        Unanswered::Lost(pid) => hung(pid),
        Unanswered::NotDone => {
            Failure::new("daemon", "the daemon went away", "see `retake daemon status`")
        }
    })
}

fn show(context: &Context, status: &DaemonStatus) -> Result<Exit> {
    if context.json {
        let mut document = json!({ "running": true });
        if let (Some(all), Ok(known)) = (document.as_object_mut(), serde_json::to_value(status)) {
            all.extend(known.as_object().cloned().unwrap_or_default());
            all.insert("since".to_owned(), json!(time::iso(status.since)));
        }
        context.out.json(&document)?;
        return Ok(Exit::Done);
    }
    let mut text = format!(
        "The daemon runs: process {}, version {}, since {}\n",
        status.pid,
        escape_text(&status.version),
        time::local(status.since),
    );
    if let Some(address) = &status.http {
        let _ = writeln!(text, "HTTP: {}", escape_text(address));
    }
    let count = plural(status.projects.len() as u64, "project", "projects");
    let _ = writeln!(text, "It serves {count}");
    for project in &status.projects {
        let _ = writeln!(text, "  {}  watching: {}", escape_text(&project.root), project.watch);
    }
    context.out.text(&text)?;
    if status.projects.is_empty() {
        tell("note", Style::Mark, "a project is served from the first time that somebody asks");
    }
    Ok(Exit::Done)
}
