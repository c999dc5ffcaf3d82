//! Words: quotes, escapes, variables, substitutions, braces, globs.
//!
//! A scanner of our own, because the grammar for words in brush-parser backtracks on nested quotes
//! and leaves `$'…'` undecoded. It is linear and cannot fail: a construct that it does not follow
//! makes the word not literal.

use super::braces;
use super::quote::{self, SubstitutionKind};
use super::state::{ShellState, VariableValue};

/// Maximum words to which one word is expanded.
const MAX_WORDS: usize = 256;

/// One word after expansion.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a word")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    /// The text after quote removal; only part of it if not `literal`.
    pub(super) text: String,
    /// The text is all of it.
    pub(super) literal: bool,
    /// The text is a pattern.
    pub(super) glob: bool,
    /// It stands for any file below the path (`find PATH -exec`).
    pub(super) below: bool,
    /// Some of it is the value of a variable that is set in several places: the walk does not know
    /// which of them ran.
    pub(super) expanded: bool,
}

impl ShellWord {
    /// A literal word.
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), literal: true, ..Self::default() }
    }

    /// An unknown word.
    pub(super) fn unknown() -> Self {
        Self::default()
    }

    /// Returns the text, if it is known and no glob.
    pub(super) fn exact(&self) -> Option<&str> {
        (self.literal && !self.glob && !self.below).then_some(self.text.as_str())
    }

    /// Returns whether it is known to be an option: a dash and more.
    pub(super) fn is_option(&self) -> bool {
        self.literal && self.text.len() > 1 && self.text.starts_with('-')
    }
}

/// The words that one written word becomes, and the commands run on the way.
#[derive(Debug, Default)]
pub(super) struct WordExpansion {
    pub(super) words: Vec<ShellWord>,
    /// The texts of `$(…)` and backquotes.
    pub(super) commands: Vec<String>,
    /// Variables that it may set: `${a:=b}`, `$((a=1))`.
    pub(super) assigned: Vec<String>,
    /// It may run a command that was not followed.
    pub(super) obscure: bool,
}

/// Expands a word of a command: braces, variables, splitting.
pub(super) fn expand(text: &str, state: &ShellState) -> WordExpansion {
    let mut all = WordExpansion::default();
    match braces::expand(text, MAX_WORDS) {
        Some(words) => {
            for word in &words {
                all.add(scan(word, state, ExpansionMode::Split));
            }
        }
        None => all.add(scan(text, state, ExpansionMode::Whole).unknown()),
    }
    all
}

/// Expands a word that stays one word: an assignment's value, a here-string.
pub(super) fn expand_whole(text: &str, state: &ShellState) -> (ShellWord, WordExpansion) {
    let mut expansion = scan(text, state, ExpansionMode::Whole);
    let word = expansion.words.pop().unwrap_or_else(|| ShellWord::plain(""));
    (word, expansion)
}

/// Expands the body of a heredoc, in which quotes mean themselves.
pub(super) fn expand_heredoc(text: &str, state: &ShellState) -> (ShellWord, WordExpansion) {
    let mut expansion = scan(text, state, ExpansionMode::Heredoc);
    let word = expansion.words.pop().unwrap_or_else(|| ShellWord::plain(""));
    (word, expansion)
}

impl WordExpansion {
    fn add(&mut self, other: Self) {
        self.words.extend(other.words);
        self.commands.extend(other.commands);
        self.assigned.extend(other.assigned);
        self.obscure |= other.obscure;
    }

    fn unknown(mut self) -> Self {
        self.words = vec![ShellWord::unknown()];
        self
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpansionMode {
    Split,
    Whole,
    Heredoc,
}

fn scan(text: &str, state: &ShellState, mode: ExpansionMode) -> WordExpansion {
    let mut scanner = WordScanner {
        rest: text,
        state,
        mode,
        quoted: mode == ExpansionMode::Heredoc,
        word: ShellWord::plain(""),
        started: mode != ExpansionMode::Split,
        out: WordExpansion::default(),
    };
    while let Some(c) = scanner.rest.chars().next() {
        scanner.step(c);
    }
    scanner.end_word();
    scanner.out
}

struct WordScanner<'a> {
    rest: &'a str,
    state: &'a ShellState,
    mode: ExpansionMode,
    quoted: bool,
    word: ShellWord,
    /// The word exists even if its text is empty.
    started: bool,
    out: WordExpansion,
}

impl WordScanner<'_> {
    fn step(&mut self, c: char) {
        let heredoc = self.mode == ExpansionMode::Heredoc;
        match c {
            '\\' => self.backslash(),
            '"' if !heredoc => {
                self.skip(1);
                self.quoted = !self.quoted;
                self.started = true;
            }
            '\'' if !self.quoted => self.single_quotes(),
            '$' => self.dollar(),
            '`' => self.backquotes(),
            '*' | '?' | '[' if !self.quoted => {
                self.skip(1);
                self.make_glob();
                self.word.text.push(c);
                self.started = true;
            }
            // It may close a bracket of the pattern.
            ']' if !self.quoted && self.word.glob => {
                self.skip(1);
                self.word.text.push(c);
            }
            // Only an extended pattern has these unquoted inside a word.
            '(' | ')' if !self.quoted && self.mode == ExpansionMode::Split => {
                self.skip(1);
                self.word.literal = false;
            }
            _ => {
                self.skip(c.len_utf8());
                self.push(c);
            }
        }
    }

