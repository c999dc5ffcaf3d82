//! Finds the ends of quoted and nested parts of shell text, and decodes `$'…'`.
//!
//! One pass with an explicit stack: no recursion, so no nesting is too deep.

/// The kind of substitution whose end is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubstitutionKind {
    /// `$(…)`
    Parentheses,
    /// `${…}`
    Braces,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteLevel {
    Parenthesis,
    Brace,
    Quotes,
}

/// Returns the offset of the bracket that closes `inside`, given the text after its opening.
pub(super) fn closing_offset(text: &str, inside: SubstitutionKind) -> Option<usize> {
    let first = match inside {
        SubstitutionKind::Parentheses => QuoteLevel::Parenthesis,
        SubstitutionKind::Braces => QuoteLevel::Brace,
    };
    let bytes = text.as_bytes();
    let mut levels = vec![first];
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let level = *levels.last()?;
        match byte {
            b'\\' => at += 1,
            b'`' => at += 1 + backquote_end(&text[at + 1..]),
            b'\'' if level != QuoteLevel::Quotes => at += 1 + text[at + 1..].find('\'')?,
            b'"' if level == QuoteLevel::Quotes => pop(&mut levels),
            b'"' => levels.push(QuoteLevel::Quotes),
            b'$' if bytes.get(at + 1) == Some(&b'(') => {
                levels.push(QuoteLevel::Parenthesis);
                at += 1;
            }
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                levels.push(QuoteLevel::Brace);
                at += 1;
            }
            b'(' if level == QuoteLevel::Parenthesis => levels.push(QuoteLevel::Parenthesis),
            b')' if level == QuoteLevel::Parenthesis => pop(&mut levels),
            b'}' if level == QuoteLevel::Brace => pop(&mut levels),
            _ => {}
        }
        if levels.is_empty() {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn pop(levels: &mut Vec<QuoteLevel>) {
    levels.pop();
}

/// The offset of the backquote that ends the text, or the text's length.
pub(super) fn backquote_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'`' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Returns whether expanding the text may run a command.
pub(super) fn may_run(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// The offset after the quoted, escaped or nested part that begins at `at`, if one does.
pub(super) fn part_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let length = match rest.as_bytes().first()? {
        b'\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        b'\'' => 2 + rest[1..].find('\'')?,
        b'`' => 2 + backquote_end(&rest[1..]),
        b'"' => 2 + quotes_end(&rest[1..])?,
        b'$' if rest.starts_with("$'") => 2 + ansi_c(&rest[2..]).1,
        b'$' if rest.starts_with("$(") => {
            3 + closing_offset(&rest[2..], SubstitutionKind::Parentheses)?
        }
        b'$' if rest.starts_with("${") => 3 + closing_offset(&rest[2..], SubstitutionKind::Braces)?,
        _ => return None,
    };
    Some((at + length).min(text.len()))
}

fn quotes_end(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => return Some(at),
            b'\\' => at += 2,
            b'$' if text[at..].starts_with("$(") => {
                at += 3 + closing_offset(&text[at + 2..], SubstitutionKind::Parentheses)?;
            }
            _ => at += 1,
        }
    }
    None
}

/// Decodes `$'…'` from after its opening; gives the text and how many bytes it took.
pub(super) fn ansi_c(text: &str) -> (String, usize) {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\'' => break,
            '\\' => rest = escape(rest, &mut bytes),
            _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), text.len() - rest.len())
}

/// Escapes of one letter in `$'…'`.
const SIMPLE_ESCAPES: &[(char, u8)] = &[
    ('n', b'\n'),
    ('t', b'\t'),
    ('r', b'\r'),
    ('a', 7),
    ('b', 8),
    ('e', 27),
    ('E', 27),
    ('f', 12),
    ('v', 11),
    ('\\', b'\\'),
    ('\'', b'\''),
    ('"', b'"'),
    ('?', b'?'),
];

fn escape<'a>(text: &'a str, bytes: &mut Vec<u8>) -> &'a str {
    let Some(c) = text.chars().next() else {
        bytes.push(b'\\');
        return text;
    };
    let rest = &text[c.len_utf8()..];
    if let Some((_, byte)) = SIMPLE_ESCAPES.iter().find(|(name, _)| *name == c) {
        bytes.push(*byte);
        return rest;
    }
    let (digits, radix, length) = match c {
        'x' => (rest, 16, 2),
        'u' => (rest, 16, 4),
        'U' => (rest, 16, 8),
        '0'..='7' => (text, 8, 3),
        _ => {
            bytes.push(b'\\');
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return rest;
        }
    };
    let used = digits.bytes().take(length).take_while(|b| char::from(*b).is_digit(radix)).count();
    let code = u32::from_str_radix(&digits[..used], radix).unwrap_or(0);
    if matches!(c, 'u' | 'U') {
        let decoded = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        bytes.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        bytes.push((code & 0xff) as u8);
    }
    &digits[used..]
}
