//! Interprets events: their effect on dialogs, turns and calls, before and after the scan.
//!
//! Calls are keyed by the agent's call id, never by "the last begin". A begin without an end is
//! normal (denied, failed, interrupted): such windows close at the turn's end.

use std::collections::{HashMap, HashSet};

use retake_model::{AgentId, CallId, DialogId, Event, EventKind, Millis, ObjectId, ProjectPath};
use retake_store::{
    BackgroundActivity, Batch, Call, CallInput, CallState, FileLock, NewCall, SpoolEntry,
    StoreError,
};
use serde_json::Value;

use crate::calls::call_id;
use crate::calls::lifecycle::{
    calls_outlasting_message, close_open_calls, close_task_call, end_turn,
};
use crate::calls::open_call::LiveCall;
use crate::journal::{JournalContext, journal_entry};
use crate::project::Project;
use crate::record::submit::{ReplySupport, Submission};
use crate::record::{Notice, NoticeCode};
use crate::resolve_path::PathBase;
use crate::scan::rows::CallRowMap;
use crate::scan::shared_scan::ScanTicket;
use crate::tool::ToolKind;

/// Maximum characters of a message that become a dialog's title.
pub(crate) const MAX_TITLE_CHARS: usize = 80;
/// Maximum bytes of a command that are stored.
const MAX_COMMAND_BYTES: usize = 4096;
/// Maximum duration of an edit call, unless a person is asked.
const MAX_EDIT_DURATION: Millis = 60 * 1000;
/// Age at which an open call is no longer loaded.
const MAX_CALL_DURATION: Millis = 6 * 60 * 60 * 1000;

/// An event and the time of its arrival.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedEvent {
    pub(crate) event: Event,
    pub(crate) at: Millis,
    /// Idempotency key in the spool: the event counts once, whichever process records it.
    pub(crate) key: Option<String>,
    /// Set if it comes from the spool.
    pub(crate) was_spooled: bool,
    /// The kinds of reply that its sender can act on.
    pub(crate) reply_support: ReplySupport,
    /// Time until which its sender waits for the reply; `None` for no limit.
    pub(crate) deadline: Option<Millis>,
    /// Number of the last scan that had begun when it arrived.
    pub(crate) scan_ticket: Option<ScanTicket>,
}

impl ReceivedEvent {
    /// An event that is submitted.
    pub(crate) fn from_submission(parcel: &Submission, scan_ticket: Option<ScanTicket>) -> Self {
        Self {
            event: parcel.event.clone(),
            at: parcel.at,
            key: Some(parcel.key.clone()),
            was_spooled: false,
            reply_support: parcel.reply_support,
            deadline: parcel.deadline,
            scan_ticket,
        }
    }

    /// An event from the spool.
    pub(crate) fn from_spool(entry: &SpoolEntry) -> Self {
        let key = Some(entry.id.clone());
        Self { key, was_spooled: true, ..Self::from_transcript(entry.event.clone(), entry.at) }
    }

    /// A message that is read in an agent's own transcript.
    pub(crate) fn from_transcript(event: Event, at: Millis) -> Self {
        let (key, reply_support, deadline, scan_ticket) = (None, ReplySupport::Nothing, None, None);
        Self { event, at, key, was_spooled: false, reply_support, deadline, scan_ticket }
    }
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

/// The calls that matter to a scan, with those that the received events add.
#[derive(Debug)]
pub(crate) struct LiveCalls {
    pub(crate) live: Vec<LiveCall>,
    next_temporary: i64,
    /// Messages that arrived with the same events, and are not counted in the store yet.
    messages: HashMap<DialogId, u64>,
    /// Calls that have ended with the same events: changes can be attributed to them, but they
    /// cannot end again.
    ended: HashSet<i64>,
    /// Calls of runs that were killed: no end will be reported.
    pub(crate) orphaned: Vec<i64>,
    /// Calls that Retake denied and that end all the same.
    pub(crate) denied: Vec<i64>,
}

impl LiveCalls {
    pub(crate) fn load(
        project: &Project,
        batch: &Batch<'_>,
        at: Millis,
    ) -> Result<Self, StoreError> {
        let mut calls = batch.live_calls()?;
        let lives = |call: &Call| FileLock::is_run_alive(batch.folder(), &call.dialog.0);
        // The window of an agent that was killed would otherwise never close.
        let is_fresh = |call: &Call| at.saturating_sub(call.begin_at) < MAX_CALL_DURATION;
        calls.retain(|call| is_fresh(call) || lives(call) == Some(true));
        let is_orphan = |call: &&Call| lives(call) == Some(false);
        let orphaned = calls.iter().filter(is_orphan).map(|call| call.row).collect();
        let live = project.target_cache.borrow_mut().live_calls(project.path_base(), calls);
        Ok(Self { live, orphaned, ..Self::empty() })
    }

