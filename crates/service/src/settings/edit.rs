//! Changes single settings in a file, whose comments and order stay.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use retake_engine::FileLock;
use retake_engine::model::ErrorCode;
use retake_engine::settings::{SETTINGS_FILE_NAME, Settings, read_settings_text};
use retake_seam::fs::{StagedPermissions, StagedReplacement, create_private_dir_all};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Value as TomlValue};

use super::{
    HIDDEN, HOME_ONLY_SECTIONS, SettingsFiles, bad_value, entry_edit, entry_problems, flatten,
    text_version, unknown_setting,
};
use crate::ApiError;

/// Maximum time to wait for the lock of the file's folder.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// The hint of every key or value that is refused.
const DOCS_HINT: &str = "docs/settings.md tells all settings; nothing was changed";

/// A change of single settings.
#[derive(Clone, Debug, Default)]
pub struct SettingsChange {
    /// The new value of each dotted key; null takes the key out of the file.
    pub set: BTreeMap<String, Value>,
    /// The version of the file that the person saw; another one is left alone.
    pub version: Option<String>,
}

impl SettingsFiles {
    /// Writes a change, whole or not at all.
    ///
    /// A project without a file of its own gets one that begins with what the home's says, since
    /// the first file that exists counts as a whole.
    pub fn write(&self, change: &SettingsChange) -> Result<(), ApiError> {
        for (key, value) in &change.set {
            self.check(key, value)?;
        }
        let path = real_path(&self.path())?;
        let _lock = self.lock()?;
        let now = read_text(&path)?;
        let version = text_version(now.as_deref());
        if change.version.as_ref().is_some_and(|seen| *seen != version) {
            return Err(ApiError::new(
                ErrorCode::PlanChanged,
                format!("{} is not as it was seen", path.display()),
                "read the settings again, and send their version",
            ));
        }
        let mut text = self.begin_text(&path, now.as_deref())?;
        for (key, value) in &change.set {
            let (section, name) = split_key(key)?;
            text = entry_edit::put(&text, section, name, to_toml(key, value)?)
                .map_err(|why| unusable(&path, &why))?;
        }
        // Each value was checked by itself: whatever is wrong was wrong before, and is told with the
        // lines that it has in the file.
        Settings::parse(&text).map_err(|why| {
            let before = now.as_deref().and_then(entry_problems::describe_all);
            unusable(&path, &before.map_or(why, |problems| problems.replace('\n', "; ")))
        })?;
        replace(&path, now.as_deref(), &text)
    }

    /// Takes the lock of the file's folder: of two changes at once, both are in the file afterwards.
    fn lock(&self) -> Result<FileLock, ApiError> {
        let folder = self.project.as_ref().unwrap_or(&self.home);
        create_private_dir_all(folder).map_err(|error| unusable(folder, &error.to_string()))?;
        FileLock::acquire(folder, LOCK_TIMEOUT)?.ok_or_else(|| {
            let message = format!("{} is in use", folder.display());
            ApiError::new(ErrorCode::Busy, message, "try again; nothing was changed")
        })
    }

    /// Checks a key, and its value by itself, so that the one that is wrong is named. Null fits
    /// every key.
    pub fn check(&self, key: &str, value: &Value) -> Result<(), ApiError> {
        let (section, name) = split_key(key)?;
        if self.project.is_some() && HOME_ONLY_SECTIONS.contains(&section) {
            return Err(bad_value(
                format!("'{key}' is the same for all projects"),
                "write it to the settings of the home: `retake config set` without --here, or \
                 PATCH /api/settings",
            ));
        }
        if value.as_str().is_some_and(|text| text.contains(HIDDEN)) {
            return Err(bad_value(
                format!("the value of '{key}' has a hidden part ({HIDDEN})"),
                "send it whole, or leave the key out",
            ));
        }
        let alone = entry_edit::put("", section, name, to_toml(key, value)?)
            .map_err(|why| bad_value(format!("'{key}': {why}"), DOCS_HINT))?;
        Settings::parse(&alone).map(drop).map_err(|why| {
            let why = why.lines().last().unwrap_or_default().to_owned();
            bad_value(format!("'{key}' cannot be {value}: {why}"), DOCS_HINT)
        })
    }

    /// The text that the change is put into.
    fn begin_text(&self, path: &Path, now: Option<&str>) -> Result<String, ApiError> {
        if let Some(text) = now {
            let parsed = text.parse::<DocumentMut>();
            return parsed
                .map(|_| text.to_owned())
                .map_err(|error| unusable(path, &error.to_string()));
        }
        if self.project.is_none() {
            return Ok(String::new());
        }
        let home = self.home.join(SETTINGS_FILE_NAME);
        let text = read_text(&home)?.unwrap_or_default();
        let mut document =
            text.parse::<DocumentMut>().map_err(|error| unusable(&home, &error.to_string()))?;
        if !HOME_ONLY_SECTIONS.iter().any(|section| document.contains_key(section)) {
            return Ok(text);
        }
        for section in HOME_ONLY_SECTIONS {
            document.remove(section);
        }
        Ok(document.to_string())
    }
}

