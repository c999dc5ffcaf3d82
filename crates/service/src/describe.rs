//! Descriptions of changes, for people.
//!
//! Names come from agents and repositories; each function is told how to show them.

use retake_engine::model::{Actor, Change, ProjectPath};

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

/// Describes the actor of a change: `claude-code d1/main`, `agent d1/main`, `user`, `git`.
pub fn describe_actor(change: &Change, show: FormatName) -> String {
    if change.actor != Actor::Agent {
        return change.actor.to_string();
    }
    let short_id = |id: &str| short_id(id, show);
    let mut names: Vec<String> = change
        .candidates
        .iter()
        .map(|call| format!("{}/{}", short_id(&call.dialog.0), short_id(&call.agent.0)))
        .collect();
    names.dedup();
    if names.is_empty() {
        let part = |id: Option<&String>| id.map_or("?".to_owned(), |id| short_id(id));
        let dialog = part(change.dialog.as_ref().map(|id| &id.0));
        names.push(format!("{dialog}/{}", part(change.agent.as_ref().map(|id| &id.0))));
    }
    let kind = change.kind.as_deref().map_or_else(|| "agent".to_owned(), short_id);
    format!("{kind} {}", names.join(" | "))
}

/// Describes the maker of a change to the person who reads it.
pub fn describe_maker(change: &Change, show: FormatName) -> String {
    match change.actor {
        Actor::User | Actor::Unknown => "you".to_owned(),
        _ => describe_actor(change, show),
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

/// `1 file`, `2 files`.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
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
