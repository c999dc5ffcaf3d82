//! Who writes summaries of conversations, and how they are asked.

use std::time::Duration;

use serde::Deserialize;

/// Who writes summaries of conversations: a model behind HTTP. Nobody, unless it is set.
///
/// The key is never in the settings: only the name of the environment variable that has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Summary {
    /// How the model is spoken to.
    pub api: SummaryApi,
    /// Where: the address before `/chat/completions` or `/v1/messages`.
    pub url: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// The environment variable with the key; unless it is set, the usual one of the interface.
    pub key_env: Option<String>,
    /// How many tokens a summary has at most.
    pub max_tokens: u32,
    /// How many tokens are sent at once; a longer conversation is summarised in parts.
    pub max_input_tokens: u64,
    /// Seconds until a request is given up.
    pub timeout_seconds: u64,
    /// How often a request is made at most.
    pub attempts: u32,
}

/// How a model is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryApi {
    /// As OpenAI's chat completions.
    #[default]
    Openai,
    /// As Anthropic's messages.
    Anthropic,
}

impl Default for Summary {
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

impl Summary {
    /// The name of the environment variable with the key.
    pub fn key_env(&self) -> &str {
        let usual = match self.api {
            SummaryApi::Openai => "OPENAI_API_KEY",
            SummaryApi::Anthropic => "ANTHROPIC_API_KEY",
        };
        self.key_env.as_deref().unwrap_or(usual)
    }

    /// How long to wait for an answer.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
