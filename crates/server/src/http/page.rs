//! The description as a page that can be read offline: HTML and one style sheet, no script.
//!
//! `docs/api.html` is its text; a test fails if the two differ.

use std::fmt::Write as _;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::openapi::description;

/// The page's style sheet; the page's policy allows just this one, by its hash.
const STYLE_SHEET: &str = "\
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}\
body{max-width:60rem;margin:2rem auto;padding:0 1rem}\
code{font:.9em ui-monospace,monospace}\
section{border-top:1px solid #8886;padding:.5rem 0}\
table{border-collapse:collapse;width:100%}\
td{border-top:1px solid #8883;padding:.2rem .6rem .2rem 0;vertical-align:top}\
h3 code{font-weight:600}\
small{opacity:.75}";

/// The hash by which a policy allows the style sheet.
pub(super) fn style_hash() -> String {
    BASE64_STANDARD.encode(Sha256::digest(STYLE_SHEET))
}

/// The whole page.
pub fn render_page() -> String {
    let described = description();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>Retake: HTTP interface</title><style>{STYLE_SHEET}</style></head>\n<body>\n\
         <h1>Retake: HTTP interface</h1>\n<p>{}</p>\n",
        escaped(&described["info"]["description"])
    );
    for tag in list(&described["tags"]) {
        let _ =
            writeln!(page, "<h2>{}</h2>\n<p>{}</p>", text(&tag["name"]), text(&tag["description"]));
        for (path, item) in entries(&described["paths"]) {
            for (method, operation) in entries(item) {
                if list(&operation["tags"]).any(|name| *name == tag["name"]) {
                    operation_section(&mut page, path, method, operation);
                }
            }
        }
    }
    page.push_str("<h2>Documents</h2>\n");
    for (name, schema) in entries(&described["components"]["schemas"]) {
        schema_section(&mut page, name, schema);
    }
    page.push_str("</body></html>\n");
    page
}

fn operation_section(page: &mut String, path: &str, method: &str, operation: &Value) {
    let id = text(&operation["operationId"]);
    let _ = writeln!(
        page,
        "<section id=\"{id}\">\n<h3><code>{} {}</code></h3>\n<p>{} <small>For: {}.</small></p>",
        method.to_uppercase(),
        escape(path),
        operation_text(operation),
        text(&operation["x-scope"]),
    );
    let mut rows = String::new();
    for parameter in list(&operation["parameters"]) {
        push_row(
            &mut rows,
            &text(&parameter["name"]),
            &parameter["schema"],
            &text(&parameter["description"]),
        );
    }
    for (_, content) in entries(&operation["requestBody"]["content"]) {
        push_row(
            &mut rows,
            "body",
            &content["schema"],
            &text(&operation["requestBody"]["description"]),
        );
    }
    for (status, response) in entries(&operation["responses"]) {
        let schema = entries(&response["content"]).next().map(|(_, content)| &content["schema"]);
        push_row(
            &mut rows,
            status,
            schema.unwrap_or(&Value::Null),
            &text(&response["description"]),
        );
    }
    let _ = writeln!(page, "<table>{rows}</table>\n</section>");
}

fn schema_section(page: &mut String, name: &str, schema: &Value) {
    let _ = writeln!(
        page,
        "<section id=\"schema-{0}\">\n<h3><code>{0}</code></h3>\n<p>{1}</p>",
        escape(name),
        text(&schema["description"]),
    );
    let mut rows = String::new();
    let parts = std::iter::once(schema)
        .chain(list(&schema["allOf"]))
        .chain(list(&schema["oneOf"]))
        .flat_map(|part| entries(&part["properties"]));
    for (name, property) in parts {
        push_row(&mut rows, name, property, &text(&property["description"]));
    }
    if rows.is_empty() {
        let _ = write!(rows, "<tr><td>{}</td></tr>", describe_schema(schema));
    }
    let _ = writeln!(page, "<table>{rows}</table>\n</section>");
}

fn push_row(rows: &mut String, name: &str, schema: &Value, description: &str) {
    let kind = describe_schema(schema);
    let _ = write!(
        rows,
        "<tr><td><code>{}</code></td><td>{kind}</td><td>{description}</td></tr>",
        escape(name)
    );
}

/// Describes in a few words what a schema allows.
fn describe_schema(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|target| target.rsplit('/').next()) {
        return format!("<a href=\"#schema-{0}\">{0}</a>", escape(name));
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        if schema[several].is_array() {
            let kinds: Vec<_> = list(&schema[several]).map(describe_schema).collect();
            return kinds.join(if several == "allOf" { " and " } else { " or " });
        }
    }
    if schema["enum"].is_array() {
        let values: Vec<_> = list(&schema["enum"]).map(escaped).collect();
        return values.join(" or ");
    }
    let named = match &schema["type"] {
        Value::Array(types) => types.iter().map(escaped).collect::<Vec<_>>().join(" or "),
        one => escaped(one),
    };
    if schema["items"].is_object() {
        return format!("{named} of {}", describe_schema(&schema["items"]));
    }
    named
}

/// The summary and what follows it.
fn operation_text(operation: &Value) -> String {
    let (summary, rest) = (text(&operation["summary"]), text(&operation["description"]));
    if rest.is_empty() { summary } else { format!("{summary} {rest}") }
}

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn text(value: &Value) -> String {
    value.as_str().map(escape).unwrap_or_default()
}

fn escaped(value: &Value) -> String {
    value.as_str().map_or_else(|| escape(&value.to_string()), escape)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
