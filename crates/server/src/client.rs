//! The client's side of the daemon's socket.
//!
//! Whatever is wrong with a daemon, the client can go on without it: an absent one costs
//! nothing, a hung one costs [`HELLO`], one of another version is told so and left alone.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Failure;
use crate::door::{Progress, Verb};
use crate::hook::{HookCall, HookNews};
use crate::http::Scope;
use crate::run_folder::RunFolder;
use crate::wire::{self, Ask, Call, DaemonCode, DaemonStatus, Frame, Hello, PROTOCOL, VERSION};

/// Timeout of the daemon's hello; a daemon that exceeds it counts as hung.
pub const HELLO: Duration = Duration::from_millis(300);
/// Timeouts between frames, before and after a request begins; the daemon sends progress.
const UNTIL_BEGUN: Duration = Duration::from_secs(2);
const SILENCE: Duration = Duration::from_secs(10);
/// Timeout in the daemon's queue, as long as a command waits for the project's lock.
const IN_THE_QUEUE: Duration = Duration::from_secs(10);
/// Timeout until a hook's project is opened: an agent waits for its hook.
const UNTIL_OPENED: Duration = Duration::from_millis(500);

/// A daemon that has said hello.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    pid: u32,
}

/// Reason that no daemon can be used.
#[derive(Debug, PartialEq, Eq)]
pub enum NoDaemon {
    /// None runs.
    Absent,
    /// It does not say hello.
    Hung,
    /// It is older than this program, and was asked to stop.
    Older(Hello),
    /// It is newer than this program.
    Newer(Hello),
}

/// Reason that a call has no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// Nothing was done, and nothing will be.
    NotDone,
    /// The daemon of this pid has begun, and stopped responding.
    Lost(u32),
    /// It was done, with this failure.
    Failed(Failure),
}

impl Client {
    /// Connects to the daemon of a home.
    pub fn connect(home: &Path) -> Result<Self, NoDaemon> {
        let mut stream = RunFolder::of(home).connect().map_err(|_| NoDaemon::Absent)?;
        let hello: Hello = match within(&mut stream, HELLO) {
            Ok(hello) => hello,
            Err(error) if is_timeout(&error) => return Err(NoDaemon::Hung),
            Err(_) => return Err(NoDaemon::Absent),
        };
        if (hello.protocol, hello.version.as_str()) == (PROTOCOL, VERSION) {
            return Ok(Self { stream, pid: hello.pid });
        }
        if age(&hello) > (PROTOCOL, numbers(VERSION)) {
            return Err(NoDaemon::Newer(hello));
        }
        let because = format!("version {VERSION} is in use");
        // If the stop request is lost, the next command repeats it.
        let _ = wire::send_call(&mut stream, &Call { ask: Ask::Stop { because } });
        Err(NoDaemon::Older(hello))
    }

    /// Executes a request for the project at or above a folder.
    pub fn ask<V: Verb>(
        self,
        start: &Path,
        create: bool,
        verb: V,
        progress: Progress<'_>,
    ) -> Result<V::Answer, Unanswered> {
        let request = verb.into();
        let may_be_repeated = request.may_be_repeated();
        let pid = self.pid;
        let ask = Ask::Project { start: start.to_owned(), create, request };
        let patience = Patience { until_begun: UNTIL_BEGUN, silence: SILENCE };
        let answer = self.call(ask, &patience, &mut |told| {
            if let Told::Progress(done, all) = told {
                progress(done, all);
            }
        });
        let answer = match answer {
            Err(Unanswered::Lost(_)) if may_be_repeated => return Err(Unanswered::NotDone),
            other => other?,
        };
        serde_json::from_value(answer).map_err(|_| Unanswered::Lost(pid))
    }

    /// Runs a hook call, and passes on its progress.
    pub fn hook(self, call: HookCall, news: &mut dyn FnMut(HookNews)) -> Result<(), Unanswered> {
        let patience = Patience { until_begun: UNTIL_OPENED, silence: SILENCE };
        let answer = self.call(Ask::Hook(call), &patience, &mut |told| {
            if let Told::News(told) = told {
                news(told);
            }
        });
        answer.map(|_| ())
    }

