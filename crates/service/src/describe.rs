//! Descriptions of changes, for people.
//!
//! Names come from agents and repositories; each function is told how to show them.

use std::collections::HashMap;

pub use retake_engine::model::format_count;
use retake_engine::model::{Actor, AgentId, Change, DialogId, MAIN_AGENT, ProjectPath};
use retake_engine::{Project, StoreError};

/// Formats a name for display.
pub type FormatName = fn(&[u8]) -> String;

/// For programs: as it is.
pub fn unescaped(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Maximum letters of an id that is shown whole in lists; longer ones are cut to `SHORT_ID`.
const MAX_FULL_ID: usize = 16;
const SHORT_ID_LEN: usize = 12;

/// An id for a list: a long one is cut, its start is enough to name it.
pub fn short_id(id: &str, show: FormatName) -> String {
    let id = show(id.as_bytes());
    if id.chars().count() <= MAX_FULL_ID {
        return id;
    }
    id.chars().take(SHORT_ID_LEN).chain(['…']).collect()
}

/// The short names of a project's dialogs, by which people know them: `claude-2`.
#[derive(Clone, Debug)]
pub struct DialogNames {
    names: HashMap<DialogId, String>,
    show: FormatName,
}

impl DialogNames {
    /// Reads the names; `show` escapes foreign ones.
    pub fn load(project: &Project, show: FormatName) -> Result<Self, StoreError> {
        Ok(Self { names: project.dialog_names()?, show })
    }

    /// The name of a dialog. One that is not on record has its id.
    pub fn dialog(&self, id: &DialogId) -> String {
        let name = self.names.get(id).unwrap_or(&id.0);
        short_id(name, self.show)
    }

    /// The name of an agent: `claude-2`, and `claude-2/reviewer` for a subagent.
    pub fn agent(&self, dialog: &DialogId, agent: Option<&AgentId>) -> String {
        let name = self.dialog(dialog);
        match agent.filter(|agent| agent.0 != MAIN_AGENT) {
            Some(agent) => {
                format!("{name}/{}", short_id(&agent.0, self.show))
            }
            None => name,
        }
    }

    /// Describes the actor of a change: `claude-2`, `you`, `git`, `Retake`. Agents of which any can
    /// have made it are all named.
    pub fn actor(&self, change: &Change) -> String {
        match change.actor {
            Actor::User => return "you".to_owned(),
            Actor::Retake => return "Retake".to_owned(),
            Actor::Git | Actor::Unknown => return change.actor.to_string(),
            Actor::Agent => {}
        }
        let mut names: Vec<String> = Vec::new();
        for call in &change.candidates {
            let name = self.agent(&call.dialog, Some(&call.agent));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            names.extend(change.dialog.as_ref().map(|id| self.agent(id, change.agent.as_ref())));
        }
        if names.is_empty() { "an agent".to_owned() } else { names.join(" or ") }
    }

    /// Describes the maker of a change to the person who reads it.
    pub fn maker(&self, change: &Change) -> String {
        match change.actor {
            Actor::Unknown => "you".to_owned(),
            _ => self.actor(change),
        }
    }
}

/// The path of a change, with the path before a rename.
pub fn describe_path(change: &Change, show: FormatName) -> String {
    let name = |path: &ProjectPath| show(path.as_bytes());
    match &change.old_path {
        Some(old) => format!("{} → {}", name(old), name(&change.path)),
        None => name(&change.path),
    }
}

/// Names in a sentence, at most `most` of them: `a, b and 3 more`.
pub fn list_names(names: &[String], most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let text = names[..names.len() - more].join(", ");
    if more == 0 { text } else { format!("{text} and {} more", format_count(more as u64)) }
}

/// `1 file`, `30,000 files`.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", format_count(count), if count == 1 { one } else { many })
}

/// Bytes as people say them: `512 B`, `1.50 KiB`.
pub fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let unit = (bytes.ilog2() / 10) as usize;
    // Two digits, the rest is cut in units that fit: 64 bits are never lost to the fraction.
    let whole = bytes >> (10 * unit);
    let rest = (bytes >> (10 * (unit - 1))) & 1023;
    let hundredths = (rest * 100 + 512) / 1024;
    let (whole, hundredths) = (whole + hundredths / 100, hundredths % 100);
    format!("{whole}.{hundredths:02} {}", UNITS[unit - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_said_in_the_singular() {
        assert_eq!(plural(1, "file", "files"), "1 file");
        assert_eq!(plural(30_000, "file", "files"), "30,000 files");
    }

    #[test]
    fn sizes_are_said_in_units_that_fit() {
        let said: Vec<_> = [0, 1023, 1024, 1536, 5 << 20, (1 << 30) + (1 << 29), u64::MAX]
            .into_iter()
            .map(format_size)
            .collect();
        assert_eq!(
            said,
            ["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "5.00 MiB", "1.50 GiB", "16.00 EiB"]
        );
    }
}
