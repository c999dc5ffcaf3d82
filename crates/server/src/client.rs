//! The client's side of the daemon's socket.
//!
//! Whatever is wrong with a daemon, the client can go on without it: an absent one costs
//! nothing, a hung one costs [`HELLO`], one of another version is told so and left alone.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use retake_engine::model::Caller;
use retake_service::ApiError;
use retake_service::hook::{HookCall, HookProgress};
use retake_service::request::{EncodedAnswer, ProgressFn, ProjectCommand};
use serde::de::DeserializeOwned;

use crate::http::{AccessRequest, TokenScope};
use crate::run_folder::RunFolder;
use crate::wire::{
    self, BrowserCode, DaemonCall, DaemonFrame, DaemonHello, DaemonRequest, DaemonStatus,
    PROTOCOL_VERSION, VERSION,
};

/// Timeout of the daemon's hello; a daemon that exceeds it counts as hung.
pub const HELLO_TIMEOUT: Duration = Duration::from_millis(300);
/// Timeouts between frames, before and after a request begins; the daemon sends progress.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(2);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout in the daemon's queue, as long as a command waits for the project's lock.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout until a hook's project is opened: an agent waits for its hook.
const HOOK_OPEN_TIMEOUT: Duration = Duration::from_millis(500);

/// A daemon that has said hello.
#[derive(Debug)]
pub struct DaemonClient {
    stream: UnixStream,
    pid: u32,
}

/// Reason that no daemon can be used.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// None runs.
    Absent,
    /// It does not say hello.
    TimedOut,
    /// It is older than this program, and was asked to stop.
    Older(DaemonHello),
    /// It is newer than this program.
    Newer(DaemonHello),
}

/// Reason that a call has no answer.
#[derive(Debug)]
pub enum CallError {
    /// Nothing was done, and nothing will be.
    NotDone,
    /// The daemon of this pid has begun, and stopped responding.
    Lost(u32),
    /// It was done, with this failure.
    Failed(ApiError),
}

impl DaemonClient {
    /// Connects to the daemon of a home.
    pub fn connect(home: &Path) -> Result<Self, ConnectError> {
        let mut stream = RunFolder::in_home(home).connect().map_err(|_| ConnectError::Absent)?;
        let hello: DaemonHello = match receive_within(&mut stream, HELLO_TIMEOUT) {
            Ok(hello) => hello,
            Err(error) if is_timeout(&error) => return Err(ConnectError::TimedOut),
            Err(_) => return Err(ConnectError::Absent),
        };
        if (hello.protocol, hello.version.as_str()) == (PROTOCOL_VERSION, VERSION) {
            return Ok(Self { stream, pid: hello.pid });
        }
        if version_order(&hello) > (PROTOCOL_VERSION, version_numbers(VERSION)) {
            return Err(ConnectError::Newer(hello));
        }
        let because = format!("version {VERSION} is in use");
        // If the stop request is lost, the next command repeats it.
        let _ = wire::send_call(&mut stream, &DaemonCall { ask: DaemonRequest::Stop { because } });
        Err(ConnectError::Older(hello))
    }

    /// Executes a request for the project at or above a folder.
    pub fn run<V: ProjectCommand>(
        self,
        start: &Path,
        create: bool,
        caller: Caller,
        verb: V,
        progress: ProgressFn<'_>,
    ) -> Result<V::Answer, CallError> {
        let request = verb.into();
        let may_be_repeated = request.is_idempotent();
        let pid = self.pid;
        let ask = DaemonRequest::Project {
            start: start.to_owned(),
            create,
            request: Box::new(request),
            caller,
        };
        let timeouts = CallTimeouts { until_begun: BEGIN_TIMEOUT, silence: SILENCE_TIMEOUT };
        let answer = self.call(ask, &timeouts, &mut |event| {
            if let ClientEvent::Progress(done, all) = event {
                progress(done, all);
            }
        });
        let answer = match answer {
            Err(CallError::Lost(_)) if may_be_repeated => return Err(CallError::NotDone),
            other => other?,
        };
        serde_json::from_slice(&answer).map_err(|_| CallError::Lost(pid))
    }

    /// Runs a hook call, and passes on its progress.
    pub fn run_hook(
        self,
        call: HookCall,
        on_progress: &mut dyn FnMut(HookProgress),
    ) -> Result<(), CallError> {
        let timeouts = CallTimeouts { until_begun: HOOK_OPEN_TIMEOUT, silence: SILENCE_TIMEOUT };
        let answer = self.call(DaemonRequest::Hook(call), &timeouts, &mut |event| {
            if let ClientEvent::HookProgress(progress) = event {
                on_progress(progress);
            }
        });
        answer.map(|_| ())
    }

    /// Returns the daemon's status.
    pub fn status(self) -> Result<DaemonStatus, CallError> {
        let pid = self.pid;
        let answer =
            self.call(DaemonRequest::Status {}, &CallTimeouts::for_request(), &mut |_| {})?;
        serde_json::from_slice(&answer).map_err(|_| CallError::Lost(pid))
    }

