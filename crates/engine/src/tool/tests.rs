//! Names, arguments as real agents send them, and predictions compared with what tools do.

use serde_json::{Value, json};

use super::*;

#[test]
fn names() {
    let rows: &[(ToolKind, &[&str])] = &[
        (
            ToolKind::Write,
            &[
                "Write",
                "write",
                "write_file",
                "write_to_file",
                "create_file",
                "create",
                "fs_write",
                "mcp__fs__write_file",
                "mcp_filesystem_write_file",
                "writeFile",
                "WriteFile",
            ],
        ),
        (
            ToolKind::Edit,
            &[
                "Edit",
                "edit",
                "MultiEdit",
                "NotebookEdit",
                "replace",
                "replace_in_file",
                "apply_diff",
                "apply_patch",
                "fs_patch",
                "edit_file",
                "str_replace_editor",
                "str_replace_based_edit_tool",
                "editor",
                "mcp__x__edit",
                "search_replace",
            ],
        ),
        (
            ToolKind::Shell,
            &[
                "Bash",
                "bash",
                "run_command",
                "run_commands",
                "run_shell_command",
                "execute_command",
                "exec_command",
                "shell",
                "terminal",
                "Shell",
            ],
        ),
        (ToolKind::Delete, &["delete_file", "remove_file", "Delete"]),
        (
            ToolKind::Read,
            &[
                "Read",
                "Glob",
                "Grep",
                "LS",
                "read_file",
                "read_files",
                "list_files",
                "view",
                "search_files",
                "WebFetch",
                "WebSearch",
                "TodoWrite",
                "update_plan",
                "Task",
                "Agent",
                "spawn_agent",
                "invoke_agent",
                "fs_read",
                "mcp__fs__read_file",
            ],
        ),
        (
            ToolKind::Other,
            &[
                "mcp__probe__echo",
                "mcp_probe_echo",
                "probe_echo",
                "",
                "mcp",
                "mcp__",
                "🦀",
            ],
        ),
    ];
    for (kind, names) in rows {
        for name in *names {
            assert_eq!(kind_of(name), *kind, "{name}");
        }
    }
}

/// Paths, command and edits in one line.
fn show(intent: &Intent) -> String {
    let mut parts = vec![
        intent.kind.as_str().to_owned(),
        format!("[{}]", intent.paths.join(" ")),
    ];
    parts.extend(
        intent
            .command
            .as_ref()
            .map(|command| format!("$ {command}")),
    );
    parts.extend(intent.cwd.as_ref().map(|cwd| format!("in {cwd}")));
    for FileEdit { path, edit } in &intent.edits {
        let what = match edit {
            Edit::Content(content) => format!("= {:?}", String::from_utf8_lossy(content)),
            Edit::Replace(list) => list
                .iter()
                .map(|r| {
                    format!(
                        "{:?} -> {:?}{}",
                        r.old,
                        r.new,
                        if r.all { " all" } else { "" }
                    )
                })
                .collect::<Vec<_>>()
                .join(", "),
            Edit::Hunks(hunks) => format!("{} hunks", hunks.len()),
            Edit::Insert { line, text } => format!("{line}: {text:?}"),
            Edit::Append(text) => format!("+= {text:?}"),
            Edit::Delete => "deleted".to_owned(),
            Edit::MoveTo { to, hunks } => format!("to {to}, {} hunks", hunks.len()),
        };
        parts.push(format!("{path} {what}"));
    }
    if intent.background {
        parts.push("&".to_owned());
    }
    parts.join("; ")
}

