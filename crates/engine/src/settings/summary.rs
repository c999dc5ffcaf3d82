//! Settings for the model that writes summaries of conversations.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The model behind HTTP that writes summaries of conversations; none unless it is set.
///
/// The key is never in the settings: only the name of the environment variable that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SummarySettings {
    /// The API that the model speaks.
    pub api: SummaryApi,
    /// Where: the address before `/chat/completions` or `/v1/messages`.
    pub url: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// The environment variable with the key; unless it is set, the usual one of the interface.
    pub key_env: Option<String>,
    /// Maximum tokens of a summary.
    pub max_tokens: u32,
    /// Maximum tokens of one request; a longer conversation is summarised in parts.
    pub max_input_tokens: u64,
    /// Request timeout in seconds.
    pub timeout_seconds: u64,
    /// Maximum attempts of a request.
    pub attempts: u32,
}

/// The HTTP API of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryApi {
    /// As OpenAI's chat completions.
    #[default]
    Openai,
    /// As Anthropic's messages.
    Anthropic,
}

impl Default for SummarySettings {
    fn default() -> Self {
        Self {
            api: SummaryApi::default(),
            url: None,
            model: None,
            key_env: None,
            max_tokens: 4096,
            max_input_tokens: 100_000,
            timeout_seconds: 120,
            attempts: 3,
        }
    }
}

impl SummarySettings {
    /// The name of the environment variable with the key.
    pub fn key_env(&self) -> &str {
        let usual = match self.api {
            SummaryApi::Openai => "OPENAI_API_KEY",
            SummaryApi::Anthropic => "ANTHROPIC_API_KEY",
        };
        self.key_env.as_deref().unwrap_or(usual)
    }

    /// Returns the request timeout.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
