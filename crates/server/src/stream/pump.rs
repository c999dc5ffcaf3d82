//! Forwards a feed's events to its connection's queue.
//!
//! What is on record waits for room in the queue; hints go in only while half of it is free, and
//! those that do not are counted and told.

use std::collections::BTreeMap;

use retake_service::ApiError;
use serde_json::json;

use super::feed::EventFeed;
use super::filter::FILE_TOUCHED;
use super::{FrameSender, StreamNews, StreamSubscription, frame};

/// Forwards events until the client leaves, does not read, or the streams are closed.
pub(crate) fn pump(
    mut feed: impl EventFeed,
    sender: &FrameSender,
    subscription: &StreamSubscription,
) {
    if let Err(failure) = forward_events(&mut feed, sender, subscription) {
        tracing::warn!(code = %failure.code, %failure, "an event stream ends");
        let data = serde_json::to_string(&failure).unwrap_or_default();
        let _ = sender.push(format!("event: failure\ndata: {data}\n\n"));
    }
}

fn forward_events(
    feed: &mut impl EventFeed,
    sender: &FrameSender,
    subscription: &StreamSubscription,
) -> Result<(), ApiError> {
    let mut sent = feed.cursor();
    if !sender.push(frame::opening_frame(&sent)) {
        return Ok(());
    }
    let mut hints = HintForwarder::default();
    while !subscription.is_closed() && sender.is_open() {
        let mut news = subscription.take_news();
        hints.forward(feed, &mut news, sender);
        for told in feed.next_events(&news, subscription)? {
            let frames = frame::event_frames(&told.event, &told.cursor);
            // It may take long until there is room for the frame; that is enough to hold.
            drop(told.event);
            if !sender.push(frames) {
                return Ok(());
            }
            sent = told.cursor;
        }
        if feed.has_more() {
            continue;
        }
        let cursor = feed.cursor();
        if cursor != sent {
            sender.set_next_beat(frame::position_frame(&cursor));
        }
        if !sender.wait(hints.has_untold()) {
            return Ok(());
        }
    }
    Ok(())
}

/// Forwards hints.
#[derive(Debug, Default)]
struct HintForwarder {
    /// How many were left out since that was last told, by project.
    untold: BTreeMap<String, u64>,
}

impl HintForwarder {
    fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    fn forward(&mut self, feed: &impl EventFeed, news: &mut StreamNews, sender: &FrameSender) {
        for (file, at) in std::mem::take(&mut news.touched) {
            if !feed.filter().wants_touched(&file.path) {
                continue;
            }
            let Some(data) = feed.touched_hint(&file, at) else { continue };
            if !sender.offer(frame::hint_frame(FILE_TOUCHED, &data)) {
                *self.untold.entry(file.project).or_default() += 1;
            }
        }
        if feed.filter().wants_saves() {
            for (project, count) in std::mem::take(&mut news.untold) {
                *self.untold.entry(project).or_default() += count;
            }
        }
        for hint in std::mem::take(&mut news.hints) {
            // One that does not fit is missed, as those are that come while the client is away.
            if feed.filter().wants_hint(&hint) {
                let _ = sender.offer(frame::hint_frame(hint.name, &hint.data));
            }
        }
        self.untold.retain(|project, count| {
            let data = json!({
                "type": FILE_TOUCHED, "project": project, "path": null, "untold": count,
            });
            !sender.offer(frame::hint_frame(FILE_TOUCHED, &data))
        });
    }
}
