//! The bounded queue of frames between a follower and its connection.
//!
//! Invariant: it holds at most [`MOST_FRAMES`] frames and [`MOST_BYTES`] bytes (one frame may be
//! larger by itself). The writer blocks for space, with a timeout.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Maximum frames in the queue.
const MOST_FRAMES: usize = 64;
/// Maximum bytes in the queue.
const MOST_BYTES: usize = 1024 * 1024;

/// Creates a queue whose reader is dropped if it takes nothing for `patience` while frames wait.
pub fn queue(patience: Duration) -> (Inlet, Outlet) {
    let shared = Arc::new(Shared::default());
    (Inlet { shared: Arc::clone(&shared), patience }, Outlet { shared })
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    frames: VecDeque<String>,
    bytes: usize,
    /// Since when the first frame could have been taken.
    waiting_since: Option<Instant>,
    /// One of the two ends is gone.
    over: bool,
    reader: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut state = self.lock();
        state.over = true;
        self.room.notify_all();
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }
}

impl State {
    fn has_room_for(&self, frame: &str) -> bool {
        let fits =
            self.frames.len() < MOST_FRAMES && self.bytes.saturating_add(frame.len()) <= MOST_BYTES;
        fits || self.frames.is_empty()
    }

    fn waited(&self) -> Duration {
        self.waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Where frames go in. What is in it when this is dropped can still be taken.
#[derive(Debug)]
pub struct Inlet {
    shared: Arc<Shared>,
    patience: Duration,
}

impl Inlet {
    /// Puts a frame in, once there is space; `false` if the reader has gone or timed out.
    #[must_use]
    pub fn push(&self, frame: String) -> bool {
        let mut state = self.shared.lock();
        while !state.over && !state.has_room_for(&frame) {
            let Some(left) = self.patience.checked_sub(state.waited()) else { return false };
            let left = left.max(Duration::from_millis(1));
            let woken = self.shared.room.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.over {
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
        !state.over && state.waited() < self.patience
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        self.shared.end();
    }
}

/// Where frames come out.
#[derive(Debug)]
pub struct Outlet {
    shared: Arc<Shared>,
}

impl Outlet {
    /// The next frame; `None` after the last one.
    pub fn poll_frame(&mut self, context: &Context<'_>) -> Poll<Option<String>> {
        let mut state = self.shared.lock();
        if let Some(frame) = state.frames.pop_front() {
            state.bytes -= frame.len();
            state.waiting_since = (!state.frames.is_empty()).then(Instant::now);
            self.shared.room.notify_all();
            return Poll::Ready(Some(frame));
        }
        if state.over {
            return Poll::Ready(None);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.shared.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn take(outlet: &mut Outlet) -> Poll<Option<String>> {
        outlet.poll_frame(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn frames_come_out_in_order_and_the_end_after_them() {
        let (inlet, mut outlet) = queue(LONG);
        assert_eq!(take(&mut outlet), Poll::Pending);
        assert!(inlet.push("a".to_owned()) && inlet.push("b".to_owned()));
        drop(inlet);
        assert_eq!(take(&mut outlet), Poll::Ready(Some("a".to_owned())));
        assert_eq!(take(&mut outlet), Poll::Ready(Some("b".to_owned())));
        assert_eq!(take(&mut outlet), Poll::Ready(None));
    }

    #[test]
    fn a_full_queue_gives_up_after_a_while_and_what_it_holds_is_bounded() {
        for frame in ["x".to_owned(), "x".repeat(MOST_BYTES / 4 + 1)] {
            let (inlet, outlet) = queue(Duration::from_millis(20));
            let pushed = (0..1000).take_while(|_| inlet.push(frame.clone())).count();
            assert_eq!(pushed, if frame.len() == 1 { MOST_FRAMES } else { 3 });
            assert!(!inlet.is_drained());
            assert!(outlet.shared.lock().bytes <= MOST_BYTES);
        }
    }

    #[test]
    fn one_frame_may_be_larger_than_the_queue() {
        let (inlet, _outlet) = queue(LONG);
        assert!(inlet.push("x".repeat(MOST_BYTES * 2)));
    }

    #[test]
    fn a_writer_that_waits_goes_on_once_there_is_room() {
        let (inlet, mut outlet) = queue(LONG);
        let writer = std::thread::spawn(move || {
            (0..MOST_FRAMES * 3).all(|number| inlet.push(number.to_string()))
        });
        let mut taken = Vec::new();
        loop {
            match take(&mut outlet) {
                Poll::Ready(Some(frame)) => taken.push(frame),
                Poll::Ready(None) => break,
                Poll::Pending => std::thread::yield_now(),
            }
        }
        assert!(writer.join().unwrap());
        let all: Vec<_> = (0..MOST_FRAMES * 3).map(|number| number.to_string()).collect();
        assert_eq!(taken, all);
    }

    #[test]
    fn a_reader_that_left_frees_a_writer_that_waits() {
        let (inlet, outlet) = queue(LONG);
        let writer =
            std::thread::spawn(move || (0..1000).take_while(|_| inlet.push("x".into())).count());
        while outlet.shared.lock().frames.len() < MOST_FRAMES {
            std::thread::yield_now();
        }
        drop(outlet);
        assert_eq!(writer.join().unwrap(), MOST_FRAMES);
    }
}
