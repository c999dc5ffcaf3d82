//! Writes one content as JSON: text as it is, anything else in base64, streamed.

use std::io::{self, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use retake_model::{FileState, PathState, ProjectPath};
use retake_store::{Store, StoreError};
use sha2::{Digest as _, Sha256};

use super::SnapshotCounts;
use crate::content::secret_names::usually_holds_secrets;

/// Writes contents, and counts what it leaves out.
pub(super) struct SnapshotWriter<'a> {
    pub(super) store: &'a Store,
    pub(super) with_secrets: bool,
    pub(super) done: &'a mut SnapshotCounts,
}

/// Facts about a content, from reading it once.
pub(super) struct ContentProbe {
    pub(super) is_text: bool,
    sha256: String,
}

impl SnapshotWriter<'_> {
    /// Writes one side of a change: `null`, or an object with content, hash and size (DM-10).
    pub(super) fn write_side(
        &mut self,
        path: &ProjectPath,
        side: &PathState,
        out: &mut dyn Write,
    ) -> Result<(), StoreError> {
        let state = match side {
            PathState::Absent => return Ok(out.write_all(b"null")?),
            PathState::Unknown => {
                self.done.missing += 1;
                return Ok(out.write_all(br#"{"content":null,"captured":false}"#)?);
            }
            PathState::Known(state) => state,
        };
        let Some(probe) = self.probe(state)? else {
            return Ok(write!(out, r#"{{"content":null,"damaged":true,"size":{}}}"#, state.size)?);
        };
        out.write_all(b"{\"content\":")?;
        let masked = self.is_masked(path);
        if masked {
            out.write_all(br#"null,"masked":true"#)?;
        } else {
            self.content(state, probe.is_text, out)?;
            if !probe.is_text {
                out.write_all(br#","encoding":"base64""#)?;
            }
        }
        write!(out, r#","hash":"sha256-{}","size":{}}}"#, probe.sha256, state.size)?;
        Ok(())
    }

    /// Returns whether the content of a path is left out, and counts it.
    pub(super) fn is_masked(&mut self, path: &ProjectPath) -> bool {
        let masked = !self.with_secrets && usually_holds_secrets(path);
        self.done.masked += u64::from(masked);
        masked
    }

    /// Reads a content once; `None` if it is damaged or gone.
    pub(super) fn probe(&mut self, state: &FileState) -> Result<Option<ContentProbe>, StoreError> {
        let mut reading =
            ProbeWriter { hasher: Sha256::new(), partial_char: Vec::new(), is_text: true };
        match self.store.read_into(&state.oid, &mut reading) {
            Ok(_) => {}
            Err(StoreError::Missing(_) | StoreError::Damaged { .. }) => {
                self.done.missing += 1;
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let is_text = reading.is_text && reading.partial_char.is_empty();
        let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
        let sha256 = reading.hasher.finalize().iter().fold(String::new(), hex);
        Ok(Some(ContentProbe { is_text, sha256 }))
    }

    /// Writes the content as a JSON string.
    pub(super) fn content(
        &self,
        state: &FileState,
        as_text: bool,
        out: &mut dyn Write,
    ) -> Result<(), StoreError> {
        out.write_all(b"\"")?;
        if as_text {
            self.store.read_into(&state.oid, &mut JsonEscapeWriter { out })?;
        } else {
            let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
            self.store.read_into(&state.oid, &mut encoder)?;
            encoder.finish()?;
        }
        Ok(out.write_all(b"\"")?)
    }
}

/// Hashes, and checks for UTF-8; characters may be split between two writes.
struct ProbeWriter {
    hasher: Sha256,
    partial_char: Vec<u8>,
    is_text: bool,
}

impl Write for ProbeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.update(bytes);
        if self.is_text {
            self.partial_char.extend_from_slice(bytes);
            match std::str::from_utf8(&self.partial_char) {
                Ok(_) => self.partial_char.clear(),
                Err(error) if error.error_len().is_none() => {
                    self.partial_char.drain(..error.valid_up_to());
                }
                Err(_) => {
                    self.is_text = false;
                    self.partial_char.clear();
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Escapes text for a JSON string. Bytes beyond ASCII pass, so a character may come in parts.
struct JsonEscapeWriter<'a> {
    out: &'a mut dyn Write,
}

impl Write for JsonEscapeWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut plain = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let escape: &[u8] = match byte {
                b'"' => b"\\\"",
                b'\\' => b"\\\\",
                b'\n' => b"\\n",
                b'\r' => b"\\r",
                b'\t' => b"\\t",
                0x00..0x20 | 0x7f => &format!("\\u{byte:04x}").into_bytes(),
                _ => continue,
            };
            self.out.write_all(&bytes[plain..at])?;
            self.out.write_all(escape)?;
            plain = at + 1;
        }
        self.out.write_all(&bytes[plain..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
