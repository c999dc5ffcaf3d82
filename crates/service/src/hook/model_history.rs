//! Records the model's history from the transcripts of [`super::transcript`], with all that the model
//! got.
//!
//! It is read last, and only at the end of a turn, so that no message waits for it. What cannot be
//! read is only logged, and waits for the next time.
//!
//! Invariant: each part is recorded together with how far it goes. So a hook that is cut off has
//! made progress, and a few hooks record a long transcript.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use retake_agents::HookMessage;
use retake_agents::history::{self, ModelCursor};
use retake_engine::model::{AgentId, DialogId, ErrorCode, Event, MAIN_AGENT, ModelMessage};
use retake_engine::{Project, TranscriptMark};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::HookCall;
use super::transcript::{TranscriptFile, transcript_path};
use crate::ApiError;

/// Bytes of a transcript per read, unless one message is longer.
const PART_BYTES: u64 = 1024 * 1024;
/// Bytes before a position whose fingerprint tells whether the file is still the same.
const FINGERPRINT_BYTES: u64 = 256;

/// How far a transcript was read, as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct HistoryPosition {
    #[serde(flatten)]
    cursor: ModelCursor,
    /// The fingerprint of what the file has right before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    follows: Option<String>,
}

/// Whose history is read, and for which project.
struct ModelHistoryReader<'a> {
    call: &'a HookCall,
    project: &'a Project,
    dialog: &'a DialogId,
    agent: AgentId,
    /// How far it was read, as it stands in the record.
    stored: Option<String>,
}

/// Records the new part of the model's history of the payload's conversation.
pub(super) fn record_new_messages(
    call: &HookCall,
    project: &Project,
    message: &HookMessage,
    dialog: &DialogId,
) {
    if project.settings().history.keep
        && let Err(error) = read_history(call, project, message, dialog)
    {
        tracing::info!("the model's history was not read: {error}");
    }
}

fn read_history(
    call: &HookCall,
    project: &Project,
    message: &HookMessage,
    dialog: &DialogId,
) -> Result<(), ApiError> {
    let in_payload = message.conversation.first();
    let whose = match (in_payload, &message.transcript) {
        (Some(Event { agent, .. }), _) => agent.clone(),
        (None, Some(place)) => place.agent.clone(),
        (None, None) => return Ok(()),
    };
    let agent = whose.unwrap_or_else(|| AgentId::from(MAIN_AGENT));
    let stored = project.history_cursor(dialog, &agent)?;
    // One that cannot be understood is of another version: everything is read again, and known.
    let known = stored.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let known: HistoryPosition = known.unwrap_or_default();
    let mut reading = ModelHistoryReader { call, project, dialog, agent, stored };
    match &message.transcript {
        _ if in_payload.is_some() => {
            let payload = payload_messages(&call.payload);
            let (messages, cursor) = history::read_on(call.agent, &known.cursor, &payload);
            reading.record(&messages, &known, &HistoryPosition { cursor, follows: None }).map(drop)
        }
        Some(place) => reading.read_file(&transcript_path(place, call.user_home.as_deref()), known),
        None => Ok(()),
    }
}

impl ModelHistoryReader<'_> {
    /// Reads a transcript to its end, part by part.
    fn read_file(&mut self, path: &Path, mut known: HistoryPosition) -> Result<(), ApiError> {
        let Some(mut file) = TranscriptFile::open(path)? else { return Ok(()) };
        if !is_same_file(&mut file, &known)? {
            known = HistoryPosition::default();
        }
        let mut part = PART_BYTES;
        loop {
            let from = known.cursor.offset();
            let bytes = file.read(from, part)?;
            let is_last = (bytes.len() as u64) < part;
            let (messages, cursor) = history::read_on(self.call.agent, &known.cursor, &bytes);
            if !is_last && cursor.offset() == from {
                part = part.saturating_mul(2);
                continue;
            }
            let follows = Some(fingerprint(&mut file, cursor.offset())?);
            let next = HistoryPosition { cursor, follows };
            if !self.record(&messages, &known, &next)? || is_last {
                return Ok(());
            }
            (known, part) = (next, PART_BYTES);
        }
    }

    /// Records a part and its end position; `false` if another process is reading it.
    fn record(
        &mut self,
        messages: &[(u64, ModelMessage)],
        known: &HistoryPosition,
        next: &HistoryPosition,
    ) -> Result<bool, ApiError> {
        if messages.is_empty() && next == known {
            return Ok(true);
        }
        let cursor = serde_json::to_string(next).map_err(|error| {
            ApiError::new(
                ErrorCode::Cursor,
                format!("the place cannot be noted: {error}"),
                "read it again",
            )
        })?;
        let mark = TranscriptMark {
            dialog: self.dialog.clone(),
            agent: self.agent.clone(),
            from: self.stored.clone(),
            cursor: cursor.clone(),
        };
        let is_recorded = self.project.record_model_messages(messages, &mark, self.call.at)?;
        if is_recorded {
            self.stored = Some(cursor);
        } else {
            tracing::info!("the project is in use; the model's history is read the next time");
        }
        Ok(is_recorded)
    }
}

/// Returns whether a file is the one that was read up to a position, by its size and the
/// fingerprint before that position.
fn is_same_file(file: &mut TranscriptFile<'_>, known: &HistoryPosition) -> Result<bool, ApiError> {
    let offset = known.cursor.offset();
    Ok(match &known.follows {
        _ if file.size < offset => false,
        Some(follows) => *follows == fingerprint(file, offset)?,
        None => true,
    })
}

fn fingerprint(file: &mut TranscriptFile<'_>, offset: u64) -> Result<String, ApiError> {
    let from = offset.saturating_sub(FINGERPRINT_BYTES);
    let digest = Sha256::digest(file.read(from, offset - from)?);
    Ok(URL_SAFE_NO_PAD.encode(&digest[..8]))
}

/// The conversation that a payload carries itself.
fn payload_messages(payload: &str) -> Vec<u8> {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    payload["messages"].to_string().into_bytes()
}
