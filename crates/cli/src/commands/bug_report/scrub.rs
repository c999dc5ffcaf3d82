//! Takes out of a text what is the person's own: secrets, folders, names of files, of the person
//! and of the machine, titles of dialogs.
//!
//! Invariant: when unsure, a word goes. A report that says too little is asked about, one that says
//! too much is public.

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::Path;

use retake_service::Masking;
use serde_json::Value;

/// Stands for an address on the network.
const ADDRESS: &str = "ADDRESS";
/// Stands for a file's name.
const FILE: &str = "FILE";
/// Stands for a path.
const PATH: &str = "PATH";
/// Stands for a person's own words.
const WORDS: &str = "…";
/// Stands for Retake's own folder, whose files have names that Retake gave them.
const RETAKE_HOME: &str = "RETAKE_HOME";
/// Files of Retake and git that errors name, which tell nothing of the person.
const OWN_FILES: [&str; 9] = [
    "config.toml",
    "daemon.log",
    "daemon.sock",
    "daemon.lock",
    "retake.db",
    "retake.db-wal",
    "spool.jsonl",
    "docs/settings.md",
    "I/O",
];
/// Fields whose values Retake makes itself: dotted keys of settings look as names of files do.
const OWN_FIELDS: [&str; 13] = [
    "agent",
    "at",
    "code",
    "hooks",
    "hooks_here",
    "id",
    "key",
    "kind",
    "last_event",
    "name",
    "part",
    "since",
    "state",
];
/// Minimum characters of a title or name that is looked for: shorter ones are parts of any text.
const MIN_NAME_CHARS: usize = 3;

/// What is taken out of texts.
#[derive(Debug, Default)]
pub(super) struct Scrubber {
    /// Folders and what stands for them, the longest first.
    folders: Vec<FolderName>,
    /// Single words, such as the person's name, and what stands for them.
    words: Vec<(String, &'static str)>,
    /// Names of files without blanks.
    names: HashSet<String>,
    /// Titles, and names with blanks.
    phrases: Vec<String>,
}

#[derive(Debug)]
struct FolderName {
    path: String,
    stands_for: &'static str,
}

impl Scrubber {
    /// Has a folder named differently; its real path, too.
    pub(super) fn hide_folder(&mut self, path: &Path, stands_for: &'static str) {
        let real = path.canonicalize().ok();
        for path in [Some(path.to_owned()), real].into_iter().flatten() {
            let path = path.to_string_lossy().trim_end_matches('/').to_owned();
            if path.len() > 1 && self.folders.iter().all(|known| known.path != path) {
                self.folders.push(FolderName { path, stands_for });
            }
        }
        self.folders.sort_by_key(|folder| std::cmp::Reverse(folder.path.len()));
    }

    /// Has a word named differently.
    pub(super) fn hide_word(&mut self, word: &str, stands_for: &'static str) {
        let word = word.trim();
        if !word.is_empty() && self.words.iter().all(|(known, _)| known != word) {
            self.words.push((word.to_owned(), stands_for));
        }
    }

    /// Hides the name of a file.
    pub(super) fn hide_file_name(&mut self, name: &str) {
        if name.chars().count() < MIN_NAME_CHARS {
            return;
        }
        if name.contains(char::is_whitespace) {
            self.phrases.push(name.to_owned());
        } else {
            self.names.insert(name.to_owned());
        }
    }

    /// Hides a person's own words, such as a title.
    pub(super) fn hide_phrase(&mut self, phrase: &str) {
        let phrase = phrase.trim();
        if phrase.chars().count() >= MIN_NAME_CHARS {
            self.phrases.push(phrase.to_owned());
        }
    }

    /// The text without secrets and names of the person and the machine; names of systems and
    /// versions look as those of files do.
    pub(super) fn scrub_words(&self, text: &str) -> String {
        let text = Masking::On.mask_text(text).into_owned();
        self.words
            .iter()
            .fold(text, |text, (word, stands_for)| replace_word(&text, word, stands_for))
    }

    /// Scrubs all texts of a document; its keys, and the values of [`OWN_FIELDS`], are Retake's own.
    pub(super) fn scrub_document(&self, document: &Value) -> Value {
        match document {
            Value::String(text) => Value::String(self.scrub(text)),
            Value::Array(all) => all.iter().map(|one| self.scrub_document(one)).collect(),
            Value::Object(all) => {
                let scrubbed = |(key, one): (&String, &Value)| {
                    let is_own = OWN_FIELDS.contains(&key.as_str());
                    (key.clone(), if is_own { one.clone() } else { self.scrub_document(one) })
                };
                Value::Object(all.iter().map(scrubbed).collect())
            }
            other => other.clone(),
        }
    }

    /// The text without what is the person's own.
    pub(super) fn scrub(&self, text: &str) -> String {
        let mut text = Masking::On.mask_text(text).into_owned();
        for folder in &self.folders {
            text = text.replace(&folder.path, folder.stands_for);
        }
        for phrase in &self.phrases {
            text = replace_word(&text, phrase, WORDS);
        }
        let text = self.hide_quoted_names(&text);
        let tokens = text.split_inclusive(is_separator).map(|token| self.scrub_token(token));
        self.scrub_words(&tokens.collect::<String>())
    }

    /// Hides names of several words, which stand between quotes: `'Quarterly numbers.xlsx'`.
    fn hide_quoted_names(&self, text: &str) -> String {
        let is_name = |word: &str| has_extension(word) || self.names.contains(word);
        let hide = |part: &str| {
            let is_long_name = part.contains(' ') && part.split(' ').any(is_name);
            if is_long_name { FILE.to_owned() } else { part.to_owned() }
        };
        let parts = text.split('\'').enumerate();
        // Every second part lies between quotes.
        let shown = parts.map(|(at, part)| if at % 2 == 1 { hide(part) } else { part.to_owned() });
        shown.collect::<Vec<_>>().join("'")
    }

