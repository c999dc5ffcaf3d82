//! Settings, variables and arguments that point each agent to the scripted model.
//!
//! They disable all confirmations, updates and telemetry.

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::AgentCli;

/// A command line, but for the prompt itself.
pub(super) struct LaunchCommand {
    pub(super) before: Vec<String>,
    /// The option that the prompt is the value of, if it is not the last argument by itself.
    pub(super) prompt: Option<&'static str>,
    pub(super) environment: Vec<(&'static str, String)>,
}

impl LaunchCommand {
    fn new(arguments: &[&str], prompt: Option<&'static str>, env: &[(&'static str, &str)]) -> Self {
        Self {
            before: arguments.iter().map(|&word| word.to_owned()).collect(),
            prompt,
            environment: env.iter().map(|&(name, value)| (name, value.to_owned())).collect(),
        }
    }
}

/// The command line for a turn; `resume` goes on with the newest conversation.
pub(super) fn launch_command(
    agent: AgentCli,
    url: &str,
    model: Option<&str>,
    resume: bool,
) -> LaunchCommand {
    match agent {
        AgentCli::ClaudeCode => claude(url, resume),
        AgentCli::Codex => codex(model, resume),
        AgentCli::Gemini => gemini(url, resume),
        AgentCli::Opencode => opencode(model, resume),
        AgentCli::Copilot => copilot(url, model, resume),
        AgentCli::Cline => cline(),
    }
}

fn claude(url: &str, resume: bool) -> LaunchCommand {
    let mut arguments =
        vec!["--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose"];
    arguments.extend(resume.then_some("--continue"));
    let environment = [
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "test-key"),
        // Without a sandbox it refuses to skip permissions for root.
        ("IS_SANDBOX", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ];
    LaunchCommand::new(&arguments, Some("-p"), &environment)
}

fn codex(model: Option<&str>, resume: bool) -> LaunchCommand {
    let mut arguments = vec!["exec"];
    if resume {
        arguments.extend(["resume", "--last"]);
    }
    arguments.extend(["--json", "--dangerously-bypass-approvals-and-sandbox"]);
    arguments.extend(["-m", model.unwrap_or("gpt-5.5")]);
    LaunchCommand::new(&arguments, None, &[("SCRIPTED_API_KEY", "test-key")])
}

fn gemini(url: &str, resume: bool) -> LaunchCommand {
    let mut arguments = vec!["--yolo", "-m", "gemini-2.5-pro", "--output-format", "stream-json"];
    if resume {
        arguments.extend(["--resume", "latest"]);
    }
    let environment = [
        ("GEMINI_API_KEY", "test-key"),
        ("GOOGLE_GEMINI_BASE_URL", url),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ("NO_COLOR", "1"),
    ];
    LaunchCommand::new(&arguments, Some("-p"), &environment)
}

fn opencode(model: Option<&str>, resume: bool) -> LaunchCommand {
    let model = format!("scripted/{}", model.unwrap_or("plain"));
    let mut arguments = vec!["run", "--format", "json", "--print-logs", "--model", &model];
    arguments.extend(resume.then_some("--continue"));
    let environment = [
        // It would install its plugin kit at the start.
        ("npm_config_registry", "http://127.0.0.1:9"),
        ("npm_config_fetch_retries", "0"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
    ];
    LaunchCommand::new(&arguments, None, &environment)
}

fn copilot(url: &str, model: Option<&str>, resume: bool) -> LaunchCommand {
    let mut arguments = vec!["--allow-all-tools", "--allow-all-paths", "--output-format", "json"];
    arguments.extend(resume.then_some("--continue"));
    let environment = [
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_ALLOW_ALL", "true"),
        ("COPILOT_PROVIDER_BASE_URL", &format!("{url}/v1")),
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_WIRE_API", "completions"),
        ("COPILOT_PROVIDER_API_KEY", "test-key"),
        ("COPILOT_MODEL", model.unwrap_or("claude-sonnet-4.5")),
    ];
    LaunchCommand::new(&arguments, Some("-p"), &environment)
}

fn cline() -> LaunchCommand {
    let arguments = ["--json", "--auto-approve", "true"];
    let environment = [("CLINE_TELEMETRY_DISABLED", "1"), ("DO_NOT_TRACK", "1")];
    LaunchCommand::new(&arguments, None, &environment)
}

/// The settings an agent needs, by their place in the home.
pub(super) fn settings(agent: AgentCli, url: &str, project: &Path) -> Vec<(&'static str, String)> {
    match agent {
        AgentCli::ClaudeCode | AgentCli::Copilot => Vec::new(),
        AgentCli::Codex => vec![(".codex/config.toml", codex_settings(url, project))],
        AgentCli::Gemini => vec![(".gemini/settings.json", gemini_settings().to_string())],
        AgentCli::Opencode => {
            vec![(".config/opencode/opencode.json", opencode_settings(url).to_string())]
        }
        AgentCli::Cline => {
            vec![(".cline/data/settings/providers.json", cline_settings(url).to_string())]
        }
    }
}

fn codex_settings(url: &str, project: &Path) -> String {
    format!(
        r#"model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
plugin_discovery_prefetch = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_API_KEY"
wire_api = "responses"
supports_websockets = false

[projects."{}"]
trust_level = "trusted"
"#,
        project.display()
    )
}

fn gemini_settings() -> Value {
    json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
    })
}

fn opencode_settings(url: &str) -> Value {
    // Models whose name begins with `gpt-` are given `apply_patch` instead of `write` and `edit`.
    let model = json!({ "name": "Scripted", "tool_call": true,
        "limit": { "context": 200_000, "output": 8_192 } });
    json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "model": "scripted/plain",
        "small_model": "scripted/plain",
        "permission": { "*": "allow" },
        "enabled_providers": ["scripted"],
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "test-key" },
            "models": { "plain": model, "gpt-5.5": model },
        }},
    })
}

fn cline_settings(url: &str) -> Value {
    json!({
        "version": 1,
        "lastUsedProvider": "openai-compatible",
        "modes": {},
        "providers": { "openai-compatible": {
            "settings": { "provider": "openai-compatible", "apiKey": "test-key",
                "model": "scripted", "baseUrl": format!("{url}/v1") },
            "updatedAt": "2026-01-01T00:00:00.000Z",
            "tokenSource": "manual",
        }},
    })
}
