//! One client connection: hello, its call, and the answer.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use retake_engine::SpoolWriter;
use retake_engine::model::{ErrorCode, Millis};
use retake_service::ApiError;
use retake_service::caller::{permit_events, permit_request};
use retake_service::hook::{HookCall, HookHost, HookProgress, HookWork};
use retake_service::request::{
    self, CarryOutRejections, EncodedAnswer, ProjectRequest, Submission,
};

use super::clients::{ClientId, WorkKind};
use super::{DaemonState, callers};
use crate::ProjectPool;
use crate::projects::{
    BusyGuard, ProjectHandle, ProjectJob, RecordJob, RunGuard, current_caller, with_caller,
};
use crate::wire::{self, DaemonFrame, DaemonHello, DaemonRequest};

/// Read and write timeout of a connection.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// Read timeout of a call, which clients send as soon as they are connected.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
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

    /// Sends the last frame; an answer that is too large is told as the reason for none.
    fn send_answer(&self, answer: Result<EncodedAnswer, ApiError>) -> io::Result<()> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => return self.send(&DaemonFrame::Failed(failure)),
        };
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = wire::send_done(&mut *stream, &answer);
        drop(stream);
        match sent {
            Err(error) if wire::is_too_large(&error) => {
                let message = format!("it was done, and the answer cannot be sent: {error}");
                let hint = "see with `retake status` and `retake ops` what was done";
                self.send(&DaemonFrame::Failed(ApiError::new(ErrorCode::Wire, message, hint)))
            }
            sent => sent,
        }
    }
}

/// The refusal of a client that there is no room for.
pub(super) fn busy() -> ApiError {
    ApiError::new(ErrorCode::Busy, "the daemon has too much to do", "try again")
}

