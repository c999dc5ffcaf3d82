//! The bounded queue of frames between a stream's thread and its connection.
//!
//! Invariants: it holds at most [`MAX_FRAMES`] frames and [`MAX_BYTES`] bytes (one frame may be
//! larger by itself). The writer blocks for space, with a timeout. A writer that has nothing to
//! write sleeps without a timer: signals, the end of the connection and the end of all streams wake
//! it. A heartbeat goes into an empty queue and wakes the connection alone.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::frame::HEARTBEAT;

/// Maximum frames in the queue.
const MAX_FRAMES: usize = 64;
/// Maximum bytes in the queue.
const MAX_BYTES: usize = 1024 * 1024;

/// Creates a queue whose reader is dropped if it takes nothing for `read_timeout` while frames wait.
pub fn frame_queue(read_timeout: Duration) -> (FrameSender, FrameReceiver) {
    let shared = Arc::new(QueueShared::default());
    (FrameSender { shared: Arc::clone(&shared), read_timeout }, FrameReceiver { shared })
}

#[derive(Debug, Default)]
struct QueueShared {
    state: Mutex<QueueState>,
    changed: Condvar,
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
    /// The writer sleeps until frames are taken.
    awaits_space: bool,
    /// The writer has something to do.
    woken: bool,
    /// The next heartbeat, if it says more than that the stream lives.
    next_beat: Option<String>,
}

impl QueueShared {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.changed.notify_all();
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

    fn add(&mut self, frame: String) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
        self.waiting_since.get_or_insert_with(Instant::now);
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
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
            let Some(left) = self.time_left(&state) else { return false };
            state = self.wait_for_space(state, left);
        }
        if state.closed {
            return false;
        }
        state.next_beat = None;
        state.add(frame);
        true
    }

    /// Puts a frame in if that takes no waiting and half of the queue stays free; `false` if not.
    #[must_use]
    pub fn offer(&self, frame: String) -> bool {
        let mut state = self.shared.lock();
        let fits = state.frames.len() < MAX_FRAMES / 2
            && state.bytes.saturating_add(frame.len()) <= MAX_BYTES / 2;
        if state.closed || !fits {
            return false;
        }
        state.add(frame);
        true
    }

    /// Sets what the next heartbeat says, unless a frame is pushed before it.
    pub fn set_next_beat(&self, frame: String) {
        self.shared.lock().next_beat = Some(frame);
    }

    /// Returns true while the reader is there.
    pub fn is_open(&self) -> bool {
        !self.shared.lock().closed
    }

    /// Blocks until the queue is woken, or until it is empty if the writer `wants_space`; `false` if
    /// the reader has gone or timed out.
    #[must_use]
    pub fn wait(&self, wants_space: bool) -> bool {
        let mut state = self.shared.lock();
        loop {
            if state.closed {
                return false;
            }
            if std::mem::take(&mut state.woken) || (wants_space && state.frames.is_empty()) {
                return true;
            }
            if state.frames.is_empty() {
                let woken = self.shared.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
            } else {
                let Some(left) = self.time_left(&state) else { return false };
                state = self.wait_for_space(state, left);
            }
        }
    }

    /// Wakes the writer, from any thread.
    pub fn waker(&self) -> QueueWaker {
        QueueWaker(Arc::downgrade(&self.shared))
    }

    fn time_left(&self, state: &QueueState) -> Option<Duration> {
        let left = self.read_timeout.checked_sub(state.waited())?;
        Some(left.max(Duration::from_millis(1)))
    }

    fn wait_for_space<'q>(
        &'q self,
        mut state: MutexGuard<'q, QueueState>,
        left: Duration,
    ) -> MutexGuard<'q, QueueState> {
        state.awaits_space = true;
        let woken = self.shared.changed.wait_timeout(state, left);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner).0;
        state.awaits_space = false;
        state
    }
}

impl Drop for FrameSender {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// Wakes a queue's writer, and beats for it; of a queue that is gone it does nothing.
#[derive(Clone, Debug)]
pub struct QueueWaker(Weak<QueueShared>);

impl QueueWaker {
    /// Wakes the writer.
    pub fn wake(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.lock().woken = true;
            shared.changed.notify_all();
        }
    }

    /// Puts a heartbeat into the queue if it is empty; `false` if the queue is gone.
    pub fn beat(&self) -> bool {
        let Some(shared) = self.0.upgrade() else { return false };
        let mut state = shared.lock();
        if state.frames.is_empty() && !state.closed {
            let beat = state.next_beat.take().unwrap_or_else(|| HEARTBEAT.to_owned());
            state.add(beat);
        }
        !state.closed
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
            if state.awaits_space {
                self.shared.changed.notify_all();
            }
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
            assert!(!sender.wait(false), "the reader has timed out");
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

    #[test]
    fn a_heartbeat_goes_into_an_empty_queue_only_and_says_where_the_stream_is() {
        let (sender, mut receiver) = frame_queue(LONG);
        let waker = sender.waker();
        sender.set_next_beat("id: 7\n\n".to_owned());
        assert!(waker.beat() && waker.beat());
        assert_eq!(take(&mut receiver), Poll::Ready(Some("id: 7\n\n".to_owned())));
        assert_eq!(take(&mut receiver), Poll::Pending, "one beat waited already");
        assert!(waker.beat());
        assert_eq!(take(&mut receiver), Poll::Ready(Some(HEARTBEAT.to_owned())));
        // What is pushed is further than what the beat would say.
        sender.set_next_beat("id: 8\n\n".to_owned());
        assert!(sender.push("id: 9\n\n".to_owned()));
        assert_eq!(take(&mut receiver), Poll::Ready(Some("id: 9\n\n".to_owned())));
        assert!(waker.beat());
        assert_eq!(take(&mut receiver), Poll::Ready(Some(HEARTBEAT.to_owned())));
        drop(sender);
        assert!(!waker.beat());
    }

    #[test]
    fn what_is_offered_leaves_half_of_the_queue_free() {
        let (sender, _receiver) = frame_queue(LONG);
        let offered = (0..1000).take_while(|_| sender.offer("x".to_owned())).count();
        assert_eq!(offered, MAX_FRAMES / 2);
        assert!(sender.push("y".to_owned()), "what must be sent has room");
    }

    #[test]
    fn a_writer_that_sleeps_is_woken_by_signals_and_by_the_end() {
        let (sender, receiver) = frame_queue(LONG);
        let waker = sender.waker();
        let writer = std::thread::spawn(move || (sender.wait(false), sender.wait(false)));
        waker.wake();
        while waker.0.upgrade().is_some_and(|shared| shared.lock().woken) {
            std::thread::yield_now();
        }
        drop(receiver);
        assert_eq!(writer.join().unwrap(), (true, false));
    }
}
