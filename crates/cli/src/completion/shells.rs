//! The shells: their scripts, the words that they send, and the form in which they read candidates.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use clap_complete::Shell;
use unicode_width::UnicodeWidthStr as _;

use crate::output::DEFAULT_WIDTH;

use super::shell_words::{join_words, quote_within, quote_word, unquote};
use super::{OfferedWord, REQUEST_VARIABLE};

/// Descriptions of bash leave this many columns free, so that readline does not wrap them.
const MARGIN: usize = 4;

/// A shell with completion that knows the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

/// A command line whose last word is completed.
#[derive(Debug)]
pub(super) struct CompletionLine {
    /// The words.
    pub(super) words: Vec<OsString>,
    /// The start of the last word that the shell keeps: candidates come without it.
    pub(super) kept_prefix: String,
}

impl CompletionShell {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "bash" => Some(Self::Bash),
            "zsh" => Some(Self::Zsh),
            "fish" => Some(Self::Fish),
            _ => None,
        }
    }

    /// The shell, if its completion knows the project.
    pub(crate) fn from_shell(shell: Shell) -> Option<Self> {
        Self::from_name(&shell.to_string())
    }

    /// The script that makes the shell ask `program` for candidates.
    pub(crate) fn script(self, program: &str) -> String {
        let (script, program) = match self {
            Self::Bash => (BASH_SCRIPT, quote_posix(program)),
            Self::Zsh => (ZSH_SCRIPT, quote_posix(program)),
            Self::Fish => (FISH_SCRIPT, quote_fish(program)),
        };
        script.replace("VARIABLE", REQUEST_VARIABLE).replace("PROGRAM", &program)
    }

    /// Understands the words as the shell's script sends them.
    pub(super) fn parse_words(self, words: Vec<OsString>) -> CompletionLine {
        let texts: Option<Vec<_>> =
            words.iter().map(|word| word.to_str().map(ToOwned::to_owned)).collect();
        let Some(mut texts) = texts else {
            return CompletionLine { words, kept_prefix: String::new() };
        };
        let mut kept_prefix = String::new();
        match (self, texts.last_mut()) {
            (Self::Bash, _) => {
                let line = join_words(&texts);
                (texts, kept_prefix) = (line.words, line.kept_prefix);
            }
            (Self::Zsh, _) => texts = texts.iter().map(|text| unquote(text)).collect(),
            // Fish removes the quotes of the other words itself.
            (Self::Fish, Some(last)) => *last = unquote(last),
            (Self::Fish, None) => {}
        }
        CompletionLine { words: texts.into_iter().map(OsString::from).collect(), kept_prefix }
    }

    /// Writes candidates, one per line, in the form that the shell's script reads.
    pub(super) fn render(self, offered: &[OfferedWord], kept_prefix: &str) -> String {
        let mut text = String::new();
        if self == Self::Bash {
            return render_for_bash(offered, kept_prefix);
        }
        for OfferedWord { value, description } in offered {
            let _ = match (self, description.as_str()) {
                (Self::Zsh, "") => writeln!(text, "{}", escape_zsh(value)),
                (Self::Zsh, about) => writeln!(text, "{}:{about}", escape_zsh(value)),
                (_, "") => writeln!(text, "{value}"),
                (_, about) => writeln!(text, "{value}\t{about}"),
            };
        }
        text
    }
}

/// The line for the startup file of a shell, and the name of that file.
pub(crate) fn startup_line(shell: CompletionShell) -> (&'static str, &'static str) {
    match shell {
        CompletionShell::Bash => ("eval \"$(retake completions bash)\"", "~/.bashrc"),
        CompletionShell::Zsh => ("eval \"$(retake completions zsh)\"", "~/.zshrc, after compinit"),
        CompletionShell::Fish => ("retake completions fish | source", "~/.config/fish/config.fish"),
    }
}

/// Bash has no descriptions. They are added where a list is shown and nothing but the common start
/// of all candidates is inserted, so not to a single one, and not when candidates are inserted one
/// after the other (`menu-complete` and `insert-completions`).
fn render_for_bash(offered: &[OfferedWord], kept_prefix: &str) -> String {
    let is_inserted = matches!(std::env::var("RETAKE_COMPLETE_TYPE").as_deref(), Ok("37" | "42"));
    let typed = std::env::var("RETAKE_COMPLETE_QUOTE").unwrap_or_default();
    let quote = typed.chars().next().filter(|sign| matches!(sign, '"' | '\''));
    let rest = |word: &OfferedWord| {
        let rest = word.value.strip_prefix(kept_prefix).unwrap_or(&word.value);
        quote.map_or_else(|| quote_word(rest), |quote| quote_within(rest, quote))
    };
    let values: Vec<_> = offered.iter().map(rest).collect();
    let column = values.iter().map(|value| value.width()).max().unwrap_or_default();
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let room = columns.unwrap_or(DEFAULT_WIDTH).saturating_sub(column + MARGIN);
    let mut text = String::new();
    for (value, word) in values.iter().zip(offered) {
        let about: String = word.description.chars().take(room).collect();
        if is_inserted || offered.len() == 1 || about.is_empty() {
            let _ = writeln!(text, "{value}");
        } else {
            let blanks = column - value.width();
            let _ = writeln!(text, "{value}{:blanks$}  ({about})", "");
        }
    }
    text
}

/// `_describe` ends a value at its first colon.
fn escape_zsh(value: &str) -> String {
    value.replace('\\', "\\\\").replace(':', "\\:")
}

fn quote_posix(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn quote_fish(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// The program that scripts call: by the name that was typed, found again by PATH, else in full, so
/// that no program of the current folder is run.
pub(crate) fn called_program() -> String {
    let typed = std::env::args_os().next().unwrap_or_else(|| "retake".into());
    let path = Path::new(&typed);
    if path.components().count() < 2 {
        return typed.to_string_lossy().into_owned();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

// Candidates are read line by line: an unquoted $(…) would expand a `*` in a name.
const BASH_SCRIPT: &str = r#"_retake_complete() {
    local line words=("${COMP_WORDS[@]:0:COMP_CWORD}")
    if [[ ${COMP_WORDS[COMP_CWORD]-} == [=:] ]]; then
        words+=("${COMP_WORDS[COMP_CWORD]}")
    fi
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(VARIABLE=bash VARIABLE_TYPE="${COMP_TYPE-}" VARIABLE_QUOTE="${COMP_WORDS[COMP_CWORD]:0:1}" COLUMNS="${COLUMNS-}" PROGRAM -- "${words[@]}" "$2" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o nosort -F _retake_complete retake 2>/dev/null || complete -F _retake_complete retake
"#;

const ZSH_SCRIPT: &str = r#"#compdef retake
_retake() {
    local -a lines dirs others
    local line
    lines=("${(@f)$(VARIABLE=zsh PROGRAM -- "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    for line in $lines; do
        if [[ $line == */ ]]; then
            dirs+=("$line")
        else
            others+=("$line")
        fi
    done
    (( $#dirs )) && _describe -V 'folder' dirs -S ''
    (( $#others )) && _describe -V 'value' others
}
if [[ ${funcstack[1]} == _retake ]]; then
    _retake "$@"
else
    compdef _retake retake
fi
"#;

const FISH_SCRIPT: &str = r#"function __retake_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l word (commandline --current-token --cut-at-cursor)
    VARIABLE=fish PROGRAM -- $words "$word" 2>/dev/null
end
complete --command retake --keep-order --no-files --arguments '(__retake_complete)'
"#;
