//! Predictions compared with what the tools really do, and random input.

use serde_json::{Value, json};

use super::tests::show;
use super::*;

fn predicted(tool: &str, input: &Value, before: Option<&str>) -> Option<String> {
    let intent = intent(tool, input);
    match predict(&intent.edits.first()?.edit, before.map(str::as_bytes))? {
        PredictedFile::Content(content) => Some(String::from_utf8(content).unwrap()),
        PredictedFile::Absent => Some("(absent)".to_owned()),
    }
}

#[test]
fn replacements() {
    let edit = |old: &str, new: &str| json!({"path": "a", "old_string": old, "new_string": new});
    let all = json!({"path": "a", "old_string": "x", "new_string": "y", "replace_all": true});
    let two =
        json!({"path": "a", "old_string": "x", "new_string": "y", "expected_replacements": 2});
    let rows = [
        (edit("b", "c"), Some("abd"), Some("acd")),
        (edit("x", "y"), Some("xx"), None),
        (edit("z", "y"), Some("xx"), None),
        (all.clone(), Some("axx"), Some("ayy")),
        (all, Some("a"), None),
        (two.clone(), Some("xx"), Some("yy")),
        (two, Some("x"), None),
        (edit("", "new\n"), None, Some("new\n")),
        (edit("x", "new\n"), None, None),
        (edit("", "n"), Some("full"), None),
        (edit("a\nb", "c\nd"), Some("a\r\nb\r\n"), Some("c\r\nd\r\n")),
        (edit("b", "c"), Some("a\r\nb\r\n"), Some("a\r\nc\r\n")),
        (edit("a\nb", "c"), Some("a\r\nb\n"), None),
    ];
    for (input, before, after) in rows {
        assert_eq!(predicted("Edit", &input, before).as_deref(), after, "{input}");
    }
    let block = json!({"path": "a",
        "diff": "<<<<<<< SEARCH\n:start_line:3\n-------\nx\n=======\ny\n>>>>>>> REPLACE"});
    assert_eq!(predicted("apply_diff", &block, Some("x\no\nx\n")).as_deref(), Some("x\no\ny\n"));
    let block = json!({"path": "a", "diff": "<<<<<<< SEARCH\nx\n=======\n>>>>>>> REPLACE"});
    assert_eq!(predicted("apply_diff", &block, Some("x\nz\n")).as_deref(), Some("z\n"));
    let insert = json!({"command": "insert", "path": "a", "insert_line": 1, "new_str": "n"});
    assert_eq!(predicted("editor", &insert, Some("a\nb\n")).as_deref(), Some("a\nn\nb\n"));
}

#[test]
fn codex_patches() {
    let patch = |body: &str| json!(format!("*** Begin Patch\n{body}\n*** End Patch\n"));
    let rows = [
        (
            "*** Update File: a\n@@\n one\n-two\n+TWO",
            "one\ntwo\nthree\n",
            Some("one\nTWO\nthree\n"),
        ),
        ("*** Update File: a\n-two\n+TWO", "one\ntwo", Some("one\nTWO\n")),
        ("*** Update File: a\n@@ fn b\n-x\n+y", "fn a\nx\nfn b\nx\n", Some("fn a\nx\nfn b\ny\n")),
        ("*** Update File: a\n@@\n-x\n+y\n*** End of File", "x\no\nx\n", Some("x\no\ny\n")),
        ("*** Update File: a\n@@\n+end", "x\n", Some("x\nend\n")),
        ("*** Update File: a\n@@\n-a\n+A\n@@\n-c\n+C", "a\nb\nc\n", Some("A\nb\nC\n")),
        ("*** Update File: a\n@@\n-gone\n+y", "x\n", None),
        ("*** Update File: a\n@@\n-b\n+B", "a\r\nb\r\n", Some("a\r\nB\r\n")),
        ("*** Delete File: a", "x\n", Some("(absent)")),
        ("*** Update File: a\n@@\n-x", "x\n", Some("")),
    ];
    for (body, before, after) in rows {
        let found = predicted("apply_patch", &patch(body), Some(before));
        assert_eq!(found.as_deref(), after, "{body}");
    }
    let moved = intent("apply_patch", &patch("*** Update File: a\n*** Move to: b\n@@\n-x\n+y"));
    assert_eq!(moved.paths, ["a", "b"]);
    assert_eq!(predict_moved(&moved.edits[0].edit, b"x\n").unwrap(), b"y\n");
    let many = intent(
        "apply_patch",
        &patch("*** Add File: a\n+x\n*** Delete File: b\n*** Update File: c\n-1\n+2"),
    );
    assert_eq!(many.paths, ["a", "b", "c"]);
}

