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
