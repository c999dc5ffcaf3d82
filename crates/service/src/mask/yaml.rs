//! Secrets in YAML that a single line does not show: block texts, and Kubernetes' secrets.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::names::SecretName;
use super::{MASK, split_end};

/// A key with the value behind it.
static ENTRY: LazyLock<Regex> = LazyLock::new(|| {
    let entry = r#"^(?<indent>[ \t]*(?:- )?[ \t]*)["']?(?<name>[A-Za-z0-9_.-]+)["']?:(?<gap>[ \t]*)(?<value>.*)$"#;
    Regex::new(entry).expect("the pattern is well formed")
});

/// Masks block texts of secret names, and the data of objects of the kind `Secret`.
pub(super) fn mask_blocks(text: &str) -> Cow<'_, str> {
    let has_block =
        |line: &str| matches!(line.trim_end().chars().last(), Some('|' | '>' | '-' | '+'));
    if !text.contains("kind: Secret") && !text.lines().any(has_block) {
        return Cow::Borrowed(text);
    }
    let mut masked = Vec::new();
    let mut state = BlockState::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at == 0 || line.trim_end() == "---" {
            let is_secret_object = is_secret_object(&text[at..]);
            state = BlockState { is_secret_object, ..BlockState::default() };
        }
        at += line.len();
        masked.push(state.mask_line(line));
    }
    Cow::Owned(masked.concat())
}

/// Returns whether the document at the start of a text is a `Secret`.
fn is_secret_object(text: &str) -> bool {
    let document = text.split("\n---").next().unwrap_or_default();
    document.lines().any(|line| line.trim_end() == "kind: Secret")
}

/// What the lines before say about the next one.
#[derive(Default)]
struct BlockState {
    is_secret_object: bool,
    /// The indentation of the name whose block is masked.
    block_indent: Option<usize>,
    /// The indentation of `data` in a `Secret`.
    data_indent: Option<usize>,
}

impl BlockState {
    fn mask_line(&mut self, line: &str) -> String {
        let (body, end) = split_end(line);
        let indent = body.len() - body.trim_start().len();
        let is_blank = body.trim().is_empty();
        if self.block_indent.is_some_and(|block| is_blank || indent > block) {
            return if is_blank {
                line.to_owned()
            } else {
                format!("{}{MASK}{end}", &body[..indent])
            };
        }
        self.block_indent = None;
        if !is_blank && self.data_indent.is_some_and(|data| indent <= data) {
            self.data_indent = None;
        }
        let Some(entry) = ENTRY.captures(body) else { return line.to_owned() };
        let (name, value) = (&entry["name"], entry["value"].trim_end());
        let is_block = value.starts_with(['|', '>']) && value.len() <= 3;
        if self.is_secret_object && matches!(name, "data" | "stringData") && value.is_empty() {
            self.data_indent = Some(indent);
            return line.to_owned();
        }
        let is_data = self.data_indent.is_some();
        if is_block && (is_data || SecretName::of(name).is_some()) {
            self.block_indent = Some(indent);
        }
        if is_data && !is_block && !value.is_empty() {
            let head = &body[..body.len() - entry["value"].len()];
            return format!("{head}{MASK}{end}");
        }
        line.to_owned()
    }
}
