//! One client connection: hello, its call, and the answer.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use retake_service::ApiError;
use retake_service::hook::{self, HookCall, HookProgress};
use retake_service::request::{self, ProjectRequest, Submission};
use serde_json::{Value, json};

use super::DaemonState;
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
    let busy = ApiError::new("busy", "the daemon has too much to do", "try again");
    // It is small enough to be sent at once; if not, the client sees a closed connection.
    let _ = stream
        .set_nonblocking(true)
        .and_then(|()| wire::send(&mut stream, &DaemonHello::current()))
        .and_then(|()| wire::send(&mut stream, &DaemonFrame::Failed(busy)));
}

/// Serves one connection.
pub(super) fn serve(desk: &DaemonState, mut stream: UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    wire::send(&mut stream, &DaemonHello::current())?;
    let call = wire::receive_call(&mut stream)?;
    let asker = ReplySender { stream: Arc::new(Mutex::new(stream)) };
    let life = desk.projects.idle();
    match call.ask {
        DaemonRequest::Status {} => asker.send_answer(request::to_answer(&desk.status())),
        DaemonRequest::Code { scope } => {
            asker.send_answer(desk.create_code(scope).and_then(|code| request::to_answer(&code)))
        }
        DaemonRequest::Stop { because } => {
            let told = asker.send_answer(Ok(json!({})));
            life.request_shutdown(&because);
            told
        }
        DaemonRequest::Project { start, create, request } => {
            let Some(busy) = life.start_work() else {
                return asker.send_answer(Err(shutting_down()));
            };
            let hall = &desk.projects;
            let room = if create { hall.open_or_create(&start) } else { hall.open(&start) };
            match room {
                Ok(room) => run_request(&asker, &room, request, busy),
                Err(failure) => asker.send_answer(Err(failure)),
            }
        }
        DaemonRequest::Hook(call) => {
            let Some(_busy) = life.start_work() else {
                return asker.send_answer(Err(shutting_down()));
            };
            asker.send_answer(run_hook(desk, &asker, &call).map(|()| Value::Null))
        }
    }
}

fn shutting_down() -> ApiError {
    ApiError::new("stopping", "the daemon is about to end", "try again")
}

/// Runs a request on the project's worker, and sends progress to the client.
fn run_request(
    asker: &ReplySender,
    room: &ProjectHandle,
    request: ProjectRequest,
    busy: BusyGuard,
) -> io::Result<()> {
    tracing::debug!(verb = request.name(), project = room.id(), "asked");
    let (done, wait) = mpsc::sync_channel(1);
    let come: Arc<(AtomicU64, AtomicU64)> = Arc::default();
    let sent =
        room.send(request_job(room, request, asker.clone(), Arc::clone(&come), move |answer| {
            let _ = done.send(answer);
            drop(busy);
        }));
    if let Err(failure) = sent {
        return asker.send_answer(Err(failure));
    }
    loop {
        match wait.recv_timeout(PROGRESS_INTERVAL) {
            Ok(answer) => return asker.send_answer(answer),
            Err(RecvTimeoutError::Timeout) => {
                let (done, all) = (come.0.load(Ordering::Relaxed), come.1.load(Ordering::Relaxed));
                asker.send(&DaemonFrame::Progress { done, all })?;
            }
            // The client has gone, or the job panicked.
            Err(RecvTimeoutError::Disconnected) => {
                return asker.send_answer(Err(room.job_failed()));
            }
        }
    }
}

/// Wraps a request as a job of the project's worker.
fn request_job(
    room: &ProjectHandle,
    request: ProjectRequest,
    asker: ReplySender,
    come: Arc<(AtomicU64, AtomicU64)>,
    answer: impl FnOnce(Result<Value, ApiError>) + Send + 'static,
) -> ProjectJob {
    match request {
        ProjectRequest::RecordEvents(record) => ProjectJob::Record(RecordJob {
            parcels: record.parcels,
            begin: Box::new(move || asker.send_begun()),
            answer: Box::new(move |recorded| {
                answer(recorded.and_then(|recorded| request::to_answer(&recorded)));
            }),
        }),
        request => {
            let at = room.now();
            ProjectJob::call(move |project| {
                let project = match project {
                    Ok(project) => project,
                    Err(failure) => return answer(Err(failure)),
                };
                if asker.send_begun() {
                    answer(request.run(project, at, &mut |done, all| {
                        come.0.store(done, Ordering::Relaxed);
                        come.1.store(all, Ordering::Relaxed);
                    }));
                }
            })
        }
    }
}

/// Runs a hook call: its project is read here, and its events are recorded in one batch with
/// those of others.
fn run_hook(desk: &DaemonState, asker: &ReplySender, call: &HookCall) -> Result<(), ApiError> {
    let heard = call.parse()?;
    let tell = &mut |news: HookProgress| {
        // A hook that does not receive `Opened` works in process.
        asker.send(&DaemonFrame::News(news)).map_err(|error| {
            ApiError::new("gone", format!("nobody listens any more: {error}"), "nothing was done")
        })
    };
    tell(HookProgress::Heard(heard.phase))?;
    if hook::has_no_events(&heard) {
        return Ok(());
    }
    let (room, located) = desk.projects.locate_or_create(&call.project_folder(&heard))?;
    let record = &mut |there: Option<&Path>, parcel: &Submission| {
        let room = match there {
            None => Arc::clone(&room),
            Some(elsewhere) => desk.projects.open(elsewhere)?,
        };
        let mut recorded = room.record(vec![parcel.clone()])?;
        room.commits().notify();
        recorded.pop().unwrap_or_else(|| Err(room.job_failed()))
    };
    let done = room.read_at(located, |project| call.record_events(project, &heard, record, tell));
    room.commits().notify();
    done
}
