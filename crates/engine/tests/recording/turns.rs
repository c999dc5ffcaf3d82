//! When a call's window closes, and what still belongs to it after that.

use retake_engine::model::Actor;
use retake_testkit::{ListingHints, TestProject, check, expect};
use serde_json::json;

#[test]
fn begin_without_end_closes_with_the_turn() {
    check(
        r"
        init
        begin d1 s1 sh: make
        turn-end d1
        file a.txt: by hand\n
        look
        ",
        &expect![[r#"
            "a.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn a_new_message_closes_what_the_last_turn_left_open() {
    check(
        r"
        init
        say d1: build it
        begin d1 s1 sh: make
        file made.txt: x\n
        say d1: go on
        file a.txt: by hand\n
        look
        ",
        &expect![[r#"
            "made.txt" create by agent d1/main:s1 window +1 -0
            "a.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn late_while_a_background_task_is_known_to_live() {
    check(
        r"
        init
        begin d1 s1 sh: npm run watch
        end-background d1 s1
        file out.js: built\n
        turn-end d1 s1
        file out.js: built again\n
        look
        turn-end d1
        file out.js: by hand\n
        look
        ",
        &expect![[r#"
            "out.js" create by agent d1/main:s1 late +1 -0
            "out.js" modify by agent d1/main:s1 late +1 -1
            "out.js" modify by user +1 -1
        "#]],
    );
}

#[test]
fn late_by_the_path_that_its_command_targeted() {
    check(
        r"
        file log.txt: a\n
        init
        begin d1 s1 sh: (sleep 5; echo done > late.txt) &
        end d1 s1
        turn-end d1
        file late.txt: done\n
        file log.txt: by hand\n
        look
        ",
        &expect![[r#"
            "late.txt" create by agent d1/main:s1 late +1 -0
            "log.txt" modify by user +1 -1
        "#]],
    );
}

#[test]
fn a_foreground_command_that_ended_owns_nothing_after() {
    check(
        r"
        file a.txt: one\n
        init
        shell d1 s1: sed -i s/nothing/else/ a.txt
        file a.txt: by hand\n
        turn-end d1
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
        "#]],
    );
}

#[test]
fn a_formatters_rewrite_joins_the_change() {
    check(
        r"
        file a.rs: fn a() {}\n
        init
        edit d1 e1 a.rs: fn a() {}\n => fn a() {}\nfn b( ){ x() }\n
        file a.rs: fn a() {}\nfn b() {\n    x();\n}\n
        turn-end d1
        ",
        &expect![[r#"
            "a.rs" modify by agent d1/main:e1 certain +1 -0
            "a.rs" modify by agent d1/main:e1 late +3 -1 joins
        "#]],
    );
}

#[test]
fn a_correction_by_hand_is_not_a_formatters() {
    check(
        r"
        file a.rs: fn a() {}\n
        init
        edit d1 e1 a.rs: fn a() {}\n => fn a() {}\nfn b() {}\n
        file a.rs: fn a() {}\nfn c() {}\n
        turn-end d1
        ",
        &expect![[r#"
            "a.rs" modify by agent d1/main:e1 certain +1 -0
            "a.rs" modify by user +1 -1
        "#]],
    );
}

#[test]
fn a_mode_that_the_person_sets_in_an_open_turn_is_the_persons() {
    check(
        r"
        file run.sh: #!/bin/sh\n
        init
        say d1: go
        edit d1 e1 run.sh: #!/bin/sh\n => #!/bin/sh\necho( x )\n
        run chmod +x run.sh
        look
        edit d1 e2 run.sh: echo( x ) => echo( y )
        run chmod 600 run.sh && printf '#!/bin/sh\necho(y)\n' > run.sh
        turn-end d1
        ",
        &expect![[r#"
            "run.sh" modify by agent d1/main:e1 certain +1 -0
            "run.sh" mode by user +0 -0
            "run.sh" modify by agent d1/main:e2 certain +1 -1
            "run.sh" modify by user +1 -1
        "#]],
    );
}

#[test]
fn a_mode_that_the_watcher_finds_in_an_open_turn_is_the_persons() {
    let test = TestProject::new();
    test.write("run.sh", "one\n");
    let mut project = test.init();
    let rules = project.watch_rules().unwrap();
    project.set_hint_source(Box::new(ListingHints::open(&test.root(), rules.clone())), rules);
    project.refresh(test.tick()).unwrap();
    let write = json!({ "file_path": "run.sh", "content": "two\n" });
    project.record(&TestProject::begin("d1", "w1", "Write", write), test.tick()).unwrap();
    test.write("run.sh", "two\n");
    project.record(&TestProject::end("d1", "w1"), test.tick()).unwrap();
    let start = test.tick();
    let commands = ["chmod +x run.sh", "chmod 600 run.sh && echo 'two;' > run.sh"];
    // A minute lies between two versions.
    for (at, command) in [start, start + 60_000].into_iter().zip(commands) {
        test.shell(command);
        let found = project.refresh_in_background(at).unwrap().changes;
        let by: Vec<_> = found.iter().map(|change| change.actor).collect();
        assert_eq!(by, [Actor::User], "{command}");
    }
}

#[test]
fn a_mode_that_is_found_with_what_a_call_wrote_is_the_persons() {
    check(
        r#"
        file run.sh: one\n
        init
        say d1: go
        begin d1 w1 Write {"file_path":"run.sh","content":"two\n"}
        file run.sh: two\n
        run chmod +x run.sh
        end d1 w1
        begin d1 w2 Write {"file_path":"run.sh","content":"two\n"}
        run chmod 700 run.sh
        look
        end d1 w2
        run sleep 0.1
        look
        begin d1 w3 Write {"file_path":"run.sh","content":"three\n"}
        run echo three > beside && mv beside run.sh
        end d1 w3
        "#,
        &expect![[r#"
            "run.sh" modify by agent d1/main:w1 certain +1 -1
            "run.sh" mode by user +0 -0
            "run.sh" mode by user +0 -0
            "run.sh" modify by agent d1/main:w3 certain +1 -1
        "#]],
    );
}

#[test]
fn formatting_after_the_turn_is_the_users() {
    check(
        r"
        init
        write d1 w1 a.rs: fn b( ){}\n
        turn-end d1
        file a.rs: fn b() {}\n
        look
        ",
        &expect![[r#"
            "a.rs" create by agent d1/main:w1 certain +1 -0
            "a.rs" modify by user +1 -1
        "#]],
    );
}

#[test]
fn an_end_after_the_turn_opens_no_window() {
    check(
        r"
        init
        begin d1 s1 sh: make
        turn-end d1
        file made.txt: x\n
        end d1 s1
        file a.txt: by hand\n
        look
        ",
        &expect![[r#"
            "made.txt" create by user +1 -0
            "a.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn subagents_are_agents_of_their_own() {
    check(
        r"
        init
        write d1/sub1 w1 a.txt: a\n
        begin d1/sub1 s1 sh: make
        begin d1/sub2 s2 sh: make
        turn-end d1/sub1
        file b.txt: b\n
        end d1/sub2 s2
        ",
        &expect![[r#"
            "a.txt" create by agent d1/sub1:w1 certain +1 -0
            "b.txt" create by agent d1/sub2:s2 window +1 -0
        "#]],
    );
}

#[test]
fn waiting_for_the_background_ends_it() {
    check(
        r"
        init
        begin d1 s1 sh: (sleep 1; make) & wait
        end d1 s1
        file a.txt: by hand\n
        turn-end d1
        ",
        &expect![[r#"
            "a.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn a_repeated_end_takes_nothing() {
    check(
        r#"
        init
        write d1 w1 a.txt: one\n
        file a.txt: one\nmine\n
        end d1 w1 Write {"file_path":"a.txt","content":"one\n"}
        "#,
        &expect![[r#"
            "a.txt" create by agent d1/main:w1 certain +1 -0
            "a.txt" modify by user +1 -0
            ! duplicate_end
        "#]],
    );
}

#[test]
fn an_end_after_the_turn_owns_only_what_it_aims_at() {
    check(
        r"
        init
        begin d1 s1 sh: make && echo x > out.txt
        turn-end d1
        file mine.txt: by hand\n
        file out.txt: x\n
        end d1 s1
        ",
        &expect![[r#"
            "mine.txt" create by user +1 -0
            "out.txt" create by agent d1/main:s1 window +1 -0
        "#]],
    );
}

#[test]
fn a_dialog_that_starts_again_has_nothing_open() {
    check(
        r"
        init
        begin d1 s1 sh: make
        dialog-start d1
        file a.txt: by hand\n
        look
        ",
        &expect![[r#"
            "a.txt" create by user +1 -0
        "#]],
    );
}

#[test]
fn a_subagents_end_does_not_end_the_turn() {
    check(
        r"
        init
        subagent d1/sub of main
        write d1 w1 a.rs: fn b( ){}\n
        turn-end d1/sub
        file a.rs: fn b() {}\n
        turn-end d1
        ",
        &expect![[r#"
            "a.rs" create by agent d1/main:w1 certain +1 -0
            "a.rs" modify by agent d1/main:w1 late +1 -1 joins
        "#]],
    );
}
