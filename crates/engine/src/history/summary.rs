//! Requests summaries from a [`Summariser`] passed in by the caller, with bounded retries.
//!
//! Invariants: no message is left out of what is summarised, whatever fits into one request; the
//! engine itself neither sleeps nor opens connections.

use std::time::Duration;

use retake_model::{MessageRole, ModelMessage};
use serde_json::{Value, json};

use super::tokens::{TokenCounter, message_tokens};

/// Prefix of a message that summarises others (HIST-7).
const SUMMARY_PREFIX: &str = "[Previous conversation summary]\n";

/// Backoff after the first failure; it doubles with each further one.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
/// Maximum backoff; a longer one ends the retries.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Writes summaries of conversations.
pub trait Summariser {
    /// A summary of these messages, in order; the first may itself be a summary of what came
    /// before them.
    fn summarise(&self, messages: &[ModelMessage], max_tokens: u32)
    -> Result<String, SummaryError>;
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct SummaryError {
    /// The reason, with the name of the model or server.
    pub why: String,
    /// Whether a retry may help.
    pub retry: SummaryRetry,
}

/// Whether a retry may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryRetry {
    /// It will not.
    Never,
    /// After a moment.
    Soon,
    /// After a time that the model server has named.
    After(Duration),
}

/// A summariser and the limits of its requests.
#[derive(Clone, Copy)]
pub struct SummaryRequest<'a> {
    /// Who writes it.
    pub summariser: &'a dyn Summariser,
    /// How its tokens are counted.
    pub count: TokenCounter<'a>,
    /// Maximum tokens of the summary.
    pub max_tokens: u32,
    /// Maximum tokens of one request; more is summarised in parts.
    pub max_input_tokens: u64,
    /// Maximum attempts of each request.
    pub attempts: u32,
    /// Sleeps between attempts.
    pub pause: &'a dyn Fn(Duration),
}

impl std::fmt::Debug for SummaryRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SummaryRequest")
            .field("max_tokens", &self.max_tokens)
            .field("max_input_tokens", &self.max_input_tokens)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}

/// A message that stands for others.
pub(super) fn summary_message(summary: &str) -> ModelMessage {
    let text = format!("{SUMMARY_PREFIX}{summary}");
    ModelMessage {
        role: MessageRole::User,
        content: vec![json!({ "type": "text", "text": text })],
        ts: None,
        is_summary: true,
        index: None,
    }
}

impl SummaryRequest<'_> {
    /// A summary of all these messages: in parts if they are too many for one request, each part
    /// with the summary so far at its beginning.
    pub(super) fn summarise_all(&self, messages: &[ModelMessage]) -> Result<String, SummaryError> {
        let mut so_far: Option<String> = None;
        let mut rest = messages;
        while !rest.is_empty() {
            let mut part: Vec<_> = so_far.as_deref().map(summary_message).into_iter().collect();
            let taken = self.fill_request(&mut part, rest);
            rest = &rest[taken..];
            so_far = Some(self.request_with_retry(&part)?);
        }
        so_far.ok_or_else(|| SummaryError {
            why: "there is nothing to summarise".to_owned(),
            retry: SummaryRetry::Never,
        })
    }

    /// Adds as many messages as fit, at least one, and returns how many.
    fn fill_request(&self, part: &mut Vec<ModelMessage>, rest: &[ModelMessage]) -> usize {
        let used: u64 = part.iter().map(|message| message_tokens(message, self.count)).sum();
        let room = self.max_input_tokens.saturating_sub(used);
        let mut left = room;
        for (at, message) in rest.iter().enumerate() {
            let tokens = message_tokens(message, self.count);
            if tokens > left {
                if at > 0 {
                    return at;
                }
                part.push(without_middle(message, room, self.count));
                return 1;
            }
            left -= tokens;
            part.push(message.clone());
        }
        rest.len()
    }

    /// Requests a summary, with retries up to `attempts`.
    fn request_with_retry(&self, messages: &[ModelMessage]) -> Result<String, SummaryError> {
        let mut pause = INITIAL_BACKOFF;
        let mut attempt = 1;
        loop {
            let failed = match self.summariser.summarise(messages, self.max_tokens) {
                Ok(summary) if !summary.trim().is_empty() => return Ok(summary.trim().to_owned()),
                Ok(_) => {
                    SummaryError { why: "the summary is empty".into(), retry: SummaryRetry::Soon }
                }
                Err(failed) => failed,
            };
            let wait = match failed.retry {
                SummaryRetry::Never => return Err(failed),
                SummaryRetry::Soon => pause,
                SummaryRetry::After(named) => named.max(pause),
            };
            if attempt >= self.attempts || wait > MAX_BACKOFF {
                return Err(failed);
            }
            (self.pause)(wait);
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }
}

