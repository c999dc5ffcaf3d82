//! What a client can count on.

use std::time::{Duration, Instant};

use retake_engine::model::{Actor, AgentId, ChangeId, ContextSource, DialogId, RewindScope};
use retake_engine::{Selection, TakeBackOptions};
use retake_server::stream::{MAX_STREAMS, StreamTiming};
use retake_service::request::{
    AcceptChanges, ApplyPlan, ChangeScope, MarkSeen, PlanRedo, PlanReject, PlanUndo, RefreshProject,
};
use retake_testkit::TestProject;
use serde_json::{Value, json};

use super::client::{Client, Connection, DEADLINE};
use super::served::{LIVELY, Served, now};

pub(crate) fn fields(data: &Value, names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), data[name].clone())).collect()
}

/// Reads everything that a client of this stream gets from the start.
pub(crate) fn read_all(served: &Served, query: &str) -> Client {
    let end = served.other.last_seq().unwrap();
    let mut client = Client::from_the_start();
    let mut connection = client.connect(&served.door, &served.events(query));
    client.read_until(&mut connection, |client| client.last == Some(end));
    client
}

pub(crate) fn wait_for_seats(served: &Served, taken: usize) {
    let began = Instant::now();
    while served.room.stream_limit().in_use() != taken {
        assert!(began.elapsed() < DEADLINE, "{} are taken", served.room.stream_limit().in_use());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_stream_starts_now_and_resumes_where_it_was_cut_off() {
    let served = Served::new(LIVELY);
    served.say(true, "d1", "before");
    for query in ["", "?after=now"] {
        let mut client = Client::default();
        let mut connection = client.connect(&served.door, &served.events(query));
        assert!(connection.head.contains("content-type: text/event-stream"), "{}", connection.head);
        assert!(connection.head.contains("cache-control: no-store"), "{}", connection.head);
        // It knows where it is before anything happens.
        client.read_until(&mut connection, |client| client.last.is_some());
        // On a busy machine a heartbeat may come first.
        let first = client.beats.iter().find(|beat| *beat != ":\n\n");
        assert!(first.is_some_and(|frame| frame.starts_with("retry: ")), "{:?}", client.beats);
        drop(connection);
        let before = served.table().len();
        served.say(true, "d1", "while it was away");
        served.say(false, "d1", "by another process");
        let mut connection = client.connect(&served.door, &served.events(query));
        let end = served.other.last_seq().unwrap();
        client.read_until(&mut connection, |client| client.last == Some(end));
        let new: Vec<_> = served.table().into_iter().skip(before).map(|event| event.seq).collect();
        assert_eq!(client.seqs(), new);
    }
}

#[test]
fn what_another_process_records_arrives_by_itself() {
    let served = Served::new(StreamTiming { heartbeat: DEADLINE, ..LIVELY });
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, &served.events(""));
    client.read_until(&mut connection, |client| client.last.is_some());
    for here in [false, true, false] {
        served.say(here, "d1", "hello");
        let end = served.other.last_seq().unwrap();
        client.read_until(&mut connection, |client| client.last == Some(end));
    }
    assert_eq!(client.named("user").len(), 3);
}

#[test]
fn silence_is_filled_with_heartbeats_that_move_the_id_past_what_was_filtered_out() {
    let served = Served::new(LIVELY);
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, &served.events("?kinds=purged"));
    let comments = |client: &Client| client.beats.iter().filter(|beat| *beat == ":\n\n").count();
    client.read_until(&mut connection, |client| comments(client) >= 2);
    let start = client.last.unwrap();
    served.say(true, "d1", "not for this client");
    let end = served.other.last_seq().unwrap();
    client.read_until(&mut connection, |client| client.last == Some(end));
    assert!(end > start && client.seen.is_empty(), "{client:?}");
}