    /// Returns the daemon's status.
    pub fn status(self) -> Result<DaemonStatus, Unanswered> {
        let pid = self.pid;
        let answer = self.call(Ask::Status {}, &Patience::plain(), &mut |_| {})?;
        serde_json::from_value(answer).map_err(|_| Unanswered::Lost(pid))
    }

    /// Has the daemon make a code that is exchanged once for a token of this scope.
    pub fn code(self, scope: Scope) -> Result<DaemonCode, Unanswered> {
        let pid = self.pid;
        let answer = self.call(Ask::Code { scope }, &Patience::plain(), &mut |_| {})?;
        serde_json::from_value(answer).map_err(|_| Unanswered::Lost(pid))
    }

    /// Requests the daemon's shutdown after its requests in flight; returns its pid.
    pub fn stop(self, because: &str) -> Result<u32, Unanswered> {
        let pid = self.pid;
        let ask = Ask::Stop { because: because.to_owned() };
        self.call(ask, &Patience::plain(), &mut |_| {}).map(|_| pid)
    }

    fn call(
        mut self,
        ask: Ask,
        patience: &Patience,
        told: &mut dyn FnMut(Told),
    ) -> Result<Value, Unanswered> {
        // What is not sent whole is not understood.
        let sent = self
            .stream
            .set_write_timeout(Some(SILENCE))
            .and_then(|()| wire::send_call(&mut self.stream, &Call { ask }));
        sent.map_err(|_| Unanswered::NotDone)?;
        let (mut begun, mut given_up) = (false, false);
        let asked = Instant::now();
        loop {
            if !begun && !given_up && asked.elapsed() > IN_THE_QUEUE {
                given_up = true;
                self.give_up()?;
            }
            match within(&mut self.stream, patience.now(begun)) {
                Ok(Frame::Done(answer)) => return Ok(answer),
                Ok(Frame::Failed(failure)) if begun => return Err(Unanswered::Failed(failure)),
                Ok(Frame::Begun {}) => begun = true,
                Ok(Frame::Progress { done, all }) => told(Told::Progress(done, all)),
                Ok(Frame::News(news)) => {
                    begun = begun || matches!(news, HookNews::Opened { .. });
                    told(Told::News(news));
                }
                Err(error) if is_timeout(&error) && !begun => self.give_up()?,
                Err(_) if begun => return Err(Unanswered::Lost(self.pid)),
                Ok(Frame::Failed(_)) | Err(_) => return Err(Unanswered::NotDone),
            }
        }
    }
}

impl Client {
    /// Closes the read side: the daemon can no longer begin; if it just has, that can still be read.
    fn give_up(&self) -> Result<(), Unanswered> {
        self.stream.shutdown(Shutdown::Read).map_err(|_| Unanswered::NotDone)
    }
}

/// A frame before the last one.
enum Told {
    Progress(u64, u64),
    News(HookNews),
}

/// Timeouts between two frames.
struct Patience {
    until_begun: Duration,
    silence: Duration,
}

impl Patience {
    fn plain() -> Self {
        Self { until_begun: UNTIL_BEGUN, silence: SILENCE }
    }

    fn now(&self, begun: bool) -> Duration {
        if begun { self.silence } else { self.until_begun }
    }
}

/// Receives the next message within the timeout.
fn within<T: serde::de::DeserializeOwned>(
    stream: &mut UnixStream,
    patience: Duration,
) -> io::Result<T> {
    stream.set_read_timeout(Some(patience))?;
    wire::receive(stream)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Sort key of a program's version: protocol, then version numbers.
fn age(hello: &Hello) -> (u32, Vec<u64>) {
    (hello.protocol, numbers(&hello.version))
}

fn numbers(version: &str) -> Vec<u64> {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    core.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_decides_which_is_newer_and_then_the_version() {
        let hello = |protocol, version: &str| Hello { protocol, version: version.into(), pid: 1 };
        assert!(age(&hello(2, "0.1.0")) > age(&hello(1, "9.0.0")));
        assert!(age(&hello(1, "0.10.0")) > age(&hello(1, "0.9.3")));
        assert!(age(&hello(1, "0.1.0-beta")) == age(&hello(1, "0.1.0")));
    }
}
