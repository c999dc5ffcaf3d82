//! `retake config set` and `unset`: writes one setting, and says from when on it counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use retake_server::RunFolder;
use retake_service::documents::{SettingSource, SettingsDocument, SettingsFileDocument};
use retake_service::settings::{SettingsChange, SettingsFiles, is_home_only, unknown_setting};
use serde_json::Value;

use super::document::{ConfigChangeDocument, overriding_variable};
use super::{files_here, value};
use crate::args::{ConfigSetArgs, ConfigUnsetArgs};
use crate::context::{CommandContext, Exit};
use crate::output::{TextStyle, print_message};

pub(super) fn set(context: &CommandContext, options: &ConfigSetArgs) -> Result<Exit> {
    let (files, key) = (target_files(context, options.here)?, &options.key);
    let before = files.read();
    let setting = before.values.iter().find(|setting| setting.key == *key);
    let setting = setting.ok_or_else(|| unknown_setting(key))?;
    let wanted = value::parse_value(&files, setting, &options.values)?;
    write(context, &files, &before, &ChangedSetting { key, value: wanted, here: options.here })
}

pub(super) fn unset(context: &CommandContext, options: &ConfigUnsetArgs) -> Result<Exit> {
    let (files, key) = (target_files(context, options.here)?, &options.key);
    let before = files.read();
    write(context, &files, &before, &ChangedSetting { key, value: Value::Null, here: options.here })
}

/// A setting and the value that it gets; null takes it out of the file.
struct ChangedSetting<'a> {
    key: &'a str,
    value: Value,
    here: bool,
}

/// The file that is written: the home's, or with `--here` the project's own in Retake's home.
fn target_files(context: &CommandContext, here: bool) -> Result<SettingsFiles> {
    let home = context.retake.folder();
    if !here {
        return Ok(SettingsFiles::of_home(home));
    }
    let located = context.retake.locate(context.start_folder())?;
    Ok(SettingsFiles::of_project(home, located.folder()))
}

fn write(
    context: &CommandContext,
    files: &SettingsFiles,
    before: &SettingsDocument,
    change: &ChangedSetting<'_>,
) -> Result<Exit> {
    let is_new_file = before.files.last().is_some_and(|file| !file.exists);
    if change.value.is_null() && is_new_file {
        // Nothing to take out; a new file would only repeat what the home's says.
        files.check(change.key, &Value::Null)?;
    } else {
        let set = BTreeMap::from([(change.key.to_owned(), change.value.clone())]);
        files.write(&SettingsChange { set, version: None })?;
    }
    let after = files.read();
    let Some(document) = describe_change(context, files, before, &after, change) else {
        return Err(unknown_setting(change.key).into());
    };
    if context.json {
        context.out.json(&document)?;
        return Ok(Exit::Done);
    }
    context.out.text(&render_change(context, &document))?;
    if change.here && is_new_file && document.changed {
        let text = "this project has settings of its own now, which began with what the home's \
                    say; changes of those no longer count here, except [daemon] and [http]";
        print_message("note", TextStyle::Mark, text);
    }
    print_notes(&document);
    Ok(Exit::Done)
}

fn describe_change(
    context: &CommandContext,
    files: &SettingsFiles,
    before: &SettingsDocument,
    after: &SettingsDocument,
    change: &ChangedSetting<'_>,
) -> Option<ConfigChangeDocument> {
    let find = |document: &SettingsDocument| {
        document.values.iter().find(|setting| setting.key == change.key).cloned()
    };
    let (old, new) = (find(before)?, find(after)?);
    let owner = RunFolder::in_home(context.retake.folder()).owner();
    Some(ConfigChangeDocument {
        key: new.key.clone(),
        counts_here: change.here || counts_here(context, &new.key),
        daemon_pid: owner.filter(|_| new.needs_restart && old.value != new.value),
        overridden_by: overriding_variable(context, &new.key),
        old: old.value,
        new: new.value,
        source: new.source,
        file: files.path().to_string_lossy().into_owned(),
        changed: before.version != after.version,
        needs_restart: new.needs_restart,
    })
}

/// Returns true if the home's value of a setting counts in this folder.
fn counts_here(context: &CommandContext, key: &str) -> bool {
    let Ok(here) = files_here(context) else { return true };
    let is_own = |file: &SettingsFileDocument| file.level == SettingSource::Project && file.exists;
    is_home_only(key) || !here.read().files.iter().any(is_own)
}

fn render_change(context: &CommandContext, change: &ConfigChangeDocument) -> String {
    let key = &change.key;
    let old = value::describe_value(key, &change.old);
    let new = value::describe_value(key, &change.new);
    let default = if change.source == SettingSource::Default { " (default)" } else { "" };
    let file = context.display_folder(Path::new(&change.file));
    if !change.changed {
        return format!("{key} is {new}{default}\nNothing to change in {file}\n");
    }
    let key = context.out.paint(key, TextStyle::Bold);
    let mut text = format!("{key}: {old} → {new}{default}\n");
    let _ = writeln!(text, "Written to {file}");
    text
}

fn print_notes(change: &ConfigChangeDocument) {
    let note = |text: &str| print_message("note", TextStyle::Mark, text);
    if !change.counts_here {
        note("this project has a settings file of its own, which counts here; --here changes that");
    }
    if let Some(variable) = change.overridden_by {
        note(&format!("{variable} is set and goes before it, where it is set"));
    }
    if let Some(pid) = change.daemon_pid {
        note(&format!(
            "the daemon, process {pid}, takes it at its next start: `retake daemon stop`, then \
             `retake daemon start`"
        ));
    }
}
