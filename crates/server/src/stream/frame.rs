//! Frames of an event stream, as the HTML standard (Server-sent events) wants them.
//!
//! Data is one line of JSON, in which no line break can occur. The `id:` is in the last frame of
//! what belongs together: a client that loses its connection in between has not seen the id, and
//! gets all of it again.

use std::fmt::Write as _;

use serde_json::Value;

use super::StreamEvent;

/// Reconnection delay of browsers, in milliseconds.
const RETRY_MS: u32 = 1000;

/// The first frame: where the stream starts, for a client that is cut off before any event.
pub(super) fn opening_frame(cursor: &str) -> String {
    format!("retry: {RETRY_MS}\nid: {cursor}\n\n")
}

/// The frames of one event; after the last of them a client resumes at the cursor.
pub(super) fn event_frames(told: &StreamEvent, cursor: &str) -> String {
    let mut text = String::new();
    for (at, (name, data)) in told.entries.iter().enumerate() {
        if at + 1 == told.entries.len() {
            let _ = writeln!(text, "id: {cursor}");
        }
        let _ = write!(text, "event: {name}\ndata: {data}\n\n");
    }
    text
}

/// A frame that has no place in the order: a client does not resume after it.
pub(super) fn hint_frame(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// Heartbeat: an empty comment.
pub(super) const HEARTBEAT: &str = ":\n\n";

/// Nothing for this client, up to here. A frame without data is no event to a client, but moves
/// its last id: when it resumes, what was filtered out is not read again.
pub(super) fn position_frame(cursor: &str) -> String {
    format!("id: {cursor}\n\n")
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
        assert_eq!(event_frames(&group, "7"), text);
    }

    #[test]
    fn a_line_break_in_a_text_does_not_end_the_frame() {
        let data = json!({ "content": "a\n\nid: 9\r\nb\u{2028}" });
        let told = StreamEvent { seq: 1, entries: vec![("user".into(), data)] };
        let text = event_frames(&told, "1");
        assert_eq!(text.matches('\n').count(), 4, "{text}");
        assert!(!text.contains('\r'), "{text}");
    }
}
