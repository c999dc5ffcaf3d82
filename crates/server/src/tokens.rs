//! How many tokens a text has: counted by OpenAI's tokenizer `o200k_base`.
//!
//! Exact for OpenAI's models since GPT-4o; an estimate for others, which cut texts in their own
//! ways that are not published. Its table takes memory and a moment to load, so that is done when
//! something is counted for the first time.

use tiktoken_rs::o200k_base_singleton;

/// How many tokens a text has.
pub fn count(text: &str) -> u64 {
    o200k_base_singleton().encode_ordinary(text).len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As another implementation, `bpe-openai`, counts, too.
    #[test]
    fn texts_are_counted_as_openai_does() {
        let counted =
            ["", "hello world", "Ünïcödé 你好", "fn main() {}\n", "<|endoftext|>"].map(count);
        assert_eq!(counted, [0, 2, 7, 4, 7]);
    }
}
