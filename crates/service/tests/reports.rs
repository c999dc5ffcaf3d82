//! A report of a scope tells of that scope alone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use retake_engine::model::{
    Caller, CallerChannel, CallerEvidence, CallerScope, CommentKind, DialogId,
};
use retake_engine::{CommentPlace, HunkRequest, NewComment, Project, ReviewScope, TakeBackOptions};
use retake_service::Masking;
use retake_service::describe::unescaped;
use retake_service::review::{ReportOptions, find_scope, render_report};
use retake_testkit::{TestProject, play};

const STORY: &str = r"
    file a.txt: 1\n2\n3\n4\n5\n6\n7\n8\n9\n
    file src/b.txt: b\n
    file src/c.txt: c\n
    init
    say one: go
    edit one e1 a.txt: 1 => one
    edit one e2 src/b.txt: b => bee
    turn-end one
    say one: again
    edit one e3 a.txt: 9 => nine
    turn-end one
    say two: go
    edit two e4 src/c.txt: c => sea
    turn-end two
    reject-hunks call=e1 because=reason-one
    reject-hunks call=e4 because=reason-two
";

/// What the person said, each about the work of one dialog.
const SAID: [&str; 6] =
    ["reason-one", "reason-two", "about-a", "about-c", "to-one-at-large", "to-two-at-large"];
/// The title of what the agent took back itself.
const OWN_REJECTION: &str = "reject of 1 hunk in src/b.txt";

fn comment(fixture: &TestProject, text: &str, dialog: &str, path: Option<&str>) {
    let place = path.map_or(CommentPlace::Work, |path| CommentPlace::File(path.parse().unwrap()));
    let (kind, text, dialog) = (CommentKind::Order, text.to_owned(), Some(DialogId::from(dialog)));
    fixture.open().add_comment(&NewComment { place, kind, text, dialog }, fixture.tick()).unwrap();
}

/// The agent of dialog one takes back its own work.
fn take_back_by_agent(fixture: &TestProject) {
    let project = fixture.open();
    let scope = CallerScope::Agent { dialog: "one".into(), agent: None };
    let (channel, evidence) = (CallerChannel::CommandLine, CallerEvidence::AncestorProcess);
    project.set_caller(Caller { channel, scope, evidence });
    let changes = find_scope(&project, "call:e2").unwrap().unwrap();
    let request = HunkRequest { scope: ReviewScope::of(changes), all: true, hunks: Vec::new() };
    let options = TakeBackOptions::default();
    let plan = project.plan_reject_places(&request, options, fixture.tick()).unwrap();
    project.apply(&plan, fixture.tick()).unwrap();
    assert_eq!(project.operations(1).unwrap()[0].title, OWN_REJECTION);
}

fn report(project: &Project, scope: &str, paths: &[&str]) -> String {
    let changes = find_scope(project, scope).unwrap().unwrap();
    let paths = paths.iter().map(|path| path.parse().unwrap()).collect();
    let review = project.review(&ReviewScope { changes, paths, approved: false }).unwrap();
    let options = ReportOptions { masking: Masking::Off, show: unescaped };
    render_report(project, &review, options).unwrap()
}

#[test]
fn a_report_tells_of_the_rejections_and_comments_of_its_scope() {
    let fixture = TestProject::new();
    play(&fixture, STORY);
    comment(&fixture, "about-a", "one", Some("a.txt"));
    comment(&fixture, "about-c", "two", Some("src/c.txt"));
    comment(&fixture, "to-one-at-large", "one", None);
    comment(&fixture, "to-two-at-large", "two", None);
    let project = fixture.open();
    project.send_comments(&[], fixture.tick()).unwrap();
    take_back_by_agent(&fixture);
    let second = fixture.changes().iter().find(|it| it.call == Some("e3".into())).unwrap().id;
    let [one, two, a, c, to_one, to_two] = SAID;
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("all", &[], &SAID),
        ("everything", &[], &SAID),
        ("one", &[], &[one, a, to_one]),
        ("two", &[], &[two, c, to_two]),
        ("one:1", &[], &[one, a, to_one]),
        ("one:2", &[], &[a, to_one]),
        ("call:e2", &[], &[to_one]),
        ("call:e4", &[], &[two, c, to_two]),
        (&second.to_string(), &[], &[a, to_one]),
        (&format!("after:{}", second.0), &[], &[two, c, to_two]),
        ("all", &["src"], &[two, c]),
        ("all", &["a.txt"], &[one, a]),
        ("one", &["src"], &[]),
    ];
    for (scope, paths, expected) in cases {
        let text = report(&project, scope, paths);
        let told: Vec<_> = SAID.into_iter().filter(|said| text.contains(said)).collect();
        assert_eq!(told, *expected, "{scope} {paths:?}: {text}");
        assert!(!text.contains(OWN_REJECTION), "{scope}: {text}");
    }
}

/// A rejection is told with the file that it was in, whatever the name of that is now.
#[test]
fn a_report_of_a_moved_file_tells_what_was_rejected_in_it() {
    let fixture = TestProject::new();
    play(&fixture, STORY);
    let moved = r"
        say one: more
        edit one e5 a.txt: 3 => three
        run mv a.txt moved.txt
        look
        reject-hunks call=e5 because=reason-three
    ";
    play(&fixture, moved);
    let project = fixture.open();
    let text = report(&project, "one", &["moved.txt"]);
    assert!(text.contains("reason-three") && !text.contains("reason-two"), "{text}");
}
