//! Differences in pages: the files first, then the lines of one file.

use std::fmt::Write as _;

use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

use crate::client::Ask;
use crate::stage::{STORY, Stage};

fn strings<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|one| one[field].as_str().unwrap()).collect()
}

/// A server for a project in which an agent changed these files.
fn stage_with(files: &[(&str, String, String)]) -> Stage {
    let project = TestProject::new();
    for (name, before, _) in files {
        project.write(name, before);
    }
    project.init();
    play(&project, "say d1: go");
    project.record(&TestProject::begin("d1", "k1", "Bash", json!({ "command": "make" })));
    for (name, _, after) in files {
        project.write(name, after);
    }
    project.record(&TestProject::end("d1", "k1"));
    Stage::of(project)
}

fn numbers(range: std::ops::RangeInclusive<u32>, mark: &str) -> String {
    range.fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{mark}{number}");
        text
    })
}

#[test]
fn a_difference_is_a_list_of_files_in_pages() {
    let files: Vec<_> =
        (0..5).map(|n| (format!("f{n}.txt"), "a\n".to_owned(), format!("b{n}\n"))).collect();
    let files: Vec<_> = files.iter().map(|(a, b, c)| (a.as_str(), b.clone(), c.clone())).collect();
    let stage = stage_with(&files);
    let all = stage.got("diff?dialog=d1");
    assert_eq!(strings(&all["files"], "path"), ["f0.txt", "f1.txt", "f2.txt", "f3.txt", "f4.txt"]);
    assert_eq!((&all["count"], &all["next"]), (&json!(5), &Value::Null));
    let first = &all["files"][0];
    assert_eq!((&first["added"], &first["removed"]), (&json!(1), &json!(1)));
    assert_eq!((&first["change_type"], &first["parts"]), (&json!("modify"), &json!(1)));
    assert_eq!(first["before"]["size"], 2);
    assert!(first["diff"].is_null(), "a list has no lines");
    let (mut seen, mut path) = (Vec::new(), "diff?limit=2".to_owned());
    loop {
        let page = stage.got(&path);
        seen.extend(page["files"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        path = format!("diff?limit=2&cursor={next}");
    }
    assert_eq!(json!(seen), all["files"], "pages neither skip nor repeat");
    for wrong in ["cursor=odd", "cursor=.", "limit=0", "limit=1001"] {
        let answer = stage.get(&format!("diff?{wrong}"));
        assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"), "{wrong}");
    }
    assert_eq!(stage.get("diff?form=structured").code(), "bad_query");
}

#[test]
fn a_file_has_its_lines_in_pages_that_hold_each_once() {
    let (before, after) = (numbers(1..=3000, "old "), numbers(1..=3000, "new "));
    let stage = stage_with(&[("a.txt", before, after)]);
    let mut path = "diff/file?path=a.txt&form=structured&lines=700".to_owned();
    let (mut old, mut new, mut pages) = (Vec::new(), Vec::new(), 0);
    loop {
        let page = stage.got(&path);
        pages += 1;
        assert_eq!((&page["added"], &page["truncated"]), (&json!(3000), &json!(true)));
        assert_eq!(page["exact"], false);
        let hunks = page["hunks"].as_array().unwrap();
        for hunk in hunks {
            let lines = hunk["lines"].as_array().unwrap();
            let count = |side: &str| lines.iter().filter(|line| line[side].is_u64()).count();
            assert_eq!(
                json!([count("old"), count("new")]),
                json!([hunk["old_lines"], hunk["new_lines"]])
            );
            assert!(lines.len() <= 700);
            old.extend(lines.iter().filter_map(|line| line["old"].as_u64()));
            new.extend(lines.iter().filter_map(|line| line["new"].as_u64()));
            // The text has the same header, so that a parser of patches reads any page.
            let text = page["diff"].as_str().unwrap();
            assert!(text.contains(hunk["header"].as_str().unwrap()), "{text}");
        }
        assert_eq!(hunks[0]["continued"].as_bool().unwrap_or(false), pages > 1);
        let Some(next) = page["next"].as_str() else { break };
        path = format!("diff/file?path=a.txt&form=structured&lines=700&cursor={next}");
    }
    assert_eq!((pages, old.len(), new.len()), (9, 3000, 3000));
    assert_eq!((old.last(), new.last()), (Some(&3000), Some(&3000)));
    let first = stage.got("diff/file?path=a.txt&lines=10");
    let next = first["next"].as_str().unwrap();
    let other = stage.get(&format!("diff/file?path=a.txt&context=1&cursor={next}"));
    assert_eq!((other.status, other.code().as_str()), (409, "stale_cursor"));
    stage.project.write("a.txt", "mine\n");
    stage.got("status");
    let user = stage.got("diff/file?path=a.txt&actor=user");
    assert_eq!((&user["first"], &user["removed"]), (&user["last"], &json!(3000)));
    for wrong in ["lines=0", "lines=5001", "cursor=odd", "context=-1", "context=", "part=2"] {
        let answer = stage.get(&format!("diff/file?path=a.txt&dialog=d1&{wrong}"));
        assert_eq!((answer.status, answer.code().as_str()), (422, "bad_value"), "{wrong}");
    }
    assert_eq!(stage.get("diff/file?path=none.txt").code(), "unknown_file");
    assert_eq!(stage.get("diff/file").code(), "bad_value");
}

#[test]
fn a_long_line_is_cut_and_the_content_has_the_rest() {
    let long = "x".repeat(40_000);
    let stage = stage_with(&[("a.txt", "a\n".to_owned(), format!("{long}\n"))]);
    let diff = stage.got("diff/file?path=a.txt&form=structured");
    let lines = diff["hunks"][0]["lines"].as_array().unwrap();
    let added = lines.iter().find(|line| line["kind"] == "added").unwrap();
    let shown = added["text"].as_str().unwrap().len();
    assert_eq!(json!(shown as u64 + added["cut"].as_u64().unwrap()), json!(40_000));
    assert_eq!((&diff["truncated"], &diff["next"]), (&json!(true), &Value::Null));
    assert_eq!(stage.get("file?path=a.txt").body.len(), 40_001);
}

#[test]
fn lines_are_compared_as_asked_for() {
    let (before, after) = ("a\n\tb  c\nd\ne\n", "a\n b c \nd\n\ne\n");
    let stage = stage_with(&[
        ("space.txt", before.to_owned(), after.to_owned()),
        ("crlf.txt", "one\ntwo\nthree\n".to_owned(), "one\r\nTWO\r\nthree\r\n".to_owned()),
        ("ends.txt", "one\ntwo\n".to_owned(), "one\r\ntwo\r\n".to_owned()),
    ]);
    let counts = |query: &str| {
        let diff = stage.got(&format!("diff/file?{query}"));
        json!([diff["added"], diff["removed"], diff["exact"]])
    };
    assert_eq!(counts("path=space.txt"), json!([2, 1, true]));
    assert_eq!(counts("path=space.txt&whitespace=ignore_at_end"), json!([2, 1, false]));
    assert_eq!(counts("path=space.txt&whitespace=ignore_amount"), json!([1, 0, false]));
    assert_eq!(counts("path=space.txt&whitespace=ignore_all"), json!([1, 0, false]));
    let none = "path=space.txt&whitespace=ignore_all&ignore_blank_lines=true";
    assert_eq!(counts(none), json!([0, 0, false]));
    // Line endings are told, and do not count.
    assert_eq!(counts("path=crlf.txt"), json!([1, 1, false]));
    assert_eq!(counts("path=ends.txt"), json!([0, 0, false]));
    assert_eq!(counts("path=ends.txt&line_endings=exact"), json!([2, 2, true]));
    let diff = stage.got("diff/file?path=crlf.txt&form=structured");
    assert_eq!(diff["line_endings"], json!({ "before": "lf", "after": "crlf" }));
    let lines = diff["hunks"][0]["lines"].as_array().unwrap();
    let texts: Vec<_> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["one", "two", "TWO", "three"], "no carriage return is shown");
    let bare = stage.got("diff/file?path=crlf.txt&context=0");
    assert!(!bare["diff"].as_str().unwrap().contains(" one"), "{bare}");
}

#[test]
fn words_and_tokens_come_on_request() {
    let (before, after) = ("fn a() { old(); }\n", "fn a() { new(); }\n");
    let stage = stage_with(&[("a.rs", before.to_owned(), after.to_owned())]);
    let line = |query: &str| {
        let diff = stage.got(&format!("diff/file?path=a.rs&{query}"));
        (diff["hunks"][0]["lines"][1].clone(), diff["highlighted"].clone())
    };
    let (both, highlighted) = line("form=structured");
    assert_eq!((&both["words"], &highlighted), (&json!([[9, 12]]), &json!(true)));
    assert!(!both["tokens"].as_array().unwrap().is_empty());
    let (none, highlighted) = line("form=structured&words=false&tokens=false");
    assert_eq!(json!([none["words"], none["tokens"]]), json!([[], []]));
    assert_eq!(highlighted, false);
    // What is too long is shown all the same.
    let long = "fn a() { call(); }\n".repeat(10_000);
    let stage = stage_with(&[("a.rs", "x\n".to_owned(), long)]);
    let diff = stage.got("diff/file?path=a.rs&form=structured&lines=10");
    assert_eq!(diff["highlighted"], true, "the first page is short enough");
    let whole = stage.got("diff/file?path=a.rs&form=structured&lines=5000");
    let next = whole["next"].as_str().unwrap();
    let later = format!("diff/file?path=a.rs&form=structured&lines=5000&cursor={next}");
    assert_eq!(stage.got(&later)["highlighted"], false);
}

#[test]
fn a_part_that_another_changed_in_between_is_shown_apart() {
    let stage = Stage::new(
        r"
        file a.txt: one\n
        file old.txt: move me\n
        init
        say d1: go
        write d1 k1 a.txt: two\n
        turn-end d1
    ",
    );
    stage.project.write("a.txt", "mine\n");
    stage.got("status");
    play(
        &stage.project,
        r"
        write d1 k2 a.txt: three\n
        shell d1 k3: mv old.txt new.txt
        edit d1 k4 new.txt: move => moved
        ",
    );
    let list = stage.got("diff?dialog=d1");
    let parts: Vec<_> = list["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["path"], one["part"], one["parts"], one["change_type"]]))
        .collect();
    assert_eq!(
        parts,
        [
            json!(["a.txt", 1, 2, "modify"]),
            json!(["a.txt", 2, 2, "modify"]),
            json!(["new.txt", 1, 1, "rename"])
        ]
    );
    let text = |query: &str| {
        let diff = stage.got(&format!("diff/file?dialog=d1&{query}"));
        diff["diff"].as_str().unwrap().to_owned()
    };
    assert!(text("path=a.txt").contains("-one\n+two\n"));
    assert!(text("path=a.txt&part=2").contains("-mine\n+three\n"));
    // A file is found by either name, with the same difference as in the list.
    for name in ["new.txt", "old.txt"] {
        let text = text(&format!("path={name}"));
        assert!(text.contains("rename from old.txt\n") && text.contains("+moved me\n"), "{text}");
    }
}

#[test]
fn a_difference_that_the_client_has_is_not_sent_again() {
    let stage = Stage::new(STORY);
    let id = stage.got("changes?path=a.txt")["changes"][0]["id"].as_str().unwrap().to_owned();
    for path in [format!("changes/{id}/diff"), "diff/file?path=a.txt".to_owned()] {
        let first = stage.get(&path);
        let tag = first.header("etag").unwrap_or_else(|| panic!("{path} has no tag")).to_owned();
        assert!(!tag.starts_with("w/"), "it is strong");
        let ask = |path: &str, tag: &str| {
            let ask = Ask::new("GET", &stage.path(path)).token(&stage.human());
            stage.send(&ask.header("If-None-Match", tag))
        };
        let again = ask(&path, &tag);
        assert_eq!((again.status, again.body.as_str()), (304, ""));
        crate::every_route::check_headers(&again);
        assert_eq!(ask(&path, "\"other\"").status, 200);
        let sep = if path.contains('?') { '&' } else { '?' };
        assert_eq!(ask(&format!("{path}{sep}context=1"), &tag).status, 200, "another form");
    }
    stage.project.write("a.txt", "mine\n");
    stage.got("status");
    let tag = stage.get("diff/file?path=a.txt").header("etag").unwrap().to_owned();
    assert_ne!(Some(tag.as_str()), stage.get(&format!("changes/{id}/diff")).header("etag"));
}
