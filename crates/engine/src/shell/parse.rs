//! The only caller of brush-parser, with limits on its input, stack and panics.
//!
//! Its grammar recurses with the input's nesting, tries unclosed parentheses in exponential time
//! (measured: 12 deep 0.5 ms, twice that for each more), and panics on a file descriptor that is
//! no `i32`. So nesting is counted on the tokens before they are parsed, the work runs on a large
//! stack of its own (a thread costs 30 µs), and a panic becomes "could not be read".

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::Program;
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

/// Maximum bytes of a command that is parsed: a hook has a time budget, only heredocs are longer.
pub(super) const MAX_COMMAND_BYTES: usize = 256 * 1024;
/// Stack of the parser thread. Measured: about 20 kB per level of the grammar, 5 kB per level of
/// the tokenizer.
const PARSER_STACK_BYTES: usize = 32 << 20;
/// Maximum substitutions in a text, on which the tokenizer recurses.
const MAX_SUBSTITUTIONS: usize = 2_000;
/// Maximum words and parentheses that open a level, in the whole text.
const MAX_OPENERS: usize = 600;
/// Maximum nesting of compound commands.
const MAX_DEPTH: usize = 60;
/// Maximum nesting of parentheses, which take exponential time.
const MAX_PARENTHESES: usize = 12;

/// Words that open a level of the grammar, and those that close one.
const OPENERS: &[&str] = &["{", "if", "case", "for", "while", "until", "select", "[[", "!"];
const CLOSERS: &[&str] = &["}", "fi", "esac", "done", "]]"];

/// Runs `work` on a thread with a large stack, and catches its panics.
pub(super) fn run_guarded<T: Send>(text: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    if text.len() > MAX_COMMAND_BYTES || text.contains('\0') {
        return None;
    }
    let caught = || catch_unwind(AssertUnwindSafe(work)).ok();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES);
        thread.spawn_scoped(scope, caught).ok()?.join().ok()?
    })
}

/// Parses shell text; `None` if it is no shell text or beyond the limits.
pub(super) fn parse_program(text: &str) -> Option<Program> {
    if text.len() > MAX_COMMAND_BYTES || substitutions(text) > MAX_SUBSTITUTIONS {
        return None;
    }
    let options = ParserOptions::default();
    let tokens = uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
    if !within_limits(&tokens) {
        return None;
    }
    parse_tokens(&tokens, &options).ok()
}

/// Counts the substitutions that the tokenizer recurses on: an upper bound.
fn substitutions(text: &str) -> usize {
    text.matches("$(").count() + text.matches("$[").count() + text.matches('`').count() / 2
}

fn within_limits(tokens: &[Token]) -> bool {
    let (mut depth, mut parentheses, mut openers) = (0_usize, 0_usize, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Operator(text, _) if text == "(" => parentheses += 1,
            Token::Operator(text, _) if text == ")" => parentheses = parentheses.saturating_sub(1),
            // Recurses like a parenthesis, and nothing closes it.
            Token::Word(text, _) if text == "coproc" => parentheses += 1,
            Token::Word(text, _) if OPENERS.contains(&text.as_str()) => depth += 1,
            Token::Word(text, _) if CLOSERS.contains(&text.as_str()) => {
                depth = depth.saturating_sub(1);
                continue;
            }
            Token::Word(text, _) if is_huge_number(text) => {
                if matches!(tokens.get(at + 1), Some(Token::Operator(..))) {
                    return false;
                }
                continue;
            }
            _ => continue,
        }
        openers += 1;
        if parentheses > MAX_PARENTHESES || depth > MAX_DEPTH || openers > MAX_OPENERS {
            return false;
        }
    }
    true
}

fn is_huge_number(text: &str) -> bool {
    text.len() > 9 && text.bytes().all(|b| b.is_ascii_digit())
}
