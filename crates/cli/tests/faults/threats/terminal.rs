//! Names, words and contents that try to take over the terminal, through every command.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::every_command::{Done, Stage};
use crate::support::World;

/// C0, an escape sequence, DEL, C1 (one byte on some terminals), and all that turns the reading
/// direction.
const EVIL: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{8}\u{7f}\u{85}\u{9b}2J\u{9d}0;owned\u{9c}\
                    \u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{2028}\u{2029}";
const NAMES: [&[u8]; 4] = [
    b"esc-\x1b[2J\x1b]0;owned\x07\x08.txt",
    b"new\nline\r\x7f.txt",
    b"raw-c1-\x9b2J\xff.txt",
    "bidi-\u{202e}txt.exe\u{2066}\u{9b}31m\u{85}.txt".as_bytes(),
];

/// What passes on bytes for other programs (`git apply`), or lets git itself speak.
fn is_exact(done: &Done) -> bool {
    let has = |word: &str| done.words.iter().any(|one| one == word);
    (has("diff") && !has("--stat")) || (has("git") && has("--"))
}

/// No C0 but newline and tab, no DEL, no C1, nothing that turns the reading direction or breaks
/// the line, and no byte that is no text.
fn assert_harmless(output: &[u8], what: &str) {
    let text = std::str::from_utf8(output).unwrap_or_else(|_| panic!("{what}: invalid UTF-8"));
    let is_hostile = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if let Some(at) = text.find(is_hostile) {
        let seen: String = text[at..].chars().take(40).collect();
        panic!("{what}: {seen:?}");
    }
}

#[test]
fn threat_terminal_escapes_and_bidi_in_the_output_of_every_command() {
    let world = World::new();
    world.write("plain.txt", "one\ntwo\n");
    for name in NAMES {
        std::fs::write(world.root().join(OsStr::from_bytes(name)), EVIL).unwrap();
    }
    let mut runs = 0;
    for json in [false, true] {
        let variables = vec![("RETAKE_LOG".to_owned(), "info".to_owned())];
        let stage = Stage { world: &world, evil: EVIL, file: "plain.txt", variables, json };
        stage.run_all(&mut |done| {
            runs += 1;
            let what = format!("{:?}", done.words);
            if !is_exact(done) {
                assert_harmless(&done.ran.stdout, &what);
            }
            assert_harmless(done.ran.stderr.as_bytes(), &format!("{what} (errors)"));
        });
    }
    assert!(runs > 200, "only {runs} commands were run");
}
