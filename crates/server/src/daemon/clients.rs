//! Clients of the daemon's socket: which ones wait, and which ones are worked for.
//!
//! Invariants: a client that has sent no call makes room for a newer one, the oldest first, so
//! that silent clients keep out none. Hooks and other requests have bounds of their own, so that
//! neither keeps the other out. A client that is refused is told so, and works in process.

use std::collections::VecDeque;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::connection;
use crate::wire::{self, DaemonFrame, DaemonRequest};

/// Maximum clients that have sent no call.
const MAX_WAITING_CLIENTS: usize = 64;
/// Maximum hooks that are worked for at once.
const MAX_HOOKS: usize = 96;
/// Maximum other requests that are worked for at once.
const MAX_REQUESTS: usize = 64;

/// A connected client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientId(u64);

/// What a client asks for, as far as bounds go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkKind {
    /// The work of a hook.
    Hook,
    /// A verb of a project.
    Request,
    /// Something about the daemon itself, which is answered at once.
    Control,
}

impl WorkKind {
    /// The kind of a request.
    pub(super) fn of(request: &DaemonRequest) -> Self {
        match request {
            DaemonRequest::Hook(_) => Self::Hook,
            DaemonRequest::Project { .. } => Self::Request,
            DaemonRequest::Status {}
            | DaemonRequest::Code { .. }
            | DaemonRequest::Access(_)
            | DaemonRequest::Stop { .. } => Self::Control,
        }
    }

    fn max(self) -> usize {
        match self {
            Self::Hook => MAX_HOOKS,
            Self::Request => MAX_REQUESTS,
            Self::Control => usize::MAX,
        }
    }
}

/// All connected clients.
#[derive(Debug, Default)]
pub(super) struct ClientTable(Mutex<ClientCounts>);

#[derive(Debug, Default)]
struct ClientCounts {
    last_id: u64,
    /// Those that have sent no call, the oldest first.
    waiting: VecDeque<WaitingClient>,
    hooks: usize,
    requests: usize,
}

#[derive(Debug)]
struct WaitingClient {
    id: ClientId,
    /// The connection, so that it can be closed while another thread reads from it.
    stream: UnixStream,
}

impl ClientTable {
    /// Takes in a client; the oldest that has sent no call makes room if there are too many.
    pub(super) fn admit(&self, stream: &UnixStream) -> io::Result<ClientId> {
        let stream = stream.try_clone()?;
        let mut counts = self.lock();
        let full = counts.waiting.len() >= MAX_WAITING_CLIENTS;
        let oldest = if full { counts.waiting.pop_front() } else { None };
        counts.last_id += 1;
        let id = ClientId(counts.last_id);
        counts.waiting.push_back(WaitingClient { id, stream });
        drop(counts);
        if let Some(client) = oldest {
            client.refuse();
        }
        Ok(id)
    }

    /// Notes that a client's call was received; `None` if the client had to make room, or too
    /// many of the kind are worked for.
    pub(super) fn start_work(&self, client: ClientId, kind: WorkKind) -> Option<ClientWork<'_>> {
        let mut counts = self.lock();
        let at = counts.waiting.iter().position(|waiting| waiting.id == client)?;
        counts.waiting.remove(at);
        if let Some(count) = counts.count_of(kind) {
            if *count >= kind.max() {
                return None;
            }
            *count += 1;
        }
        Some(ClientWork { table: self, kind })
    }

    /// Notes that a client's connection is closed.
    pub(super) fn forget(&self, client: ClientId) {
        self.lock().waiting.retain(|waiting| waiting.id != client);
    }

    fn lock(&self) -> MutexGuard<'_, ClientCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientCounts {
    /// The count of a kind that has a bound.
    fn count_of(&mut self, kind: WorkKind) -> Option<&mut usize> {
        match kind {
            WorkKind::Hook => Some(&mut self.hooks),
            WorkKind::Request => Some(&mut self.requests),
            WorkKind::Control => None,
        }
    }
}

impl WaitingClient {
    /// Says that there is no room, and closes the connection.
    fn refuse(mut self) {
        let refusal = DaemonFrame::Failed(connection::busy());
        // It is small enough to be sent at once; if not, the client sees a closed connection.
        let _ =
            self.stream.set_nonblocking(true).and_then(|()| wire::send(&mut self.stream, &refusal));
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// A client that is worked for.
#[derive(Debug)]
pub(super) struct ClientWork<'a> {
    table: &'a ClientTable,
    kind: WorkKind,
}

impl Drop for ClientWork<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.table.lock().count_of(self.kind) {
            *count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(table: &ClientTable, count: usize) -> Vec<(ClientId, UnixStream)> {
        let client = |_| {
            let (own, peer) = UnixStream::pair().unwrap();
            (table.admit(&own).unwrap(), peer)
        };
        (0..count).map(client).collect()
    }

    #[test]
    fn the_oldest_silent_client_makes_room_and_is_told_so() {
        let table = ClientTable::default();
        let mut silent = clients(&table, MAX_WAITING_CLIENTS);
        let newest = clients(&table, 1);
        let frame: DaemonFrame = wire::receive(&mut silent[0].1).unwrap();
        assert!(matches!(frame, DaemonFrame::Failed(failure) if failure == connection::busy()));
        assert!(table.start_work(silent[0].0, WorkKind::Hook).is_none());
        assert!(table.start_work(silent[1].0, WorkKind::Hook).is_some());
        assert!(table.start_work(newest[0].0, WorkKind::Hook).is_some());
    }

    #[test]
    fn hooks_and_requests_do_not_keep_each_other_out() {
        let table = ClientTable::default();
        let mut held = Vec::new();
        for _ in 0..=MAX_REQUESTS {
            held.extend(table.start_work(clients(&table, 1)[0].0, WorkKind::Request));
        }
        assert_eq!(held.len(), MAX_REQUESTS);
        for _ in 0..=MAX_HOOKS {
            held.extend(table.start_work(clients(&table, 1)[0].0, WorkKind::Hook));
        }
        assert_eq!(held.len(), MAX_REQUESTS + MAX_HOOKS);
        assert!(table.start_work(clients(&table, 1)[0].0, WorkKind::Control).is_some());
        drop(held);
        assert!(table.start_work(clients(&table, 1)[0].0, WorkKind::Request).is_some());
    }
}
