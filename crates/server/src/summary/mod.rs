//! Summaries of conversations, by a model behind HTTP: the only code that connects to other
//! machines, and only when a person asked for a summary.
//!
//! Invariants: the key goes to the host in the settings and nowhere else: it is in no error and no
//! log, redirects are not followed, and without TLS only this machine is talked to. A request ends
//! after its time, and an answer is read up to a size.

mod prompt;
#[cfg(test)]
mod tests;
mod wires;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use retake_engine::model::ModelMessage;
use retake_engine::settings::{Summary, SummaryApi};
use retake_engine::{Asking, Retry, Summarise, SummaryError};
use serde_json::Value;
use ureq::http::{Response, Uri};
use ureq::{Agent, Body};

use crate::{Failure, Masking, tokens};
use wires::Said;

/// Maximum bytes of an answer that are read.
const LARGEST_ANSWER: u64 = 4 * 1024 * 1024;
/// Timeout of the connection to the host.
const CONNECTED_AFTER: Duration = Duration::from_secs(10);
/// Maximum characters of a failed answer's reason that are shown.
const REASON_CHARS: usize = 300;

/// Requests summaries from the model in the settings.
#[derive(Debug)]
pub struct HttpSummariser {
    agent: Agent,
    api: SummaryApi,
    url: String,
    host: String,
    model: String,
    key: Key,
}

/// An API key, which `Debug` does not show.
struct Key(Option<String>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Key(…)" } else { "Key(none)" })
    }
}

impl HttpSummariser {
    /// The one that the settings name; `variable` reads the environment, which has the key.
    pub fn new(
        settings: &Summary,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let needed = |value: &Option<String>, name: &str, example: &str| {
            value.clone().ok_or_else(|| {
                let message = format!("nobody is set who could write a summary: summary.{name}");
                unset(message, &format!("set it in config.toml, for example {name} = {example:?}"))
            })
        };
        let base = needed(&settings.url, "url", "https://api.openai.com/v1")?;
        let model = needed(&settings.model, "model", "gpt-5-mini")?;
        let (host, is_here) = host(&base)?;
        let key = variable(settings.key_env()).filter(|key| !key.trim().is_empty());
        if key.is_none() && !is_here {
            let message =
                format!("the environment has no {}, the key for {host}", settings.key_env());
            return Err(unset(message, "set it, or name another variable in summary.key_env"));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECTED_AFTER.min(settings.timeout())))
            .timeout_global(Some(settings.timeout()));
        if is_here {
            config = config.proxy(None);
        }
        Ok(Self {
            agent: config.build().new_agent(),
            api: settings.api,
            url: format!("{}{}", base.trim_end_matches('/'), wires::path(settings.api)),
            host,
            model,
            key: Key(key.map(|key| key.trim().to_owned())),
        })
    }

    /// The request options of the settings.
    pub fn asking<'a>(&'a self, settings: &Summary, pause: &'a dyn Fn(Duration)) -> Asking<'a> {
        Asking {
            summariser: self,
            count: &tokens::count,
            at_most_tokens: settings.max_tokens,
            max_input_tokens: settings.max_input_tokens,
            attempts: settings.attempts,
            pause,
        }
    }

    fn ask(&self, body: &Value) -> Result<Response<Body>, ureq::Error> {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        for (name, value) in wires::headers(self.api, self.key.0.as_deref()) {
            request = request.header(name, value);
        }
        request.send(body.to_string())
    }

    fn failed(&self, why: impl fmt::Display, retry: Retry) -> SummaryError {
        let why = self.without_key(&format!("{}: {why}", self.host));
        SummaryError { why: Masking::On.text(&why).into_owned(), retry }
    }

    /// Redacts the key from a foreign text, which may quote what was sent.
    fn without_key(&self, text: &str) -> String {
        match &self.key.0 {
            Some(key) => text.replace(key.as_str(), "…"),
            None => text.to_owned(),
        }
    }

    fn refused(&self, answer: &Response<Body>, body: &[u8]) -> SummaryError {
        let status = answer.status().as_u16();
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        // Before truncating: a key that is cut would not be found.
        let reason = self.without_key(wires::reason(&parsed).unwrap_or_default());
        let reason: String = Masking::On.text(&reason).chars().take(REASON_CHARS).collect();
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
            408 | 429 | 500.. => retry_after(answer).map_or(Retry::Soon, Retry::After),
            _ => Retry::Never,
        };
        self.failed(why, retry)
    }
}

impl Summarise for HttpSummariser {
    fn summarise(
        &self,
        messages: &[ModelMessage],
        at_most_tokens: u32,
    ) -> Result<String, SummaryError> {
        let transcript = prompt::transcript(messages);
        let body = wires::body(self.api, &self.model, &transcript, at_most_tokens);
        let mut answer = self.ask(&body).map_err(|error| self.failed(error, Retry::Soon))?;
        let read = answer.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec();
        let body = read.map_err(|error| self.failed(error, Retry::Soon))?;
        if !answer.status().is_success() {
            return Err(self.refused(&answer, &body));
        }
        let said: Value = serde_json::from_slice(&body).map_err(|error| {
            self.failed(format!("its answer is not JSON: {error}"), Retry::Soon)
        })?;
        match wires::said(self.api, &said) {
            Said::Summary(summary) => Ok(self.without_key(&summary)),
            Said::CutOff => Err(self.failed(
                format!("the summary was cut off at {at_most_tokens} tokens (summary.max_tokens)"),
                Retry::Never,
            )),
            Said::Nothing => Err(self.failed("its answer has no summary", Retry::Soon)),
        }
    }
}

/// Returns the delay of the answer's `Retry-After`.
fn retry_after(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The host of an address, and whether it is this machine.
fn host(url: &str) -> Result<(String, bool), Failure> {
    let uri: Option<Uri> = url.parse().ok();
    let authority = uri.as_ref().and_then(Uri::authority).map_or(url, |found| found.as_str());
    if authority.contains('@') {
        let message = "summary.url has a name or a password in it".to_owned();
        return Err(unset(
            message,
            "leave out what is before the @; the key is in summary.key_env",
        ));
    }
    let parts = uri.as_ref().and_then(|uri| Some((uri.scheme_str()?, uri.host()?)));
    let (scheme, host) = parts.ok_or_else(|| {
        let message = format!("summary.url is no address: {url:?}");
        unset(message, "write it as \"https://host/path\"")
    })?;
    let ip: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let is_here = host == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
    match scheme {
        "https" => {}
        "http" if is_here => {}
        _ => {
            let message = format!("summary.url would send the key to {host} in the open: {url:?}");
            return Err(unset(message, "use https; http is for this machine alone"));
        }
    }
    Ok((host.to_owned(), is_here))
}

fn unset(message: String, hint: &str) -> Failure {
    Failure::new("summary_settings", message, hint)
}