/// Serves one connection.
pub(super) fn serve(
    state: &DaemonState,
    mut stream: UnixStream,
    client: ClientId,
) -> io::Result<()> {
    stream.set_read_timeout(Some(CALL_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    wire::send(&mut stream, &DaemonHello::current())?;
    let call = wire::receive_call(&mut stream)?;
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    let peer = callers::peer_pid(&stream);
    let reply = ReplySender { stream: Arc::new(Mutex::new(stream)) };
    let Some(_working) = state.clients.start_work(client, WorkKind::of(&call.ask)) else {
        return reply.send_answer(Err(busy()));
    };
    let idle = state.projects.idle();
    match call.ask {
        DaemonRequest::Status {} => reply.send_answer(request::to_answer(&state.status())),
        DaemonRequest::Code { scope } => {
            reply.send_begun();
            let code = callers::require_person(state, peer).and_then(|()| state.create_code(scope));
            reply.send_answer(code.and_then(|code| request::to_answer(&code)))
        }
        DaemonRequest::Access(request) => {
            if reply.send_begun() {
                let allowed = callers::require_person(state, peer);
                reply.send_answer(allowed.and_then(|()| state.run_access(request)))
            } else {
                Ok(())
            }
        }
        DaemonRequest::Stop { because } => {
            let sent = reply.send_answer(Ok(b"{}".to_vec()));
            idle.request_shutdown(&because);
            sent
        }
        DaemonRequest::Project { start, create, request, caller } => {
            let Some(busy) = idle.start_work() else {
                return reply.send_answer(Err(shutting_down()));
            };
            let pool = &state.projects;
            let handle = if create { pool.open_or_create(&start) } else { pool.open(&start) };
            match handle {
                Ok(handle) => {
                    let caller = callers::resolve_peer(&handle, peer, caller);
                    with_caller(caller, || run_request(&reply, &handle, *request, busy))
                }
                Err(failure) => reply.send_answer(Err(failure)),
            }
        }
        DaemonRequest::Hook(call) => {
            let Some(_busy) = idle.start_work() else {
                return reply.send_answer(Err(shutting_down()));
            };
            reply.send_answer(run_hook(state, &reply, &call).map(|()| b"null".to_vec()))
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
    if let ProjectRequest::RecordEvents(record) = &request
        && let Err(failure) = permit_events(&current_caller(), &record.submissions)
    {
        // Before this frame a failure would mean that the client may do it itself.
        reply.send_begun();
        return reply.send_answer(Err(failure));
    }
    let run = handle.begin_run(request.long_verb(), request.dialog()).map(Arc::new);
    let runs_beside = request.runs_beside();
    let asked = SocketRequest {
        request,
        reply: reply.clone(),
        progress: Arc::clone(&progress),
        run: run.clone(),
        at: handle.now(),
    };
    let job = asked.into_job(move |answer| {
        let _ = done.send(answer);
        drop(busy);
    });
    let sent = if runs_beside { handle.send_beside(job) } else { handle.send(job) };
    if let Err(failure) = sent {
        return reply.send_answer(Err(failure));
    }
    loop {
        match wait.recv_timeout(PROGRESS_INTERVAL) {
            Ok(answer) => return reply.send_answer(answer),
            Err(RecvTimeoutError::Timeout) => {
                let frame = run.as_ref().map_or_else(|| progress.frame(), |run| frame_of(run));
                if let Err(error) = reply.send(&frame) {
                    // A client that hangs up cancels what it asked for, before a file is written.
                    let _ = run.is_some_and(|run| run.cancel());
                    return Err(error);
                }
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

/// The progress of a run, for its client.
fn frame_of(run: &RunGuard) -> DaemonFrame {
    let progress = run.progress();
    DaemonFrame::Progress { done: progress.done, all: progress.total }
}

/// A client's request on its way to the project's worker.
struct SocketRequest {
    request: ProjectRequest,
    reply: ReplySender,
    progress: Arc<SharedProgress>,
    /// Follows the request, if it may take long.
    run: Option<Arc<RunGuard>>,
    at: Millis,
}

impl SocketRequest {
    /// Wraps the request as a job, which answers once.
    fn into_job(
        self,
        answer: impl FnOnce(Result<EncodedAnswer, ApiError>) + Send + 'static,
    ) -> ProjectJob {
        let Self { request, reply, progress, run, at } = self;
        let caller = current_caller();
        match request {
            ProjectRequest::RecordEvents(record) => ProjectJob::Record(RecordJob::new(
                said_by_current(record.submissions),
                move || reply.send_begun(),
                move |recorded| answer(recorded.and_then(|recorded| request::to_answer(&recorded))),
            )),
            request => ProjectJob::call(move |project| {
                let project = match project {
                    Ok(project) => project,
                    Err(failure) => return answer(Err(failure)),
                };
                project.set_caller(caller.clone());
                if reply.send_begun() {
                    let permitted = permit_request(project, &caller, &request);
                    answer(permitted.and_then(|()| match &run {
                        Some(run) => request.run_with_control(project, at, run.control()),
                        None => request.run(project, at, &mut |done, all| progress.set(done, all)),
                    }));
                }
            }),
        }
    }
}

/// The submissions, those without a caller as said by the client.
fn said_by_current(mut submissions: Vec<Submission>) -> Vec<Submission> {
    for submission in &mut submissions {
        submission.origin.said_by.get_or_insert_with(current_caller);
    }
    submissions
}

/// Runs a hook call and sends its progress to the hook.
fn run_hook(state: &DaemonState, reply: &ReplySender, call: &HookCall) -> Result<(), ApiError> {
    call.run(&PoolHost { projects: &state.projects }, &mut |progress: HookProgress| {
        // A hook that does not receive `Opened` works in process.
        reply.send(&DaemonFrame::News(progress)).map_err(|error| {
            ApiError::new(
                ErrorCode::Gone,
                format!("the other side is gone: {error}"),
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

    fn carry_out_rejections(&self, root: &Path) -> Result<(), ApiError> {
        let handle = self.projects.open(root)?;
        handle.run(CarryOutRejections {})?;
        handle.commits().notify();
        Ok(())
    }

    /// The hook runs the call in its own process, and spools there.
    fn spool_of_unopened(&self, _start: &Path) -> Result<Option<SpoolWriter>, ApiError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use retake_engine::TakeBackOptions;
    use retake_engine::model::{Caller, CallerChannel, CallerEvidence};
    use retake_service::request::ApplyPlan;
    use retake_testkit::{TestProject, play};

    use super::*;

    /// The project's lock is the gate: the operation has begun, and waits for it.
    #[test]
    fn a_client_that_hangs_up_cancels_what_has_not_written_a_file() {
        let test = TestProject::new();
        play(&test, "file a.txt: one\\n\n init\n say d: go\n edit d e1 a.txt: one => two\n");
        let opened = test.open();
        let (plan, _) = opened.plan_undo(TakeBackOptions::default(), test.tick()).unwrap();
        let pool = ProjectPool::new(test.retake(), || 1_700_000_900_000);
        let handle = pool.open(&test.root()).unwrap();
        handle.run_job(|_| ()).unwrap();
        let gate = opened.rehearse(test.tick()).unwrap();
        let (mut client, ours) = UnixStream::pair().unwrap();
        let reply = ReplySender { stream: Arc::new(Mutex::new(ours)) };
        let busy = pool.idle().start_work().unwrap();
        let request = ApplyPlan { plan }.into();
        let asked = Arc::clone(&handle);
        let person = Caller::person(CallerChannel::CommandLine, CallerEvidence::Peer);
        let asking = std::thread::spawn(move || {
            with_caller(person, || run_request(&reply, &asked, request, busy))
        });
        loop {
            match wire::receive(&mut client).unwrap() {
                DaemonFrame::Begun {} => break,
                DaemonFrame::Progress { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        drop(client);
        asking.join().unwrap().unwrap_err();
        drop(gate);
        // The worker is done with it when it does the next job.
        handle.run_job(|_| ()).unwrap();
        assert_eq!(test.read("a.txt"), b"two\n");
        assert!(opened.operations(10).unwrap().is_empty());
    }
}
