//! Paths in documents.

use retake_engine::model::ProjectPath;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A path of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PathName {
    /// Relative to the project's root.
    #[schema(example = "src/main.rs")]
    pub path: String,
    /// Its exact bytes in hexadecimal digits; only if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
}

impl From<&ProjectPath> for PathName {
    fn from(path: &ProjectPath) -> Self {
        Self { path: path.to_string(), path_hex: hex_if_needed(path) }
    }
}

/// Several paths.
pub(super) fn path_names<'a>(paths: impl IntoIterator<Item = &'a ProjectPath>) -> Vec<PathName> {
    paths.into_iter().map(PathName::from).collect()
}

/// Exact bytes beside a path that text cannot carry.
pub(super) fn hex_if_needed(path: &ProjectPath) -> Option<String> {
    path.as_str().is_none().then(|| hex(path.as_bytes()))
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
