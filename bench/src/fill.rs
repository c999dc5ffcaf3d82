//! Makes records that are too long to make by hooks.
//!
//! Small edits of a large file go through the engine, one by one. A million changes would take
//! hours that way: one edit goes through the engine, and the rows that it left (call, events,
//! change) are written again and again through the store, with new ids and places in the order.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use retake_engine::model::{
    CallId, Change, ChangeId, DialogId, Event, EventKind, JournalKind, Millis, Stamp,
};
use retake_engine::{FileLock, InitOptions, JournalEvent, Project, Retake};
use retake_store::{Batch, CallEnd, CallInput, CallState, NewCall, NewChange, ShortArguments};
use serde_json::{Value, json};

use crate::{files, generate};

/// Number of edits whose rows are committed in one transaction.
const EDITS_PER_COMMIT: u64 = 5_000;
const FILE_COUNT: u64 = 100;

/// A text of 1 MB that is edited a little again and again.
pub(crate) struct EditedText {
    lines: Vec<String>,
}

impl EditedText {
    pub(crate) fn new() -> Self {
        let text = generate::text(23, 1_000_000);
        Self { lines: text.lines().map(str::to_owned).collect() }
    }

    /// Changes one line somewhere.
    pub(crate) fn edit(&mut self, number: u64) {
        let place = (number as usize).wrapping_mul(7919) % self.lines.len();
        self.lines[place] = format!("let edited_{number} = {place}; // {}", self.lines[place]);
        self.lines[place].truncate(120);
    }

    pub(crate) fn content(&self) -> String {
        self.lines.join("\n")
    }
}

/// Records `count` edits of a file of 1 MB by an agent.
pub(crate) fn edits(home: &Path, root: &Path, count: u64) -> Result<()> {
    let (mut text, file) = (EditedText::new(), root.join("large.rs"));
    files::write(&file, text.content().as_bytes())?;
    let project = init(home, root)?;
    for number in 0..count {
        let call = format!("call-{number}");
        begin(&project, "edits", &call, &file, number)?;
        text.edit(number);
        files::write(&file, text.content().as_bytes())?;
        end(&project, "edits", &call, number)?;
    }
    Ok(())
}

/// Makes a record of `count` changes in `dialogs` dialogs, in a project of a hundred files.
pub(crate) fn changes(home: &Path, root: &Path, count: u64, dialogs: u64) -> Result<()> {
    for number in 0..FILE_COUNT {
        let text = generate::text(number, 4_000);
        files::write(&root.join(format!("src/file_{number}.rs")), text.as_bytes())?;
    }
    let project = init(home, root)?;
    let patterns = (0..FILE_COUNT.min(count))
        .map(|number| RowPattern::record(&project, number, &dialog(number % dialogs)))
        .collect::<Result<Vec<_>>>()?;
    let _lock = FileLock::acquire(project.store().folder(), Duration::from_secs(10))?;
    let mut done = patterns.len() as u64;
    while done < count {
        let batch = project.store().batch()?;
        let until = count.min(done + EDITS_PER_COMMIT);
        for number in done..until {
            let pattern = &patterns[(number % patterns.len() as u64) as usize];
            pattern.repeat(&batch, number, &dialog(number % dialogs))?;
        }
        batch.commit()?;
        done = until;
    }
    Ok(())
}

fn dialog(number: u64) -> DialogId {
    DialogId(format!("dialog-{number:06}"))
}

/// The rows that the engine made of one edit.
struct RowPattern {
    events: Vec<JournalEvent>,
    change: Change,
}

impl RowPattern {
    fn record(project: &Project, number: u64, dialog: &DialogId) -> Result<Self> {
        let file = project.root().join(format!("src/file_{number}.rs"));
        let before = project.store().last_seq()?;
        let call = format!("call-{number}");
        begin(project, &dialog.0, &call, &file, number)?;
        files::append(&file, &format!("// edit {number}\n"))?;
        end(project, &dialog.0, &call, number)?;
        let events = project.store().events_after(before, 100)?;
        let change = events.iter().find_map(|event| event.change);
        let change = project.store().change(change.context("an edit is a change")?)?;
        let change = change.context("a change is on record")?;
        Ok(Self { events, change })
    }

