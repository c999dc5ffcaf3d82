//! Patterns of secrets in any text: tokens by their form, and values assigned to a name that
//! means a secret.
//!
//! Ordinary code must stay readable: `password: String`, `token = next_token()` and
//! `"${PASSWORD}"` are no secrets. So a value counts only if it is written out and has the look of
//! one: digits among letters, unusual signs. A word alone counts only as a password.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::MASK;

/// Token formats with a fixed prefix. The beginning is enough: titles are cut.
const TOKEN_FORMS: &str = concat!(
    r"(?-u:\b)(?<secret>(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)",
    r"|gh[pousr]_[A-Za-z0-9]{10,}|github_pat_[0-9A-Za-z_]{10,}|glpat-[0-9A-Za-z_-]{10,}",
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|sk-[0-9A-Za-z_-]{20,}|[rs]k_(?:live|test)_[0-9A-Za-z]{16,}",
    r"|whsec_[0-9A-Za-z]{16,}|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}",
    r"|npm_[A-Za-z0-9]{20,}|pypi-[0-9A-Za-z_-]{50,}|hf_[A-Za-z0-9]{30,}|dop_v1_[a-f0-9]{64}",
    r"|SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}|eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,})",
);

/// Credentials in HTTP headers.
const HEADER_FORM: &str = concat!(
    r#"(?i)(?-u:\b)(?:authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)|bearer)"#,
    r"\s+(?<secret>[A-Za-z0-9._~+/-]{8,}=*)",
);

/// `scheme://user:password@host`.
const URL_FORM: &str =
    r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'`<>]*:(?<secret>[^\s/@"'`<>]+)@"#;

/// Names that mean a password.
const PASSWORD_NAMES: &str = r"[a-z0-9_.-]*(?:password|passwd|passphrase|pwd)";
/// Names that mean another secret.
const SECRET_NAMES: &str = concat!(
    r"[a-z0-9_.-]*(?:secret|token|credentials?",
    r"|(?:secret|api|access|private|encryption|signing|auth)[_-]?key)",
);

/// A value in quotes: code and JSON, perhaps with a type before the value.
const QUOTED_VALUE: &str = concat!(
    r#"["']?(?:\s*:\s*&?(?:'static\s+)?[A-Za-z]+)?\s*(?::=|=>|=|:)\s*"#,
    r#"(?:"(?<secret>[^"\s]{4,})"|'(?<other>[^'\s]{4,})')"#,
);
/// A value without quotes: shells, `.env`, command lines, queries.
const BARE_VALUE: &str = r#"=(?<secret>[^\s"'`&;,(){}<>$]{6,})(?:$|[\s&"'`;])"#;
/// A value without quotes, in YAML.
const YAML_VALUE: &str = r#":[ \t]+(?<secret>[^\s"'`#&*|>{}\[\]]{6,})[ \t]*$"#;

struct SecretPattern {
    form: Regex,
    is_secret: fn(&str) -> bool,
}

impl SecretPattern {
    fn new(form: &str, is_secret: fn(&str) -> bool) -> Self {
        Self { form: Regex::new(form).expect("the pattern is well formed"), is_secret }
    }

    fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.form.replace_all(text, |found: &Captures<'_>| {
            let whole = found.get_match();
            let Some(secret) = found.name("secret").or_else(|| found.name("other")) else {
                return whole.as_str().to_owned();
            };
            if !(self.is_secret)(secret.as_str()) {
                return whole.as_str().to_owned();
            }
            format!(
                "{}{MASK}{}",
                &text[whole.start()..secret.start()],
                &text[secret.end()..whole.end()]
            )
        })
    }
}

