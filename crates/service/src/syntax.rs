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
const MAX_FILE_BYTES: usize = 16 * 1024;
/// Maximum bytes of all files of one command or request.
const MAX_TOTAL_BYTES: usize = 3 * MAX_FILE_BYTES;
/// Maximum bytes of the one file that a request is about: about a second.
const MAX_ONLY_FILE_BYTES: usize = 8 * MAX_FILE_BYTES;
/// Maximum bytes of a line: longer lines are data, on which some patterns are very slow.
const MAX_LINE_BYTES: usize = 2000;
/// Time budget, since content can be crafted to be slow. Generous, so that a busy machine
/// colours the same.
const TIME_BUDGET: Duration = Duration::from_secs(2);

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Token)]
pub enum TokenKind {
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
const TOKEN_SCOPES: &[(TokenKind, &str)] = &[
    (TokenKind::Comment, "comment"),
    (TokenKind::Literal, "string, constant, markup.raw"),
    (TokenKind::Keyword, "keyword, storage"),
    (TokenKind::Other, "keyword.operator"),
    (TokenKind::Name, "entity.name, support, variable.function, markup.heading"),
];

/// The tokens of one line, in order; what is between them is [`TokenKind::Other`].
pub type LineTokens = Vec<(Range<usize>, TokenKind)>;

/// The grammars and the theme, unpacked once for a process.
static GRAMMARS: LazyLock<(SyntaxSet, Theme)> =
    LazyLock::new(|| (two_face::syntax::extra_newlines(), token_theme()));

/// Highlights the files of one command or request, within the limits.
#[derive(Debug)]
pub struct DiffHighlighter {
    max_file_bytes: usize,
    max_total_bytes: usize,
    read: usize,
    spent: Duration,
}

impl Default for DiffHighlighter {
    fn default() -> Self {
        Self {
            max_file_bytes: MAX_FILE_BYTES,
            max_total_bytes: MAX_TOTAL_BYTES,
            read: 0,
            spent: Duration::ZERO,
        }
    }
}

impl DiffHighlighter {
    /// For a request that is about one file, of which more is highlighted.
    pub fn for_one_file() -> Self {
        let max = MAX_ONLY_FILE_BYTES;
        Self { max_file_bytes: max, max_total_bytes: max, ..Self::default() }
    }

    /// The tokens of every line of a diff; `None` if there is no grammar for the file or reading
    /// it would take too long. `after` is the whole content after.
    pub fn tokens(
        &mut self,
        name: &[u8],
        after: &[u8],
        lines: &[DiffLine],
    ) -> Option<Vec<LineTokens>> {
        let after = std::str::from_utf8(after).ok()?;
        let work = bytes_to_read(after, lines)?;
        let is_too_much = work > self.max_file_bytes || self.read + work > self.max_total_bytes;
        if is_too_much || self.spent > TIME_BUDGET {
            return None;
        }
        self.read += work;
        let started = Instant::now();
        let (set, theme) = &*GRAMMARS;
        let syntax = find_grammar(set, std::str::from_utf8(name).ok()?, after)?;
        let state = ParserState { parse: ParseState::new(syntax), scopes: ScopeStack::new() };
        let mut sides = SideHighlighter {
            set,
            highlighter: Highlighter::new(theme),
            old: None,
            new: state,
            deadline: started + TIME_BUDGET,
        };
        let tokens = sides.highlight(after, lines);
        self.spent += started.elapsed();
        tokens
    }
}

/// Bytes from the file's beginning to the end of the diff; `None` if a line is too long.
fn bytes_to_read(after: &str, lines: &[DiffLine]) -> Option<usize> {
    let last = lines.iter().rev().find_map(|line| match line {
        DiffLine::Header(place) => Some(place.new.end as usize),
        _ => None,
    })?;
    let removed = lines.iter().filter_map(|line| match line {
        DiffLine::Removed(text) => Some(text.len() + 1),
        _ => None,
    });
    let lens = after.split_inclusive('\n').take(last).map(str::len).chain(removed);
    lens.map(|len| (len <= MAX_LINE_BYTES).then_some(len)).sum()
}

/// The grammar for a file: by its name, its ending, or the program that is to run it.
fn find_grammar<'a>(set: &'a SyntaxSet, path: &str, text: &str) -> Option<&'a SyntaxReference> {
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
fn token_theme() -> Theme {
    let item = |(number, (_, scopes)): (usize, &(TokenKind, &str))| ThemeItem {
        scope: ScopeSelectors::from_str(scopes).expect("the selectors above are well formed"),
        style: StyleModifier {
            foreground: Some(Color { r: number as u8, g: 0, b: 0, a: 0 }),
            background: None,
            font_style: None,
        },
    };
    Theme { scopes: TOKEN_SCOPES.iter().enumerate().map(item).collect(), ..Theme::default() }
}

