//! Counts the tokens of a message.
//!
//! Tokenisation differs from model to model and needs a large table, so the caller passes in the
//! token counter of a text; here is which parts of a message count.

use retake_model::ModelMessage;
use serde_json::Value;

/// Counts the tokens of a text.
pub type TokenCounter<'a> = &'a dyn Fn(&str) -> u64;

/// Tokens of a message beside its content: role and end marker.
const TOKENS_PER_MESSAGE: u64 = 4;
/// Tokens of an image, whose bytes are not read as text; about what models count for a large one.
const TOKENS_PER_IMAGE: u64 = 1600;

/// Counts the tokens of a message: its texts, and the JSON of its other blocks.
pub fn message_tokens(message: &ModelMessage, count: TokenCounter<'_>) -> u64 {
    TOKENS_PER_MESSAGE + blocks_tokens(&message.content, count)
}

fn blocks_tokens(blocks: &[Value], count: TokenCounter<'_>) -> u64 {
    blocks.iter().map(|block| block_tokens(block, count)).sum()
}

fn block_tokens(block: &Value, count: TokenCounter<'_>) -> u64 {
    let text = |key: &str| block[key].as_str().map_or(0, count);
    match block["type"].as_str() {
        Some("text") => text("text"),
        Some("thinking") => text("thinking"),
        Some("image") => TOKENS_PER_IMAGE,
        Some("tool_use") => text("name") + count(&block["input"].to_string()),
        Some("tool_result") => match &block["content"] {
            Value::Array(blocks) => blocks_tokens(blocks, count),
            Value::String(text) => count(text),
            Value::Null => 0,
            other => count(&other.to_string()),
        },
        _ => count(&block.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use retake_model::MessageRole;
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_inputs_and_results_count_and_the_bytes_of_pictures_do_not() {
        let picture = json!({ "type": "image", "source": { "data": "A".repeat(100_000) } });
        let content = vec![
            json!({ "type": "text", "text": "12345" }),
            json!({ "type": "thinking", "thinking": "123", "signature": "x".repeat(50) }),
            json!({ "type": "tool_use", "id": "t", "name": "Edit", "input": { "a": 1 } }),
            json!({ "type": "tool_result", "tool_use_id": "t", "content": "1234567" }),
            json!({ "type": "tool_result", "tool_use_id": "t", "content": [picture] }),
            json!({ "type": "opaque" }),
        ];
        let message = ModelMessage {
            role: MessageRole::User,
            content,
            ts: None,
            is_summary: false,
            index: None,
        };
        let letters = |text: &str| text.len() as u64;
        let opaque = r#"{"type":"opaque"}"#.len() as u64;
        let expected = 4 + 5 + 3 + (4 + 7) + 7 + TOKENS_PER_IMAGE + opaque;
        assert_eq!(message_tokens(&message, &letters), expected);
    }
}
