//! Paths in documents.

use std::path::Path;

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
    /// Its absolute path, beneath the project's root as it is known now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "/home/me/project/src/main.rs")]
    pub file_path: Option<String>,
}

impl From<&ProjectPath> for PathName {
    fn from(path: &ProjectPath) -> Self {
        Self { path: path.to_string(), path_hex: hex_if_needed(path), file_path: None }
    }
}

/// Documents that name files: each name gets its absolute path, to open it in an editor.
pub trait LocatePaths: Sized {
    /// Sets the absolute paths beneath a project's root.
    fn locate(&mut self, root: &Path);

    /// The document with the absolute paths.
    #[must_use]
    fn located(mut self, root: &Path) -> Self {
        self.locate(root);
        self
    }
}

impl LocatePaths for PathName {
    fn locate(&mut self, root: &Path) {
        self.file_path = Some(absolute_path(root, &self.path));
    }
}

impl<T: LocatePaths> LocatePaths for Vec<T> {
    fn locate(&mut self, root: &Path) {
        for one in self {
            one.locate(root);
        }
    }
}

impl<T: LocatePaths> LocatePaths for Option<T> {
    fn locate(&mut self, root: &Path) {
        if let Some(one) = self {
            one.locate(root);
        }
    }
}

/// The absolute path of a path in a project.
pub(super) fn absolute_path(root: &Path, path: &str) -> String {
    root.join(path).to_string_lossy().into_owned()
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
