//! File names as git writes them in diffs.

/// The name with its prefix, quoted as git does if it has to be.
///
/// On a pipe every byte beyond ASCII is quoted too, as git's default is, so
/// that the patch is plain text; a person sees letters as letters.
pub(crate) fn git_name(prefix: &str, name: &[u8], readable: bool) -> String {
    let safe_text = |text: &str| crate::escape::escape(text) == text && !text.contains(['"', '\\']);
    match std::str::from_utf8(name) {
        Ok(text) if safe_text(text) && (readable || text.is_ascii()) => format!("{prefix}{text}"),
        _ => {
            let quoted: String = name.iter().map(|&byte| quote_byte(byte)).collect();
            format!("\"{prefix}{quoted}\"")
        }
    }
}

fn quote_byte(byte: u8) -> String {
    match byte {
        0x07 => "\\a".to_owned(),
        0x08 => "\\b".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\n' => "\\n".to_owned(),
        0x0b => "\\v".to_owned(),
        0x0c => "\\f".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'"' => "\\\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        0x20..0x7f => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        assert_eq!(git_name("a/", b"x y.txt", false), "a/x y.txt");
        assert_eq!(git_name("a/", "ü".as_bytes(), false), r#""a/\303\274""#);
        assert_eq!(git_name("a/", "ü".as_bytes(), true), "a/ü");
        assert_eq!(git_name("b/", b"q\"\\\n\x1b\xff", true), r#""b/q\"\\\n\033\377""#);
        assert_eq!(git_name("b/", "\u{202e}x".as_bytes(), true), r#""b/\342\200\256x""#);
    }
}
