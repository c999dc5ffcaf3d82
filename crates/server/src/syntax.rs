//! Syntax highlighting of diffs: keywords, names, literals, comments.
//!
//! The grammars are two-face's (those of bat), unpacked when the first diff is coloured and never
//! before. A line means what everything above it makes of it, so a file is read from its
//! beginning up to its last line that is shown. Lines that both sides have are read once for as
//! long as both sides mean the same. That takes time, and a diff has to be there at once: see the
//! limits below. A file is coloured as a whole or not at all.

use std::ops::Range;
use std::str::FromStr as _;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use retake_engine::DiffLine;
use serde::{Deserialize, Serialize};
use two_face::re_exports::syntect::highlighting::{
    Color, HighlightState, Highlighter, RangedHighlightIterator, ScopeSelectors, StyleModifier,
    Theme, ThemeItem,
};
use two_face::re_exports::syntect::parsing::{
    ParseState, ScopeStack, ScopeStackOp, SyntaxReference, SyntaxSet,
};
use utoipa::ToSchema;

/// Maximum bytes of one file that are highlighted: about 500 lines of code, 0.1 s.
const MOST_OF_A_FILE: usize = 16 * 1024;
/// Maximum bytes of all files of one command or request.
const MOST_OF_ALL: usize = 3 * MOST_OF_A_FILE;
/// Maximum bytes of a line: longer lines are data, on which some patterns are very slow.
const LONGEST_LINE: usize = 2000;
/// Time budget, since content can be crafted to be slow. Generous, so that a busy machine
/// colours the same.
const LONGEST_TIME: Duration = Duration::from_secs(2);

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Token {
    /// Nothing of note.
    Other,
    /// Comments.
    Comment,
    /// Texts, numbers and other constants.
    Literal,
    /// Keywords.
    Keyword,
    /// Functions, types, tags, headings.
    Name,
}

/// Scope selectors of the grammars for each token; the most specific one counts.
const SCOPES: &[(Token, &str)] = &[
    (Token::Comment, "comment"),
    (Token::Literal, "string, constant, markup.raw"),
    (Token::Keyword, "keyword, storage"),
    (Token::Other, "keyword.operator"),
    (Token::Name, "entity.name, support, variable.function, markup.heading"),
];

/// The tokens of one line, in order; what is between them is [`Token::Other`].
pub type Tokens = Vec<(Range<usize>, Token)>;

/// The grammars and the theme, unpacked once for a process.
static GRAMMARS: LazyLock<(SyntaxSet, Theme)> =
    LazyLock::new(|| (two_face::syntax::extra_newlines(), theme()));

/// Highlights the files of one command or request, within the limits.
#[derive(Debug, Default)]
pub struct Reader {
    read: usize,
    spent: Duration,
}

impl Reader {
    /// The tokens of every line of a diff; `None` if there is no grammar for the file or reading
    /// it would take too long. `after` is the whole content after.
    pub fn tokens(&mut self, name: &[u8], after: &[u8], lines: &[DiffLine]) -> Option<Vec<Tokens>> {
        let after = std::str::from_utf8(after).ok()?;
        let work = work(after, lines)?;
        if work > MOST_OF_A_FILE || self.read + work > MOST_OF_ALL || self.spent > LONGEST_TIME {
            return None;
        }
        self.read += work;
        let started = Instant::now();
        let (set, theme) = &*GRAMMARS;
        let syntax = grammar(set, std::str::from_utf8(name).ok()?, after)?;
        let state = State { parse: ParseState::new(syntax), scopes: ScopeStack::new() };
        let mut sides = Sides {
            set,
            highlighter: Highlighter::new(theme),
            old: None,
            new: state,
            deadline: started + LONGEST_TIME,
        };
        let tokens = sides.all(after, lines);
        self.spent += started.elapsed();
        tokens
    }
}

/// Bytes from the file's beginning to the end of the diff; `None` if a line is too long.
fn work(after: &str, lines: &[DiffLine]) -> Option<usize> {
    let last = lines.iter().rev().find_map(|line| match line {
        DiffLine::Header(place) => Some(place.new.end as usize),
        _ => None,
    })?;
    let removed = lines.iter().filter_map(|line| match line {
        DiffLine::Removed(text) => Some(text.len() + 1),
        _ => None,
    });
    let lens = after.split_inclusive('\n').take(last).map(str::len).chain(removed);
    lens.map(|len| (len <= LONGEST_LINE).then_some(len)).sum()
}

