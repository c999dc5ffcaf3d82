//! One client connection: hello, its call, and the answer.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use retake_engine::SpoolWriter;
use retake_engine::model::ErrorCode;
use retake_service::ApiError;
use retake_service::hook::{HookCall, HookHost, HookProgress, HookWork};
use retake_service::request::{self, ProjectRequest, Submission};
use serde_json::{Value, json};

use super::DaemonState;
use crate::ProjectPool;
use crate::projects::{BusyGuard, ProjectHandle, ProjectJob, RecordJob};
use crate::wire::{self, DaemonFrame, DaemonHello, DaemonRequest};

/// Read and write timeout of a connection.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of progress frames while a request waits or runs.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Sends frames to a client.
#[derive(Clone, Debug)]
struct ReplySender {
    stream: Arc<Mutex<UnixStream>>,
}

impl ReplySender {
    fn send(&self, frame: &DaemonFrame) -> io::Result<()> {
        wire::send(&mut *self.stream.lock().unwrap_or_else(PoisonError::into_inner), frame)
    }

    /// Sends that the request begins; `false` if the client has gone.
    fn send_begun(&self) -> bool {
        self.send(&DaemonFrame::Begun {}).is_ok()
    }

    fn send_answer(&self, answer: Result<Value, ApiError>) -> io::Result<()> {
        match answer {
            Ok(answer) => self.send(&DaemonFrame::Done(answer)),
            Err(failure) => self.send(&DaemonFrame::Failed(failure)),
        }
    }
}

/// Refuses a connection over the limit.
pub(super) fn reject(mut stream: UnixStream) {
    let busy = ApiError::new(ErrorCode::Busy, "the daemon has too much to do", "try again");
    // It is small enough to be sent at once; if not, the client sees a closed connection.
    let _ = stream
        .set_nonblocking(true)
        .and_then(|()| wire::send(&mut stream, &DaemonHello::current()))
        .and_then(|()| wire::send(&mut stream, &DaemonFrame::Failed(busy)));
}

/// Serves one connection.
pub(super) fn serve(state: &DaemonState, mut stream: UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    wire::send(&mut stream, &DaemonHello::current())?;
    let call = wire::receive_call(&mut stream)?;
    let reply = ReplySender { stream: Arc::new(Mutex::new(stream)) };
    let idle = state.projects.idle();
    match call.ask {
        DaemonRequest::Status {} => reply.send_answer(request::to_answer(&state.status())),
        DaemonRequest::Code { scope } => {
            reply.send_answer(state.create_code(scope).and_then(|code| request::to_answer(&code)))
        }
        DaemonRequest::Stop { because } => {
            let sent = reply.send_answer(Ok(json!({})));
            idle.request_shutdown(&because);
            sent
        }
        DaemonRequest::Project { start, create, request } => {
            let Some(busy) = idle.start_work() else {
                return reply.send_answer(Err(shutting_down()));
            };
            let pool = &state.projects;
            let handle = if create { pool.open_or_create(&start) } else { pool.open(&start) };
            match handle {
                Ok(handle) => run_request(&reply, &handle, request, busy),
                Err(failure) => reply.send_answer(Err(failure)),
            }
        }
        DaemonRequest::Hook(call) => {
            let Some(_busy) = idle.start_work() else {
                return reply.send_answer(Err(shutting_down()));
            };
            reply.send_answer(run_hook(state, &reply, &call).map(|()| Value::Null))
        }
    }
}

fn shutting_down() -> ApiError {
    ApiError::new(ErrorCode::Stopping, "the daemon is about to end", "try again")
}

/// Runs a request on the project's worker, and sends progress to the client.
fn run_request(
    reply: &ReplySender,
    handle: &ProjectHandle,
    request: ProjectRequest,
    busy: BusyGuard,
) -> io::Result<()> {
    tracing::debug!(verb = request.name(), project = handle.id(), "asked");
    let (done, wait) = mpsc::sync_channel(1);
    let progress = Arc::<SharedProgress>::default();
    let sent = handle.send(request_job(
        handle,
        request,
        reply.clone(),
        Arc::clone(&progress),
        move |answer| {
            let _ = done.send(answer);
            drop(busy);
        },
    ));
    if let Err(failure) = sent {
        return reply.send_answer(Err(failure));
    }
    loop {
        match wait.recv_timeout(PROGRESS_INTERVAL) {
            Ok(answer) => return reply.send_answer(answer),
            Err(RecvTimeoutError::Timeout) => {
                reply.send(&progress.frame())?;
            }
            // The client has gone, or the job panicked.
            Err(RecvTimeoutError::Disconnected) => {
                return reply.send_answer(Err(handle.job_failed()));
            }
        }
    }
}

/// Progress of a request, written by the worker and read by the connection.
#[derive(Debug, Default)]
struct SharedProgress {
    done: AtomicU64,
    all: AtomicU64,
}

impl SharedProgress {
    fn set(&self, done: u64, all: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
    }

    fn frame(&self) -> DaemonFrame {
        let (done, all) = (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed));
        DaemonFrame::Progress { done, all }
    }
}

/// Wraps a request as a job of the project's worker.
fn request_job(
    handle: &ProjectHandle,
    request: ProjectRequest,
    reply: ReplySender,
    progress: Arc<SharedProgress>,
    answer: impl FnOnce(Result<Value, ApiError>) + Send + 'static,
) -> ProjectJob {
    match request {
        ProjectRequest::RecordEvents(record) => ProjectJob::Record(RecordJob {
            submissions: record.submissions,
            begin: Box::new(move || reply.send_begun()),
            answer: Box::new(move |recorded| {
                answer(recorded.and_then(|recorded| request::to_answer(&recorded)));
            }),
        }),
        request => {
            let at = handle.now();
            ProjectJob::call(move |project| {
                let project = match project {
                    Ok(project) => project,
                    Err(failure) => return answer(Err(failure)),
                };
                if reply.send_begun() {
                    answer(request.run(project, at, &mut |done, all| progress.set(done, all)));
                }
            })
        }
    }
}

/// Runs a hook call and sends its progress to the hook.
fn run_hook(state: &DaemonState, reply: &ReplySender, call: &HookCall) -> Result<(), ApiError> {
    call.run(&PoolHost { projects: &state.projects }, &mut |progress: HookProgress| {
        // A hook that does not receive `Opened` works in process.
        reply.send(&DaemonFrame::News(progress)).map_err(|error| {
            ApiError::new(
                ErrorCode::Gone,
                format!("nobody listens any more: {error}"),
                "nothing was done",
            )
        })
    })
}

/// Runs hook calls in the daemon: the project is read on the connection's thread, and its worker
/// records the events in one batch with those of other senders.
struct PoolHost<'a> {
    projects: &'a ProjectPool,
}

impl HookHost for PoolHost<'_> {
    fn with_project(&self, start: &Path, work: HookWork<'_>) -> Result<(), ApiError> {
        let (handle, located) = self.projects.locate_or_create(start)?;
        let record = &mut |elsewhere: Option<&Path>, submission: &Submission| {
            let handle = match elsewhere {
                None => Arc::clone(&handle),
                Some(root) => self.projects.open(root)?,
            };
            let mut outcomes = handle.record(vec![submission.clone()])?;
            handle.commits().notify();
            outcomes.pop().unwrap_or_else(|| Err(handle.job_failed()))
        };
        let done = handle.read_at(located, |project| work(project, record));
        handle.commits().notify();
        done
    }

    /// The hook runs the call in its own process, and spools there.
    fn spool_of_unopened(&self, _start: &Path) -> Result<Option<SpoolWriter>, ApiError> {
        Ok(None)
    }
}
