//! Commands, tools and rules that can be misread: nothing is lost, and an agent's work is its own.
//!
//! Every story has an edit of the person that no scan has seen when the call begins. Whatever the
//! call's text seems to say, that edit is on record afterwards, what the call did is the agent's,
//! and `undo` brings the person's edit back. Each test is one way in which an earlier engine lost
//! bytes because it looked only where the text of a command pointed.

use retake_engine::model::Actor;
use retake_testkit::{TestProject, check, expect, play};
use serde_json::json;

/// A person's edit of `a.txt` and `sub/a.txt` that no scan has seen, and a command that replaces or
/// removes one of them.
#[track_caller]
fn keeps_unseen_edits(command: &str, touched: &[&str]) {
    let project = TestProject::in_memory();
    for path in ["a.txt", "b.txt", "sub/a.txt", "sub/b.txt"] {
        project.write(path, "committed\n");
    }
    project.shell("git init -q . && git add . && git commit -qm one");
    project.init();
    play(&project, "say d1: go");
    for path in ["a.txt", "b.txt", "sub/a.txt", "sub/b.txt"] {
        project.write(path, format!("unseen edit of {path}\n"));
    }
    let shell = TestProject::begin("d1", "s1", "Bash", json!({ "command": command }));
    let found = project.record(&shell).changes;
    assert_eq!(found.len(), 4, "`{command}` begins with a look at everything: {found:?}");
    assert!(found.iter().all(|change| change.actor == Actor::User), "{found:?}");
    project.shell(command);
    let found = project.record(&TestProject::end("d1", "s1")).changes;
    let by = |path: &str| found.iter().find(|change| change.path.to_string() == path);
    for path in touched {
        let change = by(path).unwrap_or_else(|| panic!("`{command}` changed {path}: {found:?}"));
        assert_eq!(change.actor, Actor::Agent, "`{command}`: {change:?}");
    }
    assert!(found.iter().all(|change| change.actor == Actor::Agent), "`{command}`: {found:?}");
    play(&project, "undo");
    for path in ["a.txt", "b.txt", "sub/a.txt", "sub/b.txt"] {
        let content = String::from_utf8(project.read(path)).unwrap_or_default();
        assert_eq!(content, format!("unseen edit of {path}\n"), "after `{command}` and undo");
    }
}

#[test]
fn a_folder_that_is_missing_leaves_the_shell_where_it_is() {
    keeps_unseen_edits("cd build 2>/dev/null; rm -rf *", &["a.txt", "b.txt", "sub/a.txt"]);
    keeps_unseen_edits("cd build 2>/dev/null; echo x > a.txt", &["a.txt"]);
    keeps_unseen_edits("pushd build 2>/dev/null; rm a.txt", &["a.txt"]);
}

#[test]
fn a_variable_keeps_the_folder_that_it_was_set_in() {
    keeps_unseen_edits("P=$PWD; cd sub; echo x > $P/a.txt", &["a.txt"]);
    keeps_unseen_edits("cd sub && P=$PWD && cd .. && rm $P/a.txt", &["sub/a.txt"]);
}

#[test]
fn placeholders_in_nested_scripts_are_followed() {
    keeps_unseen_edits("echo a.txt | xargs -I{} sh -c 'echo x > {}'", &["a.txt"]);
    keeps_unseen_edits("find sub -name 'a*' -exec sh -c 'rm \"$1\"' _ {} ';'", &["sub/a.txt"]);
}

#[test]
fn git_expands_quoted_pathspecs_itself() {
    keeps_unseen_edits("git checkout -q -- '*a.txt'", &["a.txt", "sub/a.txt"]);
    keeps_unseen_edits("git checkout -q -- ':(icase)A.TXT'", &["a.txt"]);
    keeps_unseen_edits("git rm -qf 'sub/*'", &["sub/a.txt", "sub/b.txt"]);
}

#[test]
fn arguments_of_functions_are_theirs() {
    keeps_unseen_edits("f() { local t=$1; rm \"$t\"; }; f a.txt", &["a.txt"]);
    keeps_unseen_edits("g() { rm \"$1\"; }; f() { g b.txt; rm \"$1\"; }; f a.txt", &["a.txt"]);
    keeps_unseen_edits("t=b.txt; f() { local t; t=a.txt; }; f; rm $t", &["b.txt"]);
}

