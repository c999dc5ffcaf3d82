//! Masks passwords, keys and tokens in what leaves by HTTP, and in what agents are told.
//!
//! The record keeps every byte, so that it can be restored; a person at the terminal sees them,
//! too. What leaves by HTTP is read by programs that need to know what changed, not what a secret
//! is, and what agents are told goes to their models. Two kinds of secrets are known: everything in
//! files whose names say so, or that were copied or renamed from such a file; and what looks like a
//! secret anywhere: by its form ([`tokens`], [`keys`]) or by the name that it is given to
//! ([`assignment`], [`yaml`]).
//!
//! Invariants: a masked text has as many lines as before, each in its place; masking it again
//! changes nothing; time is linear in its length.

mod assignment;
mod conversation;
mod judge;
mod keys;
mod names;
mod secret_file;
mod tokens;
mod yaml;

use std::borrow::Cow;
use std::collections::HashMap;

use retake_engine::model::{ObjectId, PathState, ProjectPath};
use retake_engine::settings::ApiSettings;
use retake_engine::{DiffLine, Project, StoreError, usually_holds_secrets};

use assignment::TextKind;
pub use conversation::SecretCalls;

/// Replacement of a secret.
const MASK: &str = "•••";
/// Maximum passes over a text: what is masked may uncover what stands beside it.
const MAX_PASSES: usize = 4;

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

    /// Returns the name by which a content is masked: its path's, or a stand-in that says that it
    /// holds secrets if it was copied or renamed from a file that does.
    pub fn masking_path<'a>(
        self,
        project: &Project,
        path: &'a ProjectPath,
        state: &PathState,
    ) -> Result<Cow<'a, ProjectPath>, StoreError> {
        self.masking_path_of(project, path, state.known().map(|state| &state.oid))
    }

    /// As [`Self::masking_path`], of a content by its id.
    pub fn masking_path_of<'a>(
        self,
        project: &Project,
        path: &'a ProjectPath,
        oid: Option<&ObjectId>,
    ) -> Result<Cow<'a, ProjectPath>, StoreError> {
        let is_known = self == Self::Off || usually_holds_secrets(path);
        if is_known || !project.descends_from_secret_file(path, oid)? {
            return Ok(Cow::Borrowed(path));
        }
        let stand_in = [path.as_bytes(), SECRET_SUFFIX.as_bytes()].concat();
        Ok(ProjectPath::new(stand_in).map_or(Cow::Borrowed(path), Cow::Owned))
    }

    /// Masks a message.
    pub fn mask_text(self, text: &str) -> Cow<'_, str> {
        if self == Self::Off {
            return Cow::Borrowed(text);
        }
        mask_until_stable(text, |text| {
            mask_step(mask_anywhere(text, TextKind::Other), keys::mask_key_middles)
        })
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
        let is_secret = usually_holds_secrets(path);
        let (kind, is_yaml) = (text_kind(path), has_suffix(path, &YAML_SUFFIXES));
        mask_until_stable(text, |text| {
            let values =
                if is_secret { secret_file::mask_values(text).into() } else { text.into() };
            let blocks: Cow<'_, str> =
                if is_yaml { mask_step(values, yaml::mask_blocks) } else { values };
            mask_step(blocks, |text| mask_anywhere(text, kind))
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

/// Suffix of the stand-in for the name of a file that descends from one of secrets.
const SECRET_SUFFIX: &str = ".env";
const YAML_SUFFIXES: [&str; 2] = [".yml", ".yaml"];
/// Suffixes of files in which a value needs no quotes.
const CONFIG_SUFFIXES: [&str; 12] = [
    ".yml",
    ".yaml",
    ".ini",
    ".properties",
    ".conf",
    ".cfg",
    ".cnf",
    ".env",
    ".envrc",
    ".tfvars",
    ".service",
    ".desktop",
];

fn has_suffix(path: &ProjectPath, suffixes: &[&str]) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    suffixes.iter().any(|suffix| name.ends_with(suffix.as_bytes()))
}

fn text_kind(path: &ProjectPath) -> TextKind {
    if has_suffix(path, &CONFIG_SUFFIXES) { TextKind::Config } else { TextKind::Other }
}

/// Masks what looks like a secret in any text.
fn mask_anywhere(text: &str, kind: TextKind) -> Cow<'_, str> {
    let keys = keys::mask_private_keys(text);
    let forms = mask_step(keys, tokens::mask_forms);
    mask_step(forms, |text| assignment::mask_assignments(text, kind))
}

/// Masks until nothing changes.
fn mask_until_stable(text: &str, pass: impl Fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    let mut masked = Cow::Borrowed(text);
    for _ in 0..MAX_PASSES {
        let next = match pass(&masked) {
            Cow::Owned(next) if next != *masked => next,
            _ => break,
        };
        masked = Cow::Owned(next);
    }
    masked
}

/// One step after the other, without a copy where nothing is found.
fn mask_step(text: Cow<'_, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    let changed = match step(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    };
    changed.map_or(text, Cow::Owned)
}

/// A line without and with its end.
fn split_end(line: &str) -> (&str, &str) {
    line.split_at(line.trim_end_matches(['\r', '\n']).len())
}

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod tests;
