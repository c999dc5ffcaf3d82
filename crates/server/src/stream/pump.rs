//! Forwards events from a follower to its connection's queue.

use std::time::{Duration, Instant};

use retake_service::ApiError;

use super::{EventFollower, FrameSender, StreamTiming, frame};

/// Interval of the check that the client is still connected.
const CLIENT_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Forwards events until the client leaves, does not read, or the streams are closed.
pub fn pump(mut follower: EventFollower, sender: &FrameSender, timing: StreamTiming) {
    if let Err(failure) = forward_events(&mut follower, sender, timing) {
        tracing::warn!(code = %failure.code, %failure, "an event stream ends");
        let data = serde_json::to_string(&failure).unwrap_or_default();
        let _ = sender.push(format!("event: failure\ndata: {data}\n\n"));
    }
}

fn forward_events(
    follower: &mut EventFollower,
    sender: &FrameSender,
    timing: StreamTiming,
) -> Result<(), ApiError> {
    let mut sent_until = follower.position();
    let mut quiet_since = Instant::now();
    if !sender.push(frame::opening_frame(sent_until)) {
        return Ok(());
    }
    while !follower.is_closed() && sender.is_drained() {
        let events = follower.next_events(CLIENT_CHECK_INTERVAL.min(timing.heartbeat))?;
        for event in events {
            let (seq, frame) = (event.seq, frame::event_frames(&event));
            // It may take long until there is room for the frame; that is enough to hold.
            drop(event);
            if !sender.push(frame) {
                return Ok(());
            }
            sent_until = seq;
            quiet_since = Instant::now();
        }
        if quiet_since.elapsed() >= timing.heartbeat {
            let position = follower.position();
            let has_moved = position != sent_until;
            let beat =
                if has_moved { frame::position_frame(position) } else { frame::HEARTBEAT.into() };
            if !sender.push(beat) {
                return Ok(());
            }
            (sent_until, quiet_since) = (position, Instant::now());
        }
    }
    Ok(())
}
