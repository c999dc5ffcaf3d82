//! The documents of `config --json`: those of HTTP, with what the environment overrides.

use retake_service::documents::{SettingDocument, SettingSource, SettingsFileDocument};
use retake_service::settings::SettingsFiles;
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::hook::AUTOSTART_VARIABLE;
use crate::context::CommandContext;

/// The setting that the environment overrides.
const AUTOSTART_KEY: &str = "daemon.autostart";
/// The environment variable of `--no-daemon`.
const NO_DAEMON_VARIABLE: &str = "RETAKE_NO_DAEMON";

/// The settings in force.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ConfigDocument {
    /// The files, the home's first.
    pub(super) files: Vec<SettingsFileDocument>,
    /// Every setting.
    pub(super) values: Vec<ConfigValue>,
}

/// One setting.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ConfigValue {
    /// As HTTP tells it, with the value in force.
    #[serde(flatten)]
    pub(super) setting: SettingDocument,
    /// The environment variable that decides instead of the files; `source` is what it overrides.
    pub(super) overridden_by: Option<&'static str>,
}

/// The settings files.
#[derive(Debug, Serialize)]
pub(super) struct ConfigFilesDocument {
    /// The home's first.
    pub(super) files: Vec<SettingsFileDocument>,
}

/// A change of one setting.
#[derive(Debug, Serialize)]
pub(super) struct ConfigChangeDocument {
    /// The setting.
    pub(super) key: String,
    /// The value before.
    pub(super) old: Value,
    /// The value now.
    pub(super) new: Value,
    /// Where the value comes from now.
    pub(super) source: SettingSource,
    /// The file that the change belongs to.
    pub(super) file: String,
    /// Whether that file changed.
    pub(super) changed: bool,
    /// Whether the value counts in this folder: a project's own file goes before the home's.
    pub(super) counts_here: bool,
    /// Whether a daemon takes it at its next start only.
    pub(super) needs_restart: bool,
    /// The process of the daemon that runs with the value before.
    pub(super) daemon_pid: Option<u32>,
    /// The environment variable that decides instead of the files.
    pub(super) overridden_by: Option<&'static str>,
}

impl ConfigDocument {
    /// Reads the files, and applies what the environment overrides.
    pub(super) fn read(context: &CommandContext, files: &SettingsFiles) -> Self {
        let read = files.read();
        let values = read.values.into_iter().map(|setting| ConfigValue::new(context, setting));
        Self { files: read.files, values: values.collect() }
    }

    /// The setting with this key.
    pub(super) fn find(&self, key: &str) -> Option<&ConfigValue> {
        self.values.iter().find(|value| value.setting.key == key)
    }
}

impl ConfigValue {
    fn new(context: &CommandContext, mut setting: SettingDocument) -> Self {
        let overridden_by = overriding_variable(context, &setting.key);
        if overridden_by.is_some() {
            setting.value = json!(false);
        }
        Self { setting, overridden_by }
    }

    /// Returns true if the value is not simply the default.
    pub(super) fn is_changed(&self) -> bool {
        self.overridden_by.is_some() || self.setting.source != SettingSource::Default
    }
}

/// The environment variable that turns a setting off: hooks start no daemon if one of these is set.
pub(super) fn overriding_variable(context: &CommandContext, key: &str) -> Option<&'static str> {
    if key != AUTOSTART_KEY {
        return None;
    }
    let is_set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if is_set(AUTOSTART_VARIABLE).is_some_and(|value| value == "0") {
        return Some(AUTOSTART_VARIABLE);
    }
    (context.skips_daemon() && is_set(NO_DAEMON_VARIABLE).is_some()).then_some(NO_DAEMON_VARIABLE)
}