    /// Has the daemon make a code that is exchanged once for a token of this scope.
    pub fn create_code(self, scope: TokenScope) -> Result<BrowserCode, CallError> {
        let pid = self.pid;
        let answer =
            self.call(DaemonRequest::Code { scope }, &CallTimeouts::for_request(), &mut |_| {})?;
        serde_json::from_slice(&answer).map_err(|_| CallError::Lost(pid))
    }

    /// Has the daemon mint, list or revoke tokens or logins.
    pub fn access<T: DeserializeOwned>(self, request: AccessRequest) -> Result<T, CallError> {
        let pid = self.pid;
        let ask = DaemonRequest::Access(request);
        let answer = self.call(ask, &CallTimeouts::for_request(), &mut |_| {})?;
        serde_json::from_slice(&answer).map_err(|_| CallError::Lost(pid))
    }

    /// Requests the daemon's shutdown after its requests in flight; returns its pid.
    pub fn stop(self, because: &str) -> Result<u32, CallError> {
        let pid = self.pid;
        let ask = DaemonRequest::Stop { because: because.to_owned() };
        self.call(ask, &CallTimeouts::for_request(), &mut |_| {}).map(|_| pid)
    }

    fn call(
        mut self,
        ask: DaemonRequest,
        timeouts: &CallTimeouts,
        on_event: &mut dyn FnMut(ClientEvent),
    ) -> Result<EncodedAnswer, CallError> {
        // What is not sent whole is not understood.
        let sent = self
            .stream
            .set_write_timeout(Some(SILENCE_TIMEOUT))
            .and_then(|()| wire::send_call(&mut self.stream, &DaemonCall { ask }));
        sent.map_err(|_| CallError::NotDone)?;
        let (mut begun, mut given_up) = (false, false);
        let sent_at = Instant::now();
        loop {
            if !begun && !given_up && sent_at.elapsed() > QUEUE_TIMEOUT {
                given_up = true;
                self.cancel()?;
            }
            match receive_within(&mut self.stream, timeouts.current(begun)) {
                Ok(DaemonFrame::Done {}) => {
                    let lost = if begun { CallError::Lost(self.pid) } else { CallError::NotDone };
                    return wire::read_message(&mut self.stream).map_err(|_| lost);
                }
                Ok(DaemonFrame::Failed(failure)) if begun => {
                    return Err(CallError::Failed(failure));
                }
                Ok(DaemonFrame::Begun {}) => begun = true,
                Ok(DaemonFrame::Progress { done, all }) => {
                    on_event(ClientEvent::Progress(done, all));
                }
                Ok(DaemonFrame::News(progress)) => {
                    begun = begun || matches!(progress, HookProgress::Opened { .. });
                    on_event(ClientEvent::HookProgress(progress));
                }
                Err(error) if is_timeout(&error) && !begun => self.cancel()?,
                Err(_) if begun => return Err(CallError::Lost(self.pid)),
                Ok(DaemonFrame::Failed(_)) | Err(_) => return Err(CallError::NotDone),
            }
        }
    }
}

impl DaemonClient {
    /// Closes the read side: the daemon can no longer begin; if it just has, that can still be read.
    fn cancel(&self) -> Result<(), CallError> {
        self.stream.shutdown(Shutdown::Read).map_err(|_| CallError::NotDone)
    }
}

/// A frame before the last one.
enum ClientEvent {
    Progress(u64, u64),
    HookProgress(HookProgress),
}

/// Timeouts between two frames.
struct CallTimeouts {
    until_begun: Duration,
    silence: Duration,
}

impl CallTimeouts {
    fn for_request() -> Self {
        Self { until_begun: BEGIN_TIMEOUT, silence: SILENCE_TIMEOUT }
    }

    fn current(&self, begun: bool) -> Duration {
        if begun { self.silence } else { self.until_begun }
    }
}

/// Receives the next message within the timeout.
fn receive_within<T: DeserializeOwned>(
    stream: &mut UnixStream,
    timeout: Duration,
) -> io::Result<T> {
    stream.set_read_timeout(Some(timeout))?;
    wire::receive(stream)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Sort key of a program's version: protocol, then version numbers.
fn version_order(hello: &DaemonHello) -> (u32, Vec<u64>) {
    (hello.protocol, version_numbers(&hello.version))
}

fn version_numbers(version: &str) -> Vec<u64> {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    core.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_decides_which_is_newer_and_then_the_version() {
        let hello =
            |protocol, version: &str| DaemonHello { protocol, version: version.into(), pid: 1 };
        assert!(version_order(&hello(2, "0.1.0")) > version_order(&hello(1, "9.0.0")));
        assert!(version_order(&hello(1, "0.10.0")) > version_order(&hello(1, "0.9.3")));
        assert!(version_order(&hello(1, "0.1.0-beta")) == version_order(&hello(1, "0.1.0")));
    }
}
