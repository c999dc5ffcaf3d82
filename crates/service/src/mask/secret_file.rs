//! Files of secrets: everything but names, comments, sections and brackets is masked.

use std::sync::LazyLock;

use regex::Regex;

use super::{MASK, split_end};

/// A name and its value.
static NAMED_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let named = r#"^(\s*(?:export\s+|set\s+|-\s+)?["']?[\w.@/:-]+?["']?\s*[=:]\s*)(.*)$"#;
    Regex::new(named).expect("the pattern is well formed")
});
/// A value that is commented out.
static COMMENTED_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let commented = r"^(\s*(?:#|;|//)+\s*(?:export\s+)?[\w./:-]+\s*=\s*)(.+)$";
    Regex::new(commented).expect("the pattern is well formed")
});
/// `[section]`, not a list of values.
static SECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\[+[A-Za-z][\w .:/-]*\]+\s*$").expect("the pattern is well formed")
});

/// Masks what is after `=` or `:`, and all of a line that has neither.
pub(super) fn mask_values(text: &str) -> String {
    text.split_inclusive('\n').map(mask_line).collect()
}

fn mask_line(line: &str) -> String {
    let (body, end) = split_end(line);
    if let Some(found) = COMMENTED_VALUE.captures(body) {
        return format!("{}{MASK}{end}", &found[1]);
    }
    let start = body.trim_start();
    let is_structure = |text: &str| text.chars().all(|char| "{}[](),;|>-".contains(char));
    let is_kept = ["#", ";", "// ", "-----"].iter().any(|mark| start.starts_with(mark))
        || SECTION.is_match(start)
        || is_structure(start.trim_end());
    if is_kept {
        return line.to_owned();
    }
    match NAMED_VALUE.captures(body) {
        Some(found) if is_structure(found[2].trim_end()) => line.to_owned(),
        Some(found) => format!("{}{MASK}{end}", &found[1]),
        None => format!("{}{MASK}{end}", &body[..body.len() - start.len()]),
    }
}