    /// A token with the separator behind it.
    fn scrub_token(&self, token: &str) -> String {
        let core = token.trim_end_matches(is_separator);
        let separator = &token[core.len()..];
        let bare = core.trim_end_matches(['.', ':', '!', '?']);
        let (bare, end) = core.split_at(bare.len());
        format!("{}{end}{separator}", self.scrub_word(bare))
    }

    fn scrub_word(&self, word: &str) -> String {
        let is_own = OWN_FILES.contains(&word) || is_local_address(word);
        if is_own || is_in_own_folder(word) {
            return word.to_owned();
        }
        if let Some((start, _)) = word.split_once('/') {
            let is_folder = self.folders.iter().any(|folder| folder.stands_for == start);
            return if is_folder { format!("{start}/{WORDS}") } else { PATH.to_owned() };
        }
        if self.names.contains(word) || has_extension(without_port(word)) {
            return FILE.to_owned();
        }
        if without_port(word).parse::<IpAddr>().is_ok_and(|address| !address.is_loopback()) {
            return ADDRESS.to_owned();
        }
        word.to_owned()
    }
}

/// Returns true if a sign ends a name in a text.
fn is_separator(sign: char) -> bool {
    sign.is_whitespace() || "\"'`“”‘’()[]{}<>,;=|".contains(sign)
}

/// Returns true for a path below Retake's own folder: a project's id in it is no name.
fn is_in_own_folder(word: &str) -> bool {
    word.strip_prefix(RETAKE_HOME).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns true for the address of the daemon.
fn is_local_address(word: &str) -> bool {
    ["http://127.0.0.1", "http://localhost", "http://[::1]"]
        .iter()
        .any(|address| word.starts_with(address))
}

/// An address without its port; other words as they are.
fn without_port(word: &str) -> &str {
    match word.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => word,
    }
}

/// Returns true if a word looks as a file's name does: `notes.txt`, `.env`, `a.tar.gz`.
fn has_extension(word: &str) -> bool {
    let Some((_, extension)) = word.rsplit_once('.') else { return false };
    let is_letter = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '-';
    let begins_with_letter = |text: &str| text.chars().next().is_some_and(char::is_alphabetic);
    // Times and versions begin with a digit on both sides of the dot.
    extension.chars().all(is_letter)
        && extension.chars().any(char::is_alphabetic)
        && (begins_with_letter(extension) || begins_with_letter(word))
}

/// Replaces a word or phrase where it stands alone.
fn replace_word(text: &str, word: &str, stands_for: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let is_part = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        out.push_str(before);
        let is_inside = is_part(out.chars().next_back()) || is_part(after.chars().next());
        out.push_str(if is_inside { word } else { stands_for });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubber() -> Scrubber {
        let mut scrubber = Scrubber::default();
        scrubber.hide_folder(Path::new("/home/alice"), "~");
        scrubber.hide_folder(Path::new("/home/alice/src/shop"), "PROJECT");
        scrubber.hide_folder(Path::new("/home/alice/.local/share/retake"), RETAKE_HOME);
        scrubber.hide_word("alice", "USER");
        scrubber.hide_word("wonderland", "HOST");
        scrubber.hide_file_name("Makefile");
        scrubber.hide_file_name("merger plan");
        scrubber.hide_phrase("Buy the competitor");
        scrubber
    }

    #[test]
    fn what_is_the_persons_own_goes() {
        for (text, scrubbed) in [
            (
                "cannot read /home/alice/src/shop/src/app.py: denied",
                "cannot read PROJECT/…: denied",
            ),
            ("in /home/alice/notes", "in ~/…"),
            ("/srv/client/x is gone", "PATH is gone"),
            ("src/app.py and Makefile, 'merger plan'", "PATH and FILE, '…'"),
            ("undo of “Buy the competitor”", "undo of “…”"),
            ("by alice@wonderland on wonderland.", "by USER@HOST on HOST."),
            (".env changed, a.tar.gz too", "FILE changed, FILE too"),
            ("cannot read 'Quarterly numbers.xlsx': denied", "cannot read 'FILE': denied"),
            ("no answer of big.corp:8080 and 10.1.2.3:80", "no answer of FILE and ADDRESS"),
            (
                "/home/alice/.local/share/retake/projects/ab12/retake.db is damaged",
                "RETAKE_HOME/projects/ab12/retake.db is damaged",
            ),
        ] {
            assert_eq!(scrubber().scrub(text), scrubbed);
        }
        let secret = format!("token=ghp_{}", "a1B2c3D4e5".repeat(4));
        assert!(!scrubber().scrub(&secret).contains("a1B2c3D4e5"));
    }

    #[test]
    fn what_tells_of_the_fault_stays() {
        for text in [
            "the daemon ends: it was asked to stop",
            "the record has schema 9, this retake knows 8",
            "database disk image is malformed (code 11)",
            "no HTTP: port 7382 is in use at http://127.0.0.1:7382",
            "Permission denied (os error 13)",
            "line 3 of config.toml: unknown field",
            "2026-02-16T10:00:00.000001Z WARN retake_engine::apply::run: not synced",
            "retake 0.1.0, git version 2.47.3",
        ] {
            assert_eq!(scrubber().scrub(text), text);
        }
    }
}
