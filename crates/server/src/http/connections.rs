//! Open connections, by who uses them.
//!
//! A new connection waits until its first request with a valid token, and then counts for that
//! caller. Invariants: few connections wait, for a short time; when one more comes, the oldest
//! that has no request in flight makes room. So clients without a token keep out no client that
//! has one. A connection that counts for a caller is never closed to make room.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

use super::caller::CallerAccount;
use super::quota::{CallerQuota, QuotaBounds, QuotaPermit};

/// Maximum connections without an authenticated request.
pub(super) const MAX_WAITING: usize = 64;
/// Maximum connections of callers with a token.
const CONNECTION_BOUNDS: QuotaBounds = QuotaBounds { person: 128, agent: 32, all_agents: 128 };

/// All open connections.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    quota: Arc<CallerQuota>,
    /// Those that wait, the oldest first.
    waiting: Mutex<VecDeque<Arc<HttpConnection>>>,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct HttpConnection {
    table: Weak<ConnectionTable>,
    state: Mutex<ConnectionState>,
    evicted: Notify,
    has_request: AtomicBool,
    has_answered: AtomicBool,
}

#[derive(Debug)]
enum ConnectionState {
    /// No request with a token has come.
    Waiting,
    /// It counts for a caller.
    Assigned(QuotaPermit),
    /// It was told to make room.
    Evicted,
}

impl ConnectionTable {
    pub(super) fn new() -> Arc<Self> {
        let quota = CallerQuota::new(CONNECTION_BOUNDS);
        Arc::new(Self { quota, waiting: Mutex::default() })
    }

    /// Takes in a new connection; the oldest that waits makes room if there are too many.
    pub(super) fn admit(self: &Arc<Self>) -> OpenConnection {
        let connection = Arc::new(HttpConnection {
            table: Arc::downgrade(self),
            state: Mutex::new(ConnectionState::Waiting),
            evicted: Notify::new(),
            has_request: AtomicBool::new(false),
            has_answered: AtomicBool::new(false),
        });
        let mut waiting = self.lock();
        if waiting.len() >= MAX_WAITING {
            let is_idle = |one: &Arc<HttpConnection>| !one.has_request.load(Ordering::Acquire);
            let oldest = waiting.iter().position(is_idle).unwrap_or(0);
            if let Some(oldest) = waiting.remove(oldest) {
                oldest.set_state(ConnectionState::Evicted);
                oldest.evicted.notify_one();
            }
        }
        waiting.push_back(Arc::clone(&connection));
        drop(waiting);
        OpenConnection(connection)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<HttpConnection>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpConnection {
    /// Counts the connection for a caller; `false` if the caller has too many, or the connection
    /// was told to make room.
    pub(super) fn assign(self: &Arc<Self>, account: &CallerAccount) -> bool {
        let Some(table) = self.table.upgrade() else { return false };
        // The lock of the table comes first, as in `admit`: a connection is either evicted or
        // assigned.
        let mut waiting = table.lock();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            ConnectionState::Evicted => return false,
            ConnectionState::Assigned(permit) if permit.account() == account => return true,
            ConnectionState::Assigned(_) | ConnectionState::Waiting => {}
        }
        let Some(permit) = table.quota.acquire(account) else { return false };
        *state = ConnectionState::Assigned(permit);
        waiting.retain(|other| !Arc::ptr_eq(other, self));
        true
    }

    /// Returns true while no request with a token has come.
    pub(super) fn is_waiting(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(*state, ConnectionState::Assigned(_))
    }

    /// Waits until the connection has to make room.
    pub(super) async fn wait_for_eviction(&self) {
        self.evicted.notified().await;
    }

    /// Notes a request in flight, until the result is dropped.
    pub(super) fn start_request(self: &Arc<Self>) -> RequestInFlight {
        self.has_request.store(true, Ordering::Release);
        RequestInFlight(Arc::clone(self))
    }

    /// Returns true while a request is in flight.
    pub(super) fn has_request(&self) -> bool {
        self.has_request.load(Ordering::Acquire)
    }

    /// Returns true if a request was answered: then nothing is sent that was not asked for.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Acquire)
    }

    fn set_state(&self, state: ConnectionState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// A request that is read or worked on.
#[derive(Debug)]
pub(super) struct RequestInFlight(Arc<HttpConnection>);

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        self.0.has_answered.store(true, Ordering::Release);
        self.0.has_request.store(false, Ordering::Release);
    }
}

/// A connection for as long as it is open.
#[derive(Debug)]
pub(super) struct OpenConnection(Arc<HttpConnection>);

impl OpenConnection {
    /// What requests of the connection know it by.
    pub(super) fn shared(&self) -> &Arc<HttpConnection> {
        &self.0
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if let Some(table) = self.0.table.upgrade() {
            table.lock().retain(|other| !Arc::ptr_eq(other, &self.0));
        }
        // A response body may outlive the connection for a moment; the permit does not.
        self.0.set_state(ConnectionState::Evicted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_evicted(connection: &OpenConnection) -> bool {
        let state = connection.shared().state.lock().unwrap();
        matches!(*state, ConnectionState::Evicted)
    }

    #[test]
    fn the_oldest_idle_connection_makes_room_and_never_one_of_a_caller() {
        let table = ConnectionTable::new();
        let person = table.admit();
        assert!(person.shared().assign(&CallerAccount::Person));
        let open: Vec<_> = (0..MAX_WAITING).map(|_| table.admit()).collect();
        assert!(open.iter().all(|one| !is_evicted(one)));
        let busy = open[0].shared().start_request();
        let newest = table.admit();
        assert!(!is_evicted(&open[0]), "its request is in flight");
        assert!(is_evicted(&open[1]) && !open[1].shared().assign(&CallerAccount::Person));
        assert!(!is_evicted(&person) && newest.shared().assign(&CallerAccount::Person));
        drop(busy);
        drop(table.admit());
        assert!(!is_evicted(&open[0]), "the place of the newest was free");
    }

    #[test]
    fn a_connection_counts_for_one_caller_at_a_time() {
        let table = ConnectionTable::new();
        let agent = CallerAccount::Agent("a".into());
        let mut open: Vec<_> = (0..CONNECTION_BOUNDS.agent).map(|_| table.admit()).collect();
        assert!(open.iter().all(|one| one.shared().assign(&agent)));
        let more = table.admit();
        assert!(!more.shared().assign(&agent), "the agent has too many");
        assert!(open[0].shared().assign(&CallerAccount::Person), "a proxy sends another token");
        assert!(more.shared().assign(&agent), "so that one is free again");
        drop(open.pop());
        assert!(table.admit().shared().assign(&agent), "and so is that of a closed one");
    }
}
