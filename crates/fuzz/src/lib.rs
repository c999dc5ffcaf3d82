//! Fuzz targets: the properties that hold for any bytes, one function per kind of external input.
//!
//! A target gets arbitrary bytes and panics when a promise is broken, not only when something
//! crashes. Fuzzers call the targets (`fuzz/` at the top of the repository, `fuzz/run`), and so do
//! random tests with a bound (`tests/bounded.rs`), with the same seeds:
//!
//! - [`TARGETS`] lists them; each is a module of [`targets`],
//! - [`seeds`] are inputs from which others are made: captured payloads of agents where they lie,
//!   and `corpus/<target>/`, which also keeps every input that ever failed,
//! - [`bounded`] changes them at random and runs a target on what comes out.
//!
//! Targets that need a project reuse one, in memory, for a number of inputs: no input may
//! make another one fail through it.

#![expect(clippy::unwrap_used, reason = "a target that cannot set itself up should fail loudly")]
#![expect(clippy::disallowed_methods, reason = "targets play the user, who writes files directly")]

pub mod bounded;
mod input;
pub mod seeds;
mod stage;
pub mod targets;

/// A kind of input, and what must hold for it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the function, of its folder in `corpus/` and of its fuzzer.
    pub name: &'static str,
    /// Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Number of bytes at the start of an input that choose what is done with the rest.
    pub head: usize,
    /// Dictionary of tokens that mean something in such inputs.
    pub words: &'static [&'static str],
    /// Number of inputs tried at every run.
    pub quick: u64,
}

const JSON: &[&str] = &["{", "}", "[", "]", ":", ",", "\"", "\\u0000", "null", "1e999", "\n"];

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "event", run: targets::event, head: 0, words: JSON, quick: 15_000 },
    Target {
        name: "event_recorded",
        run: targets::event_recorded,
        head: 0,
        words: JSON,
        quick: 250,
    },
    Target { name: "adapter", run: targets::adapter, head: 2, words: JSON, quick: 15_000 },
    Target {
        name: "shell",
        run: targets::shell,
        head: 0,
        words: targets::SHELL_WORDS,
        quick: 8_000,
    },
    Target {
        name: "ignore",
        run: targets::ignore,
        head: 0,
        words: targets::IGNORE_WORDS,
        quick: 4_000,
    },
    Target {
        name: "ignore_as_git",
        run: targets::ignore_as_git,
        head: 0,
        words: targets::IGNORE_WORDS,
        quick: 150,
    },
    Target { name: "merge", run: targets::merge, head: 1, words: targets::MERGE_WORDS, quick: 120 },
    Target { name: "path", run: targets::path, head: 0, words: targets::PATH_WORDS, quick: 15_000 },
    Target {
        name: "restore",
        run: targets::restore,
        head: 1,
        words: targets::PATH_WORDS,
        quick: 120,
    },
    Target { name: "http", run: targets::http, head: 2, words: JSON, quick: 300 },
    Target { name: "transcript", run: targets::transcript, head: 4, words: JSON, quick: 700 },
    Target { name: "stored", run: targets::stored, head: 4, words: &[], quick: 300 },
    Target {
        name: "git_files",
        run: targets::git_files,
        head: 2,
        words: targets::GIT_WORDS,
        quick: 2_000,
    },
    Target {
        name: "settings",
        run: targets::settings,
        head: 1,
        words: targets::SETTINGS_WORDS,
        quick: 4_000,
    },
];

/// The target of this name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    *found.unwrap_or_else(|| panic!("there is no target {name}"))
}
