//! The file of the tokens that survive a restart: its JSON, with digests in hexadecimal digits.

use std::path::Path;

use retake_engine::model::{DialogId, Millis};
use serde::{Deserialize, Serialize};

use super::token::TokenDigest;

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct StoredGrants {
    pub(super) tokens: Vec<StoredGrant>,
}

/// A token in the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredGrant {
    pub(super) id: String,
    /// SHA-256 of the token.
    pub(super) digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    pub(super) created_at: Millis,
    pub(super) last_used_at: Millis,
    /// The project of an agent's token; absent for a login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dialog: Option<DialogId>,
}

/// Reads the file; none is an empty one.
pub(super) fn read_file(path: &Path) -> Result<StoredGrants, String> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(StoredGrants::default()),
        Err(error) => Err(error.to_string()),
    }
}

/// The digest that these digits say.
pub(super) fn parse_digest(text: &str) -> Option<TokenDigest> {
    let mut bytes = TokenDigest::default();
    if text.len() != 2 * bytes.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}