/// Returns a message that is too long for a request without its middle.
fn without_middle(message: &ModelMessage, room: u64, count: TokenCounter<'_>) -> ModelMessage {
    let text: String = match message.content.as_slice() {
        [Value::Object(block)] if block.contains_key("text") => {
            block["text"].as_str().unwrap_or_default().to_owned()
        }
        blocks => blocks.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"),
    };
    let mut keep = text.len();
    loop {
        keep = keep / 4 * 3;
        let (head, tail) = (
            floor_char_boundary(&text, keep / 2),
            ceil_char_boundary(&text, text.len() - keep / 2),
        );
        let left_out = tail - head;
        let cut = format!("{}\n[… {left_out} bytes left out]\n{}", &text[..head], &text[tail..]);
        let content = vec![json!({ "type": "text", "text": cut })];
        let short = ModelMessage { content, ..message.clone() };
        if keep == 0 || message_tokens(&short, count) <= room {
            return short;
        }
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn ceil_char_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Returns prepared answers, and records the requests.
    struct ScriptedSummariser {
        answers: RefCell<Vec<Result<String, SummaryError>>>,
        asked: RefCell<Vec<Vec<String>>>,
    }

    impl Summariser for ScriptedSummariser {
        fn summarise(
            &self,
            messages: &[ModelMessage],
            _max_tokens: u32,
        ) -> Result<String, SummaryError> {
            let texts = messages.iter().map(|one| one.content[0]["text"].as_str().unwrap().into());
            self.asked.borrow_mut().push(texts.collect());
            self.answers.borrow_mut().remove(0)
        }
    }

    fn failed(retry: SummaryRetry) -> Result<String, SummaryError> {
        Err(SummaryError { why: "no".to_owned(), retry })
    }

    fn messages(texts: &[&str]) -> Vec<ModelMessage> {
        let message = |text: &&str| ModelMessage {
            content: vec![json!({ "type": "text", "text": text })],
            is_summary: false,
            ..summary_message("")
        };
        texts.iter().map(message).collect()
    }

    type SummaryResult = (Result<String, SummaryError>, Vec<Vec<String>>, Vec<u64>);

    /// Returns the summary of these texts, the requests, and the pauses in seconds.
    fn ask(answers: Vec<Result<String, SummaryError>>, texts: &[&str], most: u64) -> SummaryResult {
        let scripted = ScriptedSummariser { answers: answers.into(), asked: RefCell::default() };
        let pauses = RefCell::new(Vec::new());
        let request = SummaryRequest {
            summariser: &scripted,
            count: &|text| text.len() as u64,
            max_tokens: 100,
            max_input_tokens: most,
            attempts: 3,
            pause: &|pause| pauses.borrow_mut().push(pause.as_secs()),
        };
        let summary = request.summarise_all(&messages(texts));
        (summary, scripted.asked.into_inner(), pauses.into_inner())
    }

    #[test]
    fn asking_is_repeated_a_few_times_if_that_may_help() {
        let after = |seconds| failed(SummaryRetry::After(Duration::from_secs(seconds)));
        let cases = [
            (vec![Ok(" fine\n".to_owned())], true, vec![]),
            (vec![failed(SummaryRetry::Soon), after(5), Ok("fine".to_owned())], true, vec![1, 5]),
            (vec![Ok(" ".to_owned()), Ok("fine".to_owned())], true, vec![1]),
            (
                vec![failed(SummaryRetry::Soon), failed(SummaryRetry::Soon), after(0)],
                false,
                vec![1, 2],
            ),
            (vec![failed(SummaryRetry::Never)], false, vec![]),
            (vec![after(3600)], false, vec![]),
        ];
        for (answers, is_fine, expected) in cases {
            let count = answers.len();
            let (summary, asked, pauses) = ask(answers, &["a"], 1000);
            assert_eq!(summary.ok().as_deref(), is_fine.then_some("fine"));
            assert_eq!((asked.len(), pauses), (count, expected));
        }
    }

    #[test]
    fn what_is_too_much_for_one_request_is_summarised_in_parts() {
        let long = "x".repeat(300);
        let answers = || (1..=4).map(|part| Ok(format!("part {part}"))).collect();
        let texts = ["aaaa", "bbbb", &long, "cccc"];
        let (summary, asked, _) = ask(answers(), &texts, 100);
        assert_eq!(summary.unwrap(), "part 3");
        assert_eq!(asked[0], ["aaaa", "bbbb"]);
        assert_eq!(asked[1][0], "[Previous conversation summary]\npart 1");
        // A message that is too long alone loses its middle, and only for the summary.
        let short = &asked[1][1];
        assert!(short.starts_with("xx") && short.ends_with("xx"), "{short}");
        assert!(short.contains("bytes left out") && short.len() < 100, "{short}");
        assert_eq!(asked[2], ["[Previous conversation summary]\npart 2", "cccc"]);
        // Even where nothing fits it comes to an end.
        assert_eq!(ask(answers(), &["ää", "ö"], 1).0.unwrap(), "part 2");
    }
}
