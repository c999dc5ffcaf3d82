//! The person's settings: `config.toml` of the home or of one project in it.
//!
//! Settings are never read from the project's own folder: an agent can write
//! there, and a clone can bring a file along.

mod feedback;
mod freshness;
mod http;
mod summary;

use std::path::{Path, PathBuf};
use std::time::Duration;

use retake_model::ProjectPath;
use serde::{Deserialize, Serialize};

pub use feedback::FeedbackSettings;
pub use freshness::{FreshnessPolicy, FreshnessSettings};
pub use http::{DEFAULT_HTTP_PORT, HttpSettings};
pub use summary::{SummaryApi, SummarySettings};

/// File name of the settings.
pub const SETTINGS_FILE_NAME: &str = "config.toml";

/// All settings, with their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What is not tracked.
    pub ignore: IgnoreSettings,
    /// Size limits.
    pub limits: LimitSettings,
    /// The capture before destructive commands.
    pub shield: ShieldSettings,
    /// How much is kept.
    pub retention: RetentionSettings,
    /// How long to wait.
    pub wait: WaitSettings,
    /// When checkpoints are made by themselves.
    pub checkpoints: CheckpointSettings,
    /// What agents call.
    pub hook: HookSettings,
    /// Notices to agents about files that changed after they read them.
    pub freshness: FreshnessSettings,
    /// What agents are told of the person's review of their work.
    pub feedback: FeedbackSettings,
    /// What is kept of conversations.
    pub history: HistorySettings,
    /// Who writes summaries of conversations.
    pub summary: SummarySettings,
    /// Output to other programs.
    pub api: ApiSettings,
    /// The daemon; only the home's file counts.
    pub daemon: DaemonSettings,
    /// The daemon's HTTP interface; only the home's file counts.
    pub http: HttpSettings,
}

/// Output to other programs, by HTTP and MCP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApiSettings {
    /// Whether passwords, keys and tokens are masked in it. The record keeps them.
    pub mask: bool,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self { mask: true }
    }
}

/// The daemon, which serves all projects of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DaemonSettings {
    /// Whether a hook starts it if none runs: with a daemon, the scans around commands cost only
    /// what has changed.
    pub autostart: bool,
    /// Minutes of idling until it shuts down.
    pub idle_minutes: u64,
    /// The earlier name of [`HttpSettings::port`], which goes before it.
    pub port: Option<u16>,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self { autostart: true, idle_minutes: 60, port: None }
    }
}

impl DaemonSettings {
    /// Returns how long the daemon stays idle until it shuts down.
    pub fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.idle_minutes.saturating_mul(60))
    }
}

/// What agents call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HookSettings {
    /// Milliseconds until the agent gets its reply, even if recording is not finished by then.
    pub budget_ms: u64,
}

impl Default for HookSettings {
    fn default() -> Self {
        Self { budget_ms: 2000 }
    }
}

impl HookSettings {
    /// Returns the time budget of a hook.
    pub fn budget(&self) -> Duration {
        Duration::from_millis(self.budget_ms)
    }
}

/// What is kept of conversations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistorySettings {
    /// Whether the model's history is kept too, as agents write it down, not only what was said.
    pub keep: bool,
    /// Maximum bytes kept of an agent's message; the longest tool results are shortened first.
    pub max_message_bytes: u64,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self { keep: true, max_message_bytes: 1024 * 1024 }
    }
}

/// When checkpoints are made by themselves (C-3, CKPT-8, CKPT-9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSettings {
    /// The occasions.
    pub policy: CheckpointPolicy,
    /// After edits: only if one of the files has such an extension; none means any.
    pub extensions: Vec<String>,
    /// After edits: minimum files edited.
    pub min_files: usize,
}

/// The occasions on which checkpoints are made by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointPolicy {
    /// Before each message of the person.
    #[default]
    PerMessage,
    /// Also at the end of a turn that edited files.
    PerMessageAndAfterEdits,
    /// Only on request; a dialog's first one and those before operations are made all the same.
    Manual,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self { policy: CheckpointPolicy::default(), extensions: Vec::new(), min_files: 1 }
    }
}

impl CheckpointSettings {
    /// Returns whether an edit of this file counts.
    pub(crate) fn counts_edit_of(&self, path: &ProjectPath) -> bool {
        let name = path.file_name();
        let has = |extension: &String| {
            let extension = extension.trim_start_matches('.').as_bytes();
            name.strip_suffix(extension).is_some_and(|rest| rest.ends_with(b"."))
        };
        self.extensions.is_empty() || self.extensions.iter().any(has)
    }
}

/// What is not tracked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IgnoreSettings {
    /// The default excludes: `classic`, or `none` for git's rules alone.
    pub profile: IgnoreProfile,
    /// More patterns that are left out, in gitignore syntax.
    pub exclude: Vec<String>,
    /// Patterns that are tracked although a rule leaves them out.
    pub include: Vec<String>,
    /// Patterns of scratch files, which are left out and counted (FILT-1).
    pub scratch: Vec<String>,
}

/// The default excludes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IgnoreProfile {
    /// Build output, dependencies, caches, editor and system files (FILT-5…10).
    #[default]
    Classic,
    /// Nothing beyond git's rules.
    None,
}

