//! Calls of read tools as real agents send them, and the lines that they are known to show.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{FilePart, FileReading, intent};

/// `a` is the whole file, `a:3-9` lines, `a:3-` to the end, `a:-9` the last lines.
pub(crate) fn show_readings(readings: &[FileReading]) -> String {
    let one = |FileReading { path, cwd, part }: &FileReading| {
        let folder = cwd.as_ref().map(|cwd| format!("{cwd} ")).unwrap_or_default();
        let part = match part {
            FilePart::Whole => String::new(),
            FilePart::Lines(lines) if lines.last == u32::MAX => format!(":{}-", lines.first),
            FilePart::Lines(lines) => format!(":{}-{}", lines.first, lines.last),
            FilePart::Last(count) => format!(":-{count}"),
        };
        format!("{folder}{path}{part}")
    };
    let all: Vec<String> = readings.iter().map(one).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

fn check(rows: &[(&str, Value)], expected: &Expect) {
    let mut table = String::new();
    for (tool, input) in rows {
        let shown = show_readings(&intent(tool, input).reads);
        writeln!(table, "{tool} {input}: {shown}").unwrap();
    }
    expected.assert_eq(&table);
}

#[test]
fn each_agent_counts_its_own_way() {
    check(
        &[
            ("Read", json!({"file_path": "/p/a"})),
            ("Read", json!({"file_path": "/p/a", "offset": 0, "limit": 5})),
            ("Read", json!({"file_path": "/p/a", "offset": 10, "limit": 5})),
            ("Read", json!({"file_path": "/p/a", "offset": 10})),
            ("Read", json!({"file_path": "/p/a.pdf", "pages": "1-3"})),
            ("NotebookRead", json!({"notebook_path": "/p/a.ipynb"})),
            ("read", json!({"filePath": "a"})),
            ("read", json!({"filePath": "a", "offset": 0, "limit": 5})),
            ("read", json!({"filePath": "a", "offset": 10, "limit": 5})),
            ("read_file", json!({"absolute_path": "/p/a", "offset": 1, "limit": 1})),
            ("read_file", json!({"absolute_path": "/p/a", "offset": 10, "limit": 5})),
            ("read_file", json!({"file_path": "/p/a", "start_line": 10, "end_line": 12})),
            ("read_file", json!({"file_path": "/p/a", "start_line": 10})),
            ("read_file", json!({"file_path": "/p/a", "end_line": 5000})),
            ("read_file", json!({"path": "a"})),
            ("read_many_files", json!({"include": ["a", "src/*.rs"]})),
            ("view", json!({"path": "a", "view_range": [10, 20]})),
            ("view", json!({"path": "a", "view_range": [10, -1]})),
            ("view", json!({"path": "a", "view_range": [1, -1]})),
            ("str_replace_editor", json!({"command": "view", "path": "a"})),
            ("str_replace_editor", json!({"command": "str_replace", "path": "a"})),
            (
                "read_files",
                json!({"files": [{"path": "a"}, {"path": "b", "start_line": 2, "end_line": 4}]}),
            ),
            ("read_files", json!({"files": "[{\"path\":\"a\",\"end_line\":null}]"})),
            ("mcp__fs__read_text_file", json!({"path": "a", "head": 3})),
            ("mcp__fs__read_text_file", json!({"path": "a", "tail": 3})),
            ("mcp__fs__read_multiple_files", json!({"paths": ["a", "b"]})),
            (
                "mcp__serena__read_file",
                json!({"relative_path": "a", "start_line": 4, "end_line": 9}),
            ),
        ],
        &expect![[r#"
            Read {"file_path":"/p/a"}: /p/a:1-2000
            Read {"file_path":"/p/a","limit":5,"offset":0}: /p/a:1-5
            Read {"file_path":"/p/a","limit":5,"offset":10}: /p/a:10-14
            Read {"file_path":"/p/a","offset":10}: /p/a:10-2009
            Read {"file_path":"/p/a.pdf","pages":"1-3"}: -
            NotebookRead {"notebook_path":"/p/a.ipynb"}: /p/a.ipynb
            read {"filePath":"a"}: a:1-2000
            read {"filePath":"a","limit":5,"offset":0}: a:1-5
            read {"filePath":"a","limit":5,"offset":10}: a:11-14
            read_file {"absolute_path":"/p/a","limit":1,"offset":1}: -
            read_file {"absolute_path":"/p/a","limit":5,"offset":10}: /p/a:11-14
            read_file {"end_line":12,"file_path":"/p/a","start_line":10}: /p/a:10-12
            read_file {"file_path":"/p/a","start_line":10}: /p/a:10-2009
            read_file {"end_line":5000,"file_path":"/p/a"}: /p/a:1-5000
            read_file {"path":"a"}: a
            read_many_files {"include":["a","src/*.rs"]}: a:1-2000, src/*.rs:1-2000
            view {"path":"a","view_range":[10,20]}: a:10-20
            view {"path":"a","view_range":[10,-1]}: a:10-
            view {"path":"a","view_range":[1,-1]}: a
            str_replace_editor {"command":"view","path":"a"}: a
            str_replace_editor {"command":"str_replace","path":"a"}: -
            read_files {"files":[{"path":"a"},{"end_line":4,"path":"b","start_line":2}]}: a, b:2-4
            read_files {"files":"[{\"path\":\"a\",\"end_line\":null}]"}: a
            mcp__fs__read_text_file {"head":3,"path":"a"}: a:1-3
            mcp__fs__read_text_file {"path":"a","tail":3}: a:-3
            mcp__fs__read_multiple_files {"paths":["a","b"]}: a, b
            mcp__serena__read_file {"end_line":9,"relative_path":"a","start_line":4}: a:5-9
        "#]],
    );
}

#[test]
fn what_is_not_understood_shows_nothing() {
    check(
        &[
            ("Grep", json!({"pattern": "x", "path": "a"})),
            ("Glob", json!({"path": "a"})),
            ("LS", json!({"path": "/p"})),
            ("search_files", json!({"path": "a"})),
            ("WebFetch", json!({"path": "a"})),
            ("read_bash", json!({"path": "a"})),
            ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"})),
            ("Read", json!({"file_path": "a", "offset": -5})),
            ("Read", json!({"file_path": "a", "limit": 0})),
            ("Read", json!({"file_path": "a", "limit": "many"})),
            ("read_file", json!({"path": "a", "start_line": 5, "end_line": 4})),
            ("read_file", json!({"path": "a", "startLineNumberBaseZero": 5})),
            ("read_file", json!({"path": "a", "line_ranges": [[1, 5]]})),
            ("read_file", json!({"path": "a", "start_line": 1, "offset": 5})),
            ("view", json!({"path": "a", "view_range": [10]})),
            ("view", json!({"path": "a", "view_range": [10, -3]})),
            ("mcp__fs__read_text_file", json!({"path": "a", "head": 3, "tail": 3})),
            ("fs_read", json!({"operations": [{"mode": "Search", "path": "a"}]})),
            ("Read", json!({"file_path": ""})),
            ("Read", json!("a")),
        ],
        &expect![[r#"
            Grep {"path":"a","pattern":"x"}: -
            Glob {"path":"a"}: -
            LS {"path":"/p"}: -
            search_files {"path":"a"}: -
            WebFetch {"path":"a"}: -
            read_bash {"path":"a"}: -
            Edit {"file_path":"a","new_string":"y","old_string":"x"}: -
            Read {"file_path":"a","offset":-5}: -
            Read {"file_path":"a","limit":0}: -
            Read {"file_path":"a","limit":"many"}: -
            read_file {"end_line":4,"path":"a","start_line":5}: -
            read_file {"path":"a","startLineNumberBaseZero":5}: -
            read_file {"line_ranges":[[1,5]],"path":"a"}: -
            read_file {"offset":5,"path":"a","start_line":1}: -
            view {"path":"a","view_range":[10]}: -
            view {"path":"a","view_range":[10,-3]}: -
            mcp__fs__read_text_file {"head":3,"path":"a","tail":3}: -
            fs_read {"operations":[{"mode":"Search","path":"a"}]}: -
            Read {"file_path":""}: -
            Read "a": -
        "#]],
    );
}
