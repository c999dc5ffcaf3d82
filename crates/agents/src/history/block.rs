//! Builds and reads message blocks in Anthropic's format, for all other formats.
//!
//! Invariant: what a format cannot express is stored beside the item under [`EXACT_BLOCKS_KEY`], so
//! that a written conversation is read back as it was ([`exact_blocks`]).

use jiff::Timestamp;
use retake_model::Millis;
use serde_json::{Value, json};

use super::HistoryFormat;
use crate::wire::text as text_at;

/// Key under which an item of a foreign format stores the exact blocks that it represents.
const EXACT_BLOCKS_KEY: &str = "retake";

/// Words.
pub(crate) fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

/// An image, from its media type and base64.
pub(crate) fn image(media_type: &str, data: &str) -> Value {
    let source = json!({"type": "base64", "media_type": media_type, "data": data});
    json!({"type": "image", "source": source})
}

/// An image, from a `data:` address.
pub(crate) fn image_from_address(address: &str) -> Option<Value> {
    let (media_type, data) = address.strip_prefix("data:")?.split_once(";base64,")?;
    Some(image(media_type, data))
}

/// An image's media type and base64.
pub(crate) fn image_parts(block: &Value) -> Option<(&str, &str)> {
    let parts = (text_at(block, "/source/media_type")?, text_at(block, "/source/data")?);
    is_type(block, "image").then_some(parts)
}

/// An image as a `data:` address.
pub(crate) fn image_address(block: &Value) -> Option<String> {
    image_parts(block).map(|(media_type, data)| format!("data:{media_type};base64,{data}"))
}

/// A call of a tool.
pub(crate) fn tool_use(id: &str, name: &str, input: Value) -> Value {
    let mut block = json!({"type": "tool_use", "id": id, "name": name});
    block["input"] = input;
    block
}

/// A tool result.
pub(crate) fn tool_result(id: &str, content: Value, is_error: bool) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": id});
    block["content"] = content;
    if is_error {
        block["is_error"] = true.into();
    }
    block
}

/// A block that only its own format can express.
pub(crate) fn opaque(format: HistoryFormat, item: Value) -> Value {
    let mut block = json!({"type": "opaque", "form": format});
    block["item"] = item;
    block
}

/// The item of a block that only this format understands.
pub(crate) fn own_item(format: HistoryFormat, block: &Value) -> Option<&Value> {
    let own = is_type(block, "opaque") && text_at(block, "/form") == Some(format.as_str());
    block.get("item").filter(|item| own && item.is_object())
}

/// Returns whether a block is of this type.
pub(crate) fn is_type(block: &Value, kind: &str) -> bool {
    text_at(block, "/type") == Some(kind)
}

/// Content as blocks: one text is one block.
pub(crate) fn from_content(content: &Value) -> Vec<Value> {
    match content {
        Value::String(words) => vec![text(words)],
        Value::Array(blocks) => blocks.clone(),
        _ => vec![],
    }
}

/// Returns the blocks of a message that a format can express; none if it can express nothing of it.
///
/// Thinking is signed for its model, so only Anthropic's formats carry it.
pub(crate) fn encodable_blocks(format: HistoryFormat, content: &[Value]) -> Option<Vec<Value>> {
    let fits = |block: &&Value| match text_at(block, "/type") {
        Some("opaque") => own_item(format, block).is_some(),
        Some("text" | "image" | "tool_use" | "tool_result") => true,
        _ => format.is_anthropic(),
    };
    let encodable: Vec<Value> = content.iter().filter(fits).cloned().collect();
    (content.is_empty() || !encodable.is_empty()).then_some(encodable)
}

/// Returns the text of a tool result, or of a message.
pub(crate) fn plain_text(content: &Value) -> String {
    match content {
        Value::String(words) => words.clone(),
        Value::Array(blocks)
            if blocks.iter().all(|block| is_type(block, "text") || is_type(block, "image")) =>
        {
            let words = blocks.iter().filter_map(|block| text_at(block, "/text"));
            words.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the text of a message's text blocks.
pub(crate) fn spoken_text(content: &[Value]) -> String {
    let texts = content.iter().filter(|block| is_type(block, "text"));
    texts.filter_map(|block| text_at(block, "/text")).collect::<Vec<_>>().join("\n")
}

/// Stores the blocks beside an item that would not be read back as them.
pub(crate) fn with_exact_blocks(
    mut item: Value,
    blocks: &[Value],
    read: impl Fn(&Value) -> Vec<Value>,
) -> Value {
    if read(&item) != blocks {
        item[EXACT_BLOCKS_KEY] = blocks.into();
    }
    item
}

/// Returns the blocks that were stored beside an item.
pub(crate) fn exact_blocks(item: &Value) -> Option<Vec<Value>> {
    item.get(EXACT_BLOCKS_KEY)?.as_array().cloned()
}

/// The time at a JSON pointer: a number, or a text as of RFC 3339.
pub(crate) fn time_at(value: &Value, pointer: &str) -> Option<Millis> {
    match value.pointer(pointer)? {
        Value::String(text) => text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond),
        number => number.as_i64(),
    }
}
