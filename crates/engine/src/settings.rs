//! What a person can set, in `config.toml` of the home or of one project in it.
//!
//! Settings are never read from the project's own folder: an agent can write
//! there, and a clone can bring a file along.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

/// All settings, with their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What is not tracked.
    pub ignore: Ignore,
    /// Size limits.
    pub limits: Limits,
    /// The capture before destructive commands.
    pub shield: Shield,
    /// How long to wait.
    pub wait: Wait,
}

/// What is not tracked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ignore {
    /// The default excludes: `classic`, or `none` for git's rules alone.
    pub profile: Profile,
    /// More patterns that are left out, in gitignore syntax.
    pub exclude: Vec<String>,
    /// Patterns that are tracked although a rule leaves them out.
    pub include: Vec<String>,
    /// Patterns of scratch files, which are left out and counted (FILT-1).
    pub scratch: Vec<String>,
}

/// The default excludes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Build output, dependencies, caches, editor and system files (FILT-5…10).
    #[default]
    Classic,
    /// Nothing beyond git's rules.
    None,
}

impl Default for Ignore {
    fn default() -> Self {
        let scratch = retake_workspace::SCRATCH_PATTERNS;
        Self {
            profile: Profile::Classic,
            exclude: Vec::new(),
            include: Vec::new(),
            scratch: scratch.iter().map(|&pattern| pattern.to_owned()).collect(),
        }
    }
}

impl Ignore {
    /// The patterns of lowest precedence.
    pub(crate) fn profile_patterns(&self) -> Vec<String> {
        let classic = match self.profile {
            Profile::Classic => retake_workspace::DEFAULT_EXCLUDES,
            Profile::None => &[],
        };
        classic.iter().map(|&pattern| pattern.to_owned()).chain(self.exclude.clone()).collect()
    }
}

/// Size limits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Files above this are listed as gaps and not kept (C-5).
    pub max_file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_file_bytes: 2 * 1024 * 1024 * 1024 }
    }
}

/// The capture before destructive commands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shield {
    /// Whether ignored files are captured before a command that may destroy them.
    pub enabled: bool,
    /// At most this many bytes a command.
    pub max_bytes: u64,
    /// At most this many files a command.
    pub max_files: usize,
}

impl Default for Shield {
    fn default() -> Self {
        Self { enabled: true, max_bytes: 64 * 1024 * 1024, max_files: 2000 }
    }
}

/// How long to wait.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wait {
    /// Milliseconds until an event that finds the project locked is spooled.
    pub event_ms: u64,
    /// Milliseconds until a command that finds the project locked gives up.
    pub command_ms: u64,
}

impl Default for Wait {
    fn default() -> Self {
        Self { event_ms: 1500, command_ms: 10_000 }
    }
}

impl Wait {
    pub(crate) fn event(&self) -> Duration {
        Duration::from_millis(self.event_ms)
    }

    pub(crate) fn command(&self) -> Duration {
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
        for path in [project.join("config.toml"), home.join("config.toml")] {
            let error = |why: String| SettingsError { path: path.clone(), why };
            match std::fs::read_to_string(&path) {
                Ok(text) => return toml::from_str(&text).map_err(|why| error(why.to_string())),
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
                Err(why) => return Err(error(why.to_string())),
            }
        }
        Ok(Self::default())
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
        assert_eq!(settings.ignore.profile, Profile::None);
        assert_eq!(settings.limits, Limits::default());
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
