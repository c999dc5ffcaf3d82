//! One-time codes: a browser exchanges one for a token, which is in no URL, cookie or command.
//!
//! A code is made through the daemon's Unix socket, whose peer is known, and exchanged once.
//! Invariants: 128 bits, valid for a minute, used once, few at a time; guesses are throttled,
//! and do not lock others out.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use retake_service::ApiError;

use super::token::{Secret, TokenScope};

/// Lifetime of a code.
const CODE_TTL: Duration = Duration::from_secs(60);
/// Maximum unused codes; a new one evicts the oldest.
const MAX_CODES: usize = 4;
/// Maximum wrong codes within [`CODE_TTL`]; further ones are throttled.
const MAX_WRONG_CODES: usize = 10;

/// The codes that wait to be used.
#[derive(Debug, Default)]
pub struct OneTimeCodes(Mutex<PendingCodes>);

#[derive(Debug, Default)]
struct PendingCodes {
    codes: Vec<OneTimeCode>,
    wrong: Vec<Instant>,
}

#[derive(Debug)]
struct OneTimeCode {
    secret: Secret,
    scope: TokenScope,
    made: Instant,
}

/// Reason that a code is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeRejection {
    /// It is unknown, used or too old.
    Wrong,
    /// Too many wrong ones came before it.
    TooManyWrong,
}

impl OneTimeCodes {
    /// Makes a code for this scope.
    pub fn create(&self, scope: TokenScope) -> Result<String, ApiError> {
        self.create_at(scope, Instant::now())
    }

    fn create_at(&self, scope: TokenScope, made: Instant) -> Result<String, ApiError> {
        let secret = Secret::new::<16>()?;
        let text = secret.text().to_owned();
        let codes = &mut self.0.lock().unwrap_or_else(PoisonError::into_inner).codes;
        if codes.len() == MAX_CODES {
            codes.remove(0);
        }
        codes.push(OneTimeCode { secret, scope, made });
        Ok(text)
    }

    /// Redeems a code and returns its scope.
    pub(super) fn redeem(&self, text: &str) -> Result<TokenScope, CodeRejection> {
        self.redeem_at(text, Instant::now())
    }

    fn redeem_at(&self, text: &str, now: Instant) -> Result<TokenScope, CodeRejection> {
        let waiting = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |since: Instant| now.saturating_duration_since(since) < CODE_TTL;
        waiting.wrong.retain(|at| is_recent(*at));
        waiting.codes.retain(|code| is_recent(code.made));
        // A valid code is accepted despite the throttle: 128 bits cannot be guessed.
        if let Some(at) = waiting.codes.iter().position(|code| code.secret.matches(text)) {
            return Ok(waiting.codes.remove(at).scope);
        }
        if waiting.wrong.len() >= MAX_WRONG_CODES {
            return Err(CodeRejection::TooManyWrong);
        }
        waiting.wrong.push(now);
        Err(CodeRejection::Wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once() {
        let codes = OneTimeCodes::default();
        let code = codes.create(TokenScope::Human).unwrap();
        assert_eq!(code.len(), 22, "128 bits, six in a letter");
        assert_eq!(codes.redeem(&code), Ok(TokenScope::Human));
        assert_eq!(codes.redeem(&code), Err(CodeRejection::Wrong));
    }

    #[test]
    fn a_code_is_good_for_a_minute() {
        let codes = OneTimeCodes::default();
        let made = Instant::now();
        let (one, other) = (
            codes.create_at(TokenScope::Agent, made).unwrap(),
            codes.create_at(TokenScope::Agent, made).unwrap(),
        );
        let almost = made + CODE_TTL.checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(codes.redeem_at(&one, almost), Ok(TokenScope::Agent));
        assert_eq!(codes.redeem_at(&other, made + CODE_TTL), Err(CodeRejection::Wrong));
    }

    #[test]
    fn few_wait_at_a_time() {
        let codes = OneTimeCodes::default();
        let all: Vec<_> =
            (0..=MAX_CODES).map(|_| codes.create(TokenScope::Human).unwrap()).collect();
        assert_eq!(codes.redeem(&all[0]), Err(CodeRejection::Wrong));
        assert_eq!(codes.redeem(&all[1]), Ok(TokenScope::Human));
    }

    #[test]
    fn who_guesses_is_slowed_and_keeps_nobody_out() {
        let codes = OneTimeCodes::default();
        let now = Instant::now();
        for _ in 0..MAX_WRONG_CODES {
            assert_eq!(codes.redeem_at("guess", now), Err(CodeRejection::Wrong));
        }
        let code = codes.create_at(TokenScope::Human, now).unwrap();
        assert_eq!(codes.redeem_at("guess", now), Err(CodeRejection::TooManyWrong));
        assert_eq!(codes.redeem_at(&code, now), Ok(TokenScope::Human));
        assert_eq!(codes.redeem_at("guess", now + CODE_TTL), Err(CodeRejection::Wrong));
    }
}
