//! Files that an agent has read, and when it is warned that they changed since.
#![expect(clippy::unwrap_used, reason = "tests")]

mod metadata;
mod open_calls;
mod walk;

use expect_test::expect;
use retake_engine::model::{AgentId, AgentRef, ContextSource, DialogId, Event, EventKind};
use retake_engine::{Audience, ReplySupport, Submission};
use retake_testkit::{TestProject, check, play};
use serde_json::json;

#[test]
fn ctx_11_read_edit_and_a_users_edit_are_three_entries() {
    check(
        r"
        file a.txt: one\ntwo\nthree\n
        init
        read d c1 a.txt
        edit d c2 a.txt: one => ONE
        file a.txt: ONE\ntwo\nTHREE\n
        look
        context d
        stale d
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:c2 certain +1 -1
            "a.txt" modify by user +1 -1
            a.txt stale read_tool read 3 edit - user -
            a.txt stale roo_edited read 5 edit 5 user -
            a.txt active user_edited read 5 edit 5 user 6
            a.txt: line 3 changed by the user
        "#]],
    );
}

#[test]
fn ctx_26_mention_read_users_edit_denial_read_again_and_edit() {
    check(
        r"
        file a.txt: one\ntwo\nthree\nfour\n
        init
        mention d a.txt: look at @a.txt
        read d c1 a.txt
        file a.txt: one\ntwo\n3\nfour\n
        attempt d c2 a.txt: one => ONE
        attempt d c3 a.txt: one => ONE
        stale d
        read d c4 a.txt
        attempt d c5 a.txt: ONE => 1
        stale d
        context d
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            deny a.txt: line 3 changed by the user
            "a.txt" modify by agent d/main:c3 certain +1 -1
            a.txt: line 3 changed by the user
            "a.txt" modify by agent d/main:c5 certain +1 -1
            a.txt stale file_mentioned read 2 edit - user -
            a.txt stale read_tool read 4 edit - user -
            a.txt stale user_edited read 4 edit - user 5
            a.txt stale roo_edited read 7 edit 7 user 5
            a.txt stale read_tool read 9 edit 7 user 5
            a.txt active roo_edited read 11 edit 11 user 5
        "#]],
    );
}

#[test]
fn only_what_was_seen_counts_and_it_moves_along() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n
        init
        read d c1 a.txt 4-6
        file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\nnine\n10\n
        attempt d c2 a.txt: 5 => five
        file a.txt: 0\n1\n2\n3\n4\nfive\n6\n7\n8\nnine\n10\n
        attempt d c3 a.txt: five => 5
        file a.txt: 0\n1\n2\n3\n4\n5\nsix\n7\n8\nnine\n10\n
        attempt d c4 a.txt: 4 => four
        stale d
        read d c5 a.txt 7-7
        stale d
        file a.txt: 0\n1\n2\n3\n5\nsix\n7\n8\nnine\n10\n
        look
        stale d
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            "a.txt" modify by agent d/main:c2 certain +1 -1
            "a.txt" modify by user +1 -0
            "a.txt" modify by agent d/main:c3 certain +1 -1
            "a.txt" modify by user +1 -1
            deny a.txt: line 7 changed by the user
            a.txt: line 7 changed by the user
            "a.txt" modify by user +0 -1
            a.txt: lines removed before line 5 by the user
        "#]],
    );
}

#[test]
fn an_edit_that_is_taken_back_was_never_there() {
    check(
        r"
        file a.txt: 1\n2\n
        init
        read d c1 a.txt
        file a.txt: 1\ntwo\n
        look
        stale d
        file a.txt: 1\n2\n
        attempt d c2 a.txt: 1 => one
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            a.txt: line 2 changed by the user
            "a.txt" modify by user +1 -1
            "a.txt" modify by agent d/main:c2 certain +1 -1
        "#]],
    );
}

#[test]
fn each_agent_knows_what_it_saw_itself() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n
        init
        read d c1 a.txt
        read e c1 a.txt
        subagent d/sub of main
        read d/sub c2 a.txt
        edit d c3 a.txt: 1 => one
        stale d
        stale e
        stale d/sub
        attempt d/sub c4 a.txt: 3 => three
        shell e c5: sed -i s/4/four/ a.txt
        attempt e c6 a.txt: 2 => two
        stale d
        ",
        &expect![[r#"
            "a.txt" modify by agent d/main:c3 certain +1 -1
            a.txt: line 1 changed by another agent
            a.txt: line 1 changed by another agent
            deny a.txt: line 1 changed by another agent
            "a.txt" modify by agent e/main:c5 window +1 -1
            deny a.txt: line 1 changed by another agent
            a.txt: line 4 changed by another agent
        "#]],
    );
}

