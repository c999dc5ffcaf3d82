//! Bounds on what callers hold at once: connections, requests in flight, event streams.
//!
//! Invariant: what agents hold together stays below the bound of all, so that the difference is
//! the person's reserve, whatever agents and unknown clients do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::caller::CallerAccount;

/// Bounds by account.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuotaBounds {
    /// Maximum of the person.
    pub(super) person: usize,
    /// Maximum of one agent's token.
    pub(super) agent: usize,
    /// Maximum of all agents together.
    pub(super) all_agents: usize,
}

/// Counts what callers hold.
#[derive(Debug)]
pub(super) struct CallerQuota {
    bounds: QuotaBounds,
    held: Mutex<BTreeMap<CallerAccount, usize>>,
}

impl CallerQuota {
    /// A quota of which nothing is in use.
    pub(super) fn new(bounds: QuotaBounds) -> Arc<Self> {
        Arc::new(Self { bounds, held: Mutex::default() })
    }

    /// Takes one for an account, given back when it is dropped; `None` at a bound.
    pub(super) fn acquire(self: &Arc<Self>, account: &CallerAccount) -> Option<QuotaPermit> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.get(account).copied().unwrap_or(0);
        let agents: usize =
            held.iter().filter(|(other, _)| !other.is_person()).map(|(_, count)| count).sum();
        let has_room = if account.is_person() {
            own < self.bounds.person
        } else {
            own < self.bounds.agent && agents < self.bounds.all_agents
        };
        if !has_room {
            return None;
        }
        held.insert(account.clone(), own + 1);
        Some(QuotaPermit { quota: Arc::clone(self), account: account.clone() })
    }
}

/// One of a quota.
#[derive(Debug)]
pub(super) struct QuotaPermit {
    quota: Arc<CallerQuota>,
    account: CallerAccount,
}

impl QuotaPermit {
    /// Whose it is.
    pub(super) fn account(&self) -> &CallerAccount {
        &self.account
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        let mut held = self.quota.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Accounts that hold nothing are forgotten: tokens come and go.
        match held.get_mut(&self.account) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(held.remove(&self.account)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_have_bounds_of_their_own_and_leave_the_persons_alone() {
        let quota = CallerQuota::new(QuotaBounds { person: 2, agent: 2, all_agents: 3 });
        let agent = |name: &str| CallerAccount::Agent(name.to_owned());
        let mut held: Vec<_> = (0..3).map_while(|_| quota.acquire(&agent("a"))).collect();
        assert_eq!(held.len(), 2, "one agent");
        held.extend(quota.acquire(&agent("b")));
        assert!(quota.acquire(&agent("b")).is_none(), "all agents");
        assert!(quota.acquire(&CallerAccount::SharedAgent).is_none(), "and those of no token");
        let person: Vec<_> = (0..3).map_while(|_| quota.acquire(&CallerAccount::Person)).collect();
        assert_eq!(person.len(), 2);
        drop(held);
        assert!(quota.acquire(&agent("b")).is_some());
        drop(person);
        assert!(quota.held.lock().unwrap().is_empty());
    }
}
