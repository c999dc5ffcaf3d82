//! The bounded queue of frames between a follower and its connection.
//!
//! Invariant: it holds at most [`MOST_FRAMES`] frames and [`MOST_BYTES`] bytes (one frame may be
//! larger by itself). The writer blocks for space, with a timeout.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Maximum frames in the queue.
const MAX_FRAMES: usize = 64;
/// Maximum bytes in the queue.
const MAX_BYTES: usize = 1024 * 1024;

/// Creates a queue whose reader is dropped if it takes nothing for `patience` while frames wait.
pub fn frame_queue(read_timeout: Duration) -> (FrameSender, FrameReceiver) {
    let shared = Arc::new(QueueShared::default());
    (FrameSender { shared: Arc::clone(&shared), read_timeout }, FrameReceiver { shared })
}

#[derive(Debug, Default)]
struct QueueShared {
    state: Mutex<QueueState>,
    space: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    frames: VecDeque<String>,
    bytes: usize,
    /// Since when the first frame could have been taken.
    waiting_since: Option<Instant>,
    /// One of the two ends is gone.
    closed: bool,
    reader: Option<Waker>,
}

impl QueueShared {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.space.notify_all();
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }
}

impl QueueState {
    fn has_room_for(&self, frame: &str) -> bool {
        let fits =
            self.frames.len() < MAX_FRAMES && self.bytes.saturating_add(frame.len()) <= MAX_BYTES;
        fits || self.frames.is_empty()
    }

    fn waited(&self) -> Duration {
        self.waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Where frames go in. What is in it when this is dropped can still be taken.
#[derive(Debug)]
pub struct FrameSender {
    shared: Arc<QueueShared>,
    read_timeout: Duration,
}

impl FrameSender {
    /// Puts a frame in, once there is space; `false` if the reader has gone or timed out.
    #[must_use]
    pub fn push(&self, frame: String) -> bool {
        let mut state = self.shared.lock();
        while !state.closed && !state.has_room_for(&frame) {
            let Some(left) = self.read_timeout.checked_sub(state.waited()) else { return false };
            let left = left.max(Duration::from_millis(1));
            let woken = self.shared.space.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.closed {
            return false;
        }
        state.bytes += frame.len();
        state.frames.push_back(frame);
        state.waiting_since.get_or_insert_with(Instant::now);
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
        true
    }

    /// Returns whether the reader is connected and within its timeout.
    pub fn is_drained(&self) -> bool {
        let state = self.shared.lock();
        !state.closed && state.waited() < self.read_timeout
    }
}

impl Drop for FrameSender {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// Where frames come out.
#[derive(Debug)]
pub struct FrameReceiver {
    shared: Arc<QueueShared>,
}

impl FrameReceiver {
    /// The next frame; `None` after the last one.
    pub fn poll_frame(&mut self, context: &Context<'_>) -> Poll<Option<String>> {
        let mut state = self.shared.lock();
        if let Some(frame) = state.frames.pop_front() {
            state.bytes -= frame.len();
            state.waiting_since = (!state.frames.is_empty()).then(Instant::now);
            self.shared.space.notify_all();
            return Poll::Ready(Some(frame));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for FrameReceiver {
    fn drop(&mut self) {
        self.shared.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn take(receiver: &mut FrameReceiver) -> Poll<Option<String>> {
        receiver.poll_frame(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn frames_come_out_in_order_and_the_end_after_them() {
        let (sender, mut receiver) = frame_queue(LONG);
        assert_eq!(take(&mut receiver), Poll::Pending);
        assert!(sender.push("a".to_owned()) && sender.push("b".to_owned()));
        drop(sender);
        assert_eq!(take(&mut receiver), Poll::Ready(Some("a".to_owned())));
        assert_eq!(take(&mut receiver), Poll::Ready(Some("b".to_owned())));
        assert_eq!(take(&mut receiver), Poll::Ready(None));
    }

    #[test]
    fn a_full_queue_gives_up_after_a_while_and_what_it_holds_is_bounded() {
        for frame in ["x".to_owned(), "x".repeat(MAX_BYTES / 4 + 1)] {
            let (sender, receiver) = frame_queue(Duration::from_millis(20));
            let pushed = (0..1000).take_while(|_| sender.push(frame.clone())).count();
            assert_eq!(pushed, if frame.len() == 1 { MAX_FRAMES } else { 3 });
            assert!(!sender.is_drained());
            assert!(receiver.shared.lock().bytes <= MAX_BYTES);
        }
    }

    #[test]
    fn one_frame_may_be_larger_than_the_queue() {
        let (sender, _receiver) = frame_queue(LONG);
        assert!(sender.push("x".repeat(MAX_BYTES * 2)));
    }

    #[test]
    fn a_writer_that_waits_goes_on_once_there_is_room() {
        let (sender, mut receiver) = frame_queue(LONG);
        let writer = std::thread::spawn(move || {
            (0..MAX_FRAMES * 3).all(|number| sender.push(number.to_string()))
        });
        let mut taken = Vec::new();
        loop {
            match take(&mut receiver) {
                Poll::Ready(Some(frame)) => taken.push(frame),
                Poll::Ready(None) => break,
                Poll::Pending => std::thread::yield_now(),
            }
        }
        assert!(writer.join().unwrap());
        let all: Vec<_> = (0..MAX_FRAMES * 3).map(|number| number.to_string()).collect();
        assert_eq!(taken, all);
    }

    #[test]
    fn a_reader_that_left_frees_a_writer_that_waits() {
        let (sender, receiver) = frame_queue(LONG);
        let writer =
            std::thread::spawn(move || (0..1000).take_while(|_| sender.push("x".into())).count());
        while receiver.shared.lock().frames.len() < MAX_FRAMES {
            std::thread::yield_now();
        }
        drop(receiver);
        assert_eq!(writer.join().unwrap(), MAX_FRAMES);
    }
}
