//! Limits the number of agents that run at once.
//!
//! libtest runs as many tests as there are processors, and an agent fills one by itself. Agents
//! that are to meet get their slots in one go: taken one by one, two pairs could wait for each
//! other for ever.

use std::sync::{Condvar, Mutex, PoisonError};

/// Permits to run some agents, until dropped.
pub(crate) struct AgentSlots(usize);

struct FreeSlots {
    count: Mutex<Option<usize>>,
    more: Condvar,
}

static FREE_SLOTS: FreeSlots = FreeSlots { count: Mutex::new(None), more: Condvar::new() };

/// Blocks until this many agents may run.
pub(crate) fn acquire(wanted: usize) -> AgentSlots {
    let all = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    assert!(wanted <= all, "{wanted} agents at once, but only {all} slots");
    let mut count = FREE_SLOTS.count.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let free = count.get_or_insert(all);
        if *free >= wanted {
            *free -= wanted;
            return AgentSlots(wanted);
        }
        count = FREE_SLOTS.more.wait(count).unwrap_or_else(PoisonError::into_inner);
    }
}

impl AgentSlots {
    /// One of the slots by itself.
    pub(crate) fn split_off_one(&mut self) -> Self {
        self.0 = self.0.checked_sub(1).expect("as many slots as agents were taken");
        Self(1)
    }
}

impl Drop for AgentSlots {
    fn drop(&mut self) {
        let mut count = FREE_SLOTS.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count.get_or_insert(0) += self.0;
        FREE_SLOTS.more.notify_all();
    }
}
