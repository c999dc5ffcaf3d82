//! Names the settings whose spelling is near to a key that no setting has.

use retake_engine::settings::Settings;

use super::{bad_value, flatten};
use crate::ApiError;

/// Minimum likeness (Jaro-Winkler, 0 to 1) of a key that is suggested.
const MIN_LIKENESS: f64 = 0.7;
/// Maximum distance in likeness to the nearest key.
const MAX_DISTANCE: f64 = 0.05;
/// Maximum keys that are suggested.
const MAX_SUGGESTIONS: usize = 3;

/// The keys of all settings.
pub fn setting_keys() -> Vec<String> {
    flatten(&Settings::default()).into_iter().map(|known| known.key).collect()
}

/// The failure of a key that no setting has; its hint names the near spellings.
pub fn unknown_setting(key: &str) -> ApiError {
    let near = near_keys(key);
    let hint = if near.is_empty() {
        "`retake config` lists all settings, docs/settings.md explains them".to_owned()
    } else {
        format!("did you mean {}? `retake config` lists all settings", near.join(" or "))
    };
    bad_value(format!("there is no setting '{key}'"), &hint)
}

/// The keys that are spelled alike, the nearest first. A bare name is compared with the names of
/// all sections, a section with those of all settings.
fn near_keys(key: &str) -> Vec<String> {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let mut found: Vec<(f64, String)> = Vec::new();
    for known in setting_keys() {
        let likeness = likeness(&key, &known);
        if likeness >= MIN_LIKENESS {
            found.push((likeness, known));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let nearest = found.first().map_or(0.0, |first| first.0);
    found.retain(|one| one.0 > nearest - MAX_DISTANCE);
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, key)| key).collect()
}

/// Compares two keys; the name decides, since a section is easily mistaken for another one.
fn likeness(written: &str, known: &str) -> f64 {
    let Some((section, name)) = known.split_once('.') else { return 0.0 };
    match written.split_once('.') {
        None if written == section => 1.0,
        None => strsim::jaro_winkler(written, name) - 0.1,
        Some((_, written_name)) => {
            let whole = strsim::jaro_winkler(written, known);
            let by_name = strsim::jaro_winkler(written_name, name);
            // Keys of one section have long common prefixes, which say little.
            (whole + 2.0 * by_name) / 3.0 - 0.1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_spelling_comes_first() {
        let first = |key: &str| near_keys(key).into_iter().next().unwrap_or_default();
        assert_eq!(near_keys("retention.maxdialogs"), ["retention.max_dialogs"]);
        assert_eq!(first("retention.max_dialog"), "retention.max_dialogs");
        assert_eq!(first("retention.max-dialogs"), "retention.max_dialogs");
        assert_eq!(first("max_dialogs"), "retention.max_dialogs");
        assert_eq!(first("limits.max_dialogs"), "retention.max_dialogs");
        assert_eq!(first("ignore.excludes"), "ignore.exclude");
        assert_eq!(first("daemon.autostrat"), "daemon.autostart");
        assert!(near_keys("shield").iter().all(|key| key.starts_with("shield.")));
        assert!(near_keys("colour").is_empty(), "{:?}", near_keys("colour"));
    }
}
