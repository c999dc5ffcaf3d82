//! Options and operands of a simple command, the way `getopt` tells them apart.

use super::word::ShellWord;

/// The options of a command that take a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OptionSpec {
    /// Letters that take a value, attached or as the next word.
    pub(super) short: &'static str,
    /// Long names (without dashes) whose value is the next word unless given by `=`.
    pub(super) long: &'static [&'static str],
}

/// A command's words, split into options and operands.
#[derive(Debug, Default)]
pub(super) struct CommandOptions {
    /// Every option: its name (a letter or a long name) and its value.
    given: Vec<(String, Option<ShellWord>)>,
    /// The other words.
    pub(super) operands: Vec<ShellWord>,
}

impl CommandOptions {
    /// Parses `words`, which do not include the command's name.
    pub(super) fn parse(words: &[ShellWord], spec: OptionSpec) -> Self {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if !word.is_option() {
                options.operands.push(word.clone());
            } else if word.text == "--" {
                options.operands.extend(words.by_ref().cloned());
            } else if let Some(long) = word.text.strip_prefix("--") {
                options.long(long, word, spec, &mut words);
            } else {
                options.short(&word.text[1..], word, spec, &mut words);
            }
        }
        options
    }

    fn long<'a>(
        &mut self,
        text: &str,
        word: &ShellWord,
        spec: OptionSpec,
        words: &mut impl Iterator<Item = &'a ShellWord>,
    ) {
        let entry = match text.split_once('=') {
            Some((name, value)) => {
                (name, Some(ShellWord { text: value.to_owned(), ..word.clone() }))
            }
            None if spec.long.contains(&text) => (text, words.next().cloned()),
            None => (text, None),
        };
        self.given.push((entry.0.to_owned(), entry.1));
    }

    fn short<'a>(
        &mut self,
        letters: &str,
        word: &ShellWord,
        spec: OptionSpec,
        words: &mut impl Iterator<Item = &'a ShellWord>,
    ) {
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            if !spec.short.contains(letter) {
                self.given.push((letter.to_string(), None));
                continue;
            }
            let value = if rest.is_empty() {
                words.next().cloned()
            } else {
                Some(ShellWord { text: rest.to_owned(), ..word.clone() })
            };
            self.given.push((letter.to_string(), value));
            return;
        }
    }

    /// Returns whether one of `names` was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// Returns whether only these options were given; `names` are separated by blanks.
    pub(super) fn only(&self, names: &str) -> bool {
        let known = |name: &String| names.split_ascii_whitespace().any(|known| known == name);
        self.given.iter().all(|(name, _)| known(name))
    }

    /// The values of every one of `names`.
    pub(super) fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a ShellWord> {
        let given = self.given.iter().filter(|(name, _)| names.contains(&name.as_str()));
        given.filter_map(|(_, value)| value.as_ref())
    }

    /// The last value of one of `names`.
    pub(super) fn value<'a>(&'a self, names: &'a [&str]) -> Option<&'a ShellWord> {
        self.values(names).last()
    }
}