fn check(rows: &[(&str, Value, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(tool, input, expected)| {
            let found = show(&intent(tool, input));
            (found != *expected)
                .then(|| format!("{tool}\n  expected {expected}\n  found    {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// From the captured payloads.
#[test]
fn calls_of_real_agents() {
    let content = "write; [/p/new.txt]; /p/new.txt = \"alpha\\nbeta\\n\"";
    let replaced = "edit; [/p/e.txt]; /p/e.txt \"line two\" -> \"line TWO edited\"";
    let ran = "shell; []; $ sed -i 's/a/b/' e && rm d";
    let patch = "*** Begin Patch\n*** Add File: /p/new.txt\n+alpha\n+beta\n*** End Patch";
    let patched = "edit; [/p/new.txt]; /p/new.txt = \"alpha\\nbeta\\n\"";
    let command = "sed -i 's/a/b/' e && rm d";
    check(&[
        (
            "Write",
            json!({"file_path": "/p/new.txt", "content": "alpha\nbeta\n"}),
            content,
        ),
        (
            "write",
            json!({"filePath": "/p/new.txt", "content": "alpha\nbeta\n"}),
            content,
        ),
        (
            "write_file",
            json!({"file_path": "/p/new.txt", "content": "alpha\nbeta\n"}),
            content,
        ),
        (
            "Write",
            json!({"path": "/p/new.txt", "file_text": "alpha\nbeta\n"}),
            content,
        ),
        (
            "create",
            json!({"path": "/p/new.txt", "file_text": "alpha\nbeta\n"}),
            content,
        ),
        (
            "editor",
            json!({"path": "/p/new.txt", "new_text": "alpha\nbeta\n"}),
            content,
        ),
        (
            "Edit",
            json!({"file_path": "/p/e.txt", "old_string": "line two",
                   "new_string": "line TWO edited", "replace_all": false}),
            replaced,
        ),
        (
            "replace",
            json!({"file_path": "/p/e.txt", "instruction": "change it",
                   "old_string": "line two", "new_string": "line TWO edited"}),
            replaced,
        ),
        (
            "edit",
            json!({"filePath": "/p/e.txt", "oldString": "line two", "newString": "line TWO edited"}),
            replaced,
        ),
        (
            "edit",
            json!({"path": "/p/e.txt", "old_str": "line two", "new_str": "line TWO edited"}),
            replaced,
        ),
        (
            "editor",
            json!({"path": "/p/e.txt", "old_text": "line two", "new_text": "line TWO edited"}),
            replaced,
        ),
        (
            "Bash",
            json!({"command": command, "description": "run"}),
            ran,
        ),
        ("run_shell_command", json!({"command": command}), ran),
        ("run_commands", json!({"commands": [command]}), ran),
        (
            "run_commands",
            json!({"commands": json!([command]).to_string()}),
            ran,
        ),
        ("apply_patch", json!({"command": patch}), patched),
        ("apply_patch", json!({"patchText": patch}), patched),
        ("apply_patch", json!({"input": patch}), patched),
        ("apply_patch", json!(patch), patched),
        (
            "read_files",
            json!({"files": [{"path": "/p/e.txt"}]}),
            "read; []",
        ),
        ("view", json!({"path": "/p/e.txt"}), "read; []"),
        ("mcp__probe__echo", json!({"text": "hi"}), "other; []"),
        ("Agent", json!({"prompt": "go"}), "read; []"),
        (
            "edit",
            json!({"file_path": "/p/new.txt", "diff": "\ndiff --git a/p/new.txt b/p/new.txt\n\
                   create file mode 100644\nindex 0000000..0000000\n--- a/dev/null\n\
                   +++ b/p/new.txt\n@@ -1,0 +1,2 @@\n+alpha\n+beta\n"}),
            patched,
        ),
    ]);
}

#[test]
fn other_forms() {
    check(&[
        (
            "Write",
            json!("{\"file_path\": \"a\", \"content\": \"x\"}"),
            "write; [a]; a = \"x\"",
        ),
        (
            "edit",
            json!(
                "{'file_path': 'a', 'old_string': 'it\\'s\\n', 'new_string': \"y\", 'replace_all': True, 'z': None}"
            ),
            "edit; [a]; a \"it's\\n\" -> \"y\" all",
        ),
        (
            "shell",
            json!({"command": ["bash", "-lc", "rm 'a b'"], "workdir": "/w"}),
            "shell; []; $ bash -lc 'rm '\\''a b'\\'''; in /w",
        ),
        (
            "Bash",
            json!({"command": "sleep 9", "run_in_background": true}),
            "shell; []; $ sleep 9; &",
        ),
        (
            "run_shell_command",
            json!({"command": "x", "is_background": true}),
            "shell; []; $ x; &",
        ),
        ("bash", json!("ls -l"), "shell; []; $ ls -l"),
        (
            "run_commands",
            json!({"commands": ["a", {"command": "b", "args": ["c d"]}]}),
            "shell; []; $ a\nb 'c d'",
        ),
        (
            "str_replace_editor",
            json!({"command": "view", "path": "a"}),
            "read; []",
        ),
        (
            "str_replace_editor",
            json!({"command": "create", "path": "a", "file_text": "x"}),
            "write; [a]; a = \"x\"",
        ),
        (
            "str_replace_editor",
            json!({"command": "insert", "path": "a", "insert_line": 2, "new_str": "x"}),
            "edit; [a]; a 2: \"x\"",
        ),
        (
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "1", "new_string": "2"},
                   {"old_string": "3", "new_string": "4", "replace_all": true}]}),
            "edit; [a]; a \"1\" -> \"2\", \"3\" -> \"4\" all",
        ),
        (
            "multi_edit",
            json!({"edits": [{"path": "a", "old_str": "1", "new_str": "2"},
                   {"path": "b", "old_str": "3", "new_str": "4"}]}),
            "edit; [a b]; a \"1\" -> \"2\"; b \"3\" -> \"4\"",
        ),
        (
            "write_files",
            json!({"files": [{"path": "a", "content": "x"}, {"path": "b", "content": "y"}]}),
            "write; [a b]; a = \"x\"; b = \"y\"",
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "n.ipynb", "new_source": "x"}),
            "edit; [n.ipynb]",
        ),
        (
            "edit_file",
            json!({"target_file": "a", "code_edit": "// ... existing code"}),
            "edit; [a]",
        ),
        (
            "delete_file",
            json!({"path": "a"}),
            "delete; [a]; a deleted",
        ),
        (
            "delete_files",
            json!({"paths": ["a", "b"]}),
            "delete; [a b]; a deleted; b deleted",
        ),
        (
            "move_file",
            json!({"source": "a", "destination": "b"}),
            "edit; [a b]; a to b, 0 hunks",
        ),
        (
            "replace_in_file",
            json!({"path": "a", "diff": "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n"}),
            "edit; [a]; a \"x\\n\" -> \"y\\n\"",
        ),
        (
            "Write",
            json!({"file_path": "x.patch", "content": "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"}),
            "write; [x.patch]; x.patch = \"--- a/y\\n+++ b/y\\n@@ -1 +1 @@\\n-a\\n+b\\n\"",
        ),
        ("Write", json!(null), "write; []"),
        ("Edit", json!([1, 2]), "edit; []"),
    ]);
}

