//! The `id:` of a stream of several projects: a place for each of them.
//!
//! `3f2a…:120,9bc1…:7` is project and `seq`, sorted by project; `now` instead of a `seq` is a project
//! that could not be read yet. Clients treat it as opaque. It has at most
//! [`MAX_FOLLOWED_PROJECTS`](super::MAX_FOLLOWED_PROJECTS) places, which fit into a request's head.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::StreamStart;

/// Maximum letters of a project's id.
const MAX_ID_LENGTH: usize = 32;
const NOW: &str = "now";

/// A place in each of several projects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeveralCursor {
    /// By project.
    pub places: BTreeMap<String, Option<u64>>,
}

impl SeveralCursor {
    /// Returns where a project starts; one that it does not name is new, and starts at its beginning.
    pub(super) fn start_of(&self, project: &str) -> StreamStart {
        match self.places.get(project) {
            None => StreamStart::After(0),
            Some(None) => StreamStart::Now,
            Some(Some(seq)) => StreamStart::After(*seq),
        }
    }
}

impl fmt::Display for SeveralCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.places.is_empty() {
            // An empty `id:` would make a client forget where it is.
            return f.write_str("-");
        }
        for (number, (project, seq)) in self.places.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            match seq {
                Some(seq) => write!(f, "{comma}{project}:{seq}")?,
                None => write!(f, "{comma}{project}:{NOW}")?,
            }
        }
        Ok(())
    }
}

/// A text is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotACursor;

impl FromStr for SeveralCursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let mut places = BTreeMap::new();
        if text == "-" {
            return Ok(Self { places });
        }
        for place in text.split(',') {
            let (project, seq) = place.split_once(':').ok_or(NotACursor)?;
            let is_id = (1..=MAX_ID_LENGTH).contains(&project.len())
                && project.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let is_number = !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit());
            let seq = match seq {
                NOW => None,
                seq if is_number => Some(seq.parse().map_err(|_| NotACursor)?),
                _ => return Err(NotACursor),
            };
            if !is_id || places.insert(project.to_owned(), seq).is_some() {
                return Err(NotACursor);
            }
        }
        Ok(Self { places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_what_it_writes() {
        for text in ["-", "ab:0", "ab:120,cd:7", "ab:now,cd:7"] {
            let cursor: SeveralCursor = text.parse().unwrap();
            assert_eq!(cursor.to_string(), text);
        }
        let cursor: SeveralCursor = "ab:120,cd:now".parse().unwrap();
        assert_eq!(cursor.start_of("ab"), StreamStart::After(120));
        assert_eq!(cursor.start_of("cd"), StreamStart::Now);
        assert_eq!(cursor.start_of("ef"), StreamStart::After(0));
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in
            ["", "120", "ab:", "ab:-1", "ab:+1", ":1", "ab:1,", "ab:1,ab:2", "a b:1", "ab:1:2"]
        {
            assert_eq!(text.parse::<SeveralCursor>(), Err(NotACursor), "{text}");
        }
    }
}
