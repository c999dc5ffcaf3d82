//! The program, stopped right after a system call of its own, so that a test can act in between.
//!
//! strace sends the signal; whatever the program would do next waits until [`Paused::go_on`].

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Ran, World, ran};

/// A command that was stopped.
pub(super) struct Paused {
    strace: Child,
    pid: String,
}

impl Paused {
    /// Starts a command that stops after its n-th call of `call`.
    ///
    /// The call itself is over when `is_there` says so; nothing is done after it before `go_on`.
    pub(super) fn after(
        world: &World,
        arguments: &[&str],
        (call, nth): (&str, u32),
        mut is_there: impl FnMut() -> bool,
    ) -> Self {
        let program = world.command(arguments);
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
        strace.args(["-e", &format!("inject={call}:signal=SIGSTOP:when={nth}")]);
        strace.arg(program.get_program()).args(program.get_args()).env_clear();
        for (name, value) in program.get_envs() {
            strace.env(name, value.unwrap());
        }
        strace.current_dir(world.root()).stdin(Stdio::null());
        let mut strace = strace.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        super::watched::until("the program stops", || {
            let ended = strace.try_wait().unwrap();
            assert_eq!(ended, None, "it ended before it was stopped");
            is_there()
        });
        let children = format!("/proc/{0}/task/{0}/children", strace.id());
        let pid = std::fs::read_to_string(children).unwrap().trim().to_owned();
        Self { strace, pid }
    }

    /// Lets it go on, and gives what it came to.
    pub(super) fn go_on(mut self) -> Ran {
        // The signal that stops it may still be under way, and would come after this one.
        while self.strace.try_wait().unwrap().is_none() {
            let _ = Command::new("kill").args(["-CONT", &self.pid]).output();
            std::thread::sleep(Duration::from_millis(5));
        }
        let taken = std::mem::replace(&mut self.strace, idle());
        ran(taken.wait_with_output().unwrap())
    }
}

/// A child that is over, to stand in for one that was taken.
fn idle() -> Child {
    Command::new("true").spawn().unwrap()
}

impl Drop for Paused {
    fn drop(&mut self) {
        if self.strace.try_wait().unwrap().is_none() {
            let _ = Command::new("kill").args(["-KILL", &self.pid]).output();
        }
        let _ = self.strace.wait();
    }
}
