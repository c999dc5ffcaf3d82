//! The repository says what is true: figures of docs/style.md, references in comments and documents.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file of the workspace, with its path from the root.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates"), root.join("bench")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                found.push((name, read(&path)));
            }
        }
    }
    found.sort();
    assert!(found.len() > 500, "{} files", found.len());
    found
}

/// The text between a heading of ARCHITECTURE.md and the next one.
fn section(heading: &str) -> String {
    let text = read(&root().join("ARCHITECTURE.md"));
    let (_, rest) = text.split_once(&format!("\n{heading}\n")).expect(heading);
    rest.split("\n#").next().unwrap().to_owned()
}

/// Words of a comment's line, with the marks around them taken off.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter(|word| !word.is_empty())
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[test]
fn the_figures_of_the_style_hold() {
    let measured = Command::new("python3")
        .arg(root().join("crates/testkit/measure"))
        .arg("--check")
        .output()
        .expect("python3 runs");
    let said = String::from_utf8_lossy(&measured.stdout);
    assert!(measured.status.success(), "{said}\n`crates/testkit/measure --list` names the places");
}

#[test]
fn a_promise_in_a_comment_is_one_of_the_list() {
    let list = section("## Promises");
    let is_listed =
        |number: &str| list.lines().any(|line| line.starts_with(&format!("{number}. ")));
    let mut referred = 0;
    for (file, text) in sources() {
        for line in text.lines().filter(|line| is_comment(line)) {
            let words: Vec<_> = words(line).collect();
            for pair in words.windows(2) {
                let is_number = pair[1].bytes().all(|byte| byte.is_ascii_digit());
                if matches!(pair[0], "promise" | "promises") && is_number {
                    assert!(is_listed(pair[1]), "{file}: {line}");
                    referred += 1;
                }
            }
        }
    }
    assert!(referred > 10, "only {referred} references: are they written in another way?");
}

/// A requirement's id: capitals, a dash, digits.
fn is_requirement(word: &str, groups: &BTreeSet<String>) -> bool {
    let Some((group, number)) = word.split_once('-') else { return false };
    groups.contains(group) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

#[test]
fn every_requirement_in_a_comment_is_explained() {
    let legend = read(&root().join("docs/requirements.md"));
    let rows = legend.lines().filter_map(|line| line.strip_prefix("| "));
    let explained: BTreeSet<_> =
        rows.filter_map(|row| row.split(' ').next()).map(|id| id.trim_matches('`')).collect();
    let groups: BTreeSet<_> = explained
        .iter()
        .filter_map(|id| id.split_once('-'))
        .map(|(group, _)| group.to_owned())
        .collect();
    assert!(groups.len() > 20 && explained.len() > 250, "{} ids", explained.len());
    let mut referred = 0;
    for (file, text) in sources() {
        for line in text.lines().filter(|line| is_comment(line)) {
            for id in words(line).filter(|word| is_requirement(word, &groups)) {
                assert!(explained.contains(id), "{file}: {id} is not in docs/requirements.md");
                referred += 1;
            }
        }
    }
    assert!(referred > 100, "only {referred} references");
}

/// Paths in backticks as ARCHITECTURE.md writes them, with braces expanded: `engine/src/{a,b}.rs`.
fn paths(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| word.contains("/src/") || word.contains("/tests/");
    quoted.filter(is_path).flat_map(expand).collect()
}

fn expand(word: &str) -> Vec<String> {
    match (word.find('{'), word.find('}')) {
        (Some(open), Some(close)) => {
            let one = |part: &str| format!("{}{part}{}", &word[..open], &word[close + 1..]);
            word[open + 1..close].split(',').map(one).collect()
        }
        _ => vec![word.to_owned()],
    }
}

fn in_crates(path: &str) -> PathBuf {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    root().join("crates").join(path)
}

#[test]
fn the_places_that_the_architecture_names_are_there() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let named: Vec<_> = paths(&text);
    assert!(named.len() > 80, "{} places", named.len());
    for path in named {
        let file = path.split(':').next().unwrap();
        assert!(in_crates(file).exists(), "{path}");
    }
}

/// Legs of a walk: `crate/src/file.rs:function`, several joined by an arrow.
fn legs(heading: &str) -> Vec<String> {
    let list = section(heading);
    let numbered = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
    list.lines().filter(numbered).map(ToOwned::to_owned).collect()
}

#[test]
fn the_walks_name_functions_that_are_there() {
    for (heading, most) in
        [("### From a hook's payload to the stream", 29), ("### From `undo` to its outcome", 11)]
    {
        let legs = legs(heading);
        assert!((3..=most).contains(&legs.len()), "{heading}: {} legs", legs.len());
        for place in legs.iter().flat_map(|leg| paths(leg)) {
            let (file, function) = place.split_once(':').unwrap_or_else(|| panic!("{place}"));
            let name = function.rsplit("::").next().unwrap();
            let text = read(&in_crates(file));
            assert!(text.contains(&format!("fn {name}")), "{place} is not there");
        }
    }
}
