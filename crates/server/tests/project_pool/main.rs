//! A project in the daemon: what fails fails alone, and what waits is recorded together.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

mod race;

use std::io::Write as _;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use retake_agents::AgentKind;
use retake_engine::model::{ErrorCode, Event, EventKind};
use retake_engine::{InitOptions, Retake};
use retake_server::{ProjectHandle, ProjectPool};
use retake_service::hook::{HookCall, InProcessHost};
use retake_service::request::{RefreshProject, Submission, new_idempotency_key};

struct World {
    pool: ProjectPool,
    project: tempfile::TempDir,
    _home: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let retake = Retake::new(home.path());
        retake.init(project.path(), InitOptions::default(), 1, &mut |_, _| {}).unwrap();
        Self { pool: ProjectPool::new(retake, || 2), project, _home: home }
    }

    fn room(&self) -> Arc<ProjectHandle> {
        self.pool.open(self.project.path()).unwrap()
    }
}

fn say(number: usize) -> Submission {
    let event =
        Event::new(format!("d{number}").as_str(), EventKind::UserMessage { text: "x".into() });
    Submission::new(format!("k{number}"), event, 3)
}

#[test]
fn a_job_that_panics_fails_alone() {
    let world = World::new();
    let room = world.room();
    let failure = room.run_job(|_| panic!("on purpose")).unwrap_err();
    assert_eq!(failure.code, ErrorCode::Internal);
    room.run(RefreshProject {}).unwrap();
    let failure = room.run_job(|project| assert_eq!(project.id(), "")).unwrap_err();
    assert_eq!(failure.code, ErrorCode::Internal);
    assert!(room.record(vec![say(1)]).unwrap()[0].is_ok());
}

#[test]
fn each_gets_what_came_of_theirs_however_many_are_recorded_together() {
    let world = World::new();
    let room = world.room();
    thread::scope(|scope| {
        for number in 0..30 {
            let room = &room;
            scope.spawn(move || {
                let count = 1 + number % 3;
                let submissions = (0..count).map(|part| say(10 * number + part)).collect();
                let recorded = room.record(submissions).unwrap();
                assert_eq!(recorded.len(), count);
                assert!(recorded.iter().all(|one| one.as_ref().unwrap().seq.is_some()));
            });
        }
    });
    let dialogs = room.read(|project| Ok(project.dialogs()?.len())).unwrap();
    assert_eq!(dialogs, 60);
    // By its key each counts once.
    assert_eq!(room.record(vec![say(0)]).unwrap()[0].as_ref().unwrap().seq, None);
}

#[test]
fn a_project_is_served_by_one_room_wherever_it_is_entered() {
    let world = World::new();
    let below = world.project.path().join("below");
    std::fs::DirBuilder::new().create(&below).unwrap();
    assert!(Arc::ptr_eq(&world.room(), &world.pool.open(&below).unwrap()));
    assert!(Arc::ptr_eq(&world.room(), &world.pool.handle(world.room().id()).unwrap()));
    assert_eq!(world.pool.handles().len(), 1);
}

/// A sender whose commit is acknowledged does not wait for the checkpoint of the log.
#[test]
fn a_long_log_is_cut_off_once_nobody_waits() {
    let world = World::new();
    let room = world.room();
    let log = room.read(|project| Ok(project.folder().join("retake.db-wal"))).unwrap();
    let (folder, at_once) = (world.project.path().to_owned(), log.clone());
    let (found, length) = room
        .run_job(move |project| {
            let mut noise = 1_u64;
            let noise = std::iter::repeat_with(|| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (noise >> 56) as u8
            });
            let mut file = std::fs::File::create_new(folder.join("large.bin")).unwrap();
            file.write_all(&noise.take(6 << 20).collect::<Vec<_>>()).unwrap();
            (project.refresh(3).unwrap().changes.len(), at_once.metadata().unwrap().len())
        })
        .unwrap();
    assert!(found == 1 && length > 6 << 20, "{found} changes, {length} bytes");
    let until = Instant::now() + Duration::from_secs(30);
    while log.metadata().unwrap().len() > 0 {
        assert!(Instant::now() < until, "it is as long as it was");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A daemon that was late and the hook itself may work on the same call.
#[test]
fn a_hook_s_call_counts_once_whoever_works_on_it() {
    let world = World::new();
    let payload = r#"{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"hi"}"#;
    let call = HookCall {
        agent: AgentKind::ClaudeCode,
        event: None,
        payload: payload.into(),
        project: Some(world.project.path().to_owned()),
        agent_folder: None,
        cwd: "/".into(),
        run: None,
        user_home: None,
        process: None,
        key: new_idempotency_key(5),
        at: 5,
    };
    let turns = |call: &HookCall| {
        let host = InProcessHost {
            retake: world.pool.retake(),
            at: call.at,
            clock: || 1,
            carry_out: |_, _| Ok(()),
        };
        call.run(&host, &mut |_| Ok(())).unwrap();
        world.room().read(|project| Ok(project.dialogs()?[0].0.turns)).unwrap()
    };
    assert_eq!((turns(&call), turns(&call)), (1, 1));
    assert_eq!(turns(&HookCall { key: new_idempotency_key(5), ..call }), 2);
}

#[test]
fn rooms_that_nobody_asks_for_are_closed_when_there_are_many() {
    let world = World::new();
    let first = world.room();
    let others: Vec<_> = (0..40).map(|_| tempfile::tempdir().unwrap()).collect();
    for other in &others {
        let room = world.pool.open_or_create(other.path()).unwrap();
        room.run(RefreshProject {}).unwrap();
    }
    assert_eq!(world.pool.handles().len(), 32);
    assert!(world.pool.handles().iter().any(|room| room.id() == first.id()), "it is in use");
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let end = Instant::now() + Duration::from_secs(60);
    while threads() > 32 * 3 + 20 {
        assert!(Instant::now() < end, "{} threads", threads());
        thread::sleep(Duration::from_millis(50));
    }
    // One that was closed is opened again.
    let room = world.pool.open(others[0].path()).unwrap();
    assert!(room.record(vec![say(1)]).unwrap()[0].is_ok());
}
