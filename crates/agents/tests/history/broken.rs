//! Files that are empty, cut off, corrupt or something else: nothing is lost without a word.

use fastrand::Rng;
use retake_agents::history::{Conversation, ConversationReadError, HistoryFormat, read, write};

use super::{Sample, made, read_whole, samples};

/// Captured and made conversations, in every form.
fn files() -> Vec<Sample> {
    let made = made::conversation(&mut Rng::with_seed(12));
    let written = HistoryFormat::ALL.into_iter().map(|form| {
        let bytes = write(form, &made, 7).into_bytes();
        Sample { form, name: "made".to_owned(), bytes }
    });
    samples().into_iter().chain(written).collect()
}

fn has_lines(form: HistoryFormat) -> bool {
    matches!(
        form,
        HistoryFormat::ClaudeCode
            | HistoryFormat::Codex
            | HistoryFormat::Gemini
            | HistoryFormat::Copilot
    )
}

#[test]
fn an_empty_file_is_told_from_an_empty_list() {
    for form in HistoryFormat::ALL {
        for nothing in ["", " \n\n"] {
            let error = read(form, nothing.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), "the file is empty", "{form}");
        }
    }
    for form in [HistoryFormat::ApiHistory, HistoryFormat::UiMessages, HistoryFormat::Opencode] {
        assert_eq!(read_whole(form, b"[]"), Conversation::default(), "{form}");
    }
    assert_eq!(read_whole(HistoryFormat::Cline, b"{\"messages\":[]}"), Conversation::default());
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there_or_refused_with_the_place() {
    for file in files() {
        let whole = read_whole(file.form, &file.bytes);
        for part in 1..20 {
            let cut = &file.bytes[..file.bytes.len() * part / 20];
            match read(file.form, cut) {
                Ok(read) => check_cut(&file, cut, &read, &whole),
                Err(ConversationReadError::NotJson { line, .. }) => {
                    assert!(line > 0 && (line == 1 || !has_lines(file.form)), "{}", file.name);
                }
                Err(ConversationReadError::NotUtf8(at)) => {
                    assert!(at + 4 > cut.len(), "half a character");
                }
                Err(other) => panic!("{} {}: {other}", file.form, file.name),
            }
        }
    }
}

fn check_cut(file: &Sample, cut: &[u8], read: &Conversation, whole: &Conversation) {
    assert!(has_lines(file.form), "half a document is none: {}", file.form);
    let last = cut.split(|byte| *byte == b'\n').count();
    // A line that is whole but for its end is read.
    let problems: Vec<_> = read.problems.iter().map(|one| one.place.as_str()).collect();
    let cut_off = format!("line {last}");
    assert!(problems.is_empty() || problems == [cut_off.as_str()], "{problems:?}");
    if !(cut.ends_with(b"\n") || cut.ends_with(b"}")) {
        assert_eq!(read.problems[0].why, "the line is cut off");
    }
    // The last message and what its tools answered may be there in part.
    let sure = read.messages.len().saturating_sub(3);
    assert_eq!(read.messages[..sure], whole.messages[..sure], "{} {}", file.form, file.name);
}

#[test]
fn one_corrupt_line_costs_only_itself() {
    for file in files().into_iter().filter(|file| has_lines(file.form)) {
        let mut lines: Vec<&[u8]> = file.bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let middle = lines.len() / 2;
        for corrupt in [&b"{\"type\": \"user\", \xff\xfe}\n"[..], b"{\"type\":\n", b"\x00\x01\n"] {
            lines[middle] = corrupt;
            let read = read(file.form, &lines.concat()).unwrap();
            let places: Vec<_> = read.problems.iter().map(|one| one.place.clone()).collect();
            assert_eq!(places, [format!("line {}", middle + 1)], "{}", file.form);
            let why = &read.problems[0].why;
            assert!(
                why.starts_with("not JSON at column") || why.ends_with("is not UTF-8"),
                "{why}"
            );
            let mut others = lines.clone();
            others.remove(middle);
            assert_eq!(read.messages, read_whole(file.form, &others.concat()).messages);
        }
    }
}

#[test]
fn a_corrupt_document_is_refused_with_the_place() {
    for file in files().into_iter().filter(|file| !has_lines(file.form)) {
        let mut lines: Vec<&[u8]> = file.bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let middle = lines.len() / 2;
        lines[middle] = b"\x01\n";
        let error = read(file.form, &lines.concat()).unwrap_err();
        let ConversationReadError::NotJson { line, .. } = &error else { panic!("{error}") };
        assert_eq!(*line, middle + 1, "{}: {error}", file.form);
        assert!(error.to_string().contains(&format!("line {line}, column ")));
    }
}

#[test]
fn what_is_something_else_is_refused() {
    let made = made::conversation(&mut Rng::with_seed(3));
    for form in HistoryFormat::ALL {
        let garbage = read(form, b"\x80\x00\xffgarbage\n").unwrap_err();
        assert_eq!(garbage, ConversationReadError::NotUtf8(0));
        assert!(matches!(
            read(form, b"hello\nworld\n"),
            Err(ConversationReadError::NotJson { line: 1, .. })
        ));
        assert_eq!(read(form, b"7\n"), Err(ConversationReadError::OtherForm(form)));
        for other in HistoryFormat::ALL.into_iter().filter(|other| *other != form) {
            let read = read(form, write(other, &made, 7).as_bytes());
            let nothing = read.as_ref().map_or(true, |read| read.messages.is_empty());
            assert!(nothing, "{other} as {form}: {read:?}");
        }
    }
}
