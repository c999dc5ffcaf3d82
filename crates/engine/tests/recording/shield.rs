//! What is about to be destroyed is captured first, ignored files included.

use std::io::Write as _;

use retake_testkit::{TestProject, check, expect, play};

#[test]
fn the_shield_takes_ignored_targets_before_they_go() {
    check(
        r"
        file .gitignore: .env\n*.local\nnode_modules/\n
        file .env: SECRET=1\n
        file db.local: data\n
        file node_modules/x/index.js: lib\n
        file package.json: {}\n
        init
        shell d1 s1: rm -rf .env node_modules
        shell d1 s2: mv db.local other.local
        ",
        &expect![[r#"
            ! gap
            ".env" delete by agent d1/main:s1 window +0 -1
            "db.local" delete by agent d1/main:s2 window +0 -1
            ! ignored
        "#]],
    );
}

#[test]
fn the_shield_takes_what_git_clean_would() {
    check(
        r"
        file .gitignore: *.local\n
        file a.txt: x\n
        run git init -q . && git add . && git commit -qm one
        file db.local: data\n
        file untracked.txt: mine\n
        init
        shell d1 s1: git clean -qfdx
        ",
        &expect![[r#"
            "db.local" delete by agent d1/main:s1 window +0 -1
            "untracked.txt" delete by agent d1/main:s1 window +0 -1
        "#]],
    );
}

#[test]
fn the_shield_takes_what_a_checkout_would_overwrite() {
    check(
        r"
        file a.txt: x\n
        run git init -q -b main . && git add . && git commit -qm one
        run git checkout -qb other && echo theirs > .env && git add .env && git commit -qm two && git checkout -q main
        file .gitignore: .env\n
        file .env: MY SECRET\n
        init
        shell d1 s1: git checkout -q other
        ",
        &expect![[r#"
            ".env" modify by agent d1/main:s1 window +1 -1
        "#]],
    );
}

#[test]
fn the_shield_takes_what_only_the_profile_hides() {
    check(
        r"
        file server.log: log\n
        file fix.orig: orig\n
        init
        shell d1 s1: rm -f *.log *.orig
        ",
        &expect![[r#"
            "fix.orig" delete by agent d1/main:s1 window +0 -1
            "server.log" delete by agent d1/main:s1 window +0 -1
        "#]],
    );
}

#[test]
fn the_shield_takes_ignored_folders_that_a_tool_deletes() {
    check(
        r#"
        file .gitignore: data/\n
        file data/db.sqlite: rows\n
        init
        begin d1 x1 delete_directory {"path":"data"}
        run rm -rf data
        end d1 x1
        "#,
        &expect![[r#"
            "data/db.sqlite" delete by agent d1/main:x1 window +0 -1
        "#]],
    );
}

#[test]
fn what_is_over_the_shields_budget_is_a_gap() {
    let project = TestProject::new();
    project.init();
    let settings = "[shield]\nmax_files = 1\n";
    let file = project.home().join("config.toml");
    std::fs::File::create(file).unwrap().write_all(settings.as_bytes()).unwrap();
    let seen = play(
        &project,
        r"
        file .gitignore: *.sec\n
        file a.sec: a\n
        file b.sec: b\n
        run git init -q .
        look
        shell d1 s1: git clean -qfdx
        gaps
        ",
    );
    expect![[r#"
        ".gitignore" create by user +1 -0
        ! gap
        ".gitignore" delete by agent d1/main:s1 window +0 -1
        "a.sec" delete by agent d1/main:s1 window +0 -1
        gap "b.sec" not_shielded
    "#]]
    .assert_eq(&seen);
}

#[test]
fn the_shield_knows_the_tools_own_folder() {
    check(
        r#"
        file .gitignore: /sub/data/\n
        file sub/data/key: secret\n
        init
        begin d1 s1 shell {"command":["bash","-lc","rm -rf data"],"workdir":"sub"}
        run rm -rf sub/data
        end d1 s1
        "#,
        &expect![[r#"
            "sub/data/key" delete by agent d1/main:s1 window +0 -1
        "#]],
    );
}

#[test]
fn the_shield_follows_links() {
    check(
        r"
        file .gitignore: .env\n
        file .env: MINE\n
        run ln -s .env link
        init
        shell d1 s1: make 2>/dev/null; echo x > link
        ",
        &expect![[r#"
            ".env" modify by agent d1/main:s1 window +1 -1
        "#]],
    );
}

#[test]
fn other_hidden_files_do_not_use_up_the_shields_limit() {
    let project = TestProject::new();
    project.write(".gitignore", "*.key\n*.noise\n");
    for folder in ["a", "b", "c"] {
        project.write(&format!("{folder}/secret.key"), folder);
        for n in 0..150 {
            project.write(&format!("{folder}/{n}.noise"), "x");
        }
    }
    project.init();
    let file = project.home().join("config.toml");
    std::fs::File::create(file).unwrap().write_all(b"[shield]\nmax_files = 5\n").unwrap();
    let seen = play(&project, "shell d1 s1: rm */secret.key");
    expect![[r#"
        "a/secret.key" delete by agent d1/main:s1 window +0 -1
        "b/secret.key" delete by agent d1/main:s1 window +0 -1
        "c/secret.key" delete by agent d1/main:s1 window +0 -1
    "#]]
    .assert_eq(&seen);
}

#[test]
fn the_shield_takes_everything_hidden_if_the_target_cannot_be_told() {
    check(
        r#"
        file .gitignore: *.env\n
        file a.env: A\n
        file b.env: B\n
        file c.env: C\n
        init
        shell d1 s1: rm -f "$(echo a.env)"
        shell d1 s2: ls -a | grep b.env | xargs rm
        shell d1 s3: find "$PWD" -name c.env -delete
        "#,
        &expect![[r#"
            "a.env" delete by agent d1/main:s1 window +0 -1
            "b.env" delete by agent d1/main:s2 window +0 -1
            "c.env" delete by agent d1/main:s3 window +0 -1
        "#]],
    );
}

/// What rules hide in the project of [`nothing_hidden_is_lost`].
const HIDDEN: &[&str] = &[
    ".env",
    "a.log",
    "x.log",
    "docs/z.log",
    "sub/z.log",
    "sub/deep/y.log",
    "build/o.bin",
    "build/x.log",
    "build/sub/z.log",
    "local/notes",
];

/// Runs a command that takes something hidden; after an undo all of it is there again. `$P` is the
/// project's folder, `$W` the one above it.
#[track_caller]
fn nothing_hidden_is_lost(command: &str) {
    let project = TestProject::in_memory();
    let root = project.root().clone();
    let place = root.display().to_string();
    let above = place.rsplit_once('/').map_or("", |(above, _)| above);
    let command = command.replace("$P", &place).replace("$W", above);
    project.write(".gitignore", "*.log\n.env\nbuild/\nlocal/\n");
    for path in ["a", "a.txt", "c.txt", "docs/d.txt", "sub/s.txt"] {
        project.write(path, "theirs A\n");
    }
    project.shell("git init -q -b main . && git add . && git commit -qm one");
    project
        .shell("git checkout -qb other && echo x > .env && git add -f .env && git commit -qm two");
    project.shell("git checkout -q main && ln -s sub dirlink && ln -s build outb");
    project.shell("ln -s ../local docs/in");
    let content = |path: &str| format!("MINE {path}\n").into_bytes();
    for path in HIDDEN {
        project.write(path, content(path));
    }
    project.init();
    play(&project, "say d1: go");
    let input = serde_json::json!({ "command": command });
    project.record(&TestProject::begin("d1", "s1", "Bash", input));
    let run = std::process::Command::new("bash")
        .args(["-c", &command])
        .current_dir(&root)
        .stdin(std::process::Stdio::null())
        .output();
    assert!(run.is_ok(), "`{command}`");
    let is_lost = |path: &&&str| std::fs::read(root.join(path)).ok() != Some(content(path));
    let lost = HIDDEN.iter().filter(is_lost).count();
    assert!(lost > 0, "`{command}` takes something: {run:?}");
    project.record(&TestProject::end("d1", "s1"));
    play(&project, "undo");
    let lost: Vec<_> = HIDDEN.iter().filter(is_lost).collect();
    assert!(lost.is_empty(), "after `{command}` and undo: {lost:?}");
}

#[test]
fn patterns_that_lead_through_links_are_shielded() {
    for command in [
        "rm -rf outb/*",
        "rm outb/* 2>/dev/null",
        "cat a.txt > dirlink/z.l?g",
        "rm dirlink/*.log",
        "mv dirlink/*.log docs",
        "rm o*/o.bin",
        "rm o*/x.log",
        "find o*/ -type f -delete",
        "find -L docs -name notes -delete",
    ] {
        nothing_hidden_is_lost(command);
    }
}

#[test]
fn patterns_that_start_above_the_project_are_shielded() {
    for command in [
        "rm -rf $P/*",
        "rm -f $P/*.log",
        "rm -rf $P/*/x.log",
        "cp c.txt $P/x.lo?",
        "cd .. && rm -rf pro*/build/*",
        "git clean -qfdx \"$P/*.log\"",
        "rm ../project/*.log",
        "cd $P/.. && rm -f project/*.log",
        "rm -rf $W/p*/build",
        "cd \"$(dirname \"$PWD\")\" && rm -rf project/build",
    ] {
        nothing_hidden_is_lost(command);
    }
}

#[test]
fn names_that_options_choose_are_shielded() {
    for command in [
        "git clean -qfX '*.log'",
        "cp --parents sub/z.log build",
        "cp -b -S .log c.txt a",
        "install -b -S .log c.txt a",
        "gzip -f -S .log a",
        "gzip -f --suf=.log a",
        "printf -- '--- a\n+++ a\n@@ -1 +1 @@\n-theirs A\n+x\n' > p; patch -s -b -z .log a p",
        "sed -i -e s/A/B/ --in-place=.log a",
        "sed --in-pl s/MINE/T/ .env",
        "sed --expr='w .env' a.txt",
        "git reset -q --har other",
    ] {
        nothing_hidden_is_lost(command);
    }
}

#[test]
fn commands_that_mostly_read_are_shielded_where_they_write() {
    for command in [
        "git read-tree -u --reset other",
        "git archive --output=.env HEAD",
        "git -c alias.z='!rm -f build/x.log' z",
        "git grep --no-index --no-exclude-standard -lOrm MINE -- build",
        "history -w .env",
        "jobs -x rm build/x.log",
        "compgen -C 'rm build/x.log'",
        "f=; : \"${f:=build/x.log}\"; rm \"$f\"",
        "f=a.log; printf -vf build/x.log; rm \"$f\"",
        "awk -f <(echo 'BEGIN{system(\"rm build/x.log\")}')",
        "shopt -s expand_aliases; alias k='rm -rf'\nk build",
        "GIT_EXTERNAL_DIFF='rm build/x.log; true' git diff main other",
        "env GIT_EXTERNAL_DIFF='rm build/x.log; true' git diff main other",
        "export GIT_EXTERNAL_DIFF='rm build/x.log; true'; git diff main other",
    ] {
        nothing_hidden_is_lost(command);
    }
}