    /// For events that concern no calls.
    pub(crate) fn empty() -> Self {
        Self {
            live: Vec::new(),
            next_temporary: -1,
            messages: HashMap::new(),
            ended: HashSet::new(),
            orphaned: Vec::new(),
            denied: Vec::new(),
        }
    }

    /// Interprets an event; new calls join the live ones.
    pub(crate) fn interpret(
        &mut self,
        batch: &Batch<'_>,
        ground: PathBase<'_>,
        arrived: &ReceivedEvent,
        notices: &mut Vec<Notice>,
    ) -> Result<EventEffect, StoreError> {
        let event = &arrived.event;
        match &event.what {
            EventKind::ToolBegin { call: Some(call), tool, input } => {
                let known = batch.call(&event.dialog, call)?;
                let is_denied = known.is_some_and(|known| known.state == CallState::Denied);
                if is_denied || self.open_row(&event.dialog, call).is_some() {
                    notices.push(Notice::new(
                        NoticeCode::DuplicateBegin,
                        format!("call {call} has begun already; this begin was noted, not counted"),
                    ));
                    return Ok(EventEffect::Other);
                }
                let row = self.add(batch, ground, arrived, (call, tool, input))?;
                self.notice_outside_paths(row, notices);
                Ok(EventEffect::Begins(row))
            }
            EventKind::ToolEnd { call: None, .. } => {
                notices.push(Notice::new(
                    NoticeCode::UnknownCall,
                    "the event names neither the call that ended nor its tool; what changed was \
                     recorded without it",
                ));
                Ok(EventEffect::Other)
            }
            EventKind::ToolEnd { call: Some(call), tool, input, .. } => {
                if let Some(row) = self.open_row(&event.dialog, call) {
                    self.ended.insert(row);
                    if let Some(live) = self.live.iter_mut().find(|live| live.call.row == row) {
                        live.refresh_targets(ground);
                    }
                    return Ok(EventEffect::Ends(row));
                }
                match batch.call(&event.dialog, call)? {
                    Some(closed)
                        if matches!(closed.state, CallState::Abandoned | CallState::Denied) =>
                    {
                        return Ok(EventEffect::EndsAgain(self.reopen(ground, closed)));
                    }
                    Some(closed) if closed.state == CallState::Ended => {
                        notices.push(Notice::new(
                            NoticeCode::DuplicateEnd,
                            format!(
                                "call {call} has ended already; this end was noted, not counted"
                            ),
                        ));
                        return Ok(EventEffect::Other);
                    }
                    _ => {}
                }
                if let Some(tool) = tool {
                    let row = self.add(batch, ground, arrived, (call, tool, input))?;
                    self.notice_outside_paths(row, notices);
                    return Ok(EventEffect::EndsUnbegun(row));
                }
                notices.push(Notice::new(
                    NoticeCode::UnknownCall,
                    format!(
                        "dialog {} has no open call {call}, and the event does not say which tool \
                         it was; what changed was recorded without it",
                        event.dialog
                    ),
                ));
                Ok(EventEffect::Other)
            }
            EventKind::UserMessage { .. } => {
                *self.messages.entry(event.dialog.clone()).or_default() += 1;
                Ok(EventEffect::Other)
            }
            _ => Ok(EventEffect::Other),
        }
    }

    /// Paths that open edit tools work on. A change found before the call ends cannot be attributed
    /// to it yet; but a call may also wait long for the person's permission.
    pub(crate) fn paths_being_edited(&self, at: Millis) -> impl Iterator<Item = ProjectPath> {
        self.open_edits(at).flat_map(|live| live.call_targets.named.clone())
    }

    /// The edit calls that may be running.
    pub(crate) fn open_edits(&self, at: Millis) -> impl Iterator<Item = &LiveCall> {
        let edits = |live: &&LiveCall| matches!(live.kind(), ToolKind::Write | ToolKind::Edit);
        self.calls_at_work(at).filter(edits)
    }

    /// Returns true if a new file may be a scratch file of a command, which is known only after the
    /// command has ended. A path that a call could change, and so remove, is never scratch.
    pub(crate) fn may_be_scratch(&self, path: &ProjectPath, at: Millis) -> bool {
        let could_change = |live: &LiveCall| live.is_open() && live.could_change(path);
        self.calls_at_work(at).any(|live| live.could_be_scratch(path))
            && !self.live.iter().any(could_change)
    }

