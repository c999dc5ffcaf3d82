//! The daemon: one process for all projects of a home, serving requests on a Unix socket.
//!
//! It is optional: a command that finds none does the same work in process. With one, a hook
//! costs a round trip, and events of several senders are recorded in one batch.
//!
//! Invariants: there is one of them for each home, for as long as it holds the [`DaemonLock`]. It ends
//! on request or when idle, and finishes the requests in flight.

mod callers;
mod clients;
mod connection;
pub(crate) mod idle;

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use retake_engine::model::{ErrorCode, Millis};
use retake_engine::{Retake, WatchState};
use retake_service::ApiError;
use retake_service::request::EncodedAnswer;

use clients::ClientTable;

use crate::run_folder::{DaemonLock, RunFolder, is_same_user};
use crate::wire::{BrowserCode, DaemonStatus, ServedProject, VERSION};
use crate::{IdleTracker, ProjectHandle, ProjectPool, http};

/// Grace period for requests in flight at shutdown (docs/reliability.md, row 9).
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Dialogs with activity within this time count as open when the daemon starts.
const RESUME_WINDOW_MS: Millis = 24 * 60 * 60 * 1000;

/// The daemon of a home, ready to serve.
#[derive(Debug)]
pub struct Daemon {
    projects: Arc<ProjectPool>,
    since: Millis,
    folder: RunFolder,
    listener: UnixListener,
    claim: DaemonLock,
}

impl Daemon {
    /// Becomes the daemon of the home; fails with the pid of the one that runs already.
    pub fn open(retake: Retake, clock: fn() -> Millis) -> Result<Self, ApiError> {
        let folder = RunFolder::in_home(retake.folder());
        let cannot = |error: io::Error| {
            let message = format!("the daemon cannot use {}: {error}", folder.path().display());
            ApiError::new(
                ErrorCode::Daemon,
                message,
                "check that folder; commands work without a daemon",
            )
        };
        let Some(claim) = folder.try_lock().map_err(cannot)? else {
            let pid = folder.owner().unwrap_or(0);
            return Err(ApiError::new(
                ErrorCode::DaemonRuns,
                format!("the daemon of {} runs already: process {pid}", retake.folder().display()),
                "`retake daemon stop` ends it",
            ));
        };
        retake.close_open_paths();
        let listener = folder.listen(&claim).map_err(cannot)?;
        let pool = Arc::new(ProjectPool::new(retake, clock));
        let since = pool.now();
        Ok(Self { projects: pool, since, folder, listener, claim })
    }

    /// The open projects.
    pub fn projects(&self) -> &Arc<ProjectPool> {
        &self.projects
    }

    /// The idle tracker, through which a shutdown is requested.
    pub fn idle(&self) -> Arc<IdleTracker> {
        Arc::clone(self.projects.idle())
    }

    /// Serves until a shutdown is requested or it was idle for `idle`; returns the reason.
    ///
    /// It also speaks HTTP; if it cannot, everything else works all the same.
    pub fn serve(self, idle: Duration, options: &http::HttpOptions) -> Result<String, ApiError> {
        let Self { projects: pool, since, folder, listener, claim } = self;
        let http = match http::serve(Arc::clone(&pool), options) {
            Ok(http) => Some(http),
            Err(failure) => {
                tracing::warn!(code = %failure.code, "no HTTP: {}", failure.message);
                None
            }
        };
        let endpoint = http.as_ref().map(|http| HttpEndpoint {
            url: http.url(),
            note: http.port_note().map(str::to_owned),
            access: Arc::clone(http.access()),
        });
        let clients = ClientTable::default();
        let state = Arc::new(DaemonState { projects: pool, since, http: endpoint, clients });
        let pool = Arc::clone(&state.projects);
        let tracker = Arc::clone(state.projects.idle());
        let resumed = Arc::clone(&state.projects);
        // In the background: no client waits for it.
        let _ = thread::Builder::new().spawn(move || resume_recent_projects(&resumed));
        thread::Builder::new().spawn(move || accept_connections(&state, &listener)).map_err(
            |error| {
                ApiError::new(
                    ErrorCode::Daemon,
                    format!("there is no thread to listen: {error}"),
                    "try again",
                )
            },
        )?;
        let is_claimed = || folder.is_locked_by(&claim);
        let because = tracker.wait_for_shutdown(idle, &is_claimed);
        // Clients that connect from now on work in process.
        folder.close(&claim);
        pool.close_streams();
        if let Some(http) = http {
            // Files of another daemon are not ours to remove.
            http.stop(is_claimed());
        }
        if !tracker.drain(SHUTDOWN_GRACE) {
            tracing::warn!("something was not finished in time");
        }
        drop(claim);
        Ok(because)
    }
}

/// State shared by the connections.
#[derive(Debug)]
struct DaemonState {
    projects: Arc<ProjectPool>,
    since: Millis,
    http: Option<HttpEndpoint>,
    clients: ClientTable,
}

/// Where the daemon speaks HTTP, and how other programs come in there.
#[derive(Debug)]
struct HttpEndpoint {
    url: String,
    /// Says why the port is not the one in the settings.
    note: Option<String>,
    access: Arc<http::HttpAccess>,
}

