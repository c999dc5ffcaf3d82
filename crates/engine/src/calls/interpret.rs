//! Interprets events: which call begins, ends, or ends again.
//!
//! Calls are keyed by the agent's call id, never by "the last begin". A begin without an end is
//! normal (denied, failed, interrupted): such windows close at the turn's end.

use retake_model::foreign_text::{quote_id, quote_name};
use retake_model::{CallId, EventKind};
use retake_store::{BackgroundActivity, Batch, Call, CallInput, CallState, StoreError};
use serde_json::Value;

use crate::calls::live_calls::LiveCalls;
use crate::calls::open_call::LiveCall;
use crate::resolve_path::PathBase;
use crate::submission::{Notice, NoticeCode, Submission};

/// A submitted event with its effect on calls.
#[derive(Clone, Debug)]
pub(crate) struct InterpretedEvent {
    pub(crate) submission: Submission,
    pub(crate) effect: EventEffect,
}

/// Effect of an event on calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventEffect {
    /// A call begins; its (temporary) row.
    Begins(i64),
    /// A call ends; its (perhaps temporary) row.
    Ends(i64),
    /// A call ends that the end of its turn had closed already; its row.
    EndsAgain(i64),
    /// A call ends whose begin was missed; its temporary row.
    EndsUnbegun(i64),
    /// Anything else.
    Other,
}

/// A call as an event names it.
struct NamedCall<'a> {
    id: &'a CallId,
    tool: &'a str,
    input: &'a Value,
}

/// Interprets the events of one transaction; the calls that they begin join the live ones.
pub(crate) struct Interpreter<'a> {
    pub(crate) batch: &'a Batch<'a>,
    pub(crate) path_base: PathBase<'a>,
    pub(crate) calls: &'a mut LiveCalls,
    /// Notices for the sender of the event at hand.
    pub(crate) notices: Vec<Notice>,
}

impl Interpreter<'_> {
    pub(crate) fn interpret(&mut self, submission: &Submission) -> Result<EventEffect, StoreError> {
        match &submission.event.what {
            EventKind::ToolBegin { call: Some(id), tool, input } => {
                self.begin(submission, &NamedCall { id, tool, input })
            }
            EventKind::ToolEnd { call: Some(id), tool, input, .. } => {
                let named = tool.as_deref().map(|tool| NamedCall { id, tool, input });
                self.end(submission, id, named.as_ref())
            }
            EventKind::ToolEnd { call: None, .. } => Ok(self.ignore_with_notice(
                NoticeCode::UnknownCall,
                "the event names neither the call that ended nor its tool; what changed was \
                 recorded without it",
            )),
            EventKind::UserMessage { .. } => {
                let dialog = submission.event.dialog.clone();
                *self.calls.messages.entry(dialog).or_default() += 1;
                Ok(EventEffect::Other)
            }
            _ => Ok(EventEffect::Other),
        }
    }

    fn begin(
        &mut self,
        submission: &Submission,
        named: &NamedCall<'_>,
    ) -> Result<EventEffect, StoreError> {
        let (dialog, id) = (&submission.event.dialog, named.id);
        let known = self.batch.call(dialog, id)?;
        let is_denied = known.is_some_and(|known| known.state == CallState::Denied);
        if is_denied || self.calls.open_row(dialog, id).is_some() {
            return Ok(self.ignore_with_notice(
                NoticeCode::DuplicateBegin,
                format!(
                    "call {} has begun already; this begin was noted, not counted",
                    quote_id(&id.0)
                ),
            ));
        }
        Ok(EventEffect::Begins(self.add(submission, named)?))
    }

    /// `named` is `None` if the event does not say which tool ends.
    fn end(
        &mut self,
        submission: &Submission,
        id: &CallId,
        named: Option<&NamedCall<'_>>,
    ) -> Result<EventEffect, StoreError> {
        let dialog = &submission.event.dialog;
        if let Some(row) = self.calls.open_row(dialog, id) {
            return Ok(self.end_open(row));
        }
        match self.batch.call(dialog, id)? {
            Some(closed) if matches!(closed.state, CallState::Abandoned | CallState::Denied) => {
                return Ok(EventEffect::EndsAgain(self.reopen(closed)));
            }
            Some(closed) if closed.state == CallState::Ended => {
                return Ok(self.ignore_with_notice(
                    NoticeCode::DuplicateEnd,
                    format!(
                        "call {} has ended already; this end was noted, not counted",
                        quote_id(&id.0)
                    ),
                ));
            }
            _ => {}
        }
        if let Some(named) = named {
            return Ok(EventEffect::EndsUnbegun(self.add(submission, named)?));
        }
        Ok(self.ignore_with_notice(
            NoticeCode::UnknownCall,
            format!(
                "dialog {} has no open call {}, and the event does not say which tool it \
                 was; what changed was recorded without it",
                quote_id(&dialog.0),
                quote_id(&id.0)
            ),
        ))
    }

    fn end_open(&mut self, row: i64) -> EventEffect {
        self.calls.ended.insert(row);
        if let Some(live) = self.calls.live.iter_mut().find(|live| live.call.row == row) {
            live.refresh_targets(self.path_base);
        }
        EventEffect::Ends(row)
    }

    /// The event is recorded without an effect, and its sender is told why.
    fn ignore_with_notice(&mut self, code: NoticeCode, message: impl Into<String>) -> EventEffect {
        self.notices.push(Notice::new(code, message));
        EventEffect::Other
    }

    /// Reopens a call whose end comes after its turn was closed: it ran until now.
    fn reopen(&mut self, call: Call) -> i64 {
        let row = call.row;
        if call.state == CallState::Denied {
            self.calls.denied.push(row);
        }
        self.calls.live.retain(|live| live.call.row != row);
        let call = Call { state: CallState::Open, ..call };
        self.calls.live.push(LiveCall::new(self.path_base, call));
        row
    }

    /// Adds a call that is not on record yet, under a temporary row.
    fn add(&mut self, submission: &Submission, named: &NamedCall<'_>) -> Result<i64, StoreError> {
        let event = &submission.event;
        let row = self.calls.next_temporary;
        self.calls.next_temporary -= 1;
        let earlier = self.calls.messages.get(&event.dialog).copied().unwrap_or(0);
        let turn = self.batch.dialog(&event.dialog)?.map_or(0, |dialog| dialog.turns) + earlier;
        let call = Call {
            row,
            dialog: event.dialog.clone(),
            agent: event.agent(),
            call: named.id.clone(),
            tool: named.tool.to_owned(),
            cwd: event.cwd.clone(),
            input: CallInput::pack(named.input)?,
            turn,
            state: CallState::Open,
            background: BackgroundActivity::None,
            task: None,
            begin_at: submission.at,
            begin_seq: 0,
            process: submission.origin.process.clone(),
        };
        let live = LiveCall::with_input(self.path_base, call, named.input);
        for path in &live.call_targets.outside {
            self.notices.push(Notice::new(
                NoticeCode::OutsideProject,
                format!("{} lies outside of the project and is not recorded", quote_name(path)),
            ));
        }
        self.calls.live.push(live);
        Ok(row)
    }
}
