//! `retake config show` and `path` as text.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use retake_service::documents::{SettingSource, SettingsFileDocument};

use super::document::{ConfigDocument, ConfigValue};
use super::{files_here, value};
use crate::args::ConfigShowArgs;
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::layout::{Column, TableCell, TextTable, render_paragraph};
use crate::output::TextStyle;

pub(super) fn run(context: &CommandContext, options: ConfigShowArgs) -> Result<Exit> {
    let mut document = ConfigDocument::read(context, &files_here(context)?);
    if options.changed {
        document.values.retain(ConfigValue::is_changed);
    }
    if context.json {
        context.out.json(&document)?;
    } else {
        context.out.paged(render(context, &document).as_bytes())?;
    }
    let is_wrong = document.files.iter().any(|file| file.problem.is_some());
    Ok(if is_wrong { Exit::Problem } else { Exit::Done })
}

fn render(context: &CommandContext, document: &ConfigDocument) -> String {
    let mut text = String::new();
    if document.values.is_empty() {
        text.push_str("Every setting has its default.\n\n");
    }
    text.push_str(&render_sections(context, &document.values));
    text.push_str(&render_files(context, &document.files));
    text.push_str(&render_problems(context, &document.files));
    let way = "Change one: retake config set SECTION.NAME VALUE";
    let _ = writeln!(text, "\n{}", context.out.paint(way, TextStyle::Dim));
    text
}

/// All settings in one table, so that the columns of all sections line up. The value comes last:
/// lists are long, and lose their end on a terminal.
fn render_sections(context: &CommandContext, values: &[ConfigValue]) -> String {
    let mut table = TextTable::new([Column::WHOLE, Column::WHOLE, Column::TITLE]);
    let in_section = |one: &ConfigValue, other: &ConfigValue| section(one) == section(other);
    for section_values in values.chunk_by(in_section) {
        let head = format!("[{}]", section(&section_values[0]));
        table.row([TableCell::new(head, TextStyle::Bold)]);
        for value in section_values {
            let name = split_key(&value.setting.key).1;
            table.row([
                TableCell::new(format!("  {name}"), TextStyle::Plain),
                TableCell::new(origin(value), origin_style(value)),
                TableCell::new(described(value), TextStyle::Plain),
            ]);
        }
        table.row([TableCell::empty()]);
    }
    table.render("", context.out)
}

fn section(value: &ConfigValue) -> &str {
    split_key(&value.setting.key).0
}

fn split_key(key: &str) -> (&str, &str) {
    key.split_once('.').unwrap_or((key, key))
}

fn described(value: &ConfigValue) -> String {
    value::describe_value(&value.setting.key, &value.setting.value)
}

/// Where a value comes from.
fn origin(value: &ConfigValue) -> &'static str {
    value.overridden_by.unwrap_or(match value.setting.source {
        SettingSource::Default => "default",
        SettingSource::Home => "home",
        SettingSource::Project => "project",
    })
}

fn origin_style(value: &ConfigValue) -> TextStyle {
    if value.is_changed() { TextStyle::Mark } else { TextStyle::Dim }
}

fn render_files(context: &CommandContext, files: &[SettingsFileDocument]) -> String {
    let mut text = context.out.paint("Files", TextStyle::Bold) + "\n";
    for file in files {
        let path =
            context.out.paint(&context.display_folder(Path::new(&file.path)), TextStyle::Mark);
        let _ = writeln!(text, "  {}, {}\n    {path}", level(file), describe_state(file, files));
    }
    text
}

fn level(file: &SettingsFileDocument) -> &'static str {
    match file.level {
        SettingSource::Project => "project",
        SettingSource::Home | SettingSource::Default => "home",
    }
}

/// What a file decides.
fn describe_state(file: &SettingsFileDocument, files: &[SettingsFileDocument]) -> &'static str {
    let is_wrong = file.problem.is_some();
    let has_own = files.iter().any(|one| one.level == SettingSource::Project && one.exists);
    match (file.exists, is_wrong, file.counts) {
        (false, _, _) => "not there yet",
        (true, true, _) => "cannot be used, the defaults count",
        (true, false, false) if has_own => "only [daemon] and [http] count",
        (true, false, _) => "in force",
    }
}

/// Names each wrong entry as `FILE:LINE: reason`.
fn render_problems(context: &CommandContext, files: &[SettingsFileDocument]) -> String {
    let mut text = String::new();
    for file in files {
        for problem in file.problem.iter().flat_map(|problem| problem.lines()) {
            let path = context.display_folder(Path::new(&file.path));
            let place = match problem.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
                Some((line, why)) => format!("{path}:{line}: {}", escape(why)),
                None => format!("{path}: {}", escape(problem)),
            };
            text.push_str(&render_paragraph(&place, "", TextStyle::Bad, context.out));
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The paths, whole, each with a mark if there is no file yet.
pub(super) fn render_paths(context: &CommandContext, files: &[SettingsFileDocument]) -> String {
    let mut text = String::new();
    for file in files {
        let mark = if file.exists { "" } else { "  (not there yet)" };
        let mark = context.out.paint(mark, TextStyle::Dim);
        let _ = writeln!(text, "{}{mark}", escape(&file.path));
    }
    text
}
