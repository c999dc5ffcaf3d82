//! Conditional and partial answers: `ETag` with `If-None-Match`, and single ranges.
//!
//! Everything stays `no-store`, and a tag is for programs that keep an answer in memory: a copy in
//! a browser's cache on disk would outlive `retake purge` and a change of what is masked.

use std::ops::Range;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

/// A strong entity tag: names the bytes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntityTag(String);

impl EntityTag {
    /// The tag of what is made of these values, by this version of the program.
    pub(super) fn of(values: &[&str]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(env!("CARGO_PKG_VERSION"));
        for value in values {
            hasher.update(value.len().to_le_bytes());
            hasher.update(value);
        }
        let digest = hasher.finalize();
        let hex =
            digest.iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        Self(format!("\"{hex}\""))
    }

    /// The tag of the same with another value.
    pub(super) fn with(&self, value: &str) -> Self {
        Self::of(&[&self.0, value])
    }

    /// Returns true if the client has just this.
    pub(super) fn is_known(&self, headers: &HeaderMap) -> bool {
        let known = headers.get_all(header::IF_NONE_MATCH).iter();
        let mut tags = known.filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','));
        tags.any(|tag| {
            let tag = tag.trim();
            tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.0
        })
    }

    /// Answers that the client has it.
    pub(super) fn not_modified(&self) -> Response {
        let mut answer = StatusCode::NOT_MODIFIED.into_response();
        self.add_to(answer.headers_mut());
        answer
    }

    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_str(&self.0) {
            headers.insert(header::ETAG, value);
        }
    }

    /// Returns true if a range that was asked for is of this: `If-Range` names nothing else.
    fn allows_range(&self, headers: &HeaderMap) -> bool {
        headers.get(header::IF_RANGE).is_none_or(|tag| tag.as_bytes() == self.0.as_bytes())
    }
}

/// What a request wants of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// All of it: no range is asked for, or none that is understood.
    Whole,
    /// This part.
    Part(Range<u64>),
    /// A part that the content does not have.
    Outside,
}

impl RequestedRange {
    /// The one range of a request, of a content of `size` bytes. Several ranges are answered with
    /// the whole, as the standard allows.
    pub(super) fn of(headers: &HeaderMap, tag: &EntityTag, size: u64) -> Self {
        let value = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
        let asked = value.and_then(|value| value.trim().strip_prefix("bytes="));
        match asked.filter(|_| tag.allows_range(headers)) {
            Some(range) => Self::parse(range, size).unwrap_or(Self::Whole),
            None => Self::Whole,
        }
    }

    fn parse(text: &str, size: u64) -> Option<Self> {
        let (first, last) = text.trim().split_once('-')?;
        let range = match (first, last) {
            ("", suffix) => {
                let length = number(suffix)?;
                if length == 0 { size..size } else { size.saturating_sub(length)..size }
            }
            (first, "") => number(first)?..size,
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return None;
                }
                first..size.min(last.saturating_add(1))
            }
        };
        Some(if range.start < range.end { Self::Part(range) } else { Self::Outside })
    }
}

/// Digits alone; a number that is too long counts as very large.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_ranges_are_understood_and_nothing_else() {
        let tag = EntityTag::of(&["a"]);
        let asked = |range: &str, size: u64| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, range.parse().unwrap());
            match RequestedRange::of(&headers, &tag, size) {
                RequestedRange::Whole => "whole".to_owned(),
                RequestedRange::Part(range) => format!("{range:?}"),
                RequestedRange::Outside => "outside".to_owned(),
            }
        };
        for (range, expected) in [
            ("bytes=0-0", "0..1"),
            ("bytes=2-", "2..10"),
            ("bytes=-3", "7..10"),
            ("bytes=-30", "0..10"),
            ("bytes=5-99999999999999999999999", "5..10"),
            ("bytes=10-", "outside"),
            ("bytes=-0", "outside"),
            ("bytes=99-100", "outside"),
            ("bytes=3-2", "whole"),
            ("bytes=0-1,3-4", "whole"),
            ("bytes=a-b", "whole"),
            ("bytes=+1-2", "whole"),
            ("lines=0-1", "whole"),
            ("bytes=-", "whole"),
        ] {
            assert_eq!(asked(range, 10), expected, "{range}");
        }
        assert_eq!(asked("bytes=0-", 0), "outside");
    }

    #[test]
    fn a_tag_is_known_in_a_list_and_a_range_of_another_is_not_given() {
        let (tag, other) = (EntityTag::of(&["a", "b"]), EntityTag::of(&["ab"]));
        assert_ne!(tag, other);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, format!("{}, W/{}", other.0, tag.0).parse().unwrap());
        assert!(tag.is_known(&headers) && !EntityTag::of(&["c"]).is_known(&headers));
        headers.insert(header::RANGE, "bytes=1-".parse().unwrap());
        headers.insert(header::IF_RANGE, other.0.parse().unwrap());
        assert_eq!(RequestedRange::of(&headers, &tag, 9), RequestedRange::Whole);
        headers.insert(header::IF_RANGE, tag.0.parse().unwrap());
        assert_eq!(RequestedRange::of(&headers, &tag, 9), RequestedRange::Part(1..9));
    }
}
