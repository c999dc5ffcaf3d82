//! Names, and arguments as real agents send them.

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
            &["mcp__probe__echo", "mcp_probe_echo", "probe_echo", "", "mcp", "mcp__", "🦀"],
        ),
    ];
    for (kind, names) in rows {
        for name in *names {
            assert_eq!(kind_of(name), *kind, "{name}");
        }
    }
}

/// Paths, command and edits in one line.
pub(super) fn show(intent: &ToolIntent) -> String {
    let mut parts = vec![intent.kind.as_str().to_owned(), format!("[{}]", intent.paths.join(" "))];
    parts.extend(intent.command.as_ref().map(|command| format!("$ {command}")));
    parts.extend(intent.cwd.as_ref().map(|cwd| format!("in {cwd}")));
    for FileEdit { path, edit } in &intent.edits {
        let what = match edit {
            EditKind::Content(content) => format!("= {:?}", String::from_utf8_lossy(content)),
            EditKind::Replace(list) => list
                .iter()
                .map(|r| format!("{:?} -> {:?}{}", r.old, r.new, if r.all { " all" } else { "" }))
                .collect::<Vec<_>>()
                .join(", "),
            EditKind::Hunks(hunks) => format!("{} hunks", hunks.len()),
            EditKind::Insert { line, text } => format!("{line}: {text:?}"),
            EditKind::Append(text) => format!("+= {text:?}"),
            EditKind::Delete => "deleted".to_owned(),
            EditKind::MoveTo { to, hunks } => format!("to {to}, {} hunks", hunks.len()),
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
        ("Write", json!({"file_path": "/p/new.txt", "content": "alpha\nbeta\n"}), content),
        ("write", json!({"filePath": "/p/new.txt", "content": "alpha\nbeta\n"}), content),
        ("write_file", json!({"file_path": "/p/new.txt", "content": "alpha\nbeta\n"}), content),
        ("Write", json!({"path": "/p/new.txt", "file_text": "alpha\nbeta\n"}), content),
        ("create", json!({"path": "/p/new.txt", "file_text": "alpha\nbeta\n"}), content),
        ("editor", json!({"path": "/p/new.txt", "new_text": "alpha\nbeta\n"}), content),
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
        ("Bash", json!({"command": command, "description": "run"}), ran),
        ("run_shell_command", json!({"command": command}), ran),
        ("run_commands", json!({"commands": [command]}), ran),
        ("run_commands", json!({"commands": json!([command]).to_string()}), ran),
        ("apply_patch", json!({"command": patch}), patched),
        ("apply_patch", json!({"patchText": patch}), patched),
        ("apply_patch", json!({"input": patch}), patched),
        ("apply_patch", json!(patch), patched),
        ("read_files", json!({"files": [{"path": "/p/e.txt"}]}), "read; []"),
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
        ("Write", json!("{\"file_path\": \"a\", \"content\": \"x\"}"), "write; [a]; a = \"x\""),
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
        ("run_shell_command", json!({"command": "x", "is_background": true}), "shell; []; $ x; &"),
        ("bash", json!("ls -l"), "shell; []; $ ls -l"),
        (
            "run_commands",
            json!({"commands": ["a", {"command": "b", "args": ["c d"]}]}),
            "shell; []; $ a\nb 'c d'",
        ),
        ("str_replace_editor", json!({"command": "view", "path": "a"}), "read; []"),
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
    ]);
}

#[test]
fn forms_without_prediction() {
    check(&[
        ("NotebookEdit", json!({"notebook_path": "n.ipynb", "new_source": "x"}), "edit; [n.ipynb]"),
        (
            "edit_file",
            json!({"target_file": "a", "code_edit": "// ... existing code"}),
            "edit; [a]",
        ),
        ("delete_file", json!({"path": "a"}), "delete; [a]; a deleted"),
        ("delete_files", json!({"paths": ["a", "b"]}), "delete; [a b]; a deleted; b deleted"),
        ("move_file", json!({"source": "a", "destination": "b"}), "edit; [a b]; a to b, 0 hunks"),
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
