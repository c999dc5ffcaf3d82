//! `retake daemon`: nothing needs it, nothing differs with it, and nothing hangs if it does.

mod hooks;
mod lifecycle;
mod memory;
mod protocol;
mod same_answers;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::World;

/// The daemon of a world; ends with the test.
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    /// Starts it in the foreground and waits until it answers.
    pub(crate) fn of(world: &World) -> Self {
        Self::with(world, &[])
    }

    fn with(world: &World, options: &[&str]) -> Self {
        let mut command = world.command(&[&["daemon", "run"], options].concat());
        Self::started(world, &mut command)
    }

    fn started(world: &World, command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let daemon = Self { child: command.spawn().unwrap() };
        until("the daemon answers", || status(world)["running"] == true);
        daemon
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; gives its code.
    fn ended(mut self) -> Option<i32> {
        let mut code = None;
        until("the daemon ends", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls until it is true; a minute is enough for anything here.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn status(world: &World) -> Value {
    let ran = world.run(&["daemon", "status", "--json"]);
    serde_json::from_slice(&ran.stdout).unwrap_or_default()
}

/// The process that last held the project's lock: the one that recorded last.
fn last_writer(world: &World) -> u32 {
    let text = std::fs::read_to_string(world.store().join("lock")).unwrap();
    text.trim().parse().unwrap()
}