static SECRET_PATTERNS: LazyLock<Vec<SecretPattern>> = LazyLock::new(|| {
    let quoted = |name: &str| format!(r"(?i)(?-u:\b){name}{QUOTED_VALUE}");
    let bare = |name: &str| format!(r"(?im)(?:^|[\s?&;-]){name}{BARE_VALUE}");
    vec![
        SecretPattern::new(TOKEN_FORMS, is_token),
        SecretPattern::new(HEADER_FORM, is_credential),
        SecretPattern::new(URL_FORM, is_written_out),
        SecretPattern::new(&quoted(PASSWORD_NAMES), is_password),
        SecretPattern::new(&quoted(SECRET_NAMES), is_opaque),
        SecretPattern::new(&bare(PASSWORD_NAMES), is_password),
        SecretPattern::new(&bare(SECRET_NAMES), is_opaque),
    ]
});

static YAML_PATTERNS: LazyLock<Vec<SecretPattern>> = LazyLock::new(|| {
    let yaml = |name: &str| format!(r#"(?im)^[\s-]*["']?{name}["']?{YAML_VALUE}"#);
    vec![
        SecretPattern::new(&yaml(PASSWORD_NAMES), is_password),
        SecretPattern::new(&yaml(SECRET_NAMES), is_opaque),
    ]
});

/// Masks what looks like a secret; YAML writes values without quotes.
pub(super) fn mask_patterns(text: &str, is_yaml: bool) -> Cow<'_, str> {
    let yaml = if is_yaml { YAML_PATTERNS.as_slice() } else { &[] };
    SECRET_PATTERNS
        .iter()
        .chain(yaml)
        .fold(Cow::Borrowed(text), |text, rule| super::mask_step(text, |text| rule.mask(text)))
}

fn has_char(text: &str, what: fn(&char) -> bool) -> bool {
    text.chars().any(|char| what(&char))
}

/// Forms that begin like words need the look of a token.
fn is_token(text: &str) -> bool {
    has_char(text, char::is_ascii_digit)
        && (!text.starts_with("sk-")
            || has_char(text, char::is_ascii_uppercase)
            || text.len() >= 40)
}

/// Not a variable, a place, a pattern, or a word that stands for the real one.
fn is_written_out(text: &str) -> bool {
    const PLACEHOLDER_WORDS: [&str; 24] = [
        "password",
        "passwd",
        "passphrase",
        "pass",
        "pwd",
        "secret",
        "token",
        "apikey",
        "key",
        "changeme",
        "change",
        "example",
        "placeholder",
        "redacted",
        "none",
        "null",
        "true",
        "false",
        "undefined",
        "string",
        "optional",
        "required",
        "value",
        "yourpassword",
    ];
    let letters: String = text.chars().filter(char::is_ascii_alphabetic).collect();
    let is_word = PLACEHOLDER_WORDS.contains(&letters.to_ascii_lowercase().as_str());
    let first = text.chars().next();
    let is_filler = text.chars().all(|char| Some(char) == first);
    let is_code = ["$", "{", "}", "<", ">", "(", ")", "://", "%s", "%(", "::", "\\", MASK];
    !is_word && !is_filler && !is_code.iter().any(|mark| text.contains(mark))
}

fn is_password(text: &str) -> bool {
    let is_lower = text.chars().all(|char| char.is_ascii_lowercase());
    let is_label = text.chars().all(|char| char.is_alphabetic() || "_-./:…".contains(char));
    is_written_out(text) && (is_lower || !is_label)
}

/// Returns whether it may be a credential of a request, which may be base64 of anything.
fn is_credential(text: &str) -> bool {
    let is_mixed =
        has_char(text, char::is_ascii_lowercase) && has_char(text, char::is_ascii_uppercase);
    is_opaque(text) || (is_written_out(text) && is_mixed && text.len() >= 12)
}

/// Digits among letters, and no chain of words.
fn is_opaque(text: &str) -> bool {
    let is_word = |part: &str| {
        let letters = part.trim_end_matches(|char: char| char.is_ascii_digit());
        letters.chars().all(|char| char.is_ascii_alphabetic()) && part.len() - letters.len() < 4
    };
    let is_chain = text.split(['_', '-', '.', '/', ':']).all(is_word);
    let is_mixed =
        has_char(text, char::is_ascii_digit) && has_char(text, char::is_ascii_alphabetic);
    is_written_out(text) && text.len() >= 8 && is_mixed && !is_chain
}