#[test]
fn filters_narrow_each_other() {
    let served = Served::new(LIVELY);
    served.edit(true, "d1", "src/a.rs", "1\n");
    served.edit(true, "d2", "src/b.rs", "2\n");
    let mut sub = TestProject::begin(
        "d2",
        "s1",
        "Write",
        json!({ "file_path": "srcs/c.rs", "content": "3\n" }),
    );
    sub.agent = Some(AgentId("helper".into()));
    served.record(true, sub);
    served.test.write("srcs/c.rs", "3\n");
    served.record(true, TestProject::end("d2", "s1"));
    let scope = ChangeScope::Changes(Selection {
        dialog: Some(DialogId("d1".into())),
        ..Selection::default()
    });
    served.ask(true, AcceptChanges { scope }).unwrap();
    let told = |query: &str| {
        let client = read_all(&served, query);
        let one = |seen: &super::client::Seen| {
            format!("{} {}", seen.name, seen.data["path"].as_str().unwrap_or("-"))
        };
        client.seen.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let changed = "?kinds=file_changed";
    assert_eq!(
        told(changed),
        "file_changed src/a.rs, file_changed src/b.rs, file_changed srcs/c.rs"
    );
    assert_eq!(told("?kinds=file_changed&dialog=d1"), "file_changed src/a.rs");
    assert_eq!(told("?kinds=file_changed&agent=helper"), "file_changed srcs/c.rs");
    assert_eq!(told("?dialog=d1&agent=helper"), "");
    assert_eq!(
        told("?kinds=file_changed,%20file_change_status&path=src/a.rs"),
        "file_changed src/a.rs, file_change_status src/a.rs"
    );
    // A folder is no prefix of a name, and what is about many files may be about these.
    assert_eq!(told("?path=src/&dialog=d2"), "file_changed src/b.rs");
    assert!(told("?path=src").starts_with("baseline -, file_changed src/a.rs"));
}

#[test]
fn older_names_come_on_demand_and_before_the_id() {
    let served = Served::new(LIVELY);
    served.edit(true, "d1", "a.txt", "two\n");
    served.edit(true, "d1", "big.txt", &"0123456789\n".repeat(10_000));
    assert_eq!(read_all(&served, "").named("file_edit").len(), 0);
    let client = read_all(&served, "?compat=true&kinds=file_changed");
    let names: Vec<_> = client.seen.iter().map(|seen| seen.name.as_str()).collect();
    let group = ["file:changed", "file_edit", "file_changed"];
    assert_eq!(names, [group, group].concat());
    let [edit, big] = client.named("file_edit")[..] else { panic!("{names:?}") };
    assert_eq!(edit.data["diff"], "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n");
    assert_eq!(edit.data["file"], served.test.root().join("a.txt").display().to_string());
    assert_eq!((&edit.data["type"], &edit.data["dialog_id"]), (&json!("file_edit"), &json!("d1")));
    assert_eq!(big.data["diff"], Value::Null, "it is too long");
    let changed = &client.named("file:changed")[0].data;
    assert_eq!(
        (&changed["type"], &changed["change"]["path"]),
        (&json!("file:changed"), &json!("a.txt"))
    );
    assert!(changed["timestamp"].is_string() && changed["iteration"].is_u64(), "{changed}");
}

#[test]
fn what_agents_do_not_know_any_more_is_told() {
    let served = Served::new(LIVELY);
    let (dialog, agent): (DialogId, AgentId) = ("d1".into(), "main".into());
    let (files, source) = (vec![("a.txt".parse().unwrap(), None)], ContextSource::ReadTool);
    let seen = MarkSeen { dialog, agent, files, source };
    assert!(served.ask(true, seen).unwrap().is_empty());
    served.test.write("a.txt", "one\ntwo\n");
    served.ask(false, RefreshProject {}).unwrap();
    let client = read_all(&served, "?compat=true&path=a.txt&kinds=stale_context");
    let names: Vec<_> = client.seen.iter().map(|seen| seen.name.as_str()).collect();
    assert_eq!(names, ["stale_context_warning", "stale_context"]);
    let [warning, stale] = &client.seen[..] else { panic!("{names:?}") };
    assert_eq!(warning.data["type"], "stale_context_warning");
    assert_eq!(warning.data["files"], stale.data["files"]);
    let common = fields(&stale.data, &["type", "dialog_id", "agent_id", "reaction", "count"]);
    assert_eq!(
        common,
        json!({ "type": "stale_context", "dialog_id": "d1", "agent_id": "main",
            "reaction": "none", "count": 1 })
    );
    let file = &stale.data["files"][0];
    assert_eq!(
        fields(file, &["path", "what", "lines", "text"]),
        json!({ "path": "a.txt", "what": "lines", "lines": [[2, 2]], "text": "line 2 changed by you" })
    );
    assert_eq!(file["by"][0]["actor"], "user");
    assert_eq!(read_all(&served, "?path=b.txt&kinds=stale_context").seen.len(), 0);
    let tracked = read_all(&served, "?kinds=context_tracked&agent=main");
    assert_eq!(
        fields(&tracked.seen[0].data, &["agent", "source", "files"]),
        json!({ "agent": "main", "source": "read_tool", "files": 1 })
    );
}

#[test]
fn a_rejection_is_one_status_for_each_change_and_one_operation() {
    let served = Served::new(LIVELY);
    served.edit(true, "d1", "b.txt", "1\n");
    served.edit(true, "d1", "b.txt", "2\n");
    let first = served.test.changes()[0].id;
    let selection = Selection { changes: vec![first], ..Selection::default() };
    let taking =
        TakeBackOptions { cascade: retake_engine::CascadePolicy::Agents, ..Default::default() };
    let plan =
        served.ask(true, PlanReject { scope: ChangeScope::Changes(selection), taking }).unwrap();
    served.ask(true, ApplyPlan { plan }).unwrap();
    let client = read_all(&served, "?kinds=operation,file_change_status");
    let statuses: Vec<_> = client
        .named("file_change_status")
        .iter()
        .map(|seen| (seen.data["change"].clone(), seen.data["status"].clone()))
        .collect();
    let ids: Vec<ChangeId> = served
        .test
        .changes()
        .iter()
        .filter(|change| change.made_by.is_none())
        .map(|change| change.id)
        .collect();
    let expected: Vec<_> =
        ids.iter().map(|id| (json!(id.to_string()), json!("rejected"))).collect();
    assert_eq!(statuses, expected);
    let states: Vec<_> = client
        .named("operation")
        .iter()
        .map(|seen| fields(&seen.data, &["kind", "state", "written", "left"]))
        .collect();
    assert_eq!(
        states,
        [
            json!({ "kind": "reject", "state": "running", "written": 0, "left": 0 }),
            json!({ "kind": "reject", "state": "done", "written": 1, "left": 0 }),
        ]
    );
}

#[test]
fn a_client_that_missed_removed_events_is_told_so() {
    let served = Served::new(LIVELY);
    for dialog in ["d1", "d2", "d3"] {
        served.edit(false, dialog, "a.txt", dialog);
    }
    let config = served.test.home().join("config.toml");
    std::fs::write(config, "[retention]\nmax_dialogs = 1\n").unwrap();
    let far = now() + 400 * 24 * 60 * 60 * 1000;
    served.test.open().collect_garbage(far, &mut |_, _| {}).unwrap();
    let oldest = served.table()[0].seq;
    let client = read_all(&served, "");
    let reset = &client.named("reset")[0].data;
    assert_eq!(client.seen[0].name, "reset");
    let names = ["type", "after", "project"];
    assert_eq!(
        fields(reset, &names),
        json!({ "type": "reset", "after": 0, "project": served.room.id() })
    );
    assert!(reset["oldest"].as_u64().unwrap() <= oldest);
    assert_eq!(client.seen[1].seq(), oldest);
    // A client that has seen all of them is not.
    let mut client = Client { last: Some(oldest), ..Client::default() };
    let mut connection = client.connect(&served.door, &served.events(""));
    let end = served.other.last_seq().unwrap();
    client.read_until(&mut connection, |client| client.last == Some(end));
    assert_eq!(client.named("reset").len(), 0);
    // An id that is not in this record yet is of another one.
    let mut client = Client { last: Some(end + 1000), ..Client::default() };
    let mut connection = client.connect(&served.door, &served.events(""));
    client.read_until(&mut connection, |client| client.last == Some(end));
    assert_eq!(client.seen[0].name, "reset");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let served = Served::new(LIVELY);
    let ask = |path: &str, last: &str| {
        let headers: Vec<_> =
            (!last.is_empty()).then(|| ("Last-Event-ID", last.to_owned())).into_iter().collect();
        let answer = Connection::get(&served.door, path, &headers);
        let status = answer.status;
        (status, answer.body()["code"].as_str().unwrap().to_owned())
    };
    let events = |query: &str| served.events(query);
    let refused = |code: &str| (400, code.to_owned());
    for id in ["-1", "c12", "1.5", "0x10", "99999999999999999999", "1 2"] {
        assert_eq!(ask(&events(""), id), refused("bad_event_id"), "{id}");
    }
    assert_eq!(ask(&events("?after=soon"), ""), refused("bad_event_id"));
    assert_eq!(ask(&events("?kinds=file_changed,nonsense"), ""), refused("bad_kind"));
    assert_eq!(ask(&events("?path=../x"), ""), refused("bad_path"));
    assert_eq!(ask(&events("?compat=perhaps"), ""), refused("bad_query"));
    assert_eq!(ask(&events("?token=secret"), ""), refused("bad_query"));
    assert_eq!(ask("/api/projects/nonsense/events", ""), (404, "unknown_project".to_owned()));
    wait_for_seats(&served, 0);
}

#[test]
fn threat_sse_flood_a_client_that_does_not_read_is_let_go_and_can_resume() {
    let served = Served::new(StreamTiming { read_timeout: Duration::from_millis(300), ..LIVELY });
    // More than sockets hold.
    let long = "x".repeat(1024 * 1024);
    for _ in 0..24 {
        served.say(true, "d1", &long);
    }
    let mut client = Client::from_the_start();
    let mut connection = client.connect(&served.door, &served.events(""));
    wait_for_seats(&served, 0);
    client.read_to_end(&mut connection);
    let (first, end) = (client.seen.len(), served.other.last_seq().unwrap());
    assert!(client.last < Some(end), "all of it was sent");
    while client.last != Some(end) {
        // Reading takes time, too: it may be let go again.
        let mut connection = client.connect(&served.door, &served.events(""));
        let began = Instant::now();
        while !connection.ended && client.last != Some(end) {
            assert!(began.elapsed() < DEADLINE, "stuck at {:?}", client.last);
            connection.receive(1024 * 1024);
            client.take_in(&mut connection);
        }
    }
    assert!(client.seen.len() > first);
    let table: Vec<_> = served.table().iter().map(|event| event.seq).collect();
    assert_eq!(client.seqs(), table);
}

#[test]
fn threat_sse_flood_so_many_may_follow_at_once_and_a_seat_is_free_again_when_one_leaves() {
    let served = Served::new(LIVELY);
    let path = served.events("");
    let connections: Vec<_> = (0..200).map(|_| Connection::get(&served.door, &path, &[])).collect();
    let taken = connections.iter().filter(|connection| connection.status == 200).count();
    assert_eq!(taken, MAX_STREAMS);
    let (mut open, refused): (Vec<_>, Vec<_>) =
        connections.into_iter().partition(|connection| connection.status == 200);
    for connection in refused {
        assert_eq!(connection.status, 503);
        assert_eq!(connection.body()["code"], "too_many_streams");
    }
    open.pop();
    wait_for_seats(&served, MAX_STREAMS - 1);
    assert_eq!(Connection::get(&served.door, &path, &[]).status, 200);
    drop(open);
    wait_for_seats(&served, 0);
}

#[test]
fn streams_end_when_the_daemon_stops() {
    let served = Served::new(LIVELY);
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, &served.events(""));
    client.read_until(&mut connection, |client| client.last.is_some());
    served.pool.close_streams();
    client.read_to_end(&mut connection);
    wait_for_seats(&served, 0);
}

