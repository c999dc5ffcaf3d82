//! File names in diffs, for people.

use retake_service::quote::git_name;

use crate::escape::escape;

/// The name with its prefix, quoted as git does if it has to be; letters are shown as letters.
pub(crate) fn readable_name(prefix: &str, name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if escape(text) == text && !text.contains(['"', '\\']) => {
            format!("{prefix}{text}")
        }
        _ => git_name(prefix, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_only_if_they_have_to_be() {
        assert_eq!(readable_name("a/", b"x y.txt"), "a/x y.txt");
        assert_eq!(readable_name("a/", "ü".as_bytes()), "a/ü");
        assert_eq!(readable_name("b/", b"q\"\\\n\x1b\xff"), r#""b/q\"\\\n\033\377""#);
        assert_eq!(readable_name("b/", "\u{202e}x".as_bytes()), r#""b/\342\200\256x""#);
    }
}
