//! What git did is git's; what an agent did with git is the agent's.

use retake_testkit::{TestProject, check, expect, play};

#[test]
fn a_branch_switch_is_gits_and_one_event() {
    check(
        r"
        file a.txt: main\n
        run git init -q -b main . && git add . && git commit -qm one
        run git checkout -qb other && echo other > a.txt && echo new > b.txt && git add . && git commit -qm two && git checkout -q main
        init
        run git checkout -q other
        look
        ",
        &expect![[r#"
            "a.txt" modify by git +1 -1
            "b.txt" create by git +1 -0
        "#]],
    );
}

#[test]
fn an_edit_that_is_committed_stays_the_users() {
    check(
        r"
        file a.txt: main\n
        run git init -q -b main . && git add . && git commit -qm one
        init
        run echo mine > a.txt && git add a.txt
        look
        run echo mine2 > a.txt && git commit -qam two
        look
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "a.txt" modify by user +1 -1
        "#]],
    );
}

#[test]
fn stash_and_restore_are_gits() {
    check(
        r"
        file a.txt: main\n
        run git init -q -b main . && git add . && git commit -qm one
        init
        file a.txt: mine\n
        look
        run git stash -q
        look
        file a.txt: again\n
        look
        run git checkout -q -- a.txt
        look
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "a.txt" modify by git +1 -1
            "a.txt" modify by user +1 -1
            "a.txt" modify by git +1 -1
        "#]],
    );
}

#[test]
fn inside_a_shell_call_that_runs_git_it_is_the_agents() {
    check(
        r"
        file a.txt: main\n
        run git init -q -b main . && git add . && git commit -qm one
        run git checkout -qb other && echo other > a.txt && git commit -qam two && git checkout -q main
        init
        shell d1 s1: git checkout -q other
        ",
        &expect![[r#"
            "a.txt" modify by agent d1/main:s1 window +1 -1
        "#]],
    );
}

#[test]
fn a_switch_by_hand_while_an_agent_builds_is_gits() {
    check(
        r"
        file a.txt: main\n
        run git init -q -b main . && git add . && git commit -qm one
        run git checkout -qb other && echo other > a.txt && git commit -qam two && git checkout -q main
        init
        begin d1 s1 sh: make
        run git checkout -q other
        end d1 s1
        ",
        &expect![[r#"
            "a.txt" modify by git +1 -1
        "#]],
    );
}

#[test]
fn commands_on_the_whole_tree_reach_it_from_a_subfolder() {
    check(
        r"
        file a.txt: main\n
        file sub/b.txt: main\n
        run git init -q -b main . && git add . && git commit -qm one
        init
        file a.txt: mine\n
        look
        shell d1 s1: cd sub && git reset -q --hard
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "a.txt" modify by agent d1/main:s1 window +1 -1
        "#]],
    );
}

#[test]
fn a_new_branch_and_a_commit_of_an_edit_are_no_switch() {
    check(
        r"
        file a.txt: main\n
        run git init -q -b main . && git add . && git commit -qm one
        init
        run echo mine > a.txt && git checkout -qb f && git commit -qam two
        look
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
        "#]],
    );
}

#[test]
fn git_is_seen_from_a_subfolder_of_its_repository() {
    let project = TestProject::new();
    play(
        &project,
        r"
        file a.txt: main\n
        run cd .. && git init -q -b main . && git add project && git commit -qm one
        run git checkout -qb other && echo other > a.txt && git commit -qam two && git checkout -q main
        init
        run git checkout -q other
        ",
    );
    assert_eq!(play(&project, "look"), "\"a.txt\" modify by git +1 -1\n");
}
