//! One stream for all projects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::behaviour::{fields, read_all};
use super::client::{Client, Connection};
use super::served::{LIVELY, Served, say_in};

/// What a client saw of each project, in order.
fn by_project(client: &Client) -> BTreeMap<String, Vec<u64>> {
    let mut seen: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in client.seen.iter().filter(|event| event.data["seq"].is_u64()) {
        let project = event.data["project"].as_str().unwrap().to_owned();
        seen.entry(project).or_default().push(event.seq());
    }
    seen
}

fn texts(client: &Client) -> BTreeSet<String> {
    let text = |seen: &&super::client::Seen| seen.data["content"].as_str().unwrap().to_owned();
    client.named("user").iter().map(text).collect()
}

#[test]
fn events_of_all_projects_come_in_one_stream_that_resumes_in_each() {
    let served = Served::new(LIVELY);
    let second = served.second("second");
    say_in(&second, "d1", "before");
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, "/api/events");
    client.read_until(&mut connection, |client| client.last_id.is_some());
    served.say(true, "d1", "in the first");
    // The daemon has never opened it.
    say_in(&second, "d2", "in the second");
    client.read_until(&mut connection, |client| texts(client).len() == 2);
    drop(connection);
    say_in(&second, "d2", "while it was away");
    served.say(false, "d1", "in the first, while it was away");
    let mut connection = client.connect(&served.door, "/api/events");
    client.read_until(&mut connection, |client| texts(client).len() == 4);
    assert!(!texts(&client).contains("before"));
    served.say(true, "d1", "at last");
    client.read_until(&mut connection, |client| texts(client).contains("at last"));
    for (project, seqs) in by_project(&client) {
        let mut sorted = seqs.clone();
        sorted.dedup();
        sorted.sort_unstable();
        assert_eq!(seqs, sorted, "{project}: in order, and each once");
    }
    assert_eq!(served.pool.handles().len(), 1, "the second one is not opened for this");
    // Each project's part is what its own stream tells.
    let mut whole = Client::default();
    let mut connection = whole.connect(&served.door, "/api/events?after=0");
    whole.read_until(&mut connection, |client| texts(client).len() == 6);
    assert_eq!(by_project(&whole)[served.room.id()], read_all(&served, "").seqs());
}

#[test]
fn a_project_that_comes_while_following_is_told_and_followed_from_its_beginning() {
    let served = Served::new(LIVELY);
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, "/api/events");
    client.read_until(&mut connection, |client| client.last_id.is_some());
    let second = served.second("second");
    say_in(&second, "d1", "hello");
    client.read_until(&mut connection, |client| texts(client).contains("hello"));
    let added = &client.named("project_added")[0].data;
    assert_eq!(
        fields(added, &["type", "project", "root"]),
        json!({
            "type": "project_added", "project": second.id(),
            "root": second.root().display().to_string(),
        })
    );
    let whole: Vec<_> =
        second.events_after(0, 1000).unwrap().iter().map(|event| event.seq).collect();
    assert_eq!(by_project(&client)[second.id()], whole);
    // One that comes while the client is away is new to it, too.
    drop(connection);
    let third = served.second("third");
    let mut connection = client.connect(&served.door, "/api/events");
    client.read_until(&mut connection, |client| client.named("project_added").len() == 2);
    assert_eq!(client.named("project_added")[1].data["project"], third.id());
    // One that is gone is told as well.
    remove_folder(&served.test.home().join("projects").join(third.id()));
    client.read_until(&mut connection, |client| !client.named("project_removed").is_empty());
    assert_eq!(client.named("project_removed")[0].data["project"], third.id());
}

/// Removes a folder in which the daemon may still make a file meanwhile.
fn remove_folder(folder: &std::path::Path) {
    while let Err(error) = std::fs::remove_dir_all(folder) {
        assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty, "{error}");
    }
}

