//! Access tokens of this start, and the files that programs read them from.
//!
//! ```text
//! HOME/run/http.json      the address and the person's token
//! HOME/run/token          the person's token
//! HOME/run/agent-token    a token for reading and checkpoints
//! ```
//!
//! Invariants: a token has 256 bits from the operating system, is new at each start, and lies in
//! files that only their owner can read. Tokens are compared by their digests, so that the time
//! it takes tells nothing about them.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use retake_engine::model::ErrorCode;
use retake_service::ApiError;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

/// What a token is compared by.
pub(super) type TokenDigest = [u8; 32];

/// What the holder of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Scope)]
pub enum TokenScope {
    /// Everything.
    Human,
    /// Look, make checkpoints and plan, and record its own dialog; never decide or write files.
    Agent,
}

/// A secret that is handed out and identifies its holder.
#[derive(Clone)]
pub(super) struct Secret {
    text: String,
    digest: TokenDigest,
}

impl Secret {
    /// A new one of this many random bytes, in letters that are safe everywhere.
    pub(super) fn new<const BYTES: usize>() -> Result<Self, ApiError> {
        let text = BASE64_URL_SAFE_NO_PAD.encode(random_bytes::<BYTES>()?);
        Ok(Self { digest: digest(&text), text })
    }

    /// Random bytes in hexadecimal digits, for a name that is no secret.
    pub(super) fn random_hex<const BYTES: usize>() -> Result<String, ApiError> {
        Ok(hex(&random_bytes::<BYTES>()?))
    }

    /// Returns whether this is the secret, compared by digest.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.digest == digest(text)
    }

    /// The secret itself.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

fn random_bytes<const BYTES: usize>() -> Result<[u8; BYTES], ApiError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the system gives no random numbers: {error}");
        ApiError::new(ErrorCode::NoRandom, message, "nothing can be served safely without them")
    })?;
    Ok(bytes)
}

/// The digest that tokens are compared and kept by.
pub(super) fn digest(text: &str) -> TokenDigest {
    Sha256::digest(text.as_bytes()).into()
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The tokens of this start.
#[derive(Debug)]
pub(super) struct AccessTokens {
    human: Secret,
    agent: Secret,
}

impl AccessTokens {
    /// New ones.
    pub(super) fn new() -> Result<Self, ApiError> {
        Ok(Self { human: Secret::new::<32>()?, agent: Secret::new::<32>()? })
    }

    /// Returns the scope of a token.
    pub(super) fn scope_of(&self, token: &str) -> Option<TokenScope> {
        let (human, agent) = (self.human.matches(token), self.agent.matches(token));
        human.then_some(TokenScope::Human).or(agent.then_some(TokenScope::Agent))
    }

    /// The token of a scope.
    pub(super) fn token_of(&self, scope: TokenScope) -> &str {
        match scope {
            TokenScope::Human => self.human.text(),
            TokenScope::Agent => self.agent.text(),
        }
    }
}

/// The files that tell where to ask, and with which token; gone when this is dropped.
#[derive(Debug)]
pub(super) struct TokenFiles(Vec<PathBuf>);

impl TokenFiles {
    /// Writes them into `HOME/run`.
    pub(super) fn write(home: &Path, url: &str, tokens: &AccessTokens) -> Result<Self, ApiError> {
        let folder = home.join("run");
        let cannot = |error| {
            let message = format!("{} cannot be written: {error}", folder.display());
            ApiError::new(ErrorCode::RunFiles, message, "check the permissions of that folder")
        };
        retake_seam::fs::create_private_dir_all(&folder).map_err(cannot)?;
        let human = tokens.token_of(TokenScope::Human);
        let http = json!({ "url": url, "token": human }).to_string();
        let files = [
            ("http.json", http.as_str()),
            ("token", human),
            ("agent-token", tokens.token_of(TokenScope::Agent)),
        ];
        let mut written = Self(Vec::new());
        for (name, text) in files {
            let path = folder.join(name);
            retake_seam::fs::replace_durably(&path, text.as_bytes()).map_err(cannot)?;
            written.0.push(path);
        }
        Ok(written)
    }
}

impl TokenFiles {
    /// Leaves them where they are.
    pub(super) fn disarm(&mut self) {
        self.0.clear();
    }
}

impl Drop for TokenFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // A file that cannot be removed holds tokens that are no longer valid.
            let _ = retake_seam::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_differ_and_know_their_scope() {
        let (one, other) = (AccessTokens::new().unwrap(), AccessTokens::new().unwrap());
        let human = one.token_of(TokenScope::Human);
        assert_eq!(human.len(), 43, "256 bits, six in a letter");
        assert_ne!(human, one.token_of(TokenScope::Agent));
        assert_ne!(human, other.token_of(TokenScope::Human));
        assert_eq!(one.scope_of(human), Some(TokenScope::Human));
        assert_eq!(one.scope_of(one.token_of(TokenScope::Agent)), Some(TokenScope::Agent));
        assert_eq!(other.scope_of(human), None);
        assert_eq!(one.scope_of(&human[..42]), None);
        assert_eq!(one.scope_of(""), None);
    }

    #[test]
    fn a_secret_is_not_told_by_accident() {
        let tokens = AccessTokens::new().unwrap();
        let debug = format!("{tokens:?}");
        assert!(!debug.contains(tokens.token_of(TokenScope::Human)), "{debug}");
    }
}
