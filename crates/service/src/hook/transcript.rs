//! Records the conversation from the agent's own transcript, or from the payload.
//!
//! Nothing here is needed to take a change back, so what cannot be read is only logged, and waits
//! for the next time.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use retake_agents::transcript::{self, Speaker, TranscriptCursor, TranscriptMessage};
use retake_agents::{AgentKind, HookMessage, TranscriptLocation};
use retake_engine::model::{AgentId, DialogId, ErrorCode, Event, EventKind, MAIN_AGENT, Millis};
use retake_engine::{Project, TranscriptMark};

use super::HookCall;
use crate::ApiError;

/// Maximum bytes of a transcript per hook; the rest waits for the next one.
const MAX_PART_BYTES: u64 = 32 * 1024 * 1024;

/// The conversation that a payload belongs to.
pub(super) struct TranscriptReader<'a> {
    agent: AgentKind,
    project: &'a Project,
    message: &'a HookMessage,
    /// The person's home, for places that start with `~/`.
    user_home: Option<&'a Path>,
    at: Millis,
}

/// What was new in a conversation.
struct TranscriptPart {
    spoken: Vec<TranscriptMessage>,
    /// How many messages there are by now.
    messages: u64,
}

/// How far a conversation was read before.
struct TranscriptPosition {
    agent: AgentId,
    cursor: TranscriptCursor,
    /// The same as it stands in the record.
    stored: Option<String>,
}

impl<'a> TranscriptReader<'a> {
    pub(super) fn new(call: &'a HookCall, project: &'a Project, message: &'a HookMessage) -> Self {
        let user_home = call.user_home.as_deref();
        Self { agent: call.agent, project, message, user_home, at: call.at }
    }

    /// Reads what was said until now, and gives the person's message its place after that.
    ///
    /// An agent that does not tell the message itself has it in its transcript already.
    pub(super) fn read_before(&self, event: &mut Event) {
        let part = match self.read_new(&event.dialog).and_then(|part| self.or_position(event, part))
        {
            Ok(Some(part)) => part,
            Ok(None) => return,
            Err(error) => return tracing::info!("the conversation was not read: {error}"),
        };
        let EventKind::UserMessage { text } = &mut event.what else { return };
        let is_by_user = |spoken: &&TranscriptMessage| spoken.by == Speaker::User;
        // The answer may already stand behind a message that its hook does not carry. One that was
        // recorded before is another message.
        let told = if text.is_empty() {
            let known = self.last_message_index(&event.dialog);
            part.spoken.iter().rfind(is_by_user).filter(|told| Some(told.index) > known)
        } else {
            part.spoken.last().filter(is_by_user)
        };
        event.message_index = match told {
            Some(spoken) if text.is_empty() || *text == spoken.text => {
                text.clone_from(&spoken.text);
                Some(spoken.index)
            }
            _ => Some(part.messages),
        };
    }

    /// The place of the person's last message on record; none if that is not known.
    fn last_message_index(&self, dialog: &DialogId) -> Option<u64> {
        let turns = self.project.dialog(dialog).ok()??.turns;
        self.project.message_of_turn(dialog, turns).ok()??.index
    }

    /// Where there is nothing to read now, what was read before counts: the transcript begins with
    /// this message, or comes with the end of the turn.
    fn or_position(
        &self,
        event: &Event,
        part: Option<TranscriptPart>,
    ) -> Result<Option<TranscriptPart>, ApiError> {
        let comes = self.message.transcript.is_some() || self.agent == AgentKind::Opencode;
        if part.is_some() || !comes {
            return Ok(part);
        }
        let messages = self.read_position(&event.dialog, None)?.cursor.messages();
        Ok(Some(TranscriptPart { spoken: Vec::new(), messages }))
    }

    /// Reads what was said in the turn that has ended.
    pub(super) fn read_after(&self, dialog: &DialogId) {
        let read =
            self.read_new(dialog).and_then(|part| self.record_last_message(dialog, part.as_ref()));
        if let Err(error) = read {
            tracing::info!("the conversation was not read: {error}");
        }
    }

    /// Reads and records what is new; none if there is nothing to read from.
    fn read_new(&self, dialog: &DialogId) -> Result<Option<TranscriptPart>, ApiError> {
        if !self.message.conversation.is_empty() {
            return self.read_payload(dialog).map(Some);
        }
        match &self.message.transcript {
            Some(place) => self.read_transcript(dialog, place),
            None => Ok(None),
        }
    }

    fn read_transcript(
        &self,
        dialog: &DialogId,
        place: &TranscriptLocation,
    ) -> Result<Option<TranscriptPart>, ApiError> {
        let known = self.read_position(dialog, place.agent.as_ref())?;
        let path = transcript_path(place, self.user_home);
        let Some((spoken, cursor)) = read_after_cursor(self.agent, &path, &known.cursor)? else {
            return Ok(None);
        };
        // What a subagent was told is its parent's word, not the person's.
        let counts =
            |spoken: &&TranscriptMessage| place.agent.is_none() || spoken.by == Speaker::Assistant;
        let event =
            |spoken: &TranscriptMessage| spoken.event(dialog, place.agent.as_ref(), self.agent);
        let events: Vec<_> = spoken.iter().filter(counts).map(event).collect();
        self.record(dialog, known, &events, &cursor)?;
        Ok(Some(TranscriptPart { messages: cursor.messages(), spoken }))
    }