impl DaemonState {
    /// A code that a browser exchanges for a token.
    fn create_code(&self, scope: http::TokenScope) -> Result<BrowserCode, ApiError> {
        let http = self.http()?;
        Ok(BrowserCode { url: http.url.clone(), code: http.access.codes().create(scope)? })
    }

    /// Executes a request about tokens and logins.
    fn run_access(&self, request: http::AccessRequest) -> Result<EncodedAnswer, ApiError> {
        self.http()?.access.run(&self.projects, request)
    }

    fn http(&self) -> Result<&HttpEndpoint, ApiError> {
        self.http.as_ref().ok_or_else(|| {
            let message = "the daemon does not speak HTTP";
            ApiError::new(ErrorCode::NoHttp, message, "see its log; is the port in use?")
        })
    }

    fn status(&self) -> DaemonStatus {
        let project = |handle: Arc<ProjectHandle>| ServedProject {
            id: handle.id().to_owned(),
            root: handle.root().to_string_lossy().into_owned(),
            watch: describe_watch_state(handle.watch_state().as_ref()),
        };
        let mut projects: Vec<_> = self.projects.handles().into_iter().map(project).collect();
        projects.sort_by(|one, other| one.root.cmp(&other.root));
        let (pid, version) = (std::process::id(), VERSION.to_owned());
        let http = self.http.as_ref().map(|http| http.url.clone());
        let http_note = self.http.as_ref().and_then(|http| http.note.clone());
        let health = self.projects.health(http.clone());
        let health = health
            .inspect_err(|failure| tracing::warn!(code = %failure.code, "{}", failure.message))
            .ok();
        DaemonStatus { pid, version, since: self.since, http, http_note, projects, health }
    }
}

/// Describes how much of a project is watched.
fn describe_watch_state(state: Option<&WatchState>) -> String {
    let Some(state) = state else { return "off".to_owned() };
    if let Some(why) = &state.unavailable_reason {
        return format!("off: {why}");
    }
    match (state.catching_up, state.polled.len()) {
        (true, _) => "catching up".to_owned(),
        (false, 0) => "on".to_owned(),
        (false, count) => format!("partial: {count} folders are scanned each time instead"),
    }
}

/// Opens the projects with recent dialogs or rejections that wait, and records what changed while no
/// daemon ran.
fn resume_recent_projects(pool: &ProjectPool) {
    let recent = pool.now() - RESUME_WINDOW_MS;
    for project in pool.known_projects().unwrap_or_default() {
        let resume = || {
            let opened = pool.retake().open(&project.root)?;
            if opened.has_dialog_active_since(recent)? || opened.has_waiting_rejections()? {
                pool.open(&project.root)?.run_job(|_| ())?;
            }
            Ok::<_, ApiError>(())
        };
        if let Err(failure) = resume() {
            tracing::info!(code = %failure.code, id = project.id, "a project was not resumed");
        }
    }
}

fn accept_connections(state: &Arc<DaemonState>, listener: &UnixListener) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) if is_same_user(&stream) => spawn_connection(state, stream),
            Ok(_) => tracing::warn!("another user tried to connect"),
            // Too many open files, say: the rest goes on, and this is tried again.
            Err(error) => {
                tracing::warn!("no connection can be accepted: {error}");
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

fn spawn_connection(state: &Arc<DaemonState>, stream: UnixStream) {
    let client = match state.clients.admit(&stream) {
        Ok(client) => client,
        Err(error) => return tracing::warn!("a client cannot be served: {error}"),
    };
    let state = Arc::clone(state);
    let serve = move || {
        if let Err(error) = connection::serve(&state, stream, client) {
            tracing::debug!("an asker went away: {error}");
        }
        state.clients.forget(client);
    };
    if let Err(error) = thread::Builder::new().spawn(serve) {
        tracing::warn!("there is no thread for an asker: {error}");
    }
}

#[cfg(test)]
mod tests {
    use retake_engine::{HunkRequest, TakeBackOptions};
    use retake_testkit::{TestProject, play};

    use super::*;

    #[test]
    fn a_project_in_which_a_rejection_waits_is_taken_up_again_however_old_it_is() {
        let test = TestProject::new();
        play(&test, "file a.txt: one\\n\n init\n say d: go\n edit d e1 a.txt: one => two\n");
        let all = HunkRequest { all: true, ..HunkRequest::default() };
        let opened = test.open();
        let options = TakeBackOptions::default();
        assert_eq!(opened.queue_rejection(&all, options, None, test.tick()).unwrap().len(), 1);
        let pool = ProjectPool::new(test.retake(), || 1_700_000_000_000 + 3 * RESUME_WINDOW_MS);
        resume_recent_projects(&pool);
        let handles = pool.handles();
        assert_eq!(handles.len(), 1);
        // The worker has carried it out before it does the next job.
        handles[0].run_job(|_| ()).unwrap();
        assert_eq!(test.read("a.txt"), b"one\n");
    }
}
