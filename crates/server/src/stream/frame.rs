//! Frames of an event stream, as the HTML standard (Server-sent events) wants them.
//!
//! Data is one line of JSON, in which no line break can occur. The `id:` is in the last frame of
//! what belongs together: a client that loses its connection in between has not seen the id, and
//! gets all of it again.

use std::fmt::Write as _;

use super::StreamEvent;

/// Reconnection delay of browsers, in milliseconds.
const RETRY_MS: u32 = 1000;

/// The first frame: where the stream starts, for a client that is cut off before any event.
pub(super) fn opening_frame(position: u64) -> String {
    format!("retry: {RETRY_MS}\nid: {position}\n\n")
}

/// The frames of one event.
pub(super) fn event_frames(told: &StreamEvent) -> String {
    let mut text = String::new();
    for (at, (name, data)) in told.entries.iter().enumerate() {
        if at + 1 == told.entries.len() {
            let _ = writeln!(text, "id: {}", told.seq);
        }
        let _ = write!(text, "event: {name}\ndata: {data}\n\n");
    }
    text
}

/// Heartbeat: an empty comment.
pub(super) const HEARTBEAT: &str = ":\n\n";

/// Nothing for this client, up to here. A frame without data is no event to a client, but moves
/// its last id: when it resumes, what was filtered out is not read again.
pub(super) fn position_frame(seq: u64) -> String {
    format!("id: {seq}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_last_frame_of_a_group_has_the_id() {
        let group = StreamEvent {
            seq: 7,
            entries: vec![("file_edit".into(), json!({})), ("file_changed".into(), json!([1]))],
        };
        let text = "event: file_edit\ndata: {}\n\nid: 7\nevent: file_changed\ndata: [1]\n\n";
        assert_eq!(event_frames(&group), text);
    }

    #[test]
    fn a_line_break_in_a_text_does_not_end_the_frame() {
        let data = json!({ "content": "a\n\nid: 9\r\nb\u{2028}" });
        let text = event_frames(&StreamEvent { seq: 1, entries: vec![("user".into(), data)] });
        assert_eq!(text.matches('\n').count(), 4, "{text}");
        assert!(!text.contains('\r'), "{text}");
    }
}
