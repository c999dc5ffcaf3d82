//! Settings files of agents, into which `retake setup` puts its hooks, and Retake's own.

use std::path::Path;

use retake_agents::AgentKind;
use retake_agents::setup::{
    ConfigFolders, HookCommand, SetupFileKind, SetupLevel, codex_trust, setup_targets,
};
use retake_engine::settings::Settings;
use tempfile::TempDir;

use crate::input::{choose, parts};
use crate::reused_project::{ReusedFixture, memory_folder, with_fixture};

/// Dictionary of such files.
pub const DICTIONARY: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "//",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\u{feff}",
    "\\u0041",
    "\"hooks\"",
    "\"PreToolUse\"",
    "\"Stop\"",
    "\"SessionEnd\"",
    "\"matcher\"",
    "\"command\"",
    "\"type\"",
    "\"timeout\"",
    "\"version\"",
    "\"/bin/retake hook codex\"",
    "null",
    "1",
    "{}",
    "[]",
    "[limits]",
    "max_file_bytes = ",
    "[ignore]",
    "profile = \"none\"",
    "# retake",
    "\n%%%%\n",
];

thread_local! {
    static HOME: ReusedFixture<TempDir> = const { ReusedFixture::new(None) };
}

/// A file is refused, or gets our hooks just once, loses them again, and what others wrote in it
/// stays. A second part is a `config.toml`, of Codex and of Retake.
pub fn settings(data: &[u8]) {
    let (agent, rest) = choose(&AgentKind::ALL, data);
    let [file, config] = parts(rest);
    let config = String::from_utf8_lossy(config);
    if let Ok(text) = std::str::from_utf8(file) {
        let folders = ConfigFolders::new(Path::new("/home/me"), "/p".into(), &|_| None);
        if let Some(target) = setup_targets(agent, SetupLevel::User, &folders).first() {
            check_hooks(target.form, text);
        }
        check_trust(text, &config);
    }
    check_config(&config);
}

fn check_hooks(form: SetupFileKind, before: &str) {
    let command = HookCommand::new(Path::new("/bin/retake"), None).unwrap();
    let was = form.find(before, None);
    let Ok(after) = form.add(Some(before), &command) else { return };
    assert_eq!(form.add(Some(&after), &command).as_ref(), Ok(&after), "adding twice");
    let found = form.find(&after, None).unwrap();
    assert!(found.missing == 0 && found.present > 0, "{found:?}\n{after}");
    let there = was.map_or(0, |was| was.calls.len());
    let removed = form.remove(&after, Some(before), None).unwrap();
    if let Some(removed) = &removed {
        let left = form.find(removed, None).unwrap();
        assert!(left.calls.is_empty(), "{left:?}\n{removed}");
        // Hooks of ours that were there before go, too; else everything is as it was.
        let was_blank = words_of(before).is_empty() && words_of(removed) == "{}";
        let is_same = was_blank || words_of(removed) == words_of(before);
        assert!(there > 0 || is_same, "{before}\n---\n{removed}");
    } else {
        assert!(there > 0 || before.trim().is_empty() || words_of(before).is_empty(), "{before}");
    }
}

/// Returns a file's text without its layout (which includes commas and empty lists).
fn words_of(text: &str) -> String {
    let is_layout = |sign: char| sign.is_whitespace() || ",\u{feff}".contains(sign);
    let text: String = text.chars().filter(|sign| !is_layout(*sign)).collect();
    // Copilot and Cursor cannot do without it: where it was missing, it stays.
    text.replace("\"version\":1", "")
}

fn check_trust(hooks: &str, config: &str) {
    let names = ["/home/me/.codex/hooks.json".to_owned()];
    let _ = codex_trust::hook_trust(hooks, config, &names, None);
    let _ = codex_trust::switched_off(config);
    assert!(!codex_trust::moves_others(hooks, hooks, None), "the same file moves something");
}

/// Retake's own settings are read, or refused by name.
fn check_config(text: &str) {
    with_fixture(&HOME, usize::MAX, memory_folder, |home| {
        let file = home.path().join("config.toml");
        std::fs::write(file, text).unwrap();
        if let Err(error) = Settings::load_home(home.path()) {
            assert!(error.to_string().contains("config.toml"), "{error}");
        }
    });
}
