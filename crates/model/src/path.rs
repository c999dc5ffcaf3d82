//! Paths inside a project.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path relative to the project's root: bytes, `/` between components.
///
/// Invariant: not empty, not absolute, no empty, `.` or `..` component, no NUL.
/// The bytes need not be UTF-8 and may hold newlines; [`fmt::Display`] is for
/// error texts and logs, never for reaching a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectPath(Box<[u8]>);

/// Why bytes cannot be a [`ProjectPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing left after the root.
    #[error("the path is empty or names the project's root itself")]
    Empty,
    /// A component is empty, `.` or `..`.
    #[error("the path '{0}' has an empty, '.' or '..' component")]
    Component(String),
    /// A NUL byte, which no file system can hold.
    #[error("the path '{0}' contains a NUL byte")]
    Nul(String),
}

impl ProjectPath {
    /// Validates `bytes`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, PathError> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(PathError::Empty);
        }
        if bytes.contains(&0) {
            return Err(PathError::Nul(bytes.escape_ascii().to_string()));
        }
        let bad = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        if bytes.split(|&b| b == b'/').any(bad) {
            return Err(PathError::Component(bytes.escape_ascii().to_string()));
        }
        Ok(Self(bytes.into_boxed_slice()))
    }

    /// The bytes of the path.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text, if it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The folder that holds this path; `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let slash = self.0.iter().rposition(|&b| b == b'/')?;
        Some(Self(self.0[..slash].into()))
    }

    /// The last component.
    pub fn file_name(&self) -> &[u8] {
        let start = self.0.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        &self.0[start..]
    }

    /// The components from the root down.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&b| b == b'/')
    }

    /// Returns whether this path lies below `folder` (or is it).
    pub fn is_beneath(&self, folder: &Self) -> bool {
        self.0
            .strip_prefix(folder.as_bytes())
            .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
    }

    /// The members of a set that lie below this folder.
    pub fn those_beneath<'a>(&'a self, set: &'a BTreeSet<Self>) -> impl Iterator<Item = &'a Self> {
        // Not from the folder itself on: `a.b` sorts between `a` and `a/b`.
        let first = self.child(b"\x01").expect("the least name is a name");
        set.range(first..).take_while(|path| path.is_beneath(self))
    }

    /// The path of `name` in this folder.
    pub fn child(&self, name: &[u8]) -> Result<Self, PathError> {
        Self::new([self.as_bytes(), b"/", name].concat())
    }
}

impl fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for ProjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// JSON form of a path: text if it is UTF-8, else its bytes, so that no byte is lost.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SerializedPath {
    Text(String),
    Bytes(Vec<u8>),
}

impl Serialize for ProjectPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_str() {
            Some(text) => SerializedPath::Text(text.to_owned()).serialize(serializer),
            None => SerializedPath::Bytes(self.0.to_vec()).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ProjectPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match SerializedPath::deserialize(deserializer)? {
            SerializedPath::Text(text) => text.into_bytes(),
            SerializedPath::Bytes(bytes) => bytes,
        };
        Self::new(bytes).map_err(D::Error::custom)
    }
}

impl std::str::FromStr for ProjectPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clean_relative_paths_are_accepted() {
        for good in ["a", "a/b", "a b/ü", ".git", "...", "-", "a\nb"] {
            assert_eq!(good.parse::<ProjectPath>().unwrap().as_bytes(), good.as_bytes());
        }
        assert!(ProjectPath::new(vec![0xff, b'/', 0xfe]).is_ok());
        for bad in ["", "/a", "a/", "a//b", ".", "..", "a/..", "./a", "a/./b", "a\0b"] {
            assert!(bad.parse::<ProjectPath>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_path_survives_the_way_through_json() {
        for bytes in [b"a/b".to_vec(), "ü\n".into(), vec![0xff, b'/', 0xfe]] {
            let path = ProjectPath::new(bytes).unwrap();
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<ProjectPath>(&json).unwrap(), path);
        }
        assert!(serde_json::from_str::<ProjectPath>("\"../a\"").is_err());
    }

    #[test]
    fn beneath_is_by_component_not_by_prefix() {
        let path = |text: &str| text.parse::<ProjectPath>().unwrap();
        assert!(path("src/a").is_beneath(&path("src")));
        assert!(path("src").is_beneath(&path("src")));
        assert!(!path("src2/a").is_beneath(&path("src")));
    }
}
