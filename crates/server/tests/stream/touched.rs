//! Files that were saved again within their minute: told at once, recorded later.

use retake_engine::model::Millis;
use retake_service::request::RefreshProject;
use serde_json::json;

use super::behaviour::fields;
use super::client::{Client, Connection};
use super::served::{LIVELY, Served};

/// The minute never passes.
fn standing() -> Millis {
    1_800_000_000_000
}

/// A project whose watcher is awake, and a client that follows it.
fn watched() -> (Served, Client, Connection) {
    let served = Served::with_clock(LIVELY, standing);
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, &served.events(""));
    client.read_until(&mut connection, |client| client.last.is_some());
    // The first scan is over.
    served.ask(true, RefreshProject {}).unwrap();
    assert!(served.room.watch_state().is_some_and(|state| !state.catching_up));
    (served, client, connection)
}

fn saved(client: &Client, path: &str) -> usize {
    client.named("file_changed").iter().filter(|seen| seen.data["path"] == path).count()
}

#[test]
fn a_save_that_waits_for_its_minute_is_told_at_once() {
    let (served, mut client, mut connection) = watched();
    served.test.write("a.txt", "first\n");
    client.read_until(&mut connection, |client| saved(client, "a.txt") == 1);
    let last = client.last_id.clone();
    served.test.write("a.txt", "second\n");
    client.read_until(&mut connection, |client| !client.named("file_touched").is_empty());
    let touched = &client.named("file_touched")[0].data;
    assert_eq!(
        fields(touched, &["type", "path", "project", "file_path", "at"]),
        json!({
            "type": "file_touched", "path": "a.txt", "project": served.room.id(),
            "file_path": served.test.root().join("a.txt").display().to_string(), "at": standing(),
        })
    );
    assert!(touched.get("seq").is_none(), "it has no place in the order: {touched}");
    assert_eq!(client.last_id, last, "a client does not resume after it");
    assert_eq!(saved(&client, "a.txt"), 1, "it is not on record");
    // What asks for the newest state records it.
    served.ask(true, RefreshProject {}).unwrap();
    client.read_until(&mut connection, |client| saved(client, "a.txt") == 2);
}

#[test]
fn filters_are_for_saves_too() {
    let (served, _client, _connection) = watched();
    let mut others: Vec<_> = ["?kinds=file_touched", "?path=b.txt", "?dialog=d1", "?kinds=user"]
        .map(|query| {
            let client = Client::default();
            let connection = client.connect(&served.door, &served.events(query));
            (query, client, connection)
        })
        .into();
    for (_, client, connection) in &mut others {
        client.read_until(connection, |client| client.last.is_some());
    }
    let (mut all, mut connection) = (Client::default(), served.events(""));
    let mut everything = all.connect(&served.door, &std::mem::take(&mut connection));
    for content in ["first\n", "second\n"] {
        served.test.write("a.txt", content);
        let is_told = |client: &Client| match content {
            "first\n" => saved(client, "a.txt") == 1,
            _ => !client.named("file_touched").is_empty(),
        };
        all.read_until(&mut everything, is_told);
    }
    // A message is behind the hint, for those who get it.
    served.say(true, "d1", "done");
    for (query, client, connection) in &mut others {
        let end = served.other.last_seq().unwrap();
        client.read_until(connection, |client| client.last.is_some_and(|last| last >= end));
        let touched = client.named("file_touched").len();
        let expected = usize::from(*query == "?kinds=file_touched");
        assert_eq!(touched.min(1), expected, "{query}: {:?}", client.seen);
    }
}
