//! Masks passwords, keys and tokens in what leaves by HTTP.
//!
//! The record keeps every byte, so that it can be restored; a person at the terminal sees them,
//! too. What leaves by HTTP is read by programs that need to know what changed, not what a secret
//! is. Two kinds of secrets are known: everything in files whose names say so, and what looks
//! like a secret anywhere ([`pattern`]).
//!
//! Invariant: a masked text has as many lines as before, each in its place.

mod conversation;
mod keys;
mod pattern;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use retake_engine::model::ProjectPath;
use retake_engine::settings::ApiSettings;
use retake_engine::{DiffLine, usually_holds_secrets};

pub use conversation::SecretCalls;

/// Replacement of a secret.
const MASK: &str = "•••";

/// One side of a difference: a file's name then, and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct FileContent<'a> {
    /// The name, which says whether the file usually holds secrets.
    pub path: &'a ProjectPath,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// Whether secrets are masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masking {
    /// They are.
    On,
    /// They are shown.
    Off,
}

impl From<&ApiSettings> for Masking {
    fn from(settings: &ApiSettings) -> Self {
        if settings.mask { Self::On } else { Self::Off }
    }
}

impl Masking {
    /// Returns whether secrets are masked and this file usually holds some.
    pub fn is_secret_file(self, path: &ProjectPath) -> bool {
        self == Self::On && usually_holds_secrets(path)
    }

    /// The first of these names of a file that says that it holds secrets: a file keeps them when
    /// it is renamed.
    pub fn secret_name(self, names: [&ProjectPath; 2]) -> Option<&ProjectPath> {
        names.into_iter().find(|name| self.is_secret_file(name))
    }

    /// Masks a message.
    pub fn mask_text(self, text: &str) -> Cow<'_, str> {
        if self == Self::Off {
            return Cow::Borrowed(text);
        }
        mask_step(keys::mask_private_keys(text), |text| pattern::mask_patterns(text, false))
    }

    /// Masks a message, if there is one.
    pub fn mask_optional(self, text: Option<&str>) -> Option<String> {
        text.map(|text| self.mask_text(text).into_owned())
    }

    /// The whole content of a file.
    pub fn mask_content<'a>(self, path: &ProjectPath, text: &'a str) -> Cow<'a, str> {
        if self == Self::Off {
            return Cow::Borrowed(text);
        }
        let named =
            if usually_holds_secrets(path) { mask_values(text) } else { Cow::Borrowed(text) };
        let is_yaml = [&b".yml"[..], b".yaml"].iter().any(|end| path.as_bytes().ends_with(end));
        mask_step(mask_step(named, keys::mask_private_keys), |text| {
            pattern::mask_patterns(text, is_yaml)
        })
    }

    /// The whole content of a file, text or not.
    pub fn mask_bytes(self, path: &ProjectPath, content: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Off => content,
            Self::On => self
                .mask_content(path, &String::from_utf8_lossy(&content))
                .into_owned()
                .into_bytes(),
        }
    }

    /// The lines of a file that hold secrets, by their numbers from 0.
    pub fn masked_lines(self, path: &ProjectPath, content: &[u8]) -> HashMap<usize, String> {
        if self == Self::Off {
            return HashMap::new();
        }
        let text = String::from_utf8_lossy(content);
        let masked = self.mask_content(path, &text);
        let lines = text.split('\n').zip(masked.split('\n')).enumerate();
        let lines = lines.filter(|(_, (line, masked))| line != masked);
        lines.map(|(number, (_, masked))| (number, masked.to_owned())).collect()
    }

    /// The lines of a difference between two contents of a file.
    ///
    /// What a line means depends on the lines around it, so both contents are masked as a whole.
    pub fn mask_diff(
        self,
        before: FileContent<'_>,
        after: FileContent<'_>,
        lines: &mut [DiffLine],
    ) {
        let masked = |side: FileContent<'_>| self.masked_lines(side.path, side.bytes);
        let (before, after) = (masked(before), masked(after));
        if before.is_empty() && after.is_empty() {
            return;
        }
        let (mut old, mut new) = (0, 0);
        for line in lines {
            let (text, masked) = match line {
                DiffLine::Header(place) => {
                    (old, new) = (place.old.start as usize, place.new.start as usize);
                    continue;
                }
                DiffLine::NoNewline => continue,
                DiffLine::Removed(text) => {
                    old += 1;
                    (text, before.get(&(old - 1)))
                }
                DiffLine::Added(text) => {
                    new += 1;
                    (text, after.get(&(new - 1)))
                }
                DiffLine::Context(text) => {
                    (old, new) = (old + 1, new + 1);
                    (text, after.get(&(new - 1)).or_else(|| before.get(&(old - 1))))
                }
            };
            if let Some(masked) = masked {
                *text = masked.clone().into_bytes();
            }
        }
    }
}

/// One step after the other, without a copy where nothing is found.
fn mask_step(text: Cow<'_, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    let changed = match step(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    };
    changed.map_or(text, Cow::Owned)
}

/// In a file that holds secrets: what is after `=` or `:`, and all of a line that has neither.
/// Names, comments, sections and brackets stay.
fn mask_values(text: &str) -> Cow<'_, str> {
    static NAMED_VALUE: LazyLock<Regex> = LazyLock::new(|| {
        let named = r#"^(\s*(?:export\s+|set\s+|-\s+)?["']?[\w.@/-]+["']?\s*[=:]\s*)(.*)$"#;
        Regex::new(named).expect("the pattern is well formed")
    });
    let line = |line: &str| {
        let (body, end) = split_end(line);
        let start = body.trim_start();
        let is_structure = |text: &str| text.chars().all(|char| "{}[](),;|>-".contains(char));
        if ["#", ";", "//", "-----", "["].iter().any(|mark| start.starts_with(mark))
            || is_structure(start.trim_end())
        {
            return line.to_owned();
        }
        match NAMED_VALUE.captures(body) {
            Some(found) if is_structure(found[2].trim_end()) => line.to_owned(),
            Some(found) => format!("{}{MASK}{end}", &found[1]),
            None => format!("{}{MASK}{end}", &body[..body.len() - start.len()]),
        }
    };
    Cow::Owned(text.split_inclusive('\n').map(line).collect())
}

/// A line without and with its end.
fn split_end(line: &str) -> (&str, &str) {
    line.split_at(line.trim_end_matches(['\r', '\n']).len())
}

#[cfg(test)]
mod tests;