/// Splits a dotted key; refuses one that no setting has.
fn split_key(key: &str) -> Result<(&str, &str), ApiError> {
    let known = flatten(&Settings::default()).iter().any(|one| one.key == key);
    key.split_once('.').filter(|_| known).ok_or_else(|| unknown_setting(key))
}

/// The value in TOML; none for null.
fn to_toml(key: &str, value: &Value) -> Result<Option<TomlValue>, ApiError> {
    let wrong =
        || bad_value(format!("'{key}' cannot be {value}: no setting has such a value"), DOCS_HINT);
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(on) => (*on).into(),
        Value::Number(number) => number.as_i64().ok_or_else(wrong)?.into(),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            let texts: Option<Vec<_>> = items.iter().map(Value::as_str).collect();
            TomlValue::Array(texts.ok_or_else(wrong)?.into_iter().collect::<Array>())
        }
        Value::Object(_) => return Err(wrong()),
    }))
}

fn unusable(path: &Path, why: &str) -> ApiError {
    let message = format!("{} is left as it is: {why}", path.display());
    ApiError::new(ErrorCode::Settings, message, "correct it, see docs/settings.md")
}

/// The file behind a link: people keep their settings elsewhere, and the link stays.
fn real_path(path: &Path) -> Result<PathBuf, ApiError> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if path.is_symlink() => {
            Err(unusable(path, &format!("it is a link that leads nowhere: {error}")))
        }
        Err(_) => Ok(path.to_owned()),
    }
}

fn read_text(path: &Path) -> Result<Option<String>, ApiError> {
    read_settings_text(path).map_err(|error| unusable(path, &error.to_string()))
}

/// Replaces the text, if it still is what was read.
fn replace(path: &Path, now: Option<&str>, then: &str) -> Result<(), ApiError> {
    if now == Some(then) || (now.is_none() && then.is_empty()) {
        return Ok(());
    }
    let failed = |error: std::io::Error| unusable(path, &error.to_string());
    let permissions = match path.metadata() {
        Ok(known) => StagedPermissions::Exactly {
            mode: known.mode() & 0o7777,
            user: known.uid(),
            group: known.gid(),
        },
        Err(_) => StagedPermissions::New(0o600),
    };
    if let Some(folder) = path.parent() {
        create_private_dir_all(folder).map_err(failed)?;
    }
    let staged = StagedReplacement::new(path, then.as_bytes(), permissions).map_err(failed)?;
    // As late as possible: a concurrent save must not be lost.
    if read_text(path)?.as_deref() != now {
        return Err(ApiError::new(
            ErrorCode::PlanChanged,
            format!("{} was changed meanwhile", path.display()),
            "read the settings again, and try once more",
        ));
    }
    staged.persist().map_err(failed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(text: &str, key: &str, value: &Value) -> Result<String, ApiError> {
        let (section, name) = split_key(key)?;
        entry_edit::put(text, section, name, to_toml(key, value)?)
            .map_err(|why| unusable(Path::new("x"), &why))
    }

    #[test]
    fn a_value_is_put_in_and_the_rest_stays() {
        let put = |text: &str, on: bool| with(text, "daemon.autostart", &json!(on)).unwrap();
        assert_eq!(put("", true), "[daemon]\nautostart = true\n");
        let text =
            "# mine\n[hook] # fast\nbudget_ms = 5\n\n[daemon] # here\nautostart = false # no\n";
        assert_eq!(put(text, true), text.replace("false", "true"));
        assert_eq!(put(text, false), text);
        let text = "[daemon]\n# an hour\nidle_minutes = 60\n";
        assert_eq!(put(text, true), format!("{text}autostart = true\n"));
        assert_eq!(put("daemon.port = 7\n", true), "daemon.port = 7\ndaemon.autostart = true\n");
        assert!(with("daemon = 3", "daemon.autostart", &json!(true)).is_err());
        let text = "[ignore] # what\nexclude = [\"a\"] # my own\n";
        let lists = with(text, "ignore.exclude", &json!(["a", "b"])).unwrap();
        assert_eq!(lists, "[ignore] # what\nexclude = [\"a\", \"b\"] # my own\n");
        assert_eq!(with(text, "ignore.exclude", &Value::Null).unwrap(), "[ignore] # what\n");
    }
}
