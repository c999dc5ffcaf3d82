//! The one door for everything that Retake writes to a file system.
//!
//! Each mutating call first passes [`step`], which counts. With the feature
//! `inject` (tests only) the environment can stop the program there:
//!
//! - `RETAKE_KILL_AT=n`: SIGKILL before the n-th step,
//! - `RETAKE_FAIL_AT=n:ERRNO`: the n-th step fails with this errno,
//! - `RETAKE_COUNT_STEPS=FILE`: each step's number and name are appended to FILE.
//!
//! A test in the same process can do something of its own before each step (`on_step`), and let a
//! step fail by its name (`fail_once`): how many steps a program takes may differ from run to run.
//!
//! Invariant: no other code of `store` and `workspace` calls a mutating
//! file-system function; `clippy.toml` bans those of std and rustix. SQLite's
//! own writes are stepped at its statements.
//!
//! [`fs`] writes Retake's own files by path; [`at`] changes the user's files by
//! their name in an opened folder.

#[cfg(unix)]
pub mod at;
pub mod dir;
pub mod fs;

/// Counts one mutating act and lets tests stop the program before it.
#[cfg(not(feature = "inject"))]
#[inline]
pub fn step(_what: &'static str) -> std::io::Result<()> {
    Ok(())
}

#[cfg(feature = "inject")]
pub use inject::{fail_once, on_step, step};

#[cfg(feature = "inject")]
mod inject {
    use std::cell::{Cell, RefCell};
    use std::io::{self, Write as _};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Plan {
        kill_at: Option<u64>,
        fail_at: Option<(u64, i32)>,
        count_into: Option<std::path::PathBuf>,
    }

    static STEPS: AtomicU64 = AtomicU64::new(0);
    static PLAN: OnceLock<Plan> = OnceLock::new();

    fn plan() -> &'static Plan {
        PLAN.get_or_init(|| {
            let var = |name: &str| std::env::var(name).ok();
            let fail_at = var("RETAKE_FAIL_AT").and_then(|text| {
                let (at, errno) = text.split_once(':')?;
                Some((at.parse().ok()?, errno.parse().ok()?))
            });
            Plan {
                kill_at: var("RETAKE_KILL_AT").and_then(|text| text.parse().ok()),
                fail_at,
                count_into: var("RETAKE_COUNT_STEPS").map(Into::into),
            }
        })
    }

    type Hook = Box<dyn FnMut(&'static str)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
        static FAILURE: Cell<Option<Failure>> = const { Cell::new(None) };
    }

    #[derive(Clone, Copy)]
    struct Failure {
        what: &'static str,
        nth: u32,
        errno: i32,
    }

    /// Lets the n-th step of this name in this thread fail, counted from now.
    pub fn fail_once(what: &'static str, nth: u32, errno: i32) {
        FAILURE.set(Some(Failure { what, nth, errno }));
    }

    fn asked_to_fail(what: &'static str) -> io::Result<()> {
        let Some(failure) = FAILURE.get().filter(|failure| failure.what == what) else {
            return Ok(());
        };
        if failure.nth > 1 {
            FAILURE.set(Some(Failure { nth: failure.nth - 1, ..failure }));
            return Ok(());
        }
        FAILURE.set(None);
        Err(io::Error::from_raw_os_error(failure.errno))
    }

    /// Calls `hook` before each step of this thread; `None` ends that.
    pub fn on_step(hook: Option<Hook>) {
        HOOK.with(|place| *place.borrow_mut() = hook);
    }

    /// Counts one mutating act and lets tests stop the program before it.
    pub fn step(what: &'static str) -> io::Result<()> {
        let plan = plan();
        HOOK.with(|hook| {
            if let Some(hook) = hook.borrow_mut().as_mut() {
                hook(what);
            }
        });
        let at = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(file) = &plan.count_into {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
            writeln!(file, "{at} {what}")?;
        }
        if plan.kill_at == Some(at) {
            let pid = rustix::process::getpid();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            loop {
                std::thread::park();
            }
        }
        match plan.fail_at {
            Some((fail_at, errno)) if fail_at == at => Err(io::Error::from_raw_os_error(errno)),
            _ => asked_to_fail(what),
        }
    }
}