#[test]
fn only_what_agents_did_has_a_review_status() {
    let served = Served::new(LIVELY);
    served.edit(true, "d1", "a.txt", "two\n");
    served.test.write("mine.txt", "mine\n");
    for verb in ["undo", "redo"] {
        let (taking, what) = (TakeBackOptions::default(), RewindScope::Files);
        let plan = match verb {
            "undo" => served.ask(true, PlanUndo { taking, what }).unwrap().map(|(plan, _)| plan),
            _ => served.ask(true, PlanRedo { taking, what }).unwrap().map(|(plan, _)| plan),
        };
        served.ask(true, ApplyPlan { plan: plan.unwrap() }).unwrap();
    }
    let client = read_all(&served, "?kinds=file_changed,file_change_status");
    let mut seen: Vec<_> = client
        .named("file_changed")
        .iter()
        .map(|seen| format!("{} {}", seen.data["actor"], seen.data["change"]["status"]))
        .collect();
    seen.sort();
    let expected = ["\"agent\" \"pending\"", "\"retake\" null", "\"retake\" null", "\"user\" null"];
    assert_eq!(seen, expected);
    let agents = served.test.changes().into_iter().find(|change| change.actor == Actor::Agent);
    let agents = agents.unwrap().id.to_string();
    let statuses = client.named("file_change_status");
    assert_eq!(statuses.len(), 2, "taken back, and in effect again");
    assert!(statuses.iter().all(|seen| seen.data["change"] == agents), "{statuses:?}");
}

