//! An event on its way into the record, and the notices to its sender.

use retake_model::{Caller, Event, EventOrigin, Millis};
use retake_store::SpoolEntry;
use serde::{Deserialize, Serialize};

use crate::feedback::FeedbackMoments;

/// An event that is submitted for recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Idempotency key: the event counts once, even if it is also given to a
    /// [`SpoolWriter`](crate::SpoolWriter) because the host cannot wait longer.
    pub key: String,
    /// The event.
    pub event: Event,
    /// Time at which the event arrived.
    pub at: Millis,
    /// The kinds of reply that the sender can act on.
    #[serde(alias = "hears")]
    pub reply_support: ReplySupport,
    /// The moments at which the sender passes feedback on to its model.
    #[serde(default)]
    pub feedback_moments: FeedbackMoments,
    /// Time until which the sender waits for the reply; `None` for no limit. Compared with the
    /// host's clock, see [`Project::set_clock`](crate::Project::set_clock).
    #[serde(default)]
    pub deadline: Option<Millis>,
    /// Where it comes from; programs that pass none are recorded as users of the library.
    #[serde(default)]
    pub origin: EventOrigin,
    /// Set if it comes from the spool.
    #[serde(skip)]
    pub(crate) was_spooled: bool,
    /// The last full scan that had begun when it arrived; `None` if it needs a scan of its own.
    #[serde(skip)]
    pub(crate) scan_ticket: Option<ScanTicket>,
}

/// Number of the last full scan that had begun when a request arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanTicket(pub(crate) u64);

/// The kinds of reply that the sender of an event can act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplySupport {
    /// Nothing.
    Nothing,
    /// Notes for its model.
    #[default]
    Notes,
    /// Denials of a call, with the reason: the call then does not happen.
    Denials,
    /// Denials; notes for its model about a call are delivered at the call's end. Notes about
    /// content that the call has overwritten by then are dropped.
    DenialsAndLateNotes,
}

impl Submission {
    /// An event whose sender reads notes, but does not act on denials.
    pub fn new(key: impl Into<String>, event: Event, at: Millis) -> Self {
        Self {
            key: key.into(),
            event,
            at,
            reply_support: ReplySupport::default(),
            feedback_moments: FeedbackMoments::default(),
            deadline: None,
            origin: EventOrigin::default(),
            was_spooled: false,
            scan_ticket: None,
        }
    }

    /// The same event from a sender that can act on these kinds of reply.
    #[must_use]
    pub fn with_reply_support(self, reply_support: ReplySupport) -> Self {
        Self { reply_support, ..self }
    }

    /// The same event from a sender that passes feedback on at these moments.
    #[must_use]
    pub fn with_feedback_moments(self, feedback_moments: FeedbackMoments) -> Self {
        Self { feedback_moments, ..self }
    }

    /// The same event, said by this caller.
    #[must_use]
    pub fn said_by(mut self, caller: Caller) -> Self {
        self.origin.said_by = Some(caller);
        self
    }

    /// An event from the spool: its sender waits no longer.
    pub(crate) fn from_spool(entry: &SpoolEntry) -> Self {
        let submission = Self::new(entry.id.clone(), entry.event.clone(), entry.at);
        Self {
            was_spooled: true,
            reply_support: ReplySupport::Nothing,
            origin: entry.origin.clone(),
            ..submission
        }
    }

    /// The entry of the spool that keeps it.
    pub(crate) fn to_spool_entry(&self) -> SpoolEntry {
        SpoolEntry {
            id: self.key.clone(),
            at: self.at,
            event: self.event.clone(),
            origin: self.origin.clone(),
        }
    }
}

/// A notice for the sender of an event; the event was recorded all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Kind of notice.
    pub code: NoticeCode,
    /// For people.
    pub message: String,
}

impl Notice {
    pub(crate) fn new(code: NoticeCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Kinds of [`Notice`]s, stable in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoticeCode {
    /// A tool names a path outside of the project.
    OutsideProject,
    /// An end without a begin that also does not say what it ends.
    UnknownCall,
    /// A begin of a call that is open.
    DuplicateBegin,
    /// An end of a call that has ended.
    DuplicateEnd,
    /// The settings cannot be used; the defaults are in force.
    Settings,
    /// The event could not be recorded now; it is spooled and will be recorded later.
    Spooled,
    /// Something is not protected.
    Gap,
    /// A command made files that rules leave out: they are not recorded.
    Ignored,
    /// An operation was interrupted and waits for the person's decision.
    Interrupted,
}

impl NoticeCode {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutsideProject => "outside_project",
            Self::UnknownCall => "unknown_call",
            Self::DuplicateBegin => "duplicate_begin",
            Self::DuplicateEnd => "duplicate_end",
            Self::Settings => "settings",
            Self::Spooled => "spooled",
            Self::Gap => "gap",
            Self::Ignored => "ignored",
            Self::Interrupted => "interrupted",
        }
    }
}

#[cfg(test)]
mod tests {
    use retake_model::EventKind;

    use super::*;

    #[test]
    fn reply_support_is_accepted_by_its_old_name_and_written_by_the_new_one() {
        let event = Event::new("d1", EventKind::DialogEnd {});
        let submission = Submission::new("k1", event, 1).with_reply_support(ReplySupport::Denials);
        let new = serde_json::to_value(&submission).unwrap();
        assert_eq!(new["reply_support"], "denials");
        let mut old = new;
        let fields = old.as_object_mut().unwrap();
        let value = fields.remove("reply_support").unwrap();
        fields.insert("hears".to_owned(), value);
        assert_eq!(serde_json::from_value::<Submission>(old).unwrap(), submission);
    }
}
