//! Summaries of conversations, by a model behind HTTP: the only code that connects to other
//! machines, and only when a person asked for a summary.
//!
//! Invariants: the key goes to the host in the settings and nowhere else: it is in no error and no
//! log, redirects are not followed, and without TLS only this machine is talked to. A request ends
//! after its time, and an answer is read up to a size.

mod prompt;
mod provider;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use retake_engine::model::{ErrorCode, ModelMessage};
use retake_engine::settings::{SummaryApi, SummarySettings};
use retake_engine::{Summariser, SummaryError, SummaryRequest, SummaryRetry};
use serde_json::Value;
use ureq::http::{Response, Uri};
use ureq::{Agent, Body};

use crate::{ApiError, Masking, tokens};
use provider::SummaryAnswer;

/// Maximum bytes of an answer that are read.
const MAX_ANSWER_BYTES: u64 = 4 * 1024 * 1024;
/// Timeout of the connection to the host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum characters of a failed answer's reason that are shown.
const MAX_REASON_CHARS: usize = 300;

/// Requests summaries from the model in the settings.
#[derive(Debug)]
pub struct HttpSummariser {
    agent: Agent,
    api: SummaryApi,
    url: String,
    host: String,
    model: String,
    key: ApiKey,
}

/// An API key, which `Debug` does not show.
struct ApiKey(Option<String>);

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Key(…)" } else { "Key(none)" })
    }
}

impl HttpSummariser {
    /// The one that the settings name; `variable` reads the environment, which has the key.
    pub fn new(
        settings: &SummarySettings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ApiError> {
        let needed = |value: &Option<String>, name: &str, example: &str| {
            value.clone().ok_or_else(|| {
                let message = format!("no model is set that could write a summary: summary.{name}");
                settings_error(
                    message,
                    &format!("set it in config.toml, for example {name} = {example:?}"),
                )
            })
        };
        let base = needed(&settings.url, "url", "https://api.openai.com/v1")?;
        let model = needed(&settings.model, "model", "gpt-5-mini")?;
        let (host, is_here) = parse_host(&base)?;
        let key = variable(settings.key_env()).filter(|key| !key.trim().is_empty());
        if key.is_none() && !is_here {
            let message =
                format!("the environment has no {}, the key for {host}", settings.key_env());
            return Err(settings_error(
                message,
                "set it, or name another variable in summary.key_env",
            ));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT.min(settings.timeout())))
            .timeout_global(Some(settings.timeout()));
        if is_here {
            config = config.proxy(None);
        }
        Ok(Self {
            agent: config.build().new_agent(),
            api: settings.api,
            url: format!("{}{}", base.trim_end_matches('/'), provider::request_path(settings.api)),
            host,
            model,
            key: ApiKey(key.map(|key| key.trim().to_owned())),
        })
    }

    /// The request options of the settings.
    pub fn request_options<'a>(
        &'a self,
        settings: &SummarySettings,
        pause: &'a dyn Fn(Duration),
    ) -> SummaryRequest<'a> {
        SummaryRequest {
            summariser: self,
            count: &tokens::count_tokens,
            max_tokens: settings.max_tokens,
            max_input_tokens: settings.max_input_tokens,
            attempts: settings.attempts,
            pause,
        }
    }

    fn send(&self, body: &Value) -> Result<Response<Body>, ureq::Error> {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        for (name, value) in provider::request_headers(self.api, self.key.0.as_deref()) {
            request = request.header(name, value);
        }
        request.send(body.to_string())
    }

    fn error(&self, why: impl fmt::Display, retry: SummaryRetry) -> SummaryError {
        let why = self.redact_key(&format!("{}: {why}", self.host));
        SummaryError { why: Masking::On.mask_text(&why).into_owned(), retry }
    }

    /// Redacts the key from a foreign text, which may quote what was sent.
    fn redact_key(&self, text: &str) -> String {
        match &self.key.0 {
            Some(key) => text.replace(key.as_str(), "…"),
            None => text.to_owned(),
        }
    }

    fn status_error(&self, answer: &Response<Body>, body: &[u8]) -> SummaryError {
        let status = answer.status().as_u16();
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        // Before truncating: a key that is cut would not be found.
        let reason = self.redact_key(provider::failure_reason(&parsed).unwrap_or_default());
        let reason: String =
            Masking::On.mask_text(&reason).chars().take(MAX_REASON_CHARS).collect();
        let why = match (status, reason.is_empty()) {
            (300..400, _) => {
                format!(
                    "it leads elsewhere (status {status}); name the last address in summary.url"
                )
            }
            (_, true) => format!("status {status}"),
            (_, false) => format!("status {status}: {reason}"),
        };
        let retry = match status {
            408 | 429 | 500.. => {
                retry_after(answer).map_or(SummaryRetry::Soon, SummaryRetry::After)
            }
            _ => SummaryRetry::Never,
        };
        self.error(why, retry)
    }
}

impl Summariser for HttpSummariser {
    fn summarise(
        &self,
        messages: &[ModelMessage],
        at_most_tokens: u32,
    ) -> Result<String, SummaryError> {
        let transcript = prompt::render_transcript(messages);
        let body = provider::request_body(self.api, &self.model, &transcript, at_most_tokens);
        let mut answer = self.send(&body).map_err(|error| self.error(error, SummaryRetry::Soon))?;
        let read = answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let body = read.map_err(|error| self.error(error, SummaryRetry::Soon))?;
        if !answer.status().is_success() {
            return Err(self.status_error(&answer, &body));
        }
        let said: Value = serde_json::from_slice(&body).map_err(|error| {
            self.error(format!("its answer is not JSON: {error}"), SummaryRetry::Soon)
        })?;
        match provider::parse_answer(self.api, &said) {
            SummaryAnswer::Summary(summary) => Ok(self.redact_key(&summary)),
            SummaryAnswer::CutOff => Err(self.error(
                format!("the summary was cut off at {at_most_tokens} tokens (summary.max_tokens)"),
                SummaryRetry::Never,
            )),
            SummaryAnswer::Unknown => {
                Err(self.error("its answer has no summary", SummaryRetry::Soon))
            }
        }
    }
}

/// Returns the delay of the answer's `Retry-After`.
fn retry_after(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The host of an address, and whether it is this machine.
fn parse_host(url: &str) -> Result<(String, bool), ApiError> {
    let uri: Option<Uri> = url.parse().ok();
    let authority = uri.as_ref().and_then(Uri::authority).map_or(url, |found| found.as_str());
    if authority.contains('@') {
        let message = "summary.url has a name or a password in it".to_owned();
        return Err(settings_error(
            message,
            "leave out what is before the @; the key is in summary.key_env",
        ));
    }
    let parts = uri.as_ref().and_then(|uri| Some((uri.scheme_str()?, uri.host()?)));
    let (scheme, host) = parts.ok_or_else(|| {
        let message = format!("summary.url is no address: {url:?}");
        settings_error(message, "write it as \"https://host/path\"")
    })?;
    let ip: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let is_here = host == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
    match scheme {
        "https" => {}
        "http" if is_here => {}
        _ => {
            let message = format!("summary.url would send the key to {host} in the open: {url:?}");
            return Err(settings_error(message, "use https; http is for this machine alone"));
        }
    }
    Ok((host.to_owned(), is_here))
}

fn settings_error(message: String, hint: &str) -> ApiError {
    ApiError::new(ErrorCode::SummarySettings, message, hint)
}