    /// Pushes a literal character; in a glob it is escaped.
    fn push(&mut self, c: char) {
        if self.word.glob && "*?[]\\".contains(c) {
            self.word.text.push('\\');
        }
        self.word.text.push(c);
        self.started = true;
    }

    fn push_all(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
        self.started = true;
    }

    /// Turns the text into a glob: the characters before are escaped.
    fn make_glob(&mut self) {
        if !self.word.glob {
            let before = std::mem::take(&mut self.word.text);
            self.word.glob = true;
            self.push_all(&before);
        }
    }

    fn backslash(&mut self) {
        self.skip(1);
        let Some(next) = self.rest.chars().next() else {
            return self.push('\\');
        };
        if self.quoted && !"$`\"\\\n".contains(next) {
            return self.push('\\');
        }
        self.skip(next.len_utf8());
        if next != '\n' {
            self.push(next);
        }
    }

    fn single_quotes(&mut self) {
        self.skip(1);
        let end = self.rest.find('\'').unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        self.skip(end + 1);
        self.push_all(text);
    }

    fn backquotes(&mut self) {
        self.skip(1);
        let end = quote::backquote_end(self.rest);
        let inner = self.rest.get(..end).unwrap_or_default().replace("\\`", "`");
        self.skip(end + 1);
        self.command(inner);
    }

    fn command(&mut self, text: String) {
        self.out.commands.push(text);
        self.word.literal = false;
        self.started = true;
    }

    fn dollar(&mut self) {
        self.skip(1);
        let next = self.rest.chars().next();
        match next {
            Some('\'') if !self.quoted => self.ansi_c(),
            // `$"…"` is `"…"` in every locale that agents use.
            Some('"') if !self.quoted => {}
            Some('(') => self.nested(SubstitutionKind::Parentheses),
            Some('{') => self.nested(SubstitutionKind::Braces),
            Some('[') => self.opaque(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let name = &self.rest[..end.unwrap_or(self.rest.len())];
                self.skip(name.len());
                self.variable(name);
            }
            Some(c) if c.is_ascii_digit() => {
                let name = &self.rest[..1];
                self.skip(1);
                self.variable(name);
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                self.skip(1);
                self.unknown();
            }
            _ => self.push('$'),
        }
    }

    /// `$(…)`, `$((…))` or `${…}`.
    fn nested(&mut self, inside: SubstitutionKind) {
        self.skip(1);
        let Some(end) = quote::closing_offset(self.rest, inside) else {
            return self.opaque();
        };
        let inner = &self.rest[..end];
        self.skip(end + 1);
        match inside {
            SubstitutionKind::Braces => self.parameter(inner),
            // Arithmetic: a number, which is no path; but it may hold substitutions.
            SubstitutionKind::Parentheses if inner.starts_with('(') && inner.ends_with(')') => {
                self.out.obscure |= quote::may_run(inner);
                self.assigns(inner);
                self.unknown();
            }
            SubstitutionKind::Parentheses => self.command(inner.to_owned()),
        }
    }

    /// Skips the rest of the text, which is not followed.
    fn opaque(&mut self) {
        self.out.obscure |= quote::may_run(self.rest) || self.rest.starts_with('(');
        let rest = self.rest;
        self.assigns(rest);
        self.rest = "";
        self.unknown();
    }

    fn parameter(&mut self, inner: &str) {
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !inner.is_empty() && inner.chars().all(name) {
            return self.variable(inner);
        }
        // `${a@P}` expands the value once more.
        self.out.obscure |= quote::may_run(inner) || inner.contains("@P");
        self.assigns(inner);
        self.unknown();
    }

    /// Adds every variable that text with an assignment in it names.
    fn assigns(&mut self, inner: &str) {
        if inner.contains('=') || inner.contains("++") || inner.contains("--") {
            let names = inner.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            self.out.assigned.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
        }
    }

    fn ansi_c(&mut self) {
        self.skip(1);
        let (text, used) = quote::ansi_c(self.rest);
        self.skip(used);
        self.push_all(&text);
    }

    fn unknown(&mut self) {
        self.word.literal = false;
        self.started = true;
    }

    fn variable(&mut self, name: &str) {
        let Some(VariableValue { text, glob }) = self.state.value(name) else {
            return self.unknown();
        };
        self.word.expanded |= !self.state.is_unambiguous(name);
        if glob {
            self.make_glob();
            self.word.text.push_str(&text);
            self.started = true;
        } else if self.quoted || self.mode != ExpansionMode::Split {
            self.push_all(&text);
        } else {
            text.chars().for_each(|c| self.push_unquoted(c));
        }
    }

    /// A character of an unquoted variable: split at blanks, patterns act.
    fn push_unquoted(&mut self, c: char) {
        match c {
            ' ' | '\t' | '\n' => self.end_word(),
            '*' | '?' | '[' => {
                self.make_glob();
                self.word.text.push(c);
                self.started = true;
            }
            ']' if self.word.glob => self.word.text.push(c),
            _ => self.push(c),
        }
    }

    fn end_word(&mut self) {
        let expanded = self.word.expanded;
        let next = ShellWord { expanded, ..ShellWord::plain("") };
        let word = std::mem::replace(&mut self.word, next);
        if std::mem::replace(&mut self.started, false) {
            self.out.words.push(word);
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}