#[test]
fn filters_choose_projects_and_events() {
    let served = Served::new(LIVELY);
    let second = served.second("second");
    served.say(true, "d1", "first d1");
    say_in(&second, "d1", "second d1");
    say_in(&second, "d2", "second d2");
    served.edit(true, "d1", "a.txt", "two\n");
    let read = |query: &str, last: &str| {
        let mut client = Client::default();
        let path = format!("/api/events?after=0{query}");
        let mut connection = client.connect(&served.door, &path);
        client.read_until(&mut connection, |client| {
            client.seen.iter().any(|seen| seen.data.to_string().contains(last))
        });
        client
    };
    let client = read("&kinds=user&dialog=d1", "second d1");
    assert!(texts(&client).is_subset(&["first d1".to_owned(), "second d1".to_owned()].into()));
    let client = read(&format!("&projects={}", second.id()), "second d2");
    assert_eq!(by_project(&client).keys().collect::<Vec<_>>(), [second.id()]);
    let client = read("&kinds=file_changed&path=a.txt", "a.txt");
    assert_eq!(client.seen.len(), 1);
    assert_eq!(client.seen[0].data["project"], served.room.id());
}

#[test]
fn what_is_gone_in_one_project_resets_that_one_alone() {
    let served = Served::new(LIVELY);
    let second = served.second("second");
    say_in(&second, "d1", "told");
    let start = served.other.last_seq().unwrap();
    // A place that the second project's record does not have.
    let id = format!("{}:{start},{}:99999", served.room.id(), second.id());
    let mut client = Client { last_id: Some(id), ..Client::default() };
    let mut connection = client.connect(&served.door, "/api/events");
    client.read_until(&mut connection, |client| !client.named("reset").is_empty());
    served.say(true, "d1", "goes on");
    say_in(&second, "d1", "there, too");
    client.read_until(&mut connection, |client| texts(client).len() == 2);
    let resets = client.named("reset");
    assert_eq!(resets.len(), 1);
    assert_eq!(
        fields(&resets[0].data, &["project", "after"]),
        json!({ "project": second.id(), "after": 99999 })
    );
}

#[test]
fn a_project_that_cannot_be_read_is_told_and_ends_nothing() {
    let served = Served::new(LIVELY);
    let second = served.second("second");
    let id = second.id().to_owned();
    // As a newer program would have written it.
    let record = second.store().folder().join("retake.db");
    drop(second);
    let db = rusqlite::Connection::open(record).unwrap();
    db.pragma_update(None, "user_version", 999).unwrap();
    drop(db);
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, "/api/events");
    client.read_until(&mut connection, |client| !client.named("failure").is_empty());
    let failure = &client.named("failure")[0].data;
    assert_eq!(failure["project"], id.as_str(), "{failure}");
    assert!(failure["code"].is_string() && failure["hint"].is_string(), "{failure}");
    served.say(true, "d1", "goes on");
    client.read_until(&mut connection, |client| texts(client).contains("goes on"));
    assert_eq!(client.named("failure").len(), 1);
}

#[test]
fn what_makes_no_sense_is_refused_here_too() {
    let served = Served::new(LIVELY);
    let ask = |query: &str, last: Option<&str>| {
        let headers: Vec<_> =
            last.map(|last| ("Last-Event-ID", last.to_owned())).into_iter().collect();
        let answer = Connection::get(&served.door, &format!("/api/events{query}"), &headers);
        let status = answer.status;
        (status, answer.body()["code"].as_str().unwrap().to_owned())
    };
    for id in ["120", "x", "ab:1,ab:2", "ab:-1", "../x:1"] {
        assert_eq!(ask("", Some(id)), (400, "bad_event_id".to_owned()), "{id}");
    }
    assert_eq!(ask("?kinds=nonsense", None), (400, "bad_kind".to_owned()));
    assert_eq!(ask("?projects=nonsense", None), (404, "unknown_project".to_owned()));
    assert_eq!(ask("?project=x", None), (400, "bad_query".to_owned()));
}

#[test]
fn many_projects_fit_into_one_id() {
    let served = Served::new(LIVELY);
    let others: Vec<_> = (0..40).map(|number| served.second(&number.to_string())).collect();
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, "/api/events");
    client.read_until(&mut connection, |client| client.last_id.is_some());
    for (number, project) in others.iter().enumerate() {
        say_in(project, "d1", &number.to_string());
    }
    client.read_until(&mut connection, |client| texts(client).len() == others.len());
    let id = client.last_id.as_ref().unwrap();
    assert_eq!(id.split(',').count(), others.len() + 1);
    assert!(id.len() < 4096, "{} letters", id.len());
    drop(connection);
    say_in(&others[7], "d1", "once more");
    let mut connection = client.connect(&served.door, "/api/events");
    client.read_until(&mut connection, |client| texts(client).contains("once more"));
    assert_eq!(client.named("user").len(), others.len() + 1);
    assert!(served.pool.handles().len() <= 1);
}
