//! Reads of single records, by the names that hosts use for them: the host sees a project and not
//! its store.

use std::collections::BTreeSet;
use std::io::Write;

use retake_store::{
    CallPage, CallRecord, ChangeFilter, ChangeTotals, Dialog, DialogAgent, EventPage, JournalEvent,
    StoreError, TurnRecord, UserMessage,
};

use crate::apply::follow_up_of;
use crate::model::{
    AgentId, CallId, Change, ChangeId, Checkpoint, DialogId, MAIN_AGENT, Millis, ObjectId,
    Operation, OperationId, WorkSession,
};
use crate::project::Project;

/// Changes as they were at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePage {
    /// The changes.
    pub changes: Vec<Change>,
    /// The newest place in the project's order.
    pub last_seq: u64,
    /// The sums over all changes that fit, on whichever page they are.
    pub totals: Option<ChangeTotals>,
}

impl Project {
    /// Returns the agents of a dialog.
    pub fn agents(&self, dialog: &DialogId) -> Result<Vec<DialogAgent>, StoreError> {
        self.store().agents(dialog)
    }

    /// Returns the product of a dialog's agent; of its main agent if none is named.
    pub fn agent_kind(
        &self,
        dialog: &DialogId,
        agent: Option<&AgentId>,
    ) -> Result<Option<String>, StoreError> {
        self.store().agent_kind(dialog, agent)
    }

    /// Returns true if a dialog that has not ended was active after this time.
    pub fn has_dialog_active_since(&self, since: Millis) -> Result<bool, StoreError> {
        let dialogs = self.store().dialogs()?;
        Ok(dialogs.iter().any(|dialog| dialog.ended_at.is_none() && dialog.last_at > since))
    }

    /// Returns the changes that an operation took back, whole or in places.
    pub fn changes_taken_by(&self, id: OperationId) -> Result<BTreeSet<ChangeId>, StoreError> {
        let marks = self.store().marks(id, true)?;
        let places = follow_up_of(self.store(), id)?.changes();
        Ok(marks.into_iter().map(|mark| mark.change).chain(places).collect())
    }

    /// Returns the work sessions of a dialog, oldest first.
    pub fn work_sessions(&self, dialog: &DialogId) -> Result<Vec<WorkSession>, StoreError> {
        self.store().work_sessions(dialog)
    }

    /// Returns the work session of a dialog that collects changes.
    pub fn active_session(&self, dialog: &DialogId) -> Result<Option<WorkSession>, StoreError> {
        self.store().active_session(dialog)
    }

    /// Returns the message that began a dialog's turn; turns count from 1.
    pub fn message_of_turn(
        &self,
        dialog: &DialogId,
        turn: u64,
    ) -> Result<Option<UserMessage>, StoreError> {
        self.store().message_of_turn(dialog, turn)
    }

    /// Returns at most `limit` turns of a dialog with numbers below `before`, newest first.
    pub fn turns(
        &self,
        dialog: &Dialog,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<TurnRecord>, StoreError> {
        let _snapshot = self.store().snapshot()?;
        self.store().turns(dialog, before, limit)
    }

    /// Returns one turn of a dialog.
    pub fn turn(&self, dialog: &Dialog, number: u64) -> Result<Option<TurnRecord>, StoreError> {
        let _snapshot = self.store().snapshot()?;
        self.store().turn(dialog, number)
    }

    /// Returns calls of a dialog, oldest first.
    pub fn call_records(
        &self,
        dialog: &DialogId,
        page: &CallPage,
    ) -> Result<Vec<CallRecord>, StoreError> {
        self.store().call_records(dialog, page)
    }

    /// Returns the newest call of a dialog with this id.
    pub fn call_record(
        &self,
        dialog: &DialogId,
        call: &CallId,
    ) -> Result<Option<CallRecord>, StoreError> {
        self.store().call_record(dialog, call)
    }

    /// Returns the agent's text in the message that carried a call.
    pub fn agent_text_for_call(&self, call: &CallRecord) -> Result<Option<String>, StoreError> {
        let Some(index) = call.message_index else { return Ok(None) };
        let agent = Some(&call.agent).filter(|agent| agent.0 != MAIN_AGENT);
        self.store().assistant_text(&call.dialog, agent, index)
    }

    /// Returns a page of changes as they were at one moment, with sums over all pages if wanted.
    /// After `max_hunks` hunks, changes come without theirs.
    pub fn change_page(
        &self,
        filter: &ChangeFilter,
        with_totals: bool,
        max_hunks: usize,
    ) -> Result<ChangePage, StoreError> {
        let store = self.store();
        let _snapshot = store.snapshot()?;
        Ok(ChangePage {
            changes: self.changes_with_few_hunks(filter, max_hunks)?,
            last_seq: store.last_seq()?,
            totals: with_totals.then(|| store.change_totals(filter)).transpose()?,
        })
    }

    /// Returns true if the dialog has a call with this id.
    pub fn has_call(&self, dialog: &DialogId, call: &CallId) -> Result<bool, StoreError> {
        Ok(self.store().call(dialog, call)?.is_some())
    }

    /// Returns the checkpoints whose id begins with these hexadecimal digits.
    pub fn checkpoints_by_prefix(&self, digits: &str) -> Result<Vec<Checkpoint>, StoreError> {
        self.store().checkpoints_by_prefix(digits)
    }

    /// Returns the operation that was begun and not finished.
    pub fn unfinished_operation(&self) -> Result<Option<Operation>, StoreError> {
        self.store().unfinished_operation()
    }

    /// Returns the number of changes on record.
    pub fn change_count(&self) -> Result<u64, StoreError> {
        self.store().change_count()
    }

    /// Returns an object's bytes, verified against its id.
    pub fn read_object(&self, oid: &ObjectId) -> Result<Vec<u8>, StoreError> {
        self.store().read(oid)
    }

    /// Streams an object's bytes into `out` and returns their number; after an error `out` holds
    /// garbage.
    pub fn read_object_into(&self, oid: &ObjectId, out: &mut dyn Write) -> Result<u64, StoreError> {
        self.store().read_into(oid, out)
    }

    /// Returns the newest place in the project's order.
    pub fn last_seq(&self) -> Result<u64, StoreError> {
        self.store().last_seq()
    }

    /// Returns the events after `seq`, oldest first.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<JournalEvent>, StoreError> {
        self.store().events_after(seq, limit)
    }

    /// Returns the events after `seq`, with what is needed to know whether any are missing.
    pub fn event_page(&self, seq: u64, limit: usize) -> Result<EventPage, StoreError> {
        self.store().event_page(seq, limit)
    }

    /// Returns a number that changes whenever another connection commits; it reads no table.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        self.store().data_version()
    }

    /// Returns true while the opened record is the project's; false after it was removed or
    /// salvaged, when writes to it would be lost.
    pub fn is_record_in_place(&self) -> bool {
        self.store().is_in_place()
    }
}
