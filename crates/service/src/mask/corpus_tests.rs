//! The corpus of planted secrets and of harmless look-alikes (`tests/corpus`), with both error
//! rates. Both are 0: a case that cannot be met is left out of the corpus and told in SHORTCOMINGS.

use std::io::Write as _;

use super::*;

/// Minimum number of cases in each file.
const MIN_CASES: usize = 200;

struct CorpusCase {
    path: ProjectPath,
    text: String,
}

fn read_cases(name: &str) -> Vec<CorpusCase> {
    let file = format!("{}/tests/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let cases: Vec<_> = lines
        .map(|line| {
            let (path, text) = line.split_once('\t').unwrap_or_else(|| panic!("no tab: {line}"));
            CorpusCase { path: path.parse().unwrap(), text: unescape(text) }
        })
        .collect();
    assert!(cases.len() >= MIN_CASES, "{}", cases.len());
    cases
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().filter(|char| *char != '¦');
    while let Some(char) = chars.next() {
        match (char, char == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('\\') | None => out.push('\\'),
                Some(other) => out.extend(['\\', other]),
            },
            (char, false) => out.push(char),
        }
    }
    out
}

/// The parts of a text between the marks of a planted secret.
fn planted(text: &str) -> Vec<&str> {
    let parts = text.split('⟦').skip(1);
    parts.map(|part| part.split_once('⟧').unwrap().0).collect()
}

fn report(what: &str, wrong: &[String], all: usize) {
    let mut stderr = std::io::stderr();
    for one in wrong {
        let _ = writeln!(stderr, "{what}: {one}");
    }
    let per_mille = 1000 * wrong.len() / all;
    let _ = writeln!(stderr, "{what}: {} of {all} ({per_mille} ‰)", wrong.len());
}

#[test]
fn planted_secrets_are_found() {
    let cases = read_cases("secrets.txt");
    let mut missed = Vec::new();
    for CorpusCase { path, text } in &cases {
        let secrets = planted(text);
        assert!(!secrets.is_empty(), "nothing is planted in {text}");
        let shown = Masking::On.mask_content(path, &text.replace(['⟦', '⟧'], "")).into_owned();
        if secrets.iter().any(|secret| shown.contains(secret)) {
            missed.push(format!("{path}: {shown}"));
        }
    }
    report("secrets that are shown", &missed, cases.len());
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn harmless_texts_are_shown() {
    let cases = read_cases("harmless.txt");
    let mut masked = Vec::new();
    for CorpusCase { path, text } in &cases {
        let shown = Masking::On.mask_content(path, text);
        if shown != *text {
            masked.push(format!("{path}: {shown}"));
        }
    }
    report("harmless texts that are masked", &masked, cases.len());
    assert!(masked.is_empty(), "{masked:#?}");
}

/// The same secrets in what an agent said or ran, where no file name helps.
#[test]
fn planted_secrets_are_found_in_messages_as_well() {
    // Those that only the kind of the file tells: words without quotes, and files of secrets.
    const MAX_MISSED_IN_MESSAGES: usize = 13;
    let cases = read_cases("secrets.txt");
    let mut missed = Vec::new();
    for CorpusCase { path, text } in &cases {
        let secrets = planted(text);
        let shown = Masking::On.mask_text(&text.replace(['⟦', '⟧'], "")).into_owned();
        if secrets.iter().any(|secret| shown.contains(secret)) {
            missed.push(format!("{path}: {shown}"));
        }
    }
    report("secrets that messages show", &missed, cases.len());
    assert!(missed.len() <= MAX_MISSED_IN_MESSAGES, "{}", missed.len());
}

#[test]
fn the_middle_of_a_key_is_masked_without_its_ends() {
    let line = |seed: u8| -> String {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        (0..64).map(|at| char::from(letters[(at * 7 + usize::from(seed) * 5) % 64])).collect()
    };
    let middle = format!("@@ -3,3 +3,3 @@\n {}\n-{}\n+{}\n", line(1), line(2), line(3));
    let shown = Masking::On.mask_text(&middle).into_owned();
    assert_eq!(shown.lines().count(), 4, "{shown}");
    for seed in 1..4 {
        assert!(!shown.contains(&line(seed)), "{shown}");
    }
    // The body of a certificate is public.
    let certificate = format!("-----BEGIN CERTIFICATE-----\n{}\n{}\n", line(1), line(2));
    assert_eq!(Masking::On.mask_text(&certificate), certificate);
}
