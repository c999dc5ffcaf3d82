//! One client connection: hello, its call, and the answer.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::Desk;
use crate::Failure;
use crate::door::{self, Parcel, Request};
use crate::hall::{Busy, Job, Recording, Room};
use crate::hook::{self, HookCall, HookNews};
use crate::wire::{self, Ask, Frame, Hello};

/// Read and write timeout of a connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval of progress frames while a request waits or runs.
const TICK: Duration = Duration::from_millis(250);

/// Sends frames to a client.
#[derive(Clone, Debug)]
struct Asker {
    stream: Arc<Mutex<UnixStream>>,
}

impl Asker {
    fn tell(&self, frame: &Frame) -> io::Result<()> {
        wire::send(&mut *self.stream.lock().unwrap_or_else(PoisonError::into_inner), frame)
    }

    /// Sends that the request begins; `false` if the client has gone.
    fn begin(&self) -> bool {
        self.tell(&Frame::Begun {}).is_ok()
    }

    fn answer(&self, answer: Result<Value, Failure>) -> io::Result<()> {
        match answer {
            Ok(answer) => self.tell(&Frame::Done(answer)),
            Err(failure) => self.tell(&Frame::Failed(failure)),
        }
    }
}

/// Refuses a connection over the limit.
pub(super) fn send_away(mut stream: UnixStream) {
    let busy = Failure::new("busy", "the daemon has too much to do", "try again");
    // It is small enough to be sent at once; if not, the client sees a closed connection.
    let _ = stream
        .set_nonblocking(true)
        .and_then(|()| wire::send(&mut stream, &Hello::own()))
        .and_then(|()| wire::send(&mut stream, &Frame::Failed(busy)));
}

/// Serves one connection.
pub(super) fn serve(desk: &Desk, mut stream: UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    wire::send(&mut stream, &Hello::own())?;
    let call = wire::receive_call(&mut stream)?;
    let asker = Asker { stream: Arc::new(Mutex::new(stream)) };
    let life = desk.hall.life();
    match call.ask {
        Ask::Status {} => asker.answer(door::answer(&desk.status())),
        Ask::Code { scope } => asker.answer(desk.code(scope).and_then(|code| door::answer(&code))),
        Ask::Stop { because } => {
            let told = asker.answer(Ok(json!({})));
            life.end(&because);
            told
        }
        Ask::Project { start, create, request } => {
            let Some(busy) = life.begin() else { return asker.answer(Err(ending())) };
            let hall = &desk.hall;
            let room = if create { hall.enter_or_create(&start) } else { hall.enter(&start) };
            match room {
                Ok(room) => carry_out(&asker, &room, request, busy),
                Err(failure) => asker.answer(Err(failure)),
            }
        }
        Ask::Hook(call) => {
            let Some(_busy) = life.begin() else { return asker.answer(Err(ending())) };
            asker.answer(carry_out_hook(desk, &asker, &call).map(|()| Value::Null))
        }
    }
}

fn ending() -> Failure {
    Failure::new("stopping", "the daemon is about to end", "try again")
}

/// Runs a request on the project's worker, and sends progress to the client.
fn carry_out(asker: &Asker, room: &Room, request: Request, busy: Busy) -> io::Result<()> {
    tracing::debug!(verb = request.name(), project = room.id(), "asked");
    let (done, wait) = mpsc::sync_channel(1);
    let come: Arc<(AtomicU64, AtomicU64)> = Arc::default();
    let sent = room.send(job(room, request, asker.clone(), Arc::clone(&come), move |answer| {
        let _ = done.send(answer);
        drop(busy);
    }));
    if let Err(failure) = sent {
        return asker.answer(Err(failure));
    }
    loop {
        match wait.recv_timeout(TICK) {
            Ok(answer) => return asker.answer(answer),
            Err(RecvTimeoutError::Timeout) => {
                let (done, all) = (come.0.load(Ordering::Relaxed), come.1.load(Ordering::Relaxed));
                asker.tell(&Frame::Progress { done, all })?;
            }
            // The client has gone, or the job panicked.
            Err(RecvTimeoutError::Disconnected) => return asker.answer(Err(room.broken())),
        }
    }
}

/// Wraps a request as a job of the project's worker.
fn job(
    room: &Room,
    request: Request,
    asker: Asker,
    come: Arc<(AtomicU64, AtomicU64)>,
    answer: impl FnOnce(Result<Value, Failure>) + Send + 'static,
) -> Job {
    match request {
        Request::Record(record) => Job::Record(Recording {
            parcels: record.parcels,
            begin: Box::new(move || asker.begin()),
            answer: Box::new(move |recorded| {
                answer(recorded.and_then(|recorded| door::answer(&recorded)));
            }),
        }),
        request => {
            let at = room.now();
            Job::work(move |project| {
                let project = match project {
                    Ok(project) => project,
                    Err(failure) => return answer(Err(failure)),
                };
                if asker.begin() {
                    answer(request.carry_out(project, at, &mut |done, all| {
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
fn carry_out_hook(desk: &Desk, asker: &Asker, call: &HookCall) -> Result<(), Failure> {
    let heard = call.hear()?;
    let tell = &mut |news: HookNews| {
        // A hook that does not receive `Opened` works in process.
        asker.tell(&Frame::News(news)).map_err(|error| {
            Failure::new("gone", format!("nobody listens any more: {error}"), "nothing was done")
        })
    };
    tell(HookNews::Heard(heard.moment))?;
    if hook::is_empty(&heard) {
        return Ok(());
    }
    let (room, located) = desk.hall.locate_or_create(&call.start(&heard))?;
    let record = &mut |there: Option<&Path>, parcel: &Parcel| {
        let room = match there {
            None => Arc::clone(&room),
            Some(elsewhere) => desk.hall.enter(elsewhere)?,
        };
        let mut recorded = room.record(vec![parcel.clone()])?;
        room.news().tell();
        recorded.pop().unwrap_or_else(|| Err(room.broken()))
    };
    let done = room.read_at(located, |project| call.work(project, &heard, record, tell));
    room.news().tell();
    done
}