    fn calls_at_work(&self, at: Millis) -> impl Iterator<Item = &LiveCall> {
        let is_short =
            move |live: &LiveCall| at.saturating_sub(live.call.begin_at) < MAX_EDIT_DURATION;
        self.live.iter().filter(move |live| live.is_open() && is_short(live))
    }

    pub(crate) fn get(&self, row: i64) -> Option<&LiveCall> {
        self.live.iter().find(|live| live.call.row == row)
    }

    fn open_row(&self, dialog: &DialogId, call: &CallId) -> Option<i64> {
        let is_it = |live: &&LiveCall| {
            self.is_open(live) && live.call.dialog == *dialog && live.call.call == *call
        };
        self.live.iter().find(is_it).map(|live| live.call.row)
    }

    /// The oldest open call of a dialog whose id has this stem.
    pub(crate) fn oldest_open(&self, dialog: &DialogId, stem: &str) -> Option<CallId> {
        let is_it = |live: &&LiveCall| {
            self.is_open(live)
                && live.call.dialog == *dialog
                && call_id::has_stem(&live.call.call, stem)
        };
        self.live.iter().find(is_it).map(|live| live.call.call.clone())
    }

    fn is_open(&self, live: &LiveCall) -> bool {
        live.is_open() && !self.ended.contains(&live.call.row)
    }

    /// Returns true if a dialog has a call with this id among these.
    pub(crate) fn contains(&self, dialog: &DialogId, call: &CallId) -> bool {
        self.live.iter().any(|live| live.call.dialog == *dialog && live.call.call == *call)
    }

    /// Reopens a call whose end comes after its turn was closed: it ran until now.
    fn reopen(&mut self, ground: PathBase<'_>, call: Call) -> i64 {
        let row = call.row;
        if call.state == CallState::Denied {
            self.denied.push(row);
        }
        self.live.retain(|live| live.call.row != row);
        self.live.push(LiveCall::new(ground, Call { state: CallState::Open, ..call }));
        row
    }

    fn add(
        &mut self,
        batch: &Batch<'_>,
        ground: PathBase<'_>,
        arrived: &ReceivedEvent,
        (call, tool, input): (&CallId, &str, &Value),
    ) -> Result<i64, StoreError> {
        let event = &arrived.event;
        let row = self.next_temporary;
        self.next_temporary -= 1;
        let earlier = self.messages.get(&event.dialog).copied().unwrap_or(0);
        let turn = batch.dialog(&event.dialog)?.map_or(0, |dialog| dialog.turns) + earlier;
        let call = Call {
            row,
            dialog: event.dialog.clone(),
            agent: event.agent(),
            call: call.clone(),
            tool: tool.to_owned(),
            cwd: event.cwd.clone(),
            input: CallInput::pack(input)?,
            turn,
            state: CallState::Open,
            background: BackgroundActivity::None,
            task: None,
            begin_at: arrived.at,
            begin_seq: 0,
        };
        self.live.push(LiveCall::with_input(ground, call, input));
        Ok(row)
    }

