//! Everything that is wrong with the entries of a settings file, each with its line.
//!
//! Invariant: no line is quoted, since an address in it may hold credentials.

use retake_engine::settings::Settings;
use toml_edit::{Document, DocumentMut, Item, Key, Table};

/// Describes all wrong entries, a line each; none if the text as a whole is no TOML, or each entry
/// is fine by itself.
pub(super) fn describe_all(text: &str) -> Option<String> {
    let places = EntryPlaces { text, document: Document::parse(text).ok()? };
    let document: DocumentMut = text.parse().ok()?;
    let mut problems = Vec::new();
    for (section, item) in document.iter() {
        let at_section = places.section_line(section);
        let Some(entries) = item.as_table_like() else {
            problems.extend(read_alone(section, item.clone()).err().map(|why| (at_section, why)));
            continue;
        };
        if let Err(why) = read_alone(section, Item::Table(Table::new())) {
            problems.push((at_section, why));
            continue;
        }
        for (name, value) in entries.iter() {
            let mut entry = Table::new();
            entry.insert(name, value.clone());
            let problem = read_alone(section, Item::Table(entry)).err();
            problems.extend(problem.map(|why| (places.entry_line(section, name), why)));
        }
    }
    let lines = problems.iter().map(|(line, why)| match line {
        Some(line) => format!("line {line}: {why}"),
        None => why.clone(),
    });
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Reads a section by itself; fails with the reason, without the line in a text of its own.
fn read_alone(section: &str, item: Item) -> Result<(), String> {
    let mut alone = DocumentMut::new();
    alone.insert(section, item);
    let Err(why) = Settings::parse(&alone.to_string()) else { return Ok(()) };
    let reason = why.split_once(": ").filter(|(line, _)| line.starts_with("line "));
    Err(reason.map_or(why.as_str(), |(_, reason)| reason).to_owned())
}

/// Finds the places of the entries of a text.
struct EntryPlaces<'a> {
    text: &'a str,
    document: Document<&'a str>,
}

impl EntryPlaces<'_> {
    fn section_line(&self, section: &str) -> Option<usize> {
        self.line(self.document.as_table().key(section))
    }

    fn entry_line(&self, section: &str, name: &str) -> Option<usize> {
        let entries = self.document.get(section)?.as_table_like()?;
        self.line(entries.key(name)).or_else(|| self.section_line(section))
    }

    fn line(&self, key: Option<&Key>) -> Option<usize> {
        let before = self.text.get(..key?.span()?.start)?;
        Some(before.matches('\n').count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_wrong_entries_are_told_with_their_lines() {
        let text = "[retention]\nmax_dialogs = 7\nmax_dialog = 3\n\n[ignroe]\nexclude = []\n\n\
                    [shield]\nenabled = \"yes\"\n";
        let told = describe_all(text).unwrap();
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(lines.len(), 3, "{told}");
        assert!(lines[0].starts_with("line 3: ") && lines[0].contains("max_dialog"), "{told}");
        assert!(lines[1].starts_with("line 5: ") && lines[1].contains("ignroe"), "{told}");
        assert!(lines[2].starts_with("line 9: ") && lines[2].contains("boolean"), "{told}");
        assert_eq!(describe_all("[retention]\nmax_dialogs = 7\n"), None);
        assert_eq!(describe_all("[retention\n"), None);
    }

    #[test]
    fn dotted_and_inline_entries_have_lines_too() {
        let told = describe_all("daemon.port = 7\nlimits.max_file_bites = 5\n").unwrap();
        assert!(told.starts_with("line 2: ") && told.contains("max_file_bites"), "{told}");
        let told = describe_all("\nwait = 3\n").unwrap();
        assert!(told.starts_with("line 2: "), "{told}");
    }
}