#[test]
fn deleted_and_moved_files_are_told() {
    check(
        r"
        file a.txt: 1\n
        file b.txt: 2\n3\n4\n5\n
        file c.txt: 7\n
        init
        read d c1 a.txt
        read d c2 b.txt
        read d c3 c.txt
        run rm a.txt
        run mv b.txt new.txt
        say d: go on
        stale d
        shell d c4: mv c.txt moved.txt
        file moved.txt: seven\n
        attempt d c5 moved.txt: seven => 7
        file a.txt: other\n
        look
        stale d
        ",
        &expect![[r#"
            "a.txt" delete by user +0 -1
            "b.txt" -> "new.txt" rename by user +0 -0
            a.txt: deleted by the user
            b.txt: moved to "new.txt" by the user
            "c.txt" -> "moved.txt" rename by agent d/main:c4 window +0 -0
            "moved.txt" modify by user +1 -1
            deny moved.txt: line 1 changed by the user
            "a.txt" create by user +1 -0
            a.txt: changed by the user
            b.txt: moved to "new.txt" by the user
            moved.txt: line 1 changed by the user
        "#]],
    );
}

#[test]
fn git_and_retake_itself_are_named() {
    check(
        r"
        run git init -q -b main && git config user.email a@b.c && git config user.name n
        file a.txt: 1\n2\n
        run git add -A && git commit -qm one
        run git checkout -q -b other && echo 3 >> a.txt && git commit -qam two && git checkout -q main
        init
        read d c1 a.txt
        write d c2 b.txt: new\n
        run git checkout -q other
        attempt d c9 a.txt: 1 => one
        look
        stale d
        say d: next
        write d c3 b.txt: newer\n
        undo
        stale d
        ",
        &expect![[r#"
            "b.txt" create by agent d/main:c2 certain +1 -0
            "a.txt" modify by git +1 -0
            deny a.txt: line 3 changed by git
            a.txt: line 3 changed by git
            "b.txt" modify by agent d/main:c3 certain +1 -1
            undo: "b.txt" write exact
            a.txt: line 3 changed by git
            b.txt: line 1 changed by Retake (o22)
        "#]],
    );
}

fn main_of(dialog: &str) -> (DialogId, AgentId) {
    (dialog.into(), "main".into())
}

#[test]
fn a_fresh_read_gives_what_is_there_and_says_what_had_changed() {
    let test = TestProject::new();
    play(&test, "file a.txt: 1\\n2\\n3\\n\ninit\nread d c1 a.txt");
    let (dialog, agent) = main_of("d");
    let (project, path) = (test.open(), "a.txt".parse().unwrap());
    let reader = AgentRef { dialog: &dialog, agent: &agent };
    let read = || project.read_fresh(reader, &path, test.tick()).unwrap();
    assert_eq!(read().unwrap().was_stale, None);
    test.write("a.txt", "1\ntwo\n3\n");
    let fresh = read().unwrap();
    assert_eq!(fresh.bytes, b"1\ntwo\n3\n");
    let was = fresh.was_stale.unwrap();
    assert_eq!(was.describe(Audience::Person), "line 2 changed by you");
    assert_eq!(was.to_string(), "line 2 changed by the user");
    assert_eq!(read().unwrap().was_stale, None, "it has seen it now");
    test.shell("rm a.txt");
    assert_eq!(read(), None);
    assert_eq!(
        project.stale_files(&dialog, &agent).unwrap().len(),
        1,
        "that it is gone is not seen"
    );
    let stale = project.stale_agents(0).unwrap();
    assert_eq!((stale.len(), stale[0].files), (1, 1));
    assert_eq!(project.stale_agents(i64::MAX).unwrap(), [], "it has not been active for long");
}

#[test]
fn the_same_is_never_told_twice_and_what_is_new_always() {
    check(
        r"
        file a.txt: 1\n2\n3\n4\n5\n6\n
        init
        say d: hello
        read d c1 a.txt
        file a.txt: 1\n2\n3\n4\n5\nsix\n
        attempt d c2 a.txt: 1 => one
        # A look at other lines settles nothing, but is no reason to be told again.
        read d c3 a.txt 1-2
        attempt d c4 a.txt: 1 => one
        attempt d c5 a.txt: 2 => two
        file a.txt: one\ntwo\n3\n4\nfive\nsix\n
        attempt d c6 a.txt: 3 => three
        run rm a.txt
        attempt d c7 a.txt: 3 => three
        file a.txt: new\nfile\n
        attempt d c8 a.txt: new => old
        read d c9 a.txt 1-1
        attempt d c10 a.txt: new => old
        ",
        &expect![[r#"
            "a.txt" modify by user +1 -1
            deny a.txt: line 6 changed by the user
            "a.txt" modify by agent d/main:c4 certain +1 -1
            "a.txt" modify by agent d/main:c5 certain +1 -1
            "a.txt" modify by user +1 -1
            deny a.txt: lines 5–6 changed by the user
            "a.txt" delete by user +0 -6
            deny a.txt: deleted by the user
            "a.txt" create by user +2 -0
            deny a.txt: changed by the user
            "a.txt" modify by agent d/main:c10 certain +1 -1
        "#]],
    );
}

#[test]
fn many_places_are_told_as_one_file_and_names_stay_on_their_line() {
    let test = TestProject::new();
    let lines = |odd: &'static str| {
        (0..3000).map(move |n| format!("{}{n}\n", if n % 2 == 0 { "" } else { odd }))
    };
    test.write("big.txt", lines("").collect::<String>());
    test.write("a\nb.txt", "1\n");
    play(&test, "init\nread d c1 big.txt");
    let (dialog, agent) = main_of("d");
    let name = [("a\nb.txt".parse().unwrap(), None)];
    let project = test.open();
    let reader = AgentRef { dialog: &dialog, agent: &agent };
    project.track_context(reader, &name, ContextSource::ReadTool, test.tick()).unwrap();
    test.write("big.txt", lines("x").collect::<String>());
    test.write("a\nb.txt", "2\n");
    let said = EventKind::UserMessage { text: "go on".into() };
    let told = project.record(&Event::new("d", said), test.tick()).unwrap().stale.unwrap().message;
    assert_eq!(
        told,
        "Since you last looked, these files have changed:\n\
         - \"a\\nb.txt\": line 1 changed by the user\n\
         - \"big.txt\": changed by the user\n\
         Read them again before you change them."
    );
}

#[test]
fn lib_3_a_host_that_tracks_by_source_gets_the_timeline_of_ctx_11() {
    let test = TestProject::new();
    play(&test, "file a.txt: 1\\n2\\n\ninit");
    let (dialog, agent) = main_of("d");
    let (project, file) = (test.open(), [("a.txt".parse().unwrap(), None)]);
    let reader = AgentRef { dialog: &dialog, agent: &agent };
    let track = |source| {
        let at = test.tick();
        assert_eq!(project.track_context(reader, &file, source, at).unwrap(), []);
        at
    };
    track(ContextSource::ReadTool);
    test.write("a.txt", "one\n2\n");
    let edited = track(ContextSource::AgentEdited);
    test.write("a.txt", "one\ntwo\n");
    let user = track(ContextSource::UserEdited);
    let context = project.context(&dialog, &agent).unwrap().remove(0);
    let last = context.entries.last().unwrap();
    assert_eq!(last.source, ContextSource::UserEdited);
    let dates = (last.dates.read, last.dates.edit, last.dates.user);
    assert_eq!(dates, (Some(edited), Some(edited), Some(user)));
    assert!(context.entries.iter().any(|entry| entry.source == ContextSource::AgentEdited));
    assert_eq!(context.stale.unwrap().to_string(), "line 2 changed by the user");
}

/// However often an agent changes a file that is its own, it knows what it wrote.
#[test]
fn an_agent_is_not_told_of_its_own_many_edits() {
    let test = TestProject::in_memory();
    test.write("a.txt", "0\nrest\n");
    let project = test.init();
    let parcel = |event: Event| {
        let at = test.tick();
        Submission::new(format!("k{at}"), event, at).with_reply_support(ReplySupport::Denials)
    };
    let edit = |n: usize| {
        let input = json!({
            "file_path": "a.txt", "old_string": format!("{}\n", n - 1),
            "new_string": format!("{n}\n"),
        });
        let begin = parcel(TestProject::begin("d", &format!("c{n}"), "Edit", input));
        let stale = project.submit(&begin).unwrap().stale;
        test.write("a.txt", format!("{n}\nrest\n"));
        project.submit(&parcel(TestProject::end("d", &format!("c{n}")))).unwrap();
        stale.map(|stale| stale.message)
    };
    let read = TestProject::begin("d", "r", "Read", json!({ "file_path": "a.txt" }));
    project.submit_all(&[parcel(read), parcel(TestProject::end("d", "r"))]);
    for n in 1..=502 {
        assert_eq!(edit(n), None, "edit {n}");
    }
    test.write("a.txt", "502\nREST\n");
    let told = edit(503).unwrap();
    assert!(told.contains("changed by the user"), "{told}");
}
