//! One-time codes: a browser exchanges one for a token, which is in no URL, cookie or command.
//!
//! A code is made through the daemon's Unix socket, whose peer is known, and exchanged once.
//! Invariants: 128 bits, valid for a minute, used once, few at a time; guesses are throttled,
//! and do not lock others out.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::token::{Scope, Secret};
use crate::Failure;

/// Lifetime of a code.
const VALID: Duration = Duration::from_secs(60);
/// Maximum unused codes; a new one evicts the oldest.
const MOST: usize = 4;
/// Maximum wrong codes within [`VALID`]; further ones are throttled.
const MOST_WRONG: usize = 10;

/// The codes that wait to be used.
#[derive(Debug, Default)]
pub struct Codes(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    codes: Vec<Code>,
    wrong: Vec<Instant>,
}

#[derive(Debug)]
struct Code {
    secret: Secret,
    scope: Scope,
    made: Instant,
}

/// Reason that a code is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is unknown, used or too old.
    Wrong,
    /// Too many wrong ones came before it.
    TooMany,
}

impl Codes {
    /// Makes a code for this scope.
    pub fn make(&self, scope: Scope) -> Result<String, Failure> {
        self.make_at(scope, Instant::now())
    }

    fn make_at(&self, scope: Scope, made: Instant) -> Result<String, Failure> {
        let secret = Secret::new::<16>()?;
        let text = secret.text().to_owned();
        let codes = &mut self.0.lock().unwrap_or_else(PoisonError::into_inner).codes;
        if codes.len() == MOST {
            codes.remove(0);
        }
        codes.push(Code { secret, scope, made });
        Ok(text)
    }

    /// Redeems a code and returns its scope.
    pub(super) fn take(&self, text: &str) -> Result<Scope, Refused> {
        self.take_at(text, Instant::now())
    }

    fn take_at(&self, text: &str, now: Instant) -> Result<Scope, Refused> {
        let waiting = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |since: Instant| now.saturating_duration_since(since) < VALID;
        waiting.wrong.retain(|at| is_recent(*at));
        waiting.codes.retain(|code| is_recent(code.made));
        // A valid code is accepted despite the throttle: 128 bits cannot be guessed.
        if let Some(at) = waiting.codes.iter().position(|code| code.secret.is(text)) {
            return Ok(waiting.codes.remove(at).scope);
        }
        if waiting.wrong.len() >= MOST_WRONG {
            return Err(Refused::TooMany);
        }
        waiting.wrong.push(now);
        Err(Refused::Wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once() {
        let codes = Codes::default();
        let code = codes.make(Scope::Human).unwrap();
        assert_eq!(code.len(), 22, "128 bits, six in a letter");
        assert_eq!(codes.take(&code), Ok(Scope::Human));
        assert_eq!(codes.take(&code), Err(Refused::Wrong));
    }

    #[test]
    fn a_code_is_good_for_a_minute() {
        let codes = Codes::default();
        let made = Instant::now();
        let (one, other) = (
            codes.make_at(Scope::Agent, made).unwrap(),
            codes.make_at(Scope::Agent, made).unwrap(),
        );
        let almost = made + VALID.checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(codes.take_at(&one, almost), Ok(Scope::Agent));
        assert_eq!(codes.take_at(&other, made + VALID), Err(Refused::Wrong));
    }

    #[test]
    fn few_wait_at_a_time() {
        let codes = Codes::default();
        let all: Vec<_> = (0..=MOST).map(|_| codes.make(Scope::Human).unwrap()).collect();
        assert_eq!(codes.take(&all[0]), Err(Refused::Wrong));
        assert_eq!(codes.take(&all[1]), Ok(Scope::Human));
    }

    #[test]
    fn who_guesses_is_slowed_and_keeps_nobody_out() {
        let codes = Codes::default();
        let now = Instant::now();
        for _ in 0..MOST_WRONG {
            assert_eq!(codes.take_at("guess", now), Err(Refused::Wrong));
        }
        let code = codes.make_at(Scope::Human, now).unwrap();
        assert_eq!(codes.take_at("guess", now), Err(Refused::TooMany));
        assert_eq!(codes.take_at(&code, now), Ok(Scope::Human));
        assert_eq!(codes.take_at("guess", now + VALID), Err(Refused::Wrong));
    }
}
