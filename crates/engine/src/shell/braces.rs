//! Brace expansion: `{a,b}`, `{1..3}`, nested and combined.
//!
//! Works on the written text, before quotes are removed, as the shell does. Number sequences with
//! padding or steps, and large expansions, are not expanded (`None`).

use super::quote;

/// Maximum brace groups in one word that are expanded.
const MAX_GROUPS: usize = 8;
/// Maximum bytes of a word with groups that is expanded.
const MAX_WORD_BYTES: usize = 4096;

/// Expands `text` to words; `None` if there are more than `max` or it is too complex.
pub(super) fn expand(text: &str, max: usize) -> Option<Vec<String>> {
    if !text.contains('{') {
        return Some(vec![text.to_owned()]);
    }
    match unquoted_openings(text) {
        0 => Some(vec![text.to_owned()]),
        // The search for a group is quadratic in the worst case.
        1..=MAX_GROUPS if text.len() <= MAX_WORD_BYTES => expand_groups(text, max),
        _ => None,
    }
}

fn unquoted_openings(text: &str) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        count += usize::from(text.as_bytes()[at] == b'{');
        at = quote::part_end(text, at).map_or(at + 1, |end| end.max(at + 1));
    }
    count
}

fn expand_groups(text: &str, max: usize) -> Option<Vec<String>> {
    let Some((start, end, members)) = group(text) else {
        return Some(vec![text.to_owned()]);
    };
    let mut middles = Vec::new();
    for member in members.into_words(max)? {
        middles.extend(expand_groups(&member, max)?);
    }
    let tails = expand_groups(&text[end..], max)?;
    if middles.len().saturating_mul(tails.len()) > max {
        return None;
    }
    let head = &text[..start];
    let join = |middle: &String| -> Vec<String> {
        tails.iter().map(|tail| [head, middle, tail].concat()).collect()
    };
    Some(middles.iter().flat_map(join).collect())
}

enum BraceMembers {
    List(Vec<String>),
    Numbers(i64, i64),
    Letters(u8, u8),
    Involved,
}

impl BraceMembers {
    fn into_words(self, max: usize) -> Option<Vec<String>> {
        match self {
            Self::List(words) => Some(words),
            Self::Numbers(from, to) => {
                let count = usize::try_from(from.abs_diff(to)).ok()?;
                let step = if from <= to { 1 } else { -1 };
                let number = |at: usize| (from + step * at as i64).to_string();
                (count < max).then(|| (0..=count).map(number).collect())
            }
            Self::Letters(from, to) => {
                let (low, high) = (from.min(to), from.max(to));
                let mut words: Vec<String> =
                    (low..=high).map(|byte| char::from(byte).to_string()).collect();
                if from > to {
                    words.reverse();
                }
                Some(words)
            }
            Self::Involved => None,
        }
    }
}

/// Finds the first group of `text`: its start, end and members.
fn group(text: &str) -> Option<(usize, usize, BraceMembers)> {
    let mut at = 0;
    while at < text.len() {
        if let Some(end) = quote::part_end(text, at) {
            at = end.max(at + 1);
        } else if text.as_bytes()[at] == b'{' {
            if let Some((end, members)) = members(text, at + 1) {
                return Some((at, end, members));
            }
            at += 1;
        } else {
            at += 1;
        }
    }
    None
}

fn members(text: &str, start: usize) -> Option<(usize, BraceMembers)> {
    let (mut depth, mut at, mut from) = (0_usize, start, start);
    let mut words = Vec::new();
    while at < text.len() {
        if let Some(end) = quote::part_end(text, at) {
            at = end.max(at + 1);
            continue;
        }
        match text.as_bytes()[at] {
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b',' if depth == 0 => {
                words.push(text.get(from..at)?.to_owned());
                from = at + 1;
            }
            b'}' => {
                let last = text.get(from..at)?;
                if words.is_empty() {
                    return sequence(last).map(|members| (at + 1, members));
                }
                words.push(last.to_owned());
                return Some((at + 1, BraceMembers::List(words)));
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn sequence(text: &str) -> Option<BraceMembers> {
    let (from, to) = text.split_once("..")?;
    if let (Ok(low), Ok(high)) = (from.parse::<i32>(), to.parse::<i32>()) {
        let padded = |text: &str| {
            let digits = text.trim_start_matches(['-', '+']);
            digits.len() > 1 && digits.starts_with('0')
        };
        let numbers = BraceMembers::Numbers(low.into(), high.into());
        return Some(if padded(from) || padded(to) { BraceMembers::Involved } else { numbers });
    }
    match (from.as_bytes(), to.as_bytes()) {
        ([from], [to]) if from.is_ascii_alphabetic() && to.is_ascii_alphabetic() => {
            // `{Z..a}` passes through punctuation that would need quoting.
            let same_case = from.is_ascii_lowercase() == to.is_ascii_lowercase();
            Some(if same_case { BraceMembers::Letters(*from, *to) } else { BraceMembers::Involved })
        }
        _ if to.contains("..") => Some(BraceMembers::Involved),
        _ => None,
    }
}
