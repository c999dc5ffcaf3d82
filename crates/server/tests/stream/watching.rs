//! A client that only looks has the project watched.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use retake_server::ProjectPool;
use retake_server::stream::frame_queue;

use super::client::{Client, Connection, DEADLINE};
use super::served::{LIVELY, Served, now};

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < DEADLINE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_stream_that_is_opened_first_shows_what_the_person_does() {
    let served = Served::new(LIVELY);
    assert!(served.room.watch_state().is_none(), "it is not watched yet");
    let mut client = Client::default();
    let mut connection = client.connect(&served.door, &served.events("?kinds=file_changed"));
    until("the project is watched", || {
        served.room.watch_state().is_some_and(|state| !state.catching_up)
    });
    served.test.write("a.txt", "mine\n");
    client.read_until(&mut connection, |client| !client.seen.is_empty());
    assert_eq!(
        (&client.seen[0].data["path"], &client.seen[0].data["actor"]),
        (&"a.txt".into(), &"user".into())
    );
}

#[test]
fn a_project_that_is_read_is_watched() {
    let served = Served::new(LIVELY);
    let path = format!("/api/projects/{}/changes", served.room.id());
    let answer = Connection::get(&served.door, &path, &[]);
    assert_eq!(answer.status, 200);
    until("the project is watched", || {
        served.room.watch_state().is_some_and(|state| !state.catching_up)
    });
    served.test.write("a.txt", "mine\n");
    until("the change is on record", || !served.test.changes().is_empty());
}

#[test]
fn looking_at_a_folder_that_is_no_project_makes_none() {
    let served = Served::new(LIVELY);
    let known = || served.pool.known_projects().unwrap().len();
    let before = known();
    for path in ["/api/projects/0123456789abcdef/events", "/api/events?projects=0123456789abcdef"] {
        assert_eq!(Connection::get(&served.door, path, &[]).status, 404, "{path}");
    }
    assert_eq!(known(), before);
}

#[test]
fn projects_that_are_followed_do_not_raise_the_number_of_open_ones() {
    let served = Served::new(LIVELY);
    let ids: Vec<_> =
        (0..36).map(|number| served.second(&number.to_string()).id().to_owned()).collect();
    let pool = Arc::new(ProjectPool::new(served.test.retake(), now));
    let mut streams = Vec::new();
    for id in &ids {
        pool.handle(id).unwrap();
        let (sender, receiver) = frame_queue(DEADLINE);
        let subscription = pool.streams().subscribe(sender.waker(), false);
        subscription.follow(BTreeSet::from([id.clone()]));
        streams.push((sender, receiver, subscription));
    }
    let open: BTreeSet<_> = pool.handles().iter().map(|handle| handle.id().to_owned()).collect();
    assert_eq!(open.len(), 32);
    assert!(ids[4..].iter().all(|id| open.contains(id)), "the newest are open");
}
