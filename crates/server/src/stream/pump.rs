//! Forwards events from a follower to its connection's queue.

use std::time::{Duration, Instant};

use retake_service::ApiError;

use super::{EventFollower, FrameSender, StreamTiming, frame};

/// Interval of the check that the client is still connected.
const CLIENT_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Forwards events until the client leaves, does not read, or the streams are closed.
pub fn pump(mut follower: EventFollower, inlet: &FrameSender, pace: StreamTiming) {
    if let Err(failure) = forward_events(&mut follower, inlet, pace) {
        tracing::warn!(code = %failure.code, %failure, "an event stream ends");
        let data = serde_json::to_string(&failure).unwrap_or_default();
        let _ = inlet.push(format!("event: failure\ndata: {data}\n\n"));
    }
}

fn forward_events(
    follower: &mut EventFollower,
    inlet: &FrameSender,
    pace: StreamTiming,
) -> Result<(), ApiError> {
    let mut told_until = follower.position();
    let mut quiet_since = Instant::now();
    if !inlet.push(frame::opening_frame(told_until)) {
        return Ok(());
    }
    while !follower.is_closed() && inlet.is_drained() {
        let told = follower.next_events(CLIENT_CHECK_INTERVAL.min(pace.heartbeat))?;
        for told in told {
            let (seq, frame) = (told.seq, frame::event_frames(&told));
            // It may take long until there is room for the frame; that is enough to hold.
            drop(told);
            if !inlet.push(frame) {
                return Ok(());
            }
            told_until = seq;
            quiet_since = Instant::now();
        }
        if quiet_since.elapsed() >= pace.heartbeat {
            let position = follower.position();
            let has_moved = position != told_until;
            let beat =
                if has_moved { frame::position_frame(position) } else { frame::HEARTBEAT.into() };
            if !inlet.push(beat) {
                return Ok(());
            }
            (told_until, quiet_since) = (position, Instant::now());
        }
    }
    Ok(())
}
