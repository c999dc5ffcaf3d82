//! The caller of the request that a thread works on.
//!
//! A request reaches a project's worker through several layers that need not know its caller. The
//! thread that begins a request names the caller once; what it sends to a worker takes it along.

use std::cell::RefCell;

use retake_engine::model::Caller;

thread_local! {
    static CURRENT: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

/// Resets the caller of the thread, even if the work panics.
struct CallerReset(Option<Caller>);

impl Drop for CallerReset {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}

/// Runs a request's work for its caller.
pub(crate) fn with_caller<T>(caller: Caller, work: impl FnOnce() -> T) -> T {
    let _reset = CallerReset(CURRENT.replace(Some(caller)));
    work()
}

/// The caller of the request that this thread works on; without one it is the daemon itself.
pub(crate) fn current_caller() -> Caller {
    CURRENT.with_borrow(Clone::clone).unwrap_or_else(Caller::daemon)
}