fn token_of_colour(colour: Color) -> TokenKind {
    // What no selector fits has the default colour, which is opaque.
    let known = TOKEN_SCOPES.get(usize::from(colour.r)).filter(|_| colour.a == 0);
    known.map_or(TokenKind::Other, |(token, _)| *token)
}

/// Parser state after the lines so far.
#[derive(Clone, PartialEq, Eq)]
struct ParserState {
    parse: ParseState,
    scopes: ScopeStack,
}

/// Both sides of a file, being read.
struct SideHighlighter<'a> {
    set: &'a SyntaxSet,
    highlighter: Highlighter<'a>,
    /// The side before, while it is not as `new`.
    old: Option<ParserState>,
    new: ParserState,
    deadline: Instant,
}

impl SideHighlighter<'_> {
    fn highlight(&mut self, after: &str, lines: &[DiffLine]) -> Option<Vec<LineTokens>> {
        let all: Vec<&str> = after.split_inclusive('\n').collect();
        let mut at = 0;
        let mut tokens = Vec::with_capacity(lines.len());
        for line in lines {
            tokens.push(match line {
                DiffLine::Header(place) => {
                    for hidden in all.get(at..place.new.start as usize)? {
                        self.parse_both(hidden)?;
                    }
                    at = place.new.end as usize;
                    LineTokens::new()
                }
                DiffLine::NoNewline => LineTokens::new(),
                DiffLine::Context(text) => self.common_line(&with_newline(text)?)?,
                DiffLine::Added(text) => self.added_line(&with_newline(text)?)?,
                DiffLine::Removed(text) => self.removed_line(&with_newline(text)?)?,
            });
        }
        Some(tokens)
    }

    fn removed_line(&mut self, line: &str) -> Option<LineTokens> {
        let old = self.old.get_or_insert_with(|| self.new.clone());
        let before = old.scopes.clone();
        let ops = parse_line(old, line, self.set, self.deadline)?;
        Some(self.line_tokens(before, &ops, line))
    }

    fn added_line(&mut self, line: &str) -> Option<LineTokens> {
        self.old.get_or_insert_with(|| self.new.clone());
        let before = self.new.scopes.clone();
        let ops = parse_line(&mut self.new, line, self.set, self.deadline)?;
        Some(self.line_tokens(before, &ops, line))
    }

    /// A line that both sides have.
    fn parse_both(&mut self, line: &str) -> Option<Vec<(usize, ScopeStackOp)>> {
        if self.old.as_ref() == Some(&self.new) {
            self.old = None;
        }
        if let Some(old) = &mut self.old {
            parse_line(old, line, self.set, self.deadline)?;
        }
        parse_line(&mut self.new, line, self.set, self.deadline)
    }

    fn common_line(&mut self, line: &str) -> Option<LineTokens> {
        let before = self.new.scopes.clone();
        let ops = self.parse_both(line)?;
        Some(self.line_tokens(before, &ops, line))
    }

    fn line_tokens(
        &self,
        scopes: ScopeStack,
        ops: &[(usize, ScopeStackOp)],
        line: &str,
    ) -> LineTokens {
        let mut state = HighlightState::new(&self.highlighter, scopes);
        let len = line.trim_end_matches('\n').len();
        RangedHighlightIterator::new(&mut state, ops, line, &self.highlighter)
            .map(|(style, _, range)| {
                (range.start..range.end.min(len), token_of_colour(style.foreground))
            })
            .filter(|(range, token)| !range.is_empty() && *token != TokenKind::Other)
            .collect()
    }
}

/// Grammars need a line's newline.
fn with_newline(text: &[u8]) -> Option<String> {
    Some(format!("{}\n", std::str::from_utf8(text).ok()?))
}

fn parse_line(
    state: &mut ParserState,
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
