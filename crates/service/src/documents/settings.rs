//! The settings in force.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The settings in force, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Settings)]
pub struct SettingsDocument {
    /// The files, the home's first. The project's counts as a whole if it exists.
    pub files: Vec<SettingsFileDocument>,
    /// What the file that a change goes to is known by: sent back, no other text is changed.
    pub version: String,
    /// Every setting.
    pub values: Vec<SettingDocument>,
}

/// A settings file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SettingsFile)]
pub struct SettingsFileDocument {
    /// Whose it is: `home` or `project`.
    pub level: SettingSource,
    /// Where it is.
    pub path: String,
    /// Whether it exists.
    pub exists: bool,
    /// Whether it decides; of the home's only `[daemon]` does if the project has a file.
    pub counts: bool,
    /// Why it cannot be used; then the defaults are in force.
    pub problem: Option<String>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Setting)]
pub struct SettingDocument {
    /// Its section and name.
    #[schema(example = "retention.max_dialogs")]
    pub key: String,
    /// The value in force; null if it is not set. Credentials in an address are hidden.
    pub value: Value,
    /// The value without any file.
    pub default: Value,
    /// Where the value comes from.
    pub source: SettingSource,
    /// Whether a change counts only from the daemon's next start on.
    pub needs_restart: bool,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    /// No file names it.
    Default,
    /// The file of the home, for all projects.
    Home,
    /// The file of the project.
    Project,
}
