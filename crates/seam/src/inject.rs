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
struct FaultPlan {
    kill_at: Option<u64>,
    tear_at: Option<u64>,
    fail_at: Option<(u64, FaultKind)>,
    fail_from: Option<(u64, FaultKind)>,
    count_into: Option<File>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FaultKind {
    With(i32),
    Short,
}

/// How much of a write step is written.
enum WriteExtent {
    Whole,
    Half,
    HalfAndKill,
}

/// Steps passed so far, in all threads.
static STEP_COUNT: AtomicU64 = AtomicU64::new(0);
/// The faults to inject, read from the environment once.
static FAULT_PLAN: OnceLock<FaultPlan> = OnceLock::new();

fn fault_plan() -> &'static FaultPlan {
    FAULT_PLAN.get_or_init(|| {
        let var = |name: &str| std::env::var(name).ok();
        let number =
            |name: &str| var(name).map(|text| expect_parsed(name, &text, text.parse().ok()));
        let failing =
            |name: &str| var(name).map(|text| expect_parsed(name, &text, parse_fault(&text)));
        let count_into = var("RETAKE_COUNT_STEPS").map(|path| {
            let opened = File::options().create(true).append(true).open(path);
            opened.expect("the file for RETAKE_COUNT_STEPS can be written")
        });
        FaultPlan {
            kill_at: number("RETAKE_KILL_AT"),
            tear_at: number("RETAKE_TEAR_AT"),
            fail_at: failing("RETAKE_FAIL_AT"),
            fail_from: failing("RETAKE_FAIL_FROM"),
            count_into,
        }
    })
}

/// Panics on a malformed variable: ignored, it would inject no fault and the test would pass.
fn expect_parsed<T>(name: &str, text: &str, value: Option<T>) -> T {
    value.unwrap_or_else(|| panic!("{name}={text} is not understood"))
}

fn parse_fault(text: &str) -> Option<(u64, FaultKind)> {
    let (at, how) = text.split_once(':')?;
    let how = match how {
        "SHORT" => FaultKind::Short,
        "ENOSPC" => FaultKind::With(Errno::NOSPC.raw_os_error()),
        "EIO" => FaultKind::With(Errno::IO.raw_os_error()),
        "EACCES" => FaultKind::With(Errno::ACCESS.raw_os_error()),
        "EROFS" => FaultKind::With(Errno::ROFS.raw_os_error()),
        number => FaultKind::With(number.parse().ok()?),
    };
    Some((at.parse().ok()?, how))
}

type StepHook = Box<dyn FnMut(&'static str)>;

thread_local! {
    static STEP_HOOK: RefCell<Option<StepHook>> = const { RefCell::new(None) };
    static PENDING_FAULT: Cell<Option<NamedFault>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct NamedFault {
    what: &'static str,
    nth: u32,
    errno: i32,
}

/// Makes the n-th step of this name in this thread fail, counted from now.
pub fn fail_once(what: &'static str, nth: u32, errno: i32) {
    PENDING_FAULT.set(Some(NamedFault { what, nth, errno }));
}

fn take_named_fault(what: &'static str) -> io::Result<()> {
    let failure = PENDING_FAULT.try_with(Cell::get).ok().flatten();
    let Some(failure) = failure.filter(|failure| failure.what == what) else {
        return Ok(());
    };
    if failure.nth > 1 {
        PENDING_FAULT.set(Some(NamedFault { nth: failure.nth - 1, ..failure }));
        return Ok(());
    }
    PENDING_FAULT.set(None);
    Err(io::Error::from_raw_os_error(failure.errno))
}

/// Calls `hook` before each step of this thread; `None` ends that.
pub fn on_step(hook: Option<StepHook>) {
    STEP_HOOK.with(|place| *place.borrow_mut() = hook);
}

/// Counts one mutating system call and lets tests stop the program before it.
pub fn step(what: &'static str) -> io::Result<()> {
    pass_step(what, "").map(drop)
}

/// Lets tests stop the program before a statement that writes to a database.
pub fn statement(what: &'static str) -> io::Result<()> {
    pass_step(what, "sql: ").map(drop)
}

/// One [`step`] that writes some of the bytes; returns how many.
pub fn write(
    what: &'static str,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let half = &bytes[..bytes.len() / 2];
    match pass_step(what, "")? {
        WriteExtent::Whole => write(bytes),
        // A write of zero bytes would mean something else.
        WriteExtent::Half if half.is_empty() => write(bytes),
        WriteExtent::Half => write(half),
        WriteExtent::HalfAndKill => {
            let _ = write(half);
            kill()
        }
    }
}

fn pass_step(what: &'static str, kind: &str) -> io::Result<WriteExtent> {
    let plan = fault_plan();
    // A thread that ends may close a database after its thread-locals are gone.
    let _ = STEP_HOOK.try_with(|hook| {
        if let Some(hook) = hook.borrow_mut().as_mut() {
            hook(what);
        }
    });
    let at = STEP_COUNT.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(mut file) = plan.count_into.as_ref() {
        // In one call, so that lines of several threads stay whole.
        file.write_all(format!("{at} {kind}{what}\n").as_bytes())?;
    }
    if plan.kill_at == Some(at) {
        kill();
    }
    if plan.tear_at == Some(at) {
        return Ok(WriteExtent::HalfAndKill);
    }
    let once = plan.fail_at.filter(|(fail_at, _)| *fail_at == at);
    let for_good = plan.fail_from.filter(|(fail_from, _)| *fail_from <= at);
    match once.or(for_good) {
        Some((_, FaultKind::With(errno))) => Err(io::Error::from_raw_os_error(errno)),
        Some((_, FaultKind::Short)) => Ok(WriteExtent::Half),
        None => take_named_fault(what).map(|()| WriteExtent::Whole),
    }
}

fn kill() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}