#[test]
fn commands_that_mostly_read_can_write() {
    keeps_unseen_edits("shuf -o a.txt b.txt; echo more >> a.txt", &["a.txt"]);
    keeps_unseen_edits("echo x | sed ':l w a.txt\nw a.txt'", &["a.txt"]);
    keeps_unseen_edits("env --chdir=sub sh -c 'echo x > a.txt'", &["sub/a.txt"]);
    keeps_unseen_edits("tar --remove-files -cf /dev/null a.txt", &["a.txt"]);
    keeps_unseen_edits("echo x | split -b 99 - a. && mv a.aa a.txt", &["a.txt"]);
}

#[test]
fn patches_go_where_their_options_say() {
    let patch = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-unseen edit of sub/a.txt\n+x\n";
    keeps_unseen_edits(&format!("cd sub && git apply -p0 <<'E'\n{patch}E"), &["sub/a.txt"]);
    keeps_unseen_edits(&format!("git apply -p0 --directory=sub <<'E'\n{patch}E"), &["sub/a.txt"]);
    let deep = patch.replace("a.txt", "x/y/z/a.txt").replace("sub/x/y/z", "sub");
    keeps_unseen_edits(&format!("patch -s -d sub -p3 <<'E'\n{deep}E"), &["sub/a.txt"]);
}

