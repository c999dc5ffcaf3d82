//! Names that mean a secret: of variables, keys, options, elements and headers.

use std::sync::LazyLock;

use regex::Regex;

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretName {
    /// A password: any word may be one.
    Password,
    /// A password of several words.
    Phrase,
    /// Another secret, which was made by a program.
    Opaque,
}

/// Words in names by which an assignment is found; [`SecretName::of`] decides.
pub(super) static SECRET_WORD: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)pass|pwd|pw|secret|token|credential|key|mnemonic|seed|auth|pat\b";
    Regex::new(words).expect("the pattern is well formed")
});

/// Words before `key` that make it a secret one.
const KEY_WORDS: &str = "api access secret private encryption encrypt signing sign auth master \
     account shared storage service license crypt crypto hmac aes deploy app integration publish \
     session jwt cookie write admin webhook subscription";

/// Words after the one that means a secret, which leave its meaning.
const QUALIFIERS: &str = "prod production dev development staging stage test testing live base \
     value val old new prev previous current backup primary secondary main default local ci admin \
     root db env b64 base64 hex plain plaintext raw str string here id2";

impl SecretName {
    /// Returns what a name means; `None` if it does not mean a secret.
    pub(super) fn of(name: &str) -> Option<Self> {
        let mut words = split_words(name);
        let is_listed =
            |list: &str, word: &str| list.split_ascii_whitespace().any(|listed| listed == word);
        while words.len() > 1 {
            let last = words.last().map_or("", String::as_str);
            let is_number = last.chars().all(|char| char.is_ascii_digit());
            if !is_number && last.len() > 1 && !is_listed(QUALIFIERS, last) {
                break;
            }
            words.pop();
        }
        let last = words.last()?.as_str();
        let before = words.len().checked_sub(2).map(|at| words[at].as_str());
        match last {
            "passphrase" | "mnemonic" => return Some(Self::Phrase),
            "phrase" if matches!(before, Some("pass" | "seed" | "recovery")) => {
                return Some(Self::Phrase);
            }
            "pass" | "pw" | "pwd" => return Some(Self::Password),
            "credential" | "credentials" | "apikey" | "authkey" | "pat" => {
                return Some(Self::Opaque);
            }
            "auth" if name.starts_with('_') => return Some(Self::Opaque),
            "key" => return before.filter(|word| is_listed(KEY_WORDS, word)).map(|_| Self::Opaque),
            _ => {}
        }
        let ends = |words: &[&str]| words.iter().any(|word| last.ends_with(word));
        if ends(&["password", "passwd", "passwort", "passphrase", "userpwd", "dbpwd", "sqlpwd"]) {
            return Some(Self::Password);
        }
        let is_glued_key = last.strip_suffix("key").is_some_and(|word| {
            KEY_WORDS.split_ascii_whitespace().any(|known| word.ends_with(known) && word.len() < 24)
        });
        (ends(&["secret", "token", "passcode"]) || is_glued_key).then_some(Self::Opaque)
    }
}

/// Splits `dbPassword_2` into `db`, `password`, `2`.
fn split_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let chars: Vec<char> = name.chars().collect();
    let mut is_open = false;
    for (at, &char) in chars.iter().enumerate() {
        if !char.is_ascii_alphanumeric() {
            is_open = false;
            continue;
        }
        let previous = at.checked_sub(1).map(|at| chars[at]);
        let next = chars.get(at + 1);
        let starts = previous.is_some_and(|previous| {
            (char.is_ascii_uppercase() && previous.is_ascii_lowercase())
                || (char.is_ascii_digit() && previous.is_ascii_alphabetic())
                || (char.is_ascii_uppercase()
                    && previous.is_ascii_uppercase()
                    && next.is_some_and(char::is_ascii_lowercase))
        });
        if !is_open || starts {
            words.push(String::new());
            is_open = true;
        }
        if let Some(word) = words.last_mut() {
            word.push(char.to_ascii_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_their_last_word_that_says_something() {
        for name in ["password", "DB_PASSWORD", "dbPassword", "PGPASSWORD", "db_pass", "pwd2"] {
            assert_eq!(SecretName::of(name), Some(SecretName::Password), "{name}");
        }
        for name in
            ["apiKey", "APIKey", "X-Api-Key", "client_secret", "SECRET_KEY_BASE", "AccountKey"]
        {
            assert_eq!(SecretName::of(name), Some(SecretName::Opaque), "{name}");
        }
        for name in
            ["public_key", "token_type", "passwordLabel", "max_tokens", "bypass", "key", "monkey"]
        {
            assert_eq!(SecretName::of(name), None, "{name}");
        }
    }
}
