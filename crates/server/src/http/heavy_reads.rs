//! Reads that take much memory: few run at once, on threads of their own, and answers that wait
//! to be sent share a budget.
//!
//! Invariants: at most [`MAX_HEAVY_READS`] of them run. They use the same few threads, since the
//! allocator keeps memory for each thread that has used much. A read ends when its answer fits into
//! the budget, so slow clients cannot pile up answers.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use retake_engine::model::ErrorCode;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, oneshot};

use super::caller::HttpCaller;
use super::error::ErrorResponse;

/// Maximum heavy reads at once.
const MAX_HEAVY_READS: usize = 2;
/// Maximum bytes of answers of heavy reads that are being sent, in units of [`BUDGET_UNIT`].
const MAX_BUDGET_UNITS: usize = 48 * 1024;
/// Bytes of one unit of the budget.
const BUDGET_UNIT: usize = 1024;
/// Maximum bytes that are handed to the connection at once, which copies them.
const FRAME_BYTES: usize = 64 * 1024;
/// Timeout of the queue for a thread, and of the one for the budget.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

type HeavyJob = Box<dyn FnOnce() + Send>;

/// The threads of heavy reads, and the budget of their answers.
#[derive(Debug)]
pub(super) struct HeavyReads {
    jobs: Sender<HeavyJob>,
    slots: Arc<Semaphore>,
    /// Places that agents and clients without a token may take: the person has the rest.
    agent_slots: Arc<Semaphore>,
    budget: Arc<Semaphore>,
}

/// A place among the heavy reads; the next one begins when all copies are dropped. A read holds one
/// itself, so that a client that hangs up does not make room before its read has ended.
#[derive(Clone, Debug)]
pub(super) struct HeavySlot {
    _permits: Arc<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit)>,
}

impl HeavyReads {
    /// Starts the threads; they end when this is dropped.
    pub(super) fn start() -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..MAX_HEAVY_READS {
            let queue = Arc::clone(&queue);
            thread::Builder::new().name("heavy-read".to_owned()).spawn(move || work(&queue))?;
        }
        Ok(Self {
            jobs,
            slots: Arc::new(Semaphore::new(MAX_HEAVY_READS)),
            agent_slots: Arc::new(Semaphore::new(MAX_HEAVY_READS - 1)),
            budget: Arc::new(Semaphore::new(MAX_BUDGET_UNITS)),
        })
    }

    /// Waits for a place.
    pub(super) async fn slot(&self) -> Result<HeavySlot, ErrorResponse> {
        let is_person = HttpCaller::current().is_some_and(|caller| caller.is_person());
        let permits = async {
            let of_agents = if is_person {
                None
            } else {
                Some(Arc::clone(&self.agent_slots).acquire_owned().await?)
            };
            Ok::<_, AcquireError>((of_agents, Arc::clone(&self.slots).acquire_owned().await?))
        };
        match tokio::time::timeout(QUEUE_TIMEOUT, permits).await {
            Ok(Ok(permits)) => Ok(HeavySlot { _permits: Arc::new(permits) }),
            _ => Err(ErrorResponse::busy()),
        }
    }

    /// Runs a job on one of the threads; it is left out if its client is gone before it begins.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        slot: HeavySlot,
        job: impl FnOnce() -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        let (done, result) = oneshot::channel();
        let sent = self.jobs.send(Box::new(move || {
            if !done.is_closed() {
                let _ = done.send(job());
            }
            drop(slot);
        }));
        match (sent, result.await) {
            (Ok(()), Ok(result)) => result,
            _ => Err(failed()),
        }
    }

    /// Makes a body of an answer, once it fits into the budget.
    pub(super) async fn body(&self, bytes: Vec<u8>) -> Result<Body, ErrorResponse> {
        let units = bytes.len().div_ceil(BUDGET_UNIT).min(MAX_BUDGET_UNITS) as u32;
        let permit = Arc::clone(&self.budget).acquire_many_owned(units);
        match tokio::time::timeout(QUEUE_TIMEOUT, permit).await {
            Ok(Ok(permit)) => Ok(Body::new(BudgetedBody { bytes: bytes.into(), _permit: permit })),
            _ => Err(ErrorResponse::busy()),
        }
    }
}

fn failed() -> ErrorResponse {
    let hint = "please report it, with what was asked for";
    ErrorResponse::new(ErrorCode::Internal, "the request ended in a fault of Retake", hint)
}

/// Runs jobs until there can be no more; one that panics drops its answer.
fn work(queue: &Mutex<Receiver<HeavyJob>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a read panicked");
        }
    }
}

/// The bytes of an answer, which count until all are handed to the connection.
struct BudgetedBody {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl hyper::body::Body for BudgetedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.bytes.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.bytes.len().min(FRAME_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.bytes.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_hangs_up_makes_room_when_its_read_has_ended() {
        let reads = HeavyReads::start().unwrap();
        let (started, is_started) = mpsc::channel();
        let (finish, is_finished) = mpsc::channel::<()>();
        let job = move || {
            let _ = started.send(());
            let _ = is_finished.recv();
            Ok(())
        };
        let slot = reads.slot().await.unwrap();
        let mut read = Box::pin(reads.run(slot, job));
        // Polled once, so that the job is sent; then its client is gone.
        assert!(tokio::time::timeout(Duration::ZERO, &mut read).await.is_err());
        is_started.recv().unwrap();
        drop(read);
        assert_eq!(reads.agent_slots.available_permits(), 0);
        drop(finish);
        let _next = reads.slot().await.unwrap();
    }
}
