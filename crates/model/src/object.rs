//! Ids of content: git object ids.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A git object id (SHA-1): what `git hash-object` prints for the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ObjectId([u8; 20]);

/// A text that is not 40 hexadecimal digits.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is not an object id (40 hexadecimal digits)")]
pub struct ParseObjectIdError(String);

impl ObjectId {
    /// The id with these raw bytes.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

impl TryFrom<&[u8]> for ObjectId {
    type Error = ParseObjectIdError;

    fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
        let bytes = bytes.try_into().map_err(|_| ParseObjectIdError(format!("{bytes:?}")))?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ObjectId {
    type Err = ParseObjectIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseObjectIdError(text.to_owned());
        if text.len() != 40 || !text.is_ascii() {
            return Err(error());
        }
        let mut bytes = [0; 20];
        for (byte, at) in bytes.iter_mut().zip((0..40).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| error())?;
        }
        Ok(Self(bytes))
    }
}

impl From<ObjectId> for String {
    fn from(id: ObjectId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ObjectId {
    type Error = ParseObjectIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