impl Default for IgnoreSettings {
    fn default() -> Self {
        let scratch = retake_workspace::SCRATCH_PATTERNS;
        Self {
            profile: IgnoreProfile::Classic,
            exclude: Vec::new(),
            include: Vec::new(),
            scratch: scratch.iter().map(|&pattern| pattern.to_owned()).collect(),
        }
    }
}

impl IgnoreSettings {
    /// The patterns of lowest precedence.
    pub(crate) fn profile_patterns(&self) -> Vec<String> {
        let classic = match self.profile {
            IgnoreProfile::Classic => retake_workspace::DEFAULT_EXCLUDES,
            IgnoreProfile::None => &[],
        };
        classic.iter().map(|&pattern| pattern.to_owned()).chain(self.exclude.clone()).collect()
    }
}

/// Size limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Files above this are listed as gaps and not kept (C-5).
    pub max_file_bytes: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self { max_file_bytes: 2 * 1024 * 1024 * 1024 }
    }
}

/// The capture before destructive commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShieldSettings {
    /// Whether ignored files are captured before a command that may destroy them.
    pub enabled: bool,
    /// At most this many bytes a command.
    pub max_bytes: u64,
    /// At most this many files a command.
    pub max_files: usize,
}

impl Default for ShieldSettings {
    fn default() -> Self {
        Self { enabled: true, max_bytes: 64 * 1024 * 1024, max_files: 20_000 }
    }
}

/// How much is kept; `retake gc` removes the rest, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// Dialogs that were last active longer ago than this go; for ever if it is not set.
    pub max_age_days: Option<u32>,
    /// Maximum dialogs kept, the latest ones.
    pub max_dialogs: usize,
    /// Maximum bytes kept.
    pub max_bytes: u64,
    /// Unapproved work of dialogs that were active within this many days always stays.
    pub protect_days: u32,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        let max_bytes = 10 * 1024 * 1024 * 1024;
        Self { max_age_days: None, max_dialogs: 30, max_bytes, protect_days: 14 }
    }
}

/// How long to wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WaitSettings {
    /// Milliseconds until an event that finds the project locked is spooled.
    pub event_ms: u64,
    /// Milliseconds until a command that finds the project locked gives up.
    pub command_ms: u64,
}

impl Default for WaitSettings {
    fn default() -> Self {
        Self { event_ms: 1500, command_ms: 10_000 }
    }
}

impl WaitSettings {
    pub(crate) fn event_timeout(&self) -> Duration {
        Duration::from_millis(self.event_ms)
    }

    pub(crate) fn command_timeout(&self) -> Duration {
        Duration::from_millis(self.command_ms)
    }
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the settings in {} cannot be used: {why}", path.display())]
pub struct SettingsError {
    path: PathBuf,
    why: String,
}

impl Settings {
    /// The settings in `config.toml` of the project's folder, else of the home, else the defaults.
    pub fn load(home: &Path, project: &Path) -> Result<Self, SettingsError> {
        match Self::read(project)? {
            Some(settings) => Ok(settings),
            None => Self::load_home(home),
        }
    }

    /// The settings in `config.toml` of the home, else the defaults.
    pub fn load_home(home: &Path) -> Result<Self, SettingsError> {
        Ok(Self::read(home)?.unwrap_or_default())
    }

    /// The settings that a file's text says; the error tells what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|why| describe_error(text, &why))
    }

    fn read(folder: &Path) -> Result<Option<Self>, SettingsError> {
        let path = folder.join(SETTINGS_FILE_NAME);
        let error = |why: String| SettingsError { path: path.clone(), why };
        match read_settings_text(&path) {
            Ok(text) => text.map(|text| Self::parse(&text)).transpose().map_err(error),
            Err(why) => Err(error(why.to_string())),
        }
    }
}

/// Reads a settings file; `None` if there is none. A pipe is not read: it would block.
pub fn read_settings_text(path: &Path) -> std::io::Result<Option<String>> {
    use std::os::unix::fs::FileTypeExt as _;
    match path.metadata() {
        Ok(data) if data.file_type().is_fifo() => Err(std::io::Error::other("it is a pipe")),
        Ok(_) => std::fs::read_to_string(path).map(Some),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

/// Where and why a text cannot be read. The line itself is left out: agents are told of it, and an
/// address in it may hold credentials.
fn describe_error(text: &str, why: &toml::de::Error) -> String {
    let before = why.span().and_then(|span| text.get(..span.start));
    match before {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            format!("line {line}: {}", why.message())
        }
        None => why.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_overrides_the_home_and_a_typo_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("p");
        retake_seam_free_write(home.path(), "[limits]\nmax_file_bytes = 5\n");
        assert_eq!(Settings::load(home.path(), &project).unwrap().limits.max_file_bytes, 5);
        std::fs::DirBuilder::new().create(&project).unwrap();
        retake_seam_free_write(&project, "[ignore]\nprofile = \"none\"\n");
        let settings = Settings::load(home.path(), &project).unwrap();
        assert_eq!(settings.ignore.profile, IgnoreProfile::None);
        assert_eq!(settings.limits, LimitSettings::default());
        retake_seam_free_write(&project, "[ignroe]\n");
        let error = Settings::load(home.path(), &project).unwrap_err().to_string();
        assert!(error.contains("config.toml") && error.contains("ignroe"), "{error}");
    }

    fn retake_seam_free_write(folder: &Path, text: &str) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(folder.join("config.toml")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
}