#[test]
fn unified_diffs() {
    let rows = [
        ("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nb\nc\n", Some("a\nB\nc\n")),
        ("--- f\n+++ f\n@@ -3 +3 @@\n-x\n+y\n", "x\no\nx\n", Some("x\no\ny\n")),
        ("--- f\n+++ f\n@@ -1,0 +2,1 @@\n+n\n", "a\nb\n", Some("a\nn\nb\n")),
        ("--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "a\n", Some("b")),
        ("--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "a", Some("b\n")),
        (
            "--- f\n+++ f\n@@ -2 +2 @@\n-b\n+B\n@@ -4 +4 @@\n-d\n+D\n",
            "a\nb\nc\nd",
            Some("a\nB\nc\nD\n"),
        ),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "a\n", Some("(absent)")),
        ("--- f\n+++ f\n@@ -1 +1 @@\n-zz\n+y\n", "a\n", None),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", "", Some("a\nb\n")),
    ];
    for (diff, before, after) in rows {
        let found = predicted("apply_patch", &json!({"patch": diff}), Some(before));
        assert_eq!(found.as_deref(), after, "{diff}");
    }
    let two = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- gone\n+++ new\n\
               diff --git a/y b/z\nrename from y\nrename to z\n--- a/y\n+++ b/z\n@@ -1 +1 @@\n-1\n+2\n\
               diff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n";
    let found = intent("apply_patch", &json!({"patch": two}));
    assert_eq!(show(&found), "edit; [x y z p q]; x 1 hunks; y to z, 1 hunks; p to q, 0 hunks");
}

#[test]
fn random_input_never_panics() {
    const SEEDS: &[&str] = &[
        "{'file_path': 'a', 'old_string': 'b\\x41\\u00e9\\101', 'n': [1, (2.5, None)], 'r': True}",
        "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ f\n one\n-two\n+é\n*** End of File\n*** End Patch",
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +3,4 @@\n one\n-two\n+é\n\\ No newline at end of file\n",
        "<<<<<<< SEARCH\n:start_line:2\n-------\none\n=======\né\n>>>>>>> REPLACE\n",
    ];
    const BITS: &[&str] = &[
        "@@",
        "@@ -0,0 +0,0 @@",
        "@@ -9999999999 +1 @@",
        "\n",
        "+",
        "-",
        " ",
        "***",
        "'",
        "\\",
        "{",
        "[",
        "\\u",
        "\\x",
        "é",
        "--- ",
        "+++ ",
        "/dev/null",
        "\r\n",
        "=======",
        "",
        "\0",
    ];
    let before: &[&[u8]] =
        &[b"", b"\n", b"one\ntwo", "one\r\ntwo\r\né".as_bytes(), b"\xff\n", b"one\n\ntwo\n"];
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..20_000 {
        let mut text = SEEDS[random.usize(..SEEDS.len())].to_owned();
        for _ in 0..random.usize(1..6) {
            let clip = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let at = clip(random.usize(..=text.len()));
            let end = clip((at + random.usize(..10)).min(text.len())).max(at);
            text.replace_range(at..end, BITS[random.usize(..BITS.len())]);
        }
        let tool = ["apply_patch", "Edit", "replace_in_file", "Bash", "x"][round % 5];
        for input in [json!(text), json!({"path": "a", "diff": text, "insert_line": round})] {
            let found = intent(tool, &input);
            for edit in &found.edits {
                for content in before {
                    predict(&edit.edit, Some(content));
                    predict_moved(&edit.edit, content);
                }
                predict(&edit.edit, None);
            }
        }
    }
    let deep = "[".repeat(100_000);
    intent("Edit", &json!(deep));
    intent("Edit", &json!(format!("{{'a': {deep}")));
}
