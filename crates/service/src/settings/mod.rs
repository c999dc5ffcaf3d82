//! The settings in force, where each comes from, and how a person changes them.
//!
//! Invariants: only what is understood is written, and whatever else a file has, comments and
//! order too, stays as it is. No secret is in the settings (keys come from the environment), and
//! credentials in an address are not given out.

mod edit;
mod entry_edit;
mod entry_problems;
mod near_keys;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use retake_engine::model::ErrorCode;
use retake_engine::settings::{SETTINGS_FILE_NAME, Settings, read_settings_text};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use toml_edit::DocumentMut;

pub use edit::SettingsChange;
pub use near_keys::{setting_keys, unknown_setting};

use crate::ApiError;
use crate::documents::{SettingDocument, SettingSource, SettingsDocument, SettingsFileDocument};

/// Sections that only the home's file decides; a running daemon reads them at its start only, but
/// for [`READ_BY_HOOKS`].
const HOME_ONLY_SECTIONS: [&str; 2] = ["daemon", "http"];
/// The key of those sections that hooks read each time.
const READ_BY_HOOKS: &str = "daemon.autostart";
/// Stands for credentials in an address.
const HIDDEN: &str = "•••";

/// Returns true if the home's file alone decides on a setting, for all projects.
pub fn is_home_only(key: &str) -> bool {
    key.split_once('.').is_some_and(|(section, _)| HOME_ONLY_SECTIONS.contains(&section))
}

/// The settings files of a home, or of one project in it.
#[derive(Clone, Debug)]
pub struct SettingsFiles {
    home: PathBuf,
    project: Option<PathBuf>,
}

/// A settings file as it was read.
#[derive(Clone, Debug)]
struct SettingsText {
    path: PathBuf,
    /// None if there is no file.
    text: Option<String>,
    /// Why it cannot be used.
    problem: Option<String>,
    /// What it says; none if there is no file, or it cannot be used.
    parsed: Option<Settings>,
}

impl SettingsFiles {
    /// The file of the home.
    pub fn of_home(home: &Path) -> Self {
        Self { home: home.to_owned(), project: None }
    }

    /// The files that decide for a project, whose folder in the home is named.
    pub fn of_project(home: &Path, folder: &Path) -> Self {
        Self { home: home.to_owned(), project: Some(folder.to_owned()) }
    }

    /// The file that is edited.
    pub fn path(&self) -> PathBuf {
        self.project.as_ref().unwrap_or(&self.home).join(SETTINGS_FILE_NAME)
    }

    /// Returns the settings in force, where each comes from, and what is wrong with the files.
    pub fn read(&self) -> SettingsDocument {
        let home = SettingsText::read(&self.home);
        let project = self.project.as_deref().map(SettingsText::read);
        // The first file that exists counts as a whole.
        let in_project = project.as_ref().filter(|file| file.text.is_some());
        let (decides, source) = match in_project {
            Some(file) => (file, SettingSource::Project),
            None => (&home, SettingSource::Home),
        };
        let mut values = Vec::new();
        for default in flatten(&Settings::default()) {
            let (file, source) = match default.section() {
                section if HOME_ONLY_SECTIONS.contains(&section) => (&home, SettingSource::Home),
                _ => (decides, source),
            };
            values.push(file.setting(default, source));
        }
        let version = project.as_ref().unwrap_or(&home).version();
        let files = std::iter::once((&home, SettingSource::Home, in_project.is_none()));
        let files = files
            .chain(project.iter().map(|file| (file, SettingSource::Project, in_project.is_some())));
        let files = files.map(|(file, level, counts)| SettingsFileDocument {
            level,
            path: file.path.to_string_lossy().into_owned(),
            exists: file.text.is_some(),
            counts: counts && file.text.is_some(),
            problem: file.problem.clone(),
        });
        SettingsDocument { files: files.collect(), version, values }
    }
}

impl SettingsText {
    fn read(folder: &Path) -> Self {
        let path = folder.join(SETTINGS_FILE_NAME);
        let (text, problem) = match read_settings_text(&path) {
            Ok(text) => (text, None),
            // Not text, or not readable: it counts, and cannot be used.
            Err(error) => (Some(String::new()), Some(error.to_string())),
        };
        let mut file = Self { path, text, problem, parsed: None };
        if file.problem.is_none()
            && let Some(text) = &file.text
        {
            match Settings::parse(text) {
                Ok(settings) => file.parsed = Some(settings),
                // Reading stops at the first wrong entry, a person corrects all of them at once.
                Err(why) => file.problem = Some(entry_problems::describe_all(text).unwrap_or(why)),
            }
        }
        file
    }

    /// What the text is known by.
    fn version(&self) -> String {
        text_version(self.text.as_deref())
    }

    /// The value in force of one setting, if this file decides.
    fn setting(&self, default: FlatSetting, source: SettingSource) -> SettingDocument {
        let now = self.parsed.as_ref().map(flatten).into_iter().flatten();
        let now = now.into_iter().find(|one| one.key == default.key);
        let named = self.parsed.is_some() && self.keys().contains(&default.key);
        let value = now.map_or_else(|| default.value.clone(), |one| one.value);
        SettingDocument {
            needs_restart: HOME_ONLY_SECTIONS.contains(&default.section())
                && default.key != READ_BY_HOOKS,
            source: if named { source } else { SettingSource::Default },
            value: hide_credentials(value),
            default: default.value,
            key: default.key,
        }
    }

    /// The keys that the file names.
    fn keys(&self) -> BTreeSet<String> {
        let document = self.text.as_deref().and_then(|text| text.parse::<DocumentMut>().ok());
        let mut keys = BTreeSet::new();
        for (section, item) in document.iter().flat_map(|document| document.iter()) {
            let names = item.as_table_like().into_iter().flat_map(toml_edit::TableLike::iter);
            keys.extend(names.map(|(name, _)| format!("{section}.{name}")));
        }
        keys
    }
}

fn text_version(text: Option<&str>) -> String {
    let Some(text) = text else { return "none".to_owned() };
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()))
}

/// One setting under its dotted key.
#[derive(Clone, Debug)]
struct FlatSetting {
    key: String,
    value: Value,
}

impl FlatSetting {
    fn section(&self) -> &str {
        self.key.split('.').next().unwrap_or_default()
    }
}

/// All settings under their dotted keys, in the order of their sections.
fn flatten(settings: &Settings) -> Vec<FlatSetting> {
    let Ok(Value::Object(sections)) = serde_json::to_value(settings) else { return Vec::new() };
    let mut flat = Vec::new();
    for (section, values) in sections {
        let values = values.as_object().cloned().unwrap_or_else(Map::new);
        let named = values
            .into_iter()
            .map(|(name, value)| FlatSetting { key: format!("{section}.{name}"), value });
        flat.extend(named);
    }
    flat
}

/// Hides the name and password of an address.
fn hide_credentials(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    let Some((scheme, rest)) = text.split_once("://") else { return value };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, _)) => format!("{path}?{HIDDEN}"),
        None => path.to_owned(),
    };
    Value::String(format!("{scheme}://{host}{path}"))
}

fn bad_value(message: String, hint: &str) -> ApiError {
    ApiError::new(ErrorCode::BadValue, message, hint)
}