    fn notice_outside_paths(&self, row: i64, notices: &mut Vec<Notice>) {
        let outside = self.get(row).map_or(&[][..], |live| &live.call_targets.outside);
        for path in outside {
            notices.push(Notice::new(
                NoticeCode::OutsideProject,
                format!("{path} lies outside of the project and is not recorded"),
            ));
        }
    }
}

/// Inserts the rows of an event's dialog, agent and call, before changes refer to them.
pub(crate) fn ensure_event_rows(
    batch: &Batch<'_>,
    arrived: &ReceivedEvent,
    meaning: EventEffect,
    calls: &LiveCalls,
    rows: &mut CallRowMap,
) -> Result<(), StoreError> {
    let event = &arrived.event;
    let title = match &event.what {
        EventKind::DialogStart { title } => title.as_deref(),
        _ => None,
    };
    batch.touch_dialog(&event.dialog, event.kind.as_deref(), title, arrived.at)?;
    if let Some(agent) = acting_agent(event, meaning, calls) {
        let (kind, parent) = (event.kind.as_deref(), event.parent.as_ref());
        batch.touch_agent(&event.dialog, &agent, kind, parent)?;
    }
    let (EventEffect::Begins(row) | EventEffect::EndsUnbegun(row)) = meaning else {
        return Ok(());
    };
    let Some(live) = calls.get(row) else {
        return Ok(());
    };
    let command = live
        .call_targets
        .intent
        .command
        .as_deref()
        .map(|text| truncate_bytes(text, MAX_COMMAND_BYTES));
    let call = NewCall {
        dialog: &live.call.dialog,
        agent: &live.call.agent,
        call: &live.call.call,
        tool: &live.call.tool,
        cwd: live.call.cwd.as_deref(),
        input: &live.call.input,
        command,
        message_index: event.message_index,
        turn: live.call.turn,
    };
    rows.insert(row, batch.begin_call(&call, arrived.at)?);
    // A subagent may outlive the turn.
    if event.subagent().is_some() { Ok(()) } else { batch.open_turn(&event.dialog) }
}

/// The agent that acts; `None` if the event is about the dialog as a whole.
fn acting_agent(event: &Event, meaning: EventEffect, calls: &LiveCalls) -> Option<AgentId> {
    match meaning {
        EventEffect::Begins(row)
        | EventEffect::Ends(row)
        | EventEffect::EndsAgain(row)
        | EventEffect::EndsUnbegun(row) => calls.get(row).map(|live| live.call.agent.clone()),
        EventEffect::Other => event.agent.clone(),
    }
}

/// Writes the event itself, with the checkpoint before it, and updates dialogs, turns and calls.
pub(crate) fn record_event_effect(
    batch: &Batch<'_>,
    arrived: &ReceivedEvent,
    meaning: EventEffect,
    (calls, rows): (&LiveCalls, &CallRowMap),
    (seq, checkpoint): (u64, Option<ObjectId>),
) -> Result<(), StoreError> {
    let (event, at) = (&arrived.event, arrived.at);
    let agent = acting_agent(event, meaning, calls);
    let session = match batch.active_session(&event.dialog) {
        // Damage of older records must not prevent the recording of new ones.
        Err(StoreError::Row(_)) => None,
        session => session?.map(|session| session.number),
    };
    batch.put_event(&journal_entry(
        event,
        agent,
        &JournalContext { seq, at, checkpoint, session },
    ))?;
    batch.set_dialog_seq(&event.dialog, seq)?;
    let real = |row: i64| rows.get(&row).copied().unwrap_or(row);
    match (&event.what, meaning) {
        (EventKind::ToolBegin { .. }, EventEffect::Begins(row)) => {
            batch.set_call_seq(real(row), seq)?;
        }
        (
            EventKind::ToolEnd { ok, background, task, .. },
            EventEffect::Ends(row) | EventEffect::EndsAgain(row) | EventEffect::EndsUnbegun(row),
        ) => {
            if matches!(meaning, EventEffect::EndsUnbegun(_)) {
                batch.set_call_seq(real(row), seq)?;
            }
            batch.close_call(real(row), CallState::Ended, *ok, seq, at)?;
            let goes_on = *background || calls.get(row).is_some_and(LiveCall::goes_to_background);
            if goes_on {
                batch.set_background_activity(real(row), BackgroundActivity::Running)?;
            }
            if let Some(task) = task {
                batch.set_call_task(real(row), task)?;
            }
            batch.drop_finished_inputs(&event.dialog)?;
        }
        (EventKind::ToolsOver { calls }, _) => close_open_calls(batch, event, calls, seq, at)?,
        (EventKind::TaskEnd { task }, _) => close_task_call(batch, event, task, (seq, at))?,
        (EventKind::AssistantMessage { calls, .. }, _) => {
            if let Some(index) = event.message_index {
                call_id::link_calls_to_message(batch, &event.dialog, calls, index)?;
            }
        }
        // Calls that were open at the dialog's last event: its agent has left them.
        (EventKind::DialogStart { .. }, _) => end_turn(batch, event, &[], seq, at)?,
        (EventKind::UserMessage { text }, _) => {
            let living = calls_outlasting_message(batch, event)?;
            end_turn(batch, event, &living, seq, at)?;
            batch.begin_turn(&event.dialog, first_line_prefix(text, MAX_TITLE_CHARS))?;
        }
        (EventKind::TurnEnd { background }, _) => end_turn(batch, event, background, seq, at)?,
        (EventKind::DialogEnd {}, _) => {
            end_turn(batch, event, &[], seq, at)?;
            for call in batch.live_calls()? {
                if call.dialog == event.dialog {
                    batch.set_background_activity(call.row, BackgroundActivity::None)?;
                }
            }
            batch.drop_all_inputs(&event.dialog)?;
            batch.end_dialog(&event.dialog, at)?;
        }
        _ => {}
    }
    Ok(())
}

fn truncate_bytes(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The beginning of the first line that is not blank.
pub(crate) fn first_line_prefix(text: &str, chars: usize) -> &str {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    line.char_indices().nth(chars).map_or(line, |(end, _)| &line[..end])
}
