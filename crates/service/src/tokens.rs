//! Token counts of texts, by OpenAI's tokenizer `o200k_base`.
//!
//! Exact for OpenAI's models since GPT-4o; an estimate for others, which cut texts in their own
//! ways that are not published. Its table takes memory and a moment to load, so that is done when
//! something is counted for the first time.

use tiktoken_rs::o200k_base_singleton;

/// Maximum bytes of a piece that is counted at once: the tokenizer gives up on very long runs
/// of blanks.
const MAX_PIECE_BYTES: usize = 64 * 1024;

/// Returns the number of tokens of a text. Of a text longer than 64 KiB it may be a few too many: a
/// token that lies across two pieces counts for more than one.
pub fn count_tokens(text: &str) -> u64 {
    let (mut rest, mut tokens) = (text, 0);
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(first_piece_len(rest));
        tokens += o200k_base_singleton().encode_ordinary(piece).len() as u64;
        rest = behind;
    }
    tokens
}

/// Where the first piece of a text ends.
fn first_piece_len(text: &str) -> usize {
    let most = text.len().min(MAX_PIECE_BYTES);
    (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As another implementation, `bpe-openai`, counts, too.
    #[test]
    fn texts_are_counted_as_openai_does() {
        let counted = ["", "hello world", "Ünïcödé 你好", "fn main() {}\n", "<|endoftext|>"]
            .map(count_tokens);
        assert_eq!(counted, [0, 2, 7, 4, 7]);
    }

    #[test]
    fn long_runs_of_blanks_are_counted() {
        assert!(count_tokens(&" ".repeat(1_000_000)) > 0);
        let long = "hello wörld ".repeat(10_000);
        let whole = o200k_base_singleton().encode_ordinary(&long).len() as u64;
        assert!((whole..whole + 10).contains(&count_tokens(&long)));
    }
}
