//! Counts the steps of SQLite's virtual machine, so that tests can tell what a query costs without a
//! clock (tests only).

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

thread_local! {
    static COUNTER: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
}

/// Counts the steps of all stores that this thread opens while `open` runs, for as long as they live.
pub fn count_steps<T>(counter: &Arc<AtomicU64>, open: impl FnOnce() -> T) -> T {
    COUNTER.with(|cell| *cell.borrow_mut() = Some(Arc::clone(counter)));
    let opened = open();
    COUNTER.with(|cell| *cell.borrow_mut() = None);
    opened
}

/// Has a new connection counted, if that is wanted.
pub(crate) fn attach(db: &mut Connection) -> rusqlite::Result<()> {
    let Some(counter) = COUNTER.with(|cell| cell.borrow().clone()) else { return Ok(()) };
    let count = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        false
    };
    db.progress_handler(1, Some(count))
}
