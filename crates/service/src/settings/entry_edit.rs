//! Puts single settings into the text of a settings file, or takes them out.
//!
//! Invariant: everything else in the text stays as it is, byte by byte: comments, order, blank lines and
//! line ends. What stands within a list that is replaced, or in the line of an entry that is taken out,
//! goes with it.

use std::ops::Range;

use toml_edit::{Document, DocumentMut, Item, Table, TomlError, Value};

/// Puts a value into its section, or takes the entry out where there is none.
pub(super) fn put(
    text: &str,
    section: &str,
    name: &str,
    value: Option<Value>,
) -> Result<String, String> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let found = document.get(section);
    if found.is_some_and(|found| !found.is_table_like()) {
        return Err("its section is no table".to_owned());
    }
    let entry = found.and_then(Item::as_table_like).and_then(|table| table.get_key_value(name));
    let table = found.and_then(Item::as_table).filter(|table| !table.is_dotted());
    let edit = match (value, entry, table) {
        (None, None, _) => return Ok(text.to_owned()),
        (None, Some((key, item)), Some(_)) => {
            entry_lines(text, key.span(), item.span()).map(|lines| (lines, String::new()))
        }
        (Some(value), Some((_, item)), _) => item.span().map(|span| (span, value.to_string())),
        (Some(value), None, Some(table)) => {
            end_of_section(text, table).map(|end| (end..end, entry_line(text, end, name, &value)))
        }
        (Some(value), None, None) if found.is_none() => {
            let section = new_section(text, section, name, &value);
            Some((text.len()..text.len(), section))
        }
        // Sections in one line, and dotted keys.
        (value, ..) => return put_by_document(text, section, name, value),
    };
    let (range, new) = edit.ok_or("its place in the file is not known")?;
    Ok([&text[..range.start], &new, &text[range.end..]].concat())
}

/// The lines of an entry; none if its place is not known.
fn entry_lines(
    text: &str,
    key: Option<Range<usize>>,
    value: Option<Range<usize>>,
) -> Option<Range<usize>> {
    let start = text[..key?.start].rfind('\n').map_or(0, |end| end + 1);
    Some(start..line_end(text, value?.end))
}

/// The end of the line of a place, behind its line end.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// The end of a section's last entry, or of its heading.
fn end_of_section(text: &str, table: &Table) -> Option<usize> {
    let last = table
        .iter()
        .filter(|(_, item)| item.is_value())
        .filter_map(|(_, item)| item.span())
        .map(|span| span.end)
        .max();
    let end = last.or_else(|| table.span().map(|span| span.end))?;
    Some(line_end(text, end))
}

/// An entry as a line of its own behind `before` bytes of the text.
fn entry_line(text: &str, before: usize, name: &str, value: &Value) -> String {
    let end = line_ending(text);
    let begin = if text[..before].ends_with('\n') { "" } else { end };
    format!("{begin}{name} = {value}{end}")
}

fn new_section(text: &str, section: &str, name: &str, value: &Value) -> String {
    let end = line_ending(text);
    let begin = match text {
        "" => String::new(),
        _ if text.ends_with('\n') => end.to_owned(),
        _ => end.repeat(2),
    };
    format!("{begin}[{section}]{end}{name} = {value}{end}")
}

fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The same for a section that is no table of its own. Line ends may become those of Unix.
fn put_by_document(
    text: &str,
    section: &str,
    name: &str,
    value: Option<Value>,
) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: TomlError| error.to_string())?;
    let table = document.get_mut(section).and_then(Item::as_table_like_mut);
    let table = table.ok_or("its section is no table")?;
    match value {
        Some(value) => table.insert(name, Item::Value(value)),
        None => table.remove(name),
    };
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, name: &str, value: impl Into<Value>) -> String {
        put(text, "hook", name, Some(value.into())).unwrap()
    }

    const TEXT: &str = "# mine\n\n[hook]\n# why\nbudget_ms = 5 # five\n\n[wait]\nevent_ms = 1\n";

    #[test]
    fn comments_order_and_line_ends_stay() {
        assert_eq!(set(TEXT, "budget_ms", 7), TEXT.replace("= 5", "= 7"));
        let added = TEXT.replace("# five\n", "# five\nnew = true\n");
        assert_eq!(set(TEXT, "new", true), added);
        let crlf = TEXT.replace('\n', "\r\n");
        assert_eq!(set(&crlf, "new", true), added.replace('\n', "\r\n"));
        let unset = put(TEXT, "hook", "budget_ms", None).unwrap();
        assert_eq!(unset, TEXT.replace("budget_ms = 5 # five\n", ""));
        assert_eq!(put(TEXT, "hook", "other", None).unwrap(), TEXT);
        assert_eq!(set("[hook]", "a", 1), "[hook]\na = 1\n");
    }

    #[test]
    fn a_new_section_comes_last() {
        assert_eq!(set("", "a", 1), "[hook]\na = 1\n");
        assert_eq!(set("# only words", "a", 1), "# only words\n\n[hook]\na = 1\n");
        assert_eq!(set("[wait]\nb = 2\n", "a", "x"), "[wait]\nb = 2\n\n[hook]\na = \"x\"\n");
    }

    #[test]
    fn other_forms_of_a_section_are_changed_too() {
        assert_eq!(set("hook = { a = 1 } # x\n", "a", 2), "hook = { a = 2 } # x\n");
        assert_eq!(set("hook.a = 1\n", "a", 2), "hook.a = 2\n");
        assert_eq!(put("hook.a = 1\nhook.b = 2\n", "hook", "a", None).unwrap(), "hook.b = 2\n");
        assert!(set("hook = { a = 1 }\n", "b", 2).contains(", b = 2 }"));
        assert_eq!(put("hook = { a = 1 }\n", "hook", "a", None).unwrap(), "hook = {}\n");
        assert!(put("hook = 3\n", "hook", "b", Some(2.into())).is_err());
    }
}