fn predicted(tool: &str, input: &Value, before: Option<&str>) -> Option<String> {
    let intent = intent(tool, input);
    match predict(&intent.edits.first()?.edit, before.map(str::as_bytes))? {
        Predicted::Content(content) => Some(String::from_utf8(content).unwrap()),
        Predicted::Absent => Some("(absent)".to_owned()),
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
        assert_eq!(
            predicted("Edit", &input, before).as_deref(),
            after,
            "{input}"
        );
    }
    let block = json!({"path": "a",
        "diff": "<<<<<<< SEARCH\n:start_line:3\n-------\nx\n=======\ny\n>>>>>>> REPLACE"});
    assert_eq!(
        predicted("apply_diff", &block, Some("x\no\nx\n")).as_deref(),
        Some("x\no\ny\n")
    );
    let block = json!({"path": "a", "diff": "<<<<<<< SEARCH\nx\n=======\n>>>>>>> REPLACE"});
    assert_eq!(
        predicted("apply_diff", &block, Some("x\nz\n")).as_deref(),
        Some("z\n")
    );
    let insert = json!({"command": "insert", "path": "a", "insert_line": 1, "new_str": "n"});
    assert_eq!(
        predicted("editor", &insert, Some("a\nb\n")).as_deref(),
        Some("a\nn\nb\n")
    );
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
        (
            "*** Update File: a\n-two\n+TWO",
            "one\ntwo",
            Some("one\nTWO\n"),
        ),
        (
            "*** Update File: a\n@@ fn b\n-x\n+y",
            "fn a\nx\nfn b\nx\n",
            Some("fn a\nx\nfn b\ny\n"),
        ),
        (
            "*** Update File: a\n@@\n-x\n+y\n*** End of File",
            "x\no\nx\n",
            Some("x\no\ny\n"),
        ),
        ("*** Update File: a\n@@\n+end", "x\n", Some("x\nend\n")),
        (
            "*** Update File: a\n@@\n-a\n+A\n@@\n-c\n+C",
            "a\nb\nc\n",
            Some("A\nb\nC\n"),
        ),
        ("*** Update File: a\n@@\n-gone\n+y", "x\n", None),
        (
            "*** Update File: a\n@@\n-b\n+B",
            "a\r\nb\r\n",
            Some("a\r\nB\r\n"),
        ),
        ("*** Delete File: a", "x\n", Some("(absent)")),
        ("*** Update File: a\n@@\n-x", "x\n", Some("")),
    ];
    for (body, before, after) in rows {
        let found = predicted("apply_patch", &patch(body), Some(before));
        assert_eq!(found.as_deref(), after, "{body}");
    }
    let moved = intent(
        "apply_patch",
        &patch("*** Update File: a\n*** Move to: b\n@@\n-x\n+y"),
    );
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
        (
            "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
            "a\nb\nc\n",
            Some("a\nB\nc\n"),
        ),
        (
            "--- f\n+++ f\n@@ -3 +3 @@\n-x\n+y\n",
            "x\no\nx\n",
            Some("x\no\ny\n"),
        ),
        (
            "--- f\n+++ f\n@@ -1,0 +2,1 @@\n+n\n",
            "a\nb\n",
            Some("a\nn\nb\n"),
        ),
        (
            "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n",
            "a\n",
            Some("b"),
        ),
        (
            "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
            "a",
            Some("b\n"),
        ),
        (
            "--- f\n+++ f\n@@ -2 +2 @@\n-b\n+B\n@@ -4 +4 @@\n-d\n+D\n",
            "a\nb\nc\nd",
            Some("a\nB\nc\nD\n"),
        ),
        (
            "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            "a\n",
            Some("(absent)"),
        ),
        ("--- f\n+++ f\n@@ -1 +1 @@\n-zz\n+y\n", "a\n", None),
        (
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n",
            "",
            Some("a\nb\n"),
        ),
    ];
    for (diff, before, after) in rows {
        let found = predicted("apply_patch", &json!({"patch": diff}), Some(before));
        assert_eq!(found.as_deref(), after, "{diff}");
    }
    let two = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- gone\n+++ new\n\
               diff --git a/y b/z\nrename from y\nrename to z\n--- a/y\n+++ b/z\n@@ -1 +1 @@\n-1\n+2\n\
               diff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n";
    let found = intent("apply_patch", &json!({"patch": two}));
    assert_eq!(
        show(&found),
        "edit; [x y z p q]; x 1 hunks; y to z, 1 hunks; p to q, 0 hunks"
    );
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
    let before: &[&[u8]] = &[
        b"",
        b"\n",
        b"one\ntwo",
        "one\r\ntwo\r\né".as_bytes(),
        b"\xff\n",
        b"one\n\ntwo\n",
    ];
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..20_000 {
        let mut text = SEEDS[random.usize(..SEEDS.len())].to_owned();
        for _ in 0..random.usize(1..6) {
            let clip = |at: usize| {
                (0..=at)
                    .rev()
                    .find(|at| text.is_char_boundary(*at))
                    .unwrap()
            };
            let at = clip(random.usize(..=text.len()));
            let end = clip((at + random.usize(..10)).min(text.len())).max(at);
            text.replace_range(at..end, BITS[random.usize(..BITS.len())]);
        }
        let tool = ["apply_patch", "Edit", "replace_in_file", "Bash", "x"][round % 5];
        for input in [
            json!(text),
            json!({"path": "a", "diff": text, "insert_line": round}),
        ] {
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
