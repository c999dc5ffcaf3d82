//! Splits an input into the parts that targets use.

/// Separator between the parts of an input.
const PART_SEPARATOR: &[u8] = b"\n%%%%\n";

/// Splits off the first byte; 0 if the input is empty.
pub(crate) fn split_head(data: &[u8]) -> (usize, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (usize::from(*first), rest))
}

/// One of these, as the first byte says, and the rest.
pub(crate) fn choose<'d, T: Copy>(all: &[T], data: &'d [u8]) -> (T, &'d [u8]) {
    let (first, rest) = split_head(data);
    (all[first % all.len()], rest)
}

/// The first parts of an input; those that are not there are empty.
pub(crate) fn parts<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut parts = [&b""[..]; N];
    let mut rest = data;
    for part in &mut parts {
        let end = rest.windows(PART_SEPARATOR.len()).position(|window| window == PART_SEPARATOR);
        *part = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&b""[..], |end| &rest[end + PART_SEPARATOR.len()..]);
    }
    parts
}

/// `content` with `bytes` in it: instead of all of it, at its end, or over what is at a place.
pub(crate) fn spliced(content: &[u8], place: usize, bytes: &[u8]) -> Vec<u8> {
    let mut content = content.to_vec();
    match place {
        0 => content = bytes.to_vec(),
        1 => content.extend(bytes),
        2 => content.truncate(content.len() / 2),
        _ => {
            let at = content.len() * (place - 3) / 252;
            let end = (at + bytes.len()).min(content.len());
            content.splice(at..end, bytes.iter().copied());
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_come_apart() {
        assert_eq!(choose(&["a", "b", "c"], b"\x04rest"), ("b", &b"rest"[..]));
        assert_eq!(choose(&["a", "b"], b""), ("a", &b""[..]));
        assert_eq!(spliced(b"abcdef", 0, b"x"), b"x");
        assert_eq!(spliced(b"abcdef", 3, b"x"), b"xbcdef");
        assert_eq!(spliced(b"abcdef", 255, b"xy"), b"abcdefxy");
        assert_eq!(parts(b"one\n%%%%\n\n%%%%\nthree"), [&b"one"[..], b"", b"three", b""]);
    }
}