    /// Writes the rows once more, as those of another call.
    fn repeat(&self, batch: &Batch<'_>, number: u64, dialog: &DialogId) -> Result<()> {
        let (call, agent) = (CallId(format!("call-{number}")), self.change.agent.clone());
        let agent = agent.context("an agent made it")?;
        let at = self.change.at + number as Millis * 1000;
        batch.touch_dialog(dialog, self.change.kind.as_deref(), None, at)?;
        batch.touch_agent(dialog, &agent, None, None)?;
        let row = batch.begin_call(
            &NewCall {
                dialog,
                agent: &agent,
                call: &call,
                tool: self.change.tool.as_deref().unwrap_or("Edit"),
                cwd: None,
                input: &CallInput::default(),
                command: None,
                message_index: None,
                turn: self.change.turn.unwrap_or(0),
                model: None,
                arguments: &ShortArguments::default(),
                process: None,
            },
            at,
        )?;
        for event in &self.events {
            let seq = batch.next_seq();
            if event.change.is_some() {
                let change = Change {
                    id: ChangeId(seq),
                    at,
                    dialog: Some(dialog.clone()),
                    ..self.change.clone()
                };
                batch.put_change(&NewChange { change: &change, calls: &[row] })?;
            }
            batch.put_event(&JournalEvent {
                seq,
                at,
                dialog: event.dialog.as_ref().map(|_| dialog.clone()),
                call: event.call.as_ref().map(|_| call.clone()),
                change: event.change.map(|_| ChangeId(seq)),
                ..event.clone()
            })?;
            if event.kind == JournalKind::ToolBegin {
                batch.set_call_seq(row, seq)?;
            } else if event.kind == JournalKind::ToolEnd {
                let end = CallEnd { state: CallState::Ended, ok: Some(true), exit_code: None };
                batch.close_call(row, end, Stamp { seq, at })?;
                batch.set_dialog_seq(dialog, seq)?;
            }
        }
        Ok(())
    }
}

fn init(home: &Path, root: &Path) -> Result<Project> {
    let retake = Retake::new(home);
    retake.init(root, InitOptions::default(), START_TIME, &mut |_, _| {})?;
    Ok(retake.open(root)?)
}

/// Start of the record's clock, 2026-01-01, so that two fills are the same.
const START_TIME: Millis = 1_767_225_600_000;

fn begin(project: &Project, dialog: &str, call: &str, file: &Path, number: u64) -> Result<()> {
    let input = json!({ "file_path": file, "old_string": "a", "new_string": "b" });
    let (call, tool) = (Some(CallId(call.to_owned())), "Edit".to_owned());
    record_event(project, dialog, EventKind::ToolBegin { call, tool, input }, number)
}

fn end(project: &Project, dialog: &str, call: &str, number: u64) -> Result<()> {
    let what = EventKind::ToolEnd {
        call: Some(CallId(call.to_owned())),
        ok: Some(true),
        exit_code: None,
        tool: None,
        input: Value::Null,
        background: false,
        task: None,
    };
    record_event(project, dialog, what, number)
}

fn record_event(project: &Project, dialog: &str, what: EventKind, number: u64) -> Result<()> {
    let mut event = Event::new(DialogId(dialog.to_owned()), what);
    event.cwd = Some(project.root().to_string_lossy().into_owned());
    project.record(&event, START_TIME + number as Millis * 1000)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use retake_engine::ChangeFilter;

    #[test]
    fn repeated_rows_are_as_the_engine_writes_them() {
        let top = tempfile::tempdir().unwrap();
        let (home, root) = (top.path().join("home"), top.path().join("project"));
        changes(&home, &root, 250, 3).unwrap();
        let project = Retake::new(&home).open(&root).unwrap();
        assert_eq!(
            project.refresh(START_TIME).unwrap().changes.len(),
            0,
            "the files are as on record"
        );
        let of_one = vec![dialog(1)];
        let filter = ChangeFilter { dialogs: of_one, ..ChangeFilter::default() };
        let changes = project.changes(&filter).unwrap();
        assert_eq!(changes.len(), 83);
        let (newest, oldest) = (&changes[0], &changes[82]);
        assert_eq!((newest.tool.as_ref(), newest.actor), (oldest.tool.as_ref(), oldest.actor));
        assert!(newest.call.is_some() && newest.call != oldest.call);
        assert!(newest.id > oldest.id && project.content(&newest.after).unwrap().is_some());
        assert!(project.store().live_calls().unwrap().is_empty());
        assert_eq!(project.check_health(true, &mut |_, _| {}).unwrap().verification.problems, []);
    }
}