/// Hints have no place in the order, so that a client that asked for none gets none.
#[test]
fn a_client_that_asks_for_hints_is_told_how_far_an_operation_is() {
    let served = Served::new(LIVELY);
    served.say(true, "d1", "go");
    served.edit(true, "d1", "a.txt", "two\n");
    let (mut plain, mut hinted) = (Client::default(), Client::default());
    let mut plainly = plain.connect(&served.door, &served.events(""));
    let mut with_hints = hinted.connect(&served.door, &served.events("?kinds=operation_progress"));
    plain.read_until(&mut plainly, |client| client.last.is_some());
    hinted.read_until(&mut with_hints, |client| client.last.is_some());
    let undo = PlanUndo { taking: TakeBackOptions::default(), what: RewindScope::Files };
    let (undo_plan, _) = served.ask(true, undo).unwrap().unwrap();
    let done = served.ask(true, ApplyPlan { plan: undo_plan }).unwrap().operation.unwrap();
    let is_written = |client: &Client| {
        let mut phases = client.seen.iter().map(|seen| seen.data["phase"].as_str());
        phases.any(|phase| phase == Some("writing"))
    };
    hinted.read_until(&mut with_hints, is_written);
    let last = &hinted.seen.last().unwrap().data;
    assert_eq!(
        fields(last, &["type", "verb", "operation", "total"]),
        json!({
            "type": "operation_progress", "verb": "undo", "operation": done.id.to_string(), "total": 1,
        })
    );
    assert!(hinted.seen.iter().all(|seen| seen.name == "operation_progress"), "{hinted:?}");
    let end = served.other.last_seq().unwrap();
    plain.read_until(&mut plainly, |client| client.last == Some(end));
    assert!(plain.named("operation_progress").is_empty());
}
