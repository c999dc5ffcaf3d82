//! Edits that touch: which of them go together, and which stay a conflict. That nothing is lost where
//! git sees a conflict, and we do not, is tried at random in `merge_tests.rs`.

use fastrand::Rng;

use super::*;
use crate::content::merge::{ConflictLabels, MergeResult, merge};

const LABELS: ConflictLabels<'_> = ConflictLabels { base: "base", ours: "ours", theirs: "theirs" };

fn merged(base: &str, ours: &str, theirs: &str) -> MergeResult {
    merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &LABELS)
}

fn clean(text: &str) -> MergeResult {
    MergeResult::Clean(text.as_bytes().to_vec())
}

#[test]
fn what_a_side_only_removes_does_not_conflict_with_what_touches_it() {
    let base = "1\n2\nagent\nmore\n3\n4\n";
    let theirs = "1\n2\n3\n4\n";
    let rows = [
        ("1\n2\nagent\nmore\nmine\n3\n4\n", "1\n2\nmine\n3\n4\n"),
        ("1\n2\nmine\nagent\nmore\n3\n4\n", "1\n2\nmine\n3\n4\n"),
        ("1\n2\na\nagent\nmore\nb\nc\n3\n4\n", "1\n2\na\nb\nc\n3\n4\n"),
        ("1\n2\nagent\nmore\nthree\n4\n", "1\n2\nthree\n4\n"),
        ("1\ntwo\nagent\nmore\nthree\n4\n", "1\ntwo\nthree\n4\n"),
        ("1\n2\nagent\nmore\n4\n", "1\n2\n4\n"),
        // Equal to what is removed, and all the same it is clear what stays.
        ("1\n2\nagent\nmore\nagent\nmore\n3\n4\n", "1\n2\nagent\nmore\n3\n4\n"),
    ];
    for (ours, expected) in rows {
        assert_eq!(merged(base, ours, theirs), clean(expected), "{ours:?}");
        assert_eq!(merged(base, theirs, ours), clean(expected), "{ours:?}");
    }
}

#[test]
fn what_would_be_a_guess_stays_a_conflict() {
    let rows = [
        // Both add, and nobody knows in which order.
        ("1\n2\n", "1\na\n2\n", "1\nb\n2\n"),
        ("1\n2\n3\n", "1\ntwo\n3\n", "1\n2\nthree\n"),
        // In between what is removed, or instead of a part of it.
        ("1\na\nb\n2\n", "1\na\nmine\nb\n2\n", "1\n2\n"),
        ("1\na\nb\n2\n", "1\na\nmine\n2\n", "1\n2\n"),
        // Which of two equal lines is removed makes a difference.
        ("1\nx\nx\n2\n", "1\nx\nmine\nx\n2\n", "1\nx\n2\n"),
        ("1\nx\n2\n", "1\nx\nmine\nx\n2\n", "1\n2\n"),
        // Both may have removed the same one.
        ("a\nx\nx\nb\n", "A\nx\nb\n", "a\nx\nb\n"),
    ];
    for (base, ours, theirs) in rows {
        for (ours, theirs) in [(ours, theirs), (theirs, ours)] {
            let found = merged(base, ours, theirs);
            assert!(
                matches!(found, MergeResult::Conflict { .. }),
                "{base:?} {ours:?} {theirs:?}: {found:?}"
            );
        }
    }
}

#[test]
fn a_conflict_says_which_lines_it_is_about() {
    let place = |first, count| ConflictLines { first, count };
    let rows = [
        ("1\n2\n3\n", "0\n1\ntwo\n3\n", "1\nzwei\n3\n", vec![place(3, 1)]),
        ("1\n2\n3\n4\n", "1\n2\nmine\nmore\n4\n", "1\nzwei\n3\n4\n", vec![place(2, 3)]),
        ("1\n2\n3\n", "1\n3\n", "1\nzwei\n3\n", vec![place(2, 0)]),
    ];
    for (base, ours, theirs, expected) in rows {
        let found = merged(base, ours, theirs);
        let MergeResult::Conflict { lines, .. } = found else {
            panic!("{base:?} {ours:?}: {found:?}")
        };
        assert_eq!(lines, expected, "{ours:?}");
    }
}

/// Somebody adds a block, and another one adds lines or edits anywhere outside of it.
#[test]
fn an_added_block_is_taken_back_whatever_was_done_beside_it() {
    let mut rng = Rng::with_seed(18);
    for round in 0..2000 {
        let mut number = 0;
        let mut line = |who: &str| {
            number += 1;
            format!("{who} {number}\n")
        };
        let before: Vec<String> = (0..rng.usize(1..8)).map(|_| line("old")).collect();
        let at = rng.usize(..=before.len());
        let block: Vec<String> = (0..rng.usize(1..4)).map(|_| line("agent")).collect();
        let mut above = before[..at].to_vec();
        let mut below = before[at..].to_vec();
        for part in [&mut above, &mut below] {
            let place = rng.usize(..=part.len());
            match rng.u8(..3) {
                0 => part.insert(place, line("mine")),
                1 if place < part.len() => part[place] = line("mine"),
                2 if place < part.len() => drop(part.remove(place)),
                _ => {}
            }
        }
        let after = [&before[..at], &block, &before[at..]].concat().concat();
        let now = [&above[..], &block, &below].concat().concat();
        let expected = [above, below].concat().concat();
        assert_eq!(merged(&after, &now, &before.concat()), clean(&expected), "round {round}");
    }
}
