//! Renders JSON into a person's file, in the style of that file.

use jsonc_parser::ast::Object;
use jsonc_parser::common::Ranged as _;

/// A value to write; keys keep their order.
#[derive(Clone, Debug)]
pub(super) enum JsonLiteral {
    Text(String),
    Number(u32),
    List(Vec<Self>),
    Map(Vec<(&'static str, Self)>),
}

/// How a file is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonStyle {
    /// How lines end.
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
    /// Whether new containers go over several lines.
    pub(super) wide: bool,
    /// What follows commas and colons on one line.
    pub(super) space: &'static str,
}

impl JsonStyle {
    /// The style of a file with this root.
    pub(super) fn detect(text: &str, root: &Object<'_>) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let first = root.properties.first();
        let unit = first.and_then(|first| indent_if_first(text, first.range.start));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned();
        let root = root.range;
        let wide = first.is_none() || text[root.start..root.end].contains('\n');
        let between = first.map(|first| &text[first.name.range().end..first.value.range().start]);
        let space = if between.is_none_or(|between| between.ends_with(' ')) { " " } else { "" };
        Self { newline, unit, wide, space }
    }
}

/// The white space before a position, if the line has nothing else before it.
pub(super) fn indent_if_first(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n')? + 1;
    let before = &text[start..at];
    before.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some(before)
}

impl JsonLiteral {
    /// The text; with an indent over several lines, else on one.
    pub(super) fn render(&self, style: &JsonStyle, indent: Option<&str>) -> String {
        match self {
            Self::Text(text) => json_string(text),
            Self::Number(number) => number.to_string(),
            Self::List(items) => render_bracketed("[]", style, indent, items, |item, indent| {
                item.render(style, indent)
            }),
            Self::Map(entries) => {
                render_bracketed("{}", style, indent, entries, |entry, indent| {
                    render_property(entry.0, &entry.1, style, indent)
                })
            }
        }
    }
}

/// The text of a property.
pub(super) fn render_property(
    name: &str,
    value: &JsonLiteral,
    style: &JsonStyle,
    indent: Option<&str>,
) -> String {
    let space = if indent.is_some() { " " } else { style.space };
    format!("{}:{space}{}", json_string(name), value.render(style, indent))
}

fn render_bracketed<T>(
    brackets: &str,
    style: &JsonStyle,
    indent: Option<&str>,
    items: &[T],
    render: impl Fn(&T, Option<&str>) -> String,
) -> String {
    let (open, close) = brackets.split_at(1);
    let Some(indent) = indent else {
        let items: Vec<_> = items.iter().map(|item| render(item, None)).collect();
        return format!("{open}{}{close}", items.join(&format!(",{}", style.space)));
    };
    let inner = format!("{indent}{}", style.unit);
    let line = |item| format!("{}{inner}{}", style.newline, render(item, Some(&inner)));
    let lines: Vec<_> = items.iter().map(line).collect();
    format!("{open}{}{}{indent}{close}", lines.join(","), style.newline)
}

/// A JSON string.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
