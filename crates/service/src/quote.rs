//! File names as git writes them in diffs.

/// The name with its prefix, quoted as git does if it has to be.
///
/// Every byte beyond ASCII is quoted too, as git's default is, so that the patch is plain text.
pub fn git_name(prefix: &str, name: &[u8]) -> String {
    let is_plain = |byte: &u8| matches!(byte, 0x20..0x7f) && !matches!(byte, b'"' | b'\\');
    if name.iter().all(is_plain) {
        return format!("{prefix}{}", String::from_utf8_lossy(name));
    }
    let quoted: String = name.iter().map(|&byte| quote_byte(byte)).collect();
    format!("\"{prefix}{quoted}\"")
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
        assert_eq!(git_name("a/", b"x y.txt"), "a/x y.txt");
        assert_eq!(git_name("a/", "ü".as_bytes()), r#""a/\303\274""#);
        assert_eq!(git_name("b/", b"q\"\\\n\x1b\xff"), r#""b/q\"\\\n\033\377""#);
        assert_eq!(git_name("b/", "\u{202e}x".as_bytes()), r#""b/\342\200\256x""#);
    }
}