/// The grammar for a file: by its name, its ending, or the program that is to run it.
fn grammar<'a>(set: &'a SyntaxSet, path: &str, text: &str) -> Option<&'a SyntaxReference> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let by_program = || {
        let first = text.lines().next().filter(|line| line.starts_with("#!"))?;
        set.find_syntax_by_first_line(first)
    };
    set.find_syntax_by_extension(name)
        .or_else(|| set.find_syntax_by_extension(ending?))
        .or_else(by_program)
        .filter(|syntax| syntax.name != "Plain Text")
}

/// A theme whose colours are the numbers of tokens.
fn theme() -> Theme {
    let item = |(number, (_, scopes)): (usize, &(Token, &str))| ThemeItem {
        scope: ScopeSelectors::from_str(scopes).expect("the selectors above are well formed"),
        style: StyleModifier {
            foreground: Some(Color { r: number as u8, g: 0, b: 0, a: 0 }),
            background: None,
            font_style: None,
        },
    };
    Theme { scopes: SCOPES.iter().enumerate().map(item).collect(), ..Theme::default() }
}

fn token(colour: Color) -> Token {
    // What no selector fits has the default colour, which is opaque.
    let known = SCOPES.get(usize::from(colour.r)).filter(|_| colour.a == 0);
    known.map_or(Token::Other, |(token, _)| *token)
}

/// Parser state after the lines so far.
#[derive(Clone, PartialEq, Eq)]
struct State {
    parse: ParseState,
    scopes: ScopeStack,
}

/// Both sides of a file, being read.
struct Sides<'a> {
    set: &'a SyntaxSet,
    highlighter: Highlighter<'a>,
    /// The side before, while it is not as `new`.
    old: Option<State>,
    new: State,
    deadline: Instant,
}

impl Sides<'_> {
    fn all(&mut self, after: &str, lines: &[DiffLine]) -> Option<Vec<Tokens>> {
        let all: Vec<&str> = after.split_inclusive('\n').collect();
        let mut at = 0;
        let mut tokens = Vec::with_capacity(lines.len());
        for line in lines {
            tokens.push(match line {
                DiffLine::Header(place) => {
                    for hidden in all.get(at..place.new.start as usize)? {
                        self.both(hidden)?;
                    }
                    at = place.new.end as usize;
                    Tokens::new()
                }
                DiffLine::NoNewline => Tokens::new(),
                DiffLine::Context(text) => self.shown_on_both(&whole(text)?)?,
                DiffLine::Added(text) => self.added(&whole(text)?)?,
                DiffLine::Removed(text) => self.removed(&whole(text)?)?,
            });
        }
        Some(tokens)
    }

    fn removed(&mut self, line: &str) -> Option<Tokens> {
        let old = self.old.get_or_insert_with(|| self.new.clone());
        let before = old.scopes.clone();
        let ops = read(old, line, self.set, self.deadline)?;
        Some(self.line(before, &ops, line))
    }

    fn added(&mut self, line: &str) -> Option<Tokens> {
        self.old.get_or_insert_with(|| self.new.clone());
        let before = self.new.scopes.clone();
        let ops = read(&mut self.new, line, self.set, self.deadline)?;
        Some(self.line(before, &ops, line))
    }

    /// A line that both sides have.
    fn both(&mut self, line: &str) -> Option<Vec<(usize, ScopeStackOp)>> {
        if self.old.as_ref() == Some(&self.new) {
            self.old = None;
        }
        if let Some(old) = &mut self.old {
            read(old, line, self.set, self.deadline)?;
        }
        read(&mut self.new, line, self.set, self.deadline)
    }

    fn shown_on_both(&mut self, line: &str) -> Option<Tokens> {
        let before = self.new.scopes.clone();
        let ops = self.both(line)?;
        Some(self.line(before, &ops, line))
    }

    fn line(&self, scopes: ScopeStack, ops: &[(usize, ScopeStackOp)], line: &str) -> Tokens {
        let mut state = HighlightState::new(&self.highlighter, scopes);
        let len = line.trim_end_matches('\n').len();
        RangedHighlightIterator::new(&mut state, ops, line, &self.highlighter)
            .map(|(style, _, range)| (range.start..range.end.min(len), token(style.foreground)))
            .filter(|(range, token)| !range.is_empty() && *token != Token::Other)
            .collect()
    }
}

/// Grammars need a line's newline.
fn whole(text: &[u8]) -> Option<String> {
    Some(format!("{}\n", std::str::from_utf8(text).ok()?))
}

fn read(
    state: &mut State,
    line: &str,
    set: &SyntaxSet,
    deadline: Instant,
) -> Option<Vec<(usize, ScopeStackOp)>> {
    if Instant::now() > deadline {
        return None;
    }
    let ops = state.parse.parse_line(line, set).ok()?;
    for (_, op) in &ops {
        state.scopes.apply(op).ok()?;
    }
    Some(ops)
}
