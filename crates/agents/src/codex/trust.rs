//! Checks whether Codex runs our hooks: it silently skips those that a person has not approved.
//!
//! An approval is a hash in `config.toml` of the hook as it was then. It is only read here: to
//! approve is for the person, in Codex itself (`/hooks`).

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::setup::HOOK_FILE;
use crate::setup::hooks::HandlerEntry;
use crate::setup::{HookCommand, SetupError};

/// What Codex thinks of our hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodexTrust {
    /// All are approved as they are.
    Approved,
    /// At least one was never approved.
    Waiting,
    /// At least one was approved, but changed since.
    Changed,
    /// At least one was turned off.
    Off,
}

/// Events whose hooks Codex ends after three seconds, whatever the file says.
const CAPPED_EVENTS: [&str; 2] = ["session_end", "interrupt"];
const CAPPED_MAX_SECONDS: u64 = 3;
const DEFAULT_TIMEOUT_SECONDS: u64 = 600;
const CAPPED_DEFAULT_TIMEOUT_SECONDS: u64 = 1;

/// Returns the trust that `config` (the text of `config.toml`) states for our hooks in `hooks` (the
/// text of `hooks.json`, which Codex knows by one of `names`). No hooks of ours: `None`.
pub fn hook_trust(
    hooks: &str,
    config: &str,
    names: &[String],
    own: Option<&HookCommand>,
) -> Result<Option<CodexTrust>, SetupError> {
    let handlers = HOOK_FILE.handlers(hooks, own, |is_ours| is_ours)?;
    let config: toml::Table = config.parse().unwrap_or_default();
    let states = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let mut all = Vec::new();
    for HandlerEntry { event, group_at, handler_at, group, .. } in handlers {
        let event = snake_case(&event);
        let key = |name: &String| format!("{name}:{event}:{group_at}:{handler_at}");
        let state = names.iter().find_map(|name| states?.get(key(name)));
        all.push(handler_trust(state, &event, handler_at, &group));
    }
    Ok([CodexTrust::Waiting, CodexTrust::Changed, CodexTrust::Off, CodexTrust::Approved]
        .into_iter()
        .find(|trust| all.contains(trust)))
}

/// Returns whether `config.toml` turns all hooks off, in words.
pub fn switched_off(config: &str) -> Option<String> {
    let config: toml::Table = config.parse().unwrap_or_default();
    let on = config.get("features").and_then(|features| features.get("hooks"))?.as_bool()?;
    (!on).then(|| "features.hooks is false".to_owned())
}

/// Returns whether hooks of others are at another position after a change of `hooks.json`. Codex
/// knows an approved hook by its position, and skips it elsewhere.
pub fn moves_others(now: &str, then: &str, own: Option<&HookCommand>) -> bool {
    let others = |text: &str| HOOK_FILE.handlers(text, own, |is_ours| !is_ours).unwrap_or_default();
    let positions = |text: &str| -> Vec<_> {
        let position = |one: HandlerEntry| (one.event, one.group_at, one.handler_at, one.text);
        others(text).into_iter().map(position).collect()
    };
    let now = positions(now);
    positions(then).iter().any(|one| !now.contains(one))
}

fn handler_trust(
    state: Option<&toml::Value>,
    event: &str,
    handler_at: usize,
    group: &str,
) -> CodexTrust {
    let hash = state.and_then(|state| state.get("trusted_hash")).and_then(toml::Value::as_str);
    let enabled = state.and_then(|state| state.get("enabled")).and_then(toml::Value::as_bool);
    match hash {
        None => CodexTrust::Waiting,
        Some(_) if enabled == Some(false) => CodexTrust::Off,
        Some(hash) if Some(hash) == current_hash(event, handler_at, group).as_deref() => {
            CodexTrust::Approved
        }
        Some(_) => CodexTrust::Changed,
    }
}

/// The hash of a handler as it is now; none if its JSON has comments, which Codex cannot read.
fn current_hash(event: &str, handler_at: usize, group: &str) -> Option<String> {
    let group: Value = serde_json::from_str(group).ok()?;
    let handler = group.get("hooks")?.get(handler_at)?;
    let capped = CAPPED_EVENTS.contains(&event);
    let usual = if capped { CAPPED_DEFAULT_TIMEOUT_SECONDS } else { DEFAULT_TIMEOUT_SECONDS };
    let seconds = handler.get("timeout").and_then(Value::as_u64).unwrap_or(usual).max(1);
    let seconds = if capped { seconds.min(CAPPED_MAX_SECONDS) } else { seconds };
    let mut hook = json!({
        "type": "command",
        "command": handler.get("command")?,
        "timeout": seconds,
        "async": handler.get("async").unwrap_or(&Value::Bool(false)),
    });
    if let Some(message) = handler.get("statusMessage").filter(|message| !message.is_null()) {
        hook["statusMessage"] = message.clone();
    }
    let mut identity = json!({ "event_name": event, "hooks": [hook] });
    if let Some(matcher) = group.get("matcher").filter(|text| !text.is_null() && has_matcher(event))
    {
        identity["matcher"] = matcher.clone();
    }
    // Maps of serde_json are sorted by key, and its text is compact: just what Codex hashes.
    let digest = Sha256::digest(identity.to_string());
    Some(digest.iter().fold("sha256:".to_owned(), |hash, byte| format!("{hash}{byte:02x}")))
}

/// Codex ignores the matcher of the other events.
fn has_matcher(event: &str) -> bool {
    !matches!(event, "user_prompt_submit" | "stop" | "interrupt")
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests;
