//! Shortens a message that is too long: the longest blocks lose their content.

use serde_json::{Map, Value, json};

/// Returns the blocks of a message, shortened from the longest on until they fit.
///
/// Every block stays a block: a call keeps its id and its name, a result the call that it is of.
pub(super) fn shorten(content: &[Value], limit: u64) -> Vec<Value> {
    let mut blocks = content.to_vec();
    let sizes: Vec<u64> = blocks.iter().map(|block| block.to_string().len() as u64).collect();
    let mut size: u64 = sizes.iter().sum();
    let mut longest: Vec<usize> = (0..blocks.len()).collect();
    longest.sort_by_key(|&at| std::cmp::Reverse(sizes[at]));
    for at in longest {
        if size <= limit {
            break;
        }
        let short = without_content(&blocks[at], sizes[at]);
        size = size - sizes[at] + (short.to_string().len() as u64).min(sizes[at]);
        blocks[at] = short;
    }
    blocks
}

fn without_content(block: &Value, size: u64) -> Value {
    let text = format!("[… {size} bytes not kept]");
    let note = json!({ "type": "text", "text": text });
    let keep = |keys: &[&str]| -> Map<String, Value> {
        let entries =
            keys.iter().filter_map(|key| Some(((*key).to_owned(), block.get(key)?.clone())));
        entries.collect()
    };
    match block["type"].as_str() {
        Some("tool_result") => {
            let mut short = keep(&["type", "tool_use_id", "is_error"]);
            short.insert("content".to_owned(), json!([note]));
            Value::Object(short)
        }
        Some("tool_use") => {
            let mut short = keep(&["type", "id", "name"]);
            short.insert("input".to_owned(), json!({ "not_kept": text }));
            Value::Object(short)
        }
        _ => note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_blocks_lose_their_content_and_keep_what_pairs_them() {
        let long = "x".repeat(500);
        let content = [
            json!({ "type": "text", "text": "short" }),
            json!({ "type": "tool_result", "tool_use_id": "t1", "content": long, "is_error": true }),
            json!({ "type": "tool_use", "id": "t2", "name": "Write", "input": { "content": long } }),
        ];
        assert_eq!(shorten(&content, 5000), content);
        let short = shorten(&content, 300);
        assert_eq!(short[0], content[0]);
        assert_eq!(short[1]["tool_use_id"], "t1");
        assert_eq!(short[1]["is_error"], true);
        let note = short[1]["content"][0]["text"].as_str().unwrap();
        assert!(note.starts_with("[… 5") && note.ends_with(" bytes not kept]"), "{note}");
        assert_eq!((&short[2]["id"], &short[2]["name"]), (&json!("t2"), &json!("Write")));
        assert!(short[2]["input"]["not_kept"].is_string());
        // Only as much as is needed.
        assert_eq!(
            shorten(&content, 800).iter().filter(|block| content.contains(block)).count(),
            2
        );
    }
}