    /// The payload has the whole conversation each time.
    fn read_payload(&self, dialog: &DialogId) -> Result<TranscriptPart, ApiError> {
        let whose = self.message.conversation.first().and_then(|event| event.agent.as_ref());
        let known = self.read_position(dialog, whose)?;
        let is_new = |event: &&Event| {
            event.message_index.is_some_and(|index| index >= known.cursor.messages())
                && matches!(event.what, EventKind::AssistantMessage { .. })
        };
        let events: Vec<_> = self.message.conversation.iter().filter(is_new).cloned().collect();
        let cursor = TranscriptCursor::after(self.message.conversation.len() as u64);
        self.record(dialog, known, &events, &cursor)?;
        Ok(TranscriptPart { messages: cursor.messages(), spoken: Vec::new() })
    }

    /// The last words of the turn, if the payload has them and there is no transcript, or they are
    /// not in it yet: then they will come again with the same place.
    fn record_last_message(
        &self,
        dialog: &DialogId,
        part: Option<&TranscriptPart>,
    ) -> Result<(), ApiError> {
        let Some(text) = self.message.last_words.clone() else { return Ok(()) };
        if part.is_some_and(|part| part.ends_with(&text)) {
            return Ok(());
        }
        let agent = self.message.transcript.as_ref().and_then(|place| place.agent.clone());
        let what = EventKind::AssistantMessage { text, calls: Vec::new() };
        let event = Event {
            agent: agent.clone(),
            kind: Some(self.agent.to_string()),
            message_index: part.map(|part| part.messages),
            ..Event::new(dialog.clone(), what)
        };
        let known = self.read_position(dialog, agent.as_ref())?;
        let cursor = known.cursor.clone();
        self.record(dialog, known, &[event], &cursor)
    }

    fn read_position(
        &self,
        dialog: &DialogId,
        agent: Option<&AgentId>,
    ) -> Result<TranscriptPosition, ApiError> {
        let agent = agent.cloned().unwrap_or_else(|| AgentId::from(MAIN_AGENT));
        let stored = self.project.transcript_cursor(dialog, &agent)?;
        // One that cannot be understood is of another version: the transcript is read again.
        let cursor = stored.as_deref().and_then(|text| serde_json::from_str(text).ok());
        Ok(TranscriptPosition { agent, cursor: cursor.unwrap_or_default(), stored })
    }

    fn record(
        &self,
        dialog: &DialogId,
        known: TranscriptPosition,
        events: &[Event],
        cursor: &TranscriptCursor,
    ) -> Result<(), ApiError> {
        let cursor = serde_json::to_string(cursor).map_err(|error| {
            ApiError::new(
                ErrorCode::Cursor,
                format!("the place cannot be noted: {error}"),
                "read it again",
            )
        })?;
        let dialog = dialog.clone();
        let TranscriptPosition { agent, stored: from, .. } = known;
        let mark = TranscriptMark { dialog, agent, from, cursor };
        if !self.project.record_conversation(events, &mark, self.at)? {
            tracing::info!("the project is in use; the conversation is read the next time");
        }
        Ok(())
    }
}

impl TranscriptPart {
    /// Returns whether the agent's last message is this, or its end; either may have been cut.
    fn ends_with(&self, text: &str) -> bool {
        let by_agent = |spoken: &&TranscriptMessage| {
            spoken.by == Speaker::Assistant && !spoken.text.is_empty()
        };
        self.spoken.iter().rfind(by_agent).is_some_and(|last| {
            let (last, text) = (last.text.trim_end(), text.trim_end());
            text.ends_with(last) || last.ends_with(text) || text.starts_with(last)
        })
    }
}

/// The transcript's file; one that starts with `~/` is in the person's home.
pub(super) fn transcript_path(place: &TranscriptLocation, user_home: Option<&Path>) -> PathBuf {
    match (place.path.strip_prefix("~/"), user_home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(&place.path),
    }
}

/// Reads a transcript after the cursor; returns the new cursor too, `None` without a file.
/// A file that is shorter than it was is another one.
fn read_after_cursor(
    agent: AgentKind,
    path: &Path,
    cursor: &TranscriptCursor,
) -> Result<Option<(Vec<TranscriptMessage>, TranscriptCursor)>, ApiError> {
    let Some(mut file) = TranscriptFile::open(path)? else { return Ok(None) };
    let anew = TranscriptCursor::default();
    let cursor = if file.size < cursor.offset() { &anew } else { cursor };
    let bytes = file.read(cursor.offset(), MAX_PART_BYTES)?;
    let found = transcript::read(agent, cursor, &bytes);
    if found.1 != *cursor || (bytes.len() as u64) < MAX_PART_BYTES {
        return Ok(Some(found));
    }
    // A line that is longer than that: with all of it.
    let bytes = file.read(cursor.offset(), u64::MAX)?;
    Ok(Some(transcript::read(agent, cursor, &bytes)))
}

/// A transcript that is being read.
pub(super) struct TranscriptFile<'a> {
    path: &'a Path,
    file: File,
    /// Its size when it was opened.
    pub(super) size: u64,
}

impl<'a> TranscriptFile<'a> {
    /// Opens it; none if there is no file yet.
    pub(super) fn open(path: &'a Path) -> Result<Option<Self>, ApiError> {
        // Anything but a plain file could keep us waiting.
        if !path.is_file() {
            return Ok(None);
        }
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (size, file) = opened.map_err(|error| unreadable(path, &error))?;
        Ok(Some(Self { path, file, size }))
    }

    /// The bytes from a place on, at most so many.
    pub(super) fn read(&mut self, from: u64, at_most: u64) -> Result<Vec<u8>, ApiError> {
        let mut bytes = Vec::new();
        let mut read = || {
            self.file.seek(SeekFrom::Start(from))?;
            self.file.by_ref().take(at_most).read_to_end(&mut bytes)
        };
        read().map_err(|error| unreadable(self.path, &error))?;
        Ok(bytes)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> ApiError {
    let message = format!("{} cannot be read: {error}", path.display());
    ApiError::new(ErrorCode::Transcript, message, "it is read the next time")
}
