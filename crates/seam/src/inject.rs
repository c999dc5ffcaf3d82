//! Failpoints: tests kill the process or inject an error at a given step.
//!
//! One counter for the whole process, whatever its threads do: a kill at step n is before the n-th
//! mutating call of all of them.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

/// The faults that the environment variables ask for.
struct Plan {
    kill_at: Option<u64>,
    tear_at: Option<u64>,
    fail_at: Option<(u64, Failing)>,
    fail_from: Option<(u64, Failing)>,
    count_into: Option<File>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Failing {
    With(i32),
    Short,
}

/// How much of a write step is written.
enum Writing {
    Whole,
    Half,
    HalfAndKill,
}

/// Steps passed so far, in all threads.
static STEPS: AtomicU64 = AtomicU64::new(0);
/// The faults to inject, read from the environment once.
static PLAN: OnceLock<Plan> = OnceLock::new();

fn plan() -> &'static Plan {
    PLAN.get_or_init(|| {
        let var = |name: &str| std::env::var(name).ok();
        let number = |name: &str| var(name).map(|text| parsed(name, &text, text.parse().ok()));
        let failing = |name: &str| var(name).map(|text| parsed(name, &text, failure(&text)));
        let count_into = var("RETAKE_COUNT_STEPS").map(|path| {
            let opened = File::options().create(true).append(true).open(path);
            opened.expect("the file for RETAKE_COUNT_STEPS can be written")
        });
        Plan {
            kill_at: number("RETAKE_KILL_AT"),
            tear_at: number("RETAKE_TEAR_AT"),
            fail_at: failing("RETAKE_FAIL_AT"),
            fail_from: failing("RETAKE_FAIL_FROM"),
            count_into,
        }
    })
}

/// Panics on a malformed variable: ignored, it would inject no fault and the test would pass.
fn parsed<T>(name: &str, text: &str, value: Option<T>) -> T {
    value.unwrap_or_else(|| panic!("{name}={text} is not understood"))
}

fn failure(text: &str) -> Option<(u64, Failing)> {
    let (at, how) = text.split_once(':')?;
    let how = match how {
        "SHORT" => Failing::Short,
        "ENOSPC" => Failing::With(Errno::NOSPC.raw_os_error()),
        "EIO" => Failing::With(Errno::IO.raw_os_error()),
        "EACCES" => Failing::With(Errno::ACCESS.raw_os_error()),
        "EROFS" => Failing::With(Errno::ROFS.raw_os_error()),
        number => Failing::With(number.parse().ok()?),
    };
    Some((at.parse().ok()?, how))
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

/// Makes the n-th step of this name in this thread fail, counted from now.
pub fn fail_once(what: &'static str, nth: u32, errno: i32) {
    FAILURE.set(Some(Failure { what, nth, errno }));
}

fn asked_to_fail(what: &'static str) -> io::Result<()> {
    let failure = FAILURE.try_with(Cell::get).ok().flatten();
    let Some(failure) = failure.filter(|failure| failure.what == what) else {
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

/// Counts one mutating system call and lets tests stop the program before it.
pub fn step(what: &'static str) -> io::Result<()> {
    pass(what, "").map(drop)
}

/// Lets tests stop the program before a statement that writes to a database.
pub fn statement(what: &'static str) -> io::Result<()> {
    pass(what, "sql: ").map(drop)
}

/// One [`step`] that writes some of the bytes; returns how many.
pub fn write(
    what: &'static str,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let half = &bytes[..bytes.len() / 2];
    match pass(what, "")? {
        Writing::Whole => write(bytes),
        // A write of zero bytes would mean something else.
        Writing::Half if half.is_empty() => write(bytes),
        Writing::Half => write(half),
        Writing::HalfAndKill => {
            let _ = write(half);
            kill()
        }
    }
}

fn pass(what: &'static str, kind: &str) -> io::Result<Writing> {
    let plan = plan();
    // A thread that ends may close a database after its thread-locals are gone.
    let _ = HOOK.try_with(|hook| {
        if let Some(hook) = hook.borrow_mut().as_mut() {
            hook(what);
        }
    });
    let at = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(mut file) = plan.count_into.as_ref() {
        // In one call, so that lines of several threads stay whole.
        file.write_all(format!("{at} {kind}{what}\n").as_bytes())?;
    }
    if plan.kill_at == Some(at) {
        kill();
    }
    if plan.tear_at == Some(at) {
        return Ok(Writing::HalfAndKill);
    }
    let once = plan.fail_at.filter(|(fail_at, _)| *fail_at == at);
    let for_good = plan.fail_from.filter(|(fail_from, _)| *fail_from <= at);
    match once.or(for_good) {
        Some((_, Failing::With(errno))) => Err(io::Error::from_raw_os_error(errno)),
        Some((_, Failing::Short)) => Ok(Writing::Half),
        None => asked_to_fail(what).map(|()| Writing::Whole),
    }
}

fn kill() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}