#[test]
fn brackets_match_as_in_the_shell() {
    check(
        r"
        file .gitignore: *.log\n
        file a.log: mine\n
        file B.log: mine\n
        file x-y.log: mine\n
        init
        shell d1 s1: rm [a-z].log
        shell d1 s2: rm [[:upper:]].log x[-_]?.log
        ",
        &expect![[r#"
            "a.log" delete by agent d1/main:s1 window +0 -1
            "B.log" delete by agent d1/main:s2 window +0 -1
            "x-y.log" delete by agent d1/main:s2 window +0 -1
        "#]],
    );
}

#[test]
fn git_cleans_what_its_pathspecs_match() {
    check(
        r"
        file .gitignore: *.log\n
        file deep/in/a.log: mine\n
        file B.LOG.log: mine\n
        run git init -q . && git add . && git commit -qm one
        init
        shell d1 s1: git clean -qfx '*.log'
        ",
        &expect![[r#"
            "B.LOG.log" delete by agent d1/main:s1 window +0 -1
            "deep/in/a.log" delete by agent d1/main:s1 window +0 -1
        "#]],
    );
}

#[test]
fn folders_that_only_the_default_list_leaves_out_are_shielded() {
    check(
        r"
        file build/notes.txt: mine\n
        file env/settings: mine\n
        file out/report: mine\n
        init
        shell d1 s1: rm -rf build env
        shell d1 s2: cd missing 2>/dev/null; rm -rf out
        ",
        &expect![[r#"
            "build/notes.txt" delete by agent d1/main:s1 window +0 -1
            "env/settings" delete by agent d1/main:s1 window +0 -1
            "out/report" delete by agent d1/main:s2 window +0 -1
        "#]],
    );
}

#[test]
fn a_misread_folder_does_not_misplace_the_shield() {
    check(
        r#"
        file .gitignore: .env\n*.key\n
        file .env: mine\n
        file sub/.env: mine too\n
        file sub/a.key: mine\n
        init
        shell d1 s1: cd missing 2>/dev/null; rm .env
        shell d1 s2: D=sub; cd $D; echo x > .env
        shell d1 s3: f() { cd "$1"; rm "$2"; }; f sub a.key
        "#,
        &expect![[r#"
            ".env" delete by agent d1/main:s1 window +0 -1
            "sub/.env" modify by agent d1/main:s2 window +1 -1
            "sub/a.key" delete by agent d1/main:s3 window +0 -1
        "#]],
    );
}

#[test]
fn a_redirection_to_an_unknown_name_is_shielded() {
    check(
        r#"
        file .gitignore: .env\n
        file .env: mine\n
        file name: .env
        init
        shell d1 s1: echo x > "$(cat name)"
        "#,
        &expect![[r#"
            ".env" modify by agent d1/main:s1 window +1 -1
        "#]],
    );
}

#[test]
fn names_that_lead_elsewhere_are_shielded() {
    for command in [
        "ln -s .env l && echo x > l",
        "cp -l .env l; echo x > l",
        "HOME=$PWD; echo x > ~/.env",
        "F=.env; [ -f none ] && F=a.txt; echo x > \"$F\"",
        "f() { shift; echo x > \"$1\"; }; f a.txt .env",
        "F=a.txt; for F in .env a.txt; do break; done; echo x > $F",
        "cd none 2>/dev/null; echo x > sub/../.env",
        "find . -name .env -exec cp a.txt {} ';'",
        "awk 'BEGIN { print \"x;y\" > \".env\" }'",
        "echo x | sed 's/x/cp a.txt .env/e' > /dev/null",
        "perl -0777pi -e 's/mine/x/' .env",
        "tar -cf t.tar a.txt --transform=s/a.txt/.env/; tar -f t.tar -x",
        "script -qc 'cp a.txt .env' /dev/null",
        "git config -f .env a.b c",
    ] {
        let project = TestProject::in_memory();
        project.write(".gitignore", ".env\n");
        project.write(".env", "mine\n");
        project.write("a.txt", "theirs\n");
        project.write("sub/b.txt", "b\n");
        project.init();
        let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": command }));
        project.record(&begin);
        let run = std::process::Command::new("bash")
            .args(["-c", command])
            .current_dir(project.root())
            .stdin(std::process::Stdio::null())
            .output();
        assert!(run.is_ok(), "`{command}`");
        assert_ne!(project.read(".env"), b"mine\n", "`{command}` overwrites it");
        project.record(&TestProject::end("d1", "s1"));
        play(&project, "undo");
        assert_eq!(project.read(".env"), b"mine\n", "after `{command}` and undo");
    }
}

#[test]
fn tools_of_servers_must_be_known_as_a_whole() {
    check(
        r#"
        file a.txt: one\n
        file b.txt: one\n
        init
        say d1: go
        file a.txt: mine\n
        begin d1 t1 mcp__board__add_task {"title":"x"}
        run echo theirs > a.txt
        end d1 t1
        begin d1 t2 mcp__notes__write_memory {"text":"x"}
        run echo theirs > b.txt
        end d1 t2
        begin d1 t3 mcp_files_bulk_read {"glob":"*"}
        run echo again > b.txt
        end d1 t3
        "#,
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "a.txt" modify by agent d1/main:t1 window +1 -1
            "b.txt" modify by agent d1/main:t2 window +1 -1
            "b.txt" modify by agent d1/main:t3 window +1 -1
        "#]],
    );
}

#[test]
fn paths_of_edit_tools_in_other_spellings_are_resolved() {
    let project = TestProject::new();
    project.write("a.txt", "one\n");
    project.write("b c.txt", "one\n");
    project.init();
    play(&project, "say d1: go");
    project.shell("ln -s project ../person");
    let url = format!("file://{}/b%20c.txt", project.root().display());
    for (call, named, path) in [("w1", "~/a.txt", "a.txt"), ("w2", url.as_str(), "b c.txt")] {
        project.write(path, "unseen\n");
        let input = json!({ "file_path": named, "content": "theirs\n" });
        project.record(&TestProject::begin("d1", call, "Write", input));
        project.write(path, "theirs\n");
        let found = project.record(&TestProject::end("d1", call)).changes;
        let by: Vec<_> =
            found.iter().map(|change| (change.path.to_string(), change.actor)).collect();
        assert_eq!(by, [(path.to_owned(), Actor::Agent)], "{named}");
    }
    play(&project, "undo");
    assert_eq!(project.read("a.txt"), b"unseen\n");
    assert_eq!(project.read("b c.txt"), b"unseen\n");
}

#[test]
fn a_path_that_cannot_be_resolved_makes_the_tool_an_unknown_one() {
    check(
        r#"
        file a.txt: one\n
        init
        say d1: go
        file a.txt: mine\n
        begin d1 w1 Write {"file_path":"vscode-remote://host/work/a.txt","content":"theirs\n"}
        run echo theirs > a.txt
        end d1 w1
        file a.txt: mine again\n
        begin d1 w2 Write {"file_path":"$WORK/a.txt","content":"theirs\n"}
        run echo theirs > a.txt
        end d1 w2
        "#,
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "a.txt" modify by agent d1/main:w1 window +1 -1
            "a.txt" modify by user +1 -1
            "a.txt" modify by agent d1/main:w2 window +1 -1
        "#]],
    );
}

#[test]
fn rules_that_a_command_writes_hide_nothing_of_its_work() {
    check(
        r"
        file a.txt: one\n
        init
        say d1: go
        shell d1 s1: echo made > made.txt; printf '*\n' > .gitignore; mkdir -p sub; echo x > sub/deep.txt
        shell d1 s2: printf '*\n' > sub/.gitignore; rm a.txt
        undo
        run test ! -e made.txt && test ! -e .gitignore && test ! -e sub/deep.txt
        cat a.txt
        ",
        &expect![[r#"
            ".gitignore" create by agent d1/main:s1 window +1 -0
            "made.txt" create by agent d1/main:s1 window +1 -0
            "sub/deep.txt" create by agent d1/main:s1 window +1 -0
            "a.txt" delete by agent d1/main:s2 window +0 -1
            undo: ".gitignore" delete exact
            undo: "a.txt" create exact
            undo: "made.txt" delete exact
            undo: "sub/deep.txt" delete exact
            a.txt: one\n
        "#]],
    );
}

#[test]
fn what_a_command_makes_and_rules_hide_is_in_no_checkpoint() {
    let project = TestProject::new();
    project.write(".gitignore", "*.log\n");
    project.init();
    play(&project, "say d1: go");
    let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": "echo x > made.log" }));
    project.record(&begin);
    project.shell("echo x > made.log");
    let ended = project.record(&TestProject::end("d1", "s1"));
    assert_eq!(ended.changes, []);
    let notices: Vec<_> = ended.notices.iter().map(|notice| notice.message.as_str()).collect();
    assert!(notices.iter().any(|text| text.contains("made.log")), "{notices:?}");
    assert_eq!(project.open().status().unwrap().files, 1, "only .gitignore is tracked");
}

#[test]
fn a_folder_that_is_moved_to_a_new_name_with_a_slash_is_the_agents() {
    for command in ["mv src lib/", "bash -lc 'mv src lib/'"] {
        let project = TestProject::in_memory();
        project.write("src/a.txt", "one\n");
        project.init();
        play(&project, "say d1: go");
        let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": command }));
        project.record(&begin);
        project.shell(command);
        let found = project.record(&TestProject::end("d1", "s1")).changes;
        let by: Vec<_> =
            found.iter().map(|change| (change.path.to_string(), change.actor)).collect();
        assert_eq!(by, [("lib/a.txt".to_owned(), Actor::Agent)], "{command}");
    }
}

#[test]
fn readers_of_git_that_run_a_program_are_not_taken_for_readers() {
    keeps_unseen_edits("git grep -lOrm unseen a.txt", &["a.txt"]);
    keeps_unseen_edits("git grep -nO'rm' unseen a.txt", &["a.txt"]);
}

#[test]
fn what_a_person_edits_while_a_command_only_reads_is_theirs() {
    for command in [
        "grep \"a\\.b\" a.txt",
        "grep -rn \"def \\w\" .",
        "find . -newermt '1 day ago' -ls",
        "find . -xdev -depth -executable -printf '%p\\n' -quit",
        "ls ~",
        "! grep x a.txt",
        "LC_ALL=C ls",
        "command ls",
        "time ls",
    ] {
        let project = TestProject::in_memory();
        project.write("a.txt", "one\n");
        project.init();
        play(&project, "say d1: go");
        let begin = TestProject::begin("d1", "s1", "Bash", json!({ "command": command }));
        project.record(&begin);
        project.write("a.txt", "the person's\n");
        let found = project.record(&TestProject::end("d1", "s1")).changes;
        let by: Vec<_> = found.iter().map(|change| change.actor).collect();
        assert_eq!(by, [Actor::User], "{command}");
    }
}

#[test]
fn text_for_a_running_shell_is_a_command() {
    check(
        r#"
        file .gitignore: build/\n
        file build/x.log: mine\n
        init
        begin d1 w1 write_stdin {"session_id":1,"chars":"rm build/x.log\n"}
        run rm build/x.log
        end d1 w1
        "#,
        &expect![[r#"
            "build/x.log" delete by agent d1/main:w1 window +0 -1
        "#]],
    );
}
