//! Rejecting hunks: at once, or when the agent behind them has ended its turn.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use retake_engine::model::Millis;
use retake_testkit::{TestProject, play};
use serde_json::{Value, json};

use crate::client::Ask;
use crate::hunks::{TURN, hunks_of, named};
use crate::stage::Stage;

/// What `a.txt` of the story is after it.
const AFTER: &str = "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\nELEVEN\ntwelve\n";
/// The same without the first hunk.
const WITHOUT_FIRST: &str =
    "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\nELEVEN\ntwelve\n";

/// Moments after the story, so that its open turn is one at which an agent works.
fn soon() -> Millis {
    1_700_000_100_000
}

/// The story while its turn is open.
fn at_work(clock: fn() -> Millis) -> Stage {
    let project = TestProject::new();
    play(&project, TURN.trim_end().trim_end_matches("turn-end d1"));
    Stage::with_clock(project, clock)
}

fn read(stage: &Stage, path: &str) -> String {
    String::from_utf8(stage.project.read(path)).unwrap()
}

/// The rejection of the first hunk of `a.txt`.
fn first_hunk(stage: &Stage) -> Value {
    let hunks = hunks_of(stage, "all", "a.txt");
    json!({ "hunks": [named(&hunks[0], "a.txt")], "reason": "we keep the old name" })
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[test]
fn a_hunk_of_a_turn_that_is_over_goes_at_once_and_comes_back_by_undo() {
    let stage = Stage::new(TURN);
    let body = first_hunk(&stage);
    let plan = stage.done("review/reject", &with(body.clone(), &json!({ "dry_run": true })));
    assert_eq!(
        (&plan["outcome"]["dry_run"], &plan["outcome"]["kind"]),
        (&json!(true), &json!("reject"))
    );
    assert_eq!((&plan["queued"], &plan["waits_for"]), (&json!([]), &json!([])));
    assert_eq!(read(&stage, "a.txt"), AFTER);
    let other = with(body.clone(), &json!({ "plan_digest": "other" }));
    assert_eq!(stage.post("review/reject", &other).code(), "plan_changed");
    let digest = &plan["outcome"]["plan_digest"];
    let done = stage.done("review/reject", &with(body, &json!({ "plan_digest": digest })));
    assert_eq!((&done["outcome"]["whole"], &done["queued"]), (&json!(true), &json!([])));
    assert_eq!(read(&stage, "a.txt"), WITHOUT_FIRST);
    let operation = &stage.got("operations")["operations"][0];
    assert_eq!(
        (&operation["id"], &operation["reason"]),
        (&done["outcome"]["operation"], &json!("we keep the old name"))
    );
    assert_eq!(hunks_of(&stage, "all", "a.txt").len(), 1);
    stage.done("undo", &json!({ "yes": true }));
    assert_eq!(read(&stage, "a.txt"), AFTER);
}

#[test]
fn lines_of_a_hunk_and_whole_files_go_too() {
    let story = r"
        file a.txt: one\n
        init
        say d1: do
        write d1 w1 a.txt: one\ntwo\nthree\nfour\n
        write d1 w2 new.txt: new\n
        turn-end d1
    ";
    let stage = Stage::new(story);
    let hunk = hunks_of(&stage, "all", "a.txt").remove(0);
    let lines = |lines: &str| json!({ "hunks": [{ "id": hunk["id"], "lines": lines }] });
    assert_eq!(stage.post("review/reject", &lines("+4")).code(), "unknown_lines");
    stage.done("review/reject", &lines("+1,+3"));
    assert_eq!(read(&stage, "a.txt"), "one\nthree\n");
    let file = json!({ "all": true, "paths": ["new.txt"] });
    stage.done("review/reject", &file);
    assert!(!stage.project.root().join("new.txt").exists());
    assert_eq!(read(&stage, "a.txt"), "one\nthree\n", "the other file stays");
    let nothing = stage.done("review/reject", &file);
    assert_eq!(nothing["outcome"]["operation"], Value::Null);
}

#[test]
fn while_the_agent_works_a_rejection_waits_for_the_end_of_its_turn() {
    let stage = at_work(soon);
    let body = first_hunk(&stage);
    let plan = stage.done("review/reject", &with(body.clone(), &json!({ "dry_run": true })));
    assert_eq!(plan["waits_for"][0]["id"], "d1");
    assert_eq!(stage.got("review/queue")["entries"], json!([]), "a plan queues nothing");
    let queued = stage.done("review/reject", &body);
    assert_eq!((&queued["outcome"], &queued["waits_for"][0]["id"]), (&Value::Null, &json!("d1")));
    let entry = &queued["queued"][0];
    assert_eq!((&entry["state"], &entry["path"]), (&json!("waiting"), &json!("a.txt")));
    assert_eq!(read(&stage, "a.txt"), AFTER, "nothing is taken from under it");
    assert_eq!(stage.got("review/queue")["entries"][0], *entry);
    assert_eq!(stage.got("review")["queued"], 1);
    assert_eq!(hunks_of(&stage, "all", "a.txt")[0]["queued"], entry["id"]);
    assert_eq!(stage.done("review/queue/run", &json!({}))["settled"], json!([]), "it is not due");
    // Also the agent that reports by HTTP, without a hook, ends its turn.
    let end = json!({ "events": [{ "event": "turn_end", "dialog": "d1" }] });
    stage.done("events", &end);
    // The worker has carried it out before it does anything else.
    stage.done("review/queue/run", &json!({}));
    assert_eq!(read(&stage, "a.txt"), WITHOUT_FIRST);
    let settled = stage.got("review/queue")["entries"][0].clone();
    let operation = &stage.got("operations")["operations"][0];
    assert_eq!((&settled["state"], &settled["operation"]), (&json!("done"), &operation["id"]));
    assert_eq!(operation["reason"], "we keep the old name");
    assert_eq!(operation["said_by"]["scope"], "person", "the agent's event only made it due");
}

#[test]
fn a_person_in_a_hurry_waits_for_nothing() {
    let stage = at_work(soon);
    let now = with(first_hunk(&stage), &json!({ "wait": false }));
    let done = stage.done("review/reject", &now);
    assert_eq!((&done["outcome"]["whole"], &done["queued"]), (&json!(true), &json!([])));
    assert_eq!(read(&stage, "a.txt"), WITHOUT_FIRST);
}

#[test]
fn a_rejection_that_waits_is_cancelled_once() {
    let stage = at_work(soon);
    let id = stage.done("review/reject", &first_hunk(&stage))["queued"][0]["id"].clone();
    let path = format!("review/queue/{id}/cancel");
    assert_eq!(stage.done(&path, &json!({}))["state"], "cancelled");
    let again = stage.post(&path, &json!({}));
    assert_eq!((again.status, again.code().as_str()), (409, "not_queued"));
    stage.done("events", &json!({ "events": [{ "event": "turn_end", "dialog": "d1" }] }));
    assert_eq!(stage.done("review/queue/run", &json!({}))["settled"], json!([]));
    assert_eq!(read(&stage, "a.txt"), AFTER);
}

#[test]
fn a_hunk_that_the_agent_changes_meanwhile_is_dropped_with_the_reason() {
    let stage = at_work(soon);
    stage.done("review/reject", &first_hunk(&stage));
    play(&stage.project, "edit d1 w4 a.txt: TWO => Two\nturn-end d1\n");
    let settled = stage.done("review/queue/run", &json!({}))["settled"].clone();
    assert_eq!(settled[0]["state"], "dropped", "{settled}");
    let entry = stage.got("review/queue")["entries"][0].clone();
    assert!(entry["outcome"].as_str().unwrap().contains("changed"), "{entry}");
    assert_eq!(read(&stage, "a.txt").lines().nth(1), Some("Two"));
}

/// A clock that only this test moves.
static LATE: AtomicI64 = AtomicI64::new(1_700_000_100_000);

#[test]
fn without_any_event_a_rejection_is_carried_out_when_the_agent_is_idle_for_too_long() {
    let stage = at_work(|| LATE.load(Ordering::Relaxed));
    stage.done("review/reject", &first_hunk(&stage));
    LATE.fetch_add(7 * 60 * 1000, Ordering::Relaxed);
    // What the watcher had to tell since its start is done.
    stage.project.write("keep.txt", "mine\n");
    let kept = || stage.got("changes?path=keep.txt")["changes"].as_array().unwrap().len();
    until("the edit is recorded", || kept() == 1);
    stage.done("review/queue/run", &json!({}));
    assert_eq!(read(&stage, "a.txt"), AFTER, "an agent may think for some minutes");
    LATE.fetch_add(4 * 60 * 1000, Ordering::Relaxed);
    // From here on the daemon is asked for nothing: it looks by itself.
    until("it is carried out", || read(&stage, "a.txt") == WITHOUT_FIRST);
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn lines_of_the_person_are_asked_for_before_they_go_or_wait() {
    let stage = at_work(soon);
    stage.project.write("a.txt", AFTER.replace("six", "mine"));
    let hunks = hunks_of(&stage, "everything", "a.txt");
    assert_eq!(hunks.len(), 3);
    let all = json!({ "all": true, "scope": "everything", "paths": ["a.txt"] });
    let mine = json!({ "scope": "everything", "hunks": [named(&hunks[1], "a.txt")] });
    for body in [&all, &mine, &with(all.clone(), &json!({ "wait": false }))] {
        let refused = stage.post("review/reject", body);
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (409, "needs_yes"),
            "{}",
            refused.body
        );
        assert_eq!(refused.json()["outcome"]["asks"], json!(["takes_your_edits"]), "{body}");
    }
    assert_eq!(stage.got("review/queue")["entries"], json!([]), "nor does it wait unasked");
    assert!(read(&stage, "a.txt").contains("mine"));
    let yes = json!({ "agreed": ["takes_your_edits"] });
    let queued = stage.done("review/reject", &with(all, &yes));
    assert_eq!(queued["queued"].as_array().unwrap().len(), 3, "{queued}");
    stage.done("events", &json!({ "events": [{ "event": "turn_end", "dialog": "d1" }] }));
    stage.done("review/queue/run", &json!({}));
    assert_eq!(
        read(&stage, "a.txt"),
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n"
    );
}

#[test]
fn what_later_changes_build_on_is_left_unless_they_go_too() {
    let story = r"
        file a.txt: one\n
        init
        say d1: do
        edit d1 w1 a.txt: one => two
        turn-end d1
        say d2: do
        edit d2 w2 a.txt: two => three
        turn-end d2
    ";
    let stage = Stage::new(story);
    let hunk = hunks_of(&stage, "dialog:d1", "a.txt").remove(0);
    assert_eq!(
        (&hunk["kind"], &hunk["entangled"]["blockers"][0]["dialog"]),
        (&json!("entangled"), &json!("d2"))
    );
    let body = json!({ "scope": "dialog:d1", "hunks": [named(&hunk, "a.txt")] });
    let asked = stage.post("review/reject", &body);
    assert_eq!((asked.status, asked.json()["outcome"]["asks"].clone()), (409, json!(["cascades"])));
    let done = stage.done("review/reject", &with(body, &json!({ "agreed": ["cascades"] })));
    assert_eq!(done["outcome"]["whole"], true, "{done}");
    assert_eq!(read(&stage, "a.txt"), "one\n");
}

#[test]
fn a_rejection_that_waits_takes_nothing_along_that_was_not_agreed_to() {
    let story = r"
        file a.txt: one\n
        init
        say d1: do
        edit d1 w1 a.txt: one => two
        say d2: do
        edit d2 w2 a.txt: two => three
        turn-end d2
    ";
    for cascade in [false, true] {
        let project = TestProject::new();
        play(&project, story);
        let stage = Stage::with_clock(project, soon);
        let hunk = hunks_of(&stage, "dialog:d1", "a.txt").remove(0);
        let hunks = json!([named(&hunk, "a.txt")]);
        let body = json!({ "scope": "dialog:d1", "hunks": hunks, "cascade": cascade });
        if cascade {
            let asked = stage.post("review/reject", &body);
            assert_eq!(asked.json()["outcome"]["asks"], json!(["cascades"]), "{}", asked.body);
        }
        let queued = stage.done("review/reject", &with(body, &json!({ "yes": cascade })));
        assert_eq!(queued["queued"][0]["state"], "waiting", "{queued}");
        stage.done("events", &json!({ "events": [{ "event": "turn_end", "dialog": "d1" }] }));
        stage.done("review/queue/run", &json!({}));
        let entry = stage.got("review/queue")["entries"][0].clone();
        let expected = if cascade { ("done", "one\n") } else { ("dropped", "three\n") };
        assert_eq!((entry["state"].as_str().unwrap(), &*read(&stage, "a.txt")), expected);
    }
}

#[test]
fn what_comes_again_is_known_until_it_is_forgotten() {
    let story = r"
        file a.txt: one\n
        init
        say d1: do
        write d1 w1 a.txt: one\nlet total = compute_the_total();\n
        turn-end d1
    ";
    let stage = Stage::new(story);
    let body = first_hunk(&stage);
    let rejected = stage.done("review/reject", &body);
    let again = "write d1 w2 a.txt: one\\nlet total = compute_the_total();\\n\nturn-end d1\n";
    play(&stage.project, &format!("say d1: more\n{again}"));
    let hunk = hunks_of(&stage, "all", "a.txt").remove(0);
    let known = &hunk["again"][0];
    assert_eq!(
        (&known["operation"], &known["reason"]),
        (&rejected["outcome"]["operation"], &json!("we keep the old name"))
    );
    assert_eq!(stage.done("review/forget", &json!({ "path": "keep.txt" }))["forgotten"], 0);
    assert_eq!(stage.done("review/forget", &json!({ "path": "a.txt" }))["forgotten"], 1);
    assert_eq!(stage.done("review/forget", &json!({}))["forgotten"], 0);
}

#[test]
fn the_old_reject_tells_agents_why_and_a_rollback_has_no_reason() {
    let stage = Stage::new(TURN);
    let body = json!({ "path": "new.txt", "reason": "not needed" });
    let refused = stage.post("rollback", &body);
    assert_eq!((refused.status, refused.code().as_str()), (422, "bad_value"));
    stage.done("reject", &body);
    assert_eq!(stage.got("operations")["operations"][0]["reason"], "not needed");
    let told = stage.got("feedback?dialog=d1");
    assert!(told["text"].as_str().unwrap().contains("not needed"), "{told}");
}

#[test]
fn agents_see_plans_and_decide_on_nothing() {
    let stage = at_work(soon);
    let token = stage.mint(Some("d1"));
    let body = first_hunk(&stage);
    let send = |body: &Value| {
        stage.send(&Ask::new("POST", &stage.path("review/reject")).token(&token).json(body))
    };
    assert_eq!(send(&body).code(), "human_only");
    let plan = send(&with(body, &json!({ "dry_run": true })));
    assert_eq!(
        (plan.status, plan.json()["outcome"]["files"][0]["path"].clone()),
        (200, json!("a.txt"))
    );
    assert_eq!(
        (stage.got("review/queue")["entries"].clone(), read(&stage, "a.txt")),
        (json!([]), AFTER.to_owned())
    );
}
