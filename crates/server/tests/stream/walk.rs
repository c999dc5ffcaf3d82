//! Random walks: whatever is recorded and reviewed, by whomever, and wherever the connections of
//! the clients break, each client sees every event exactly once and in order.
//!
//! `RETAKE_WALK_SEED=n` replays one walk.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use fastrand::Rng;
use retake_engine::model::{DialogId, JournalKind, Millis, RewindScope};
use retake_engine::{GoToOptions, JournalEvent, Plan, Selection, TakeBackOptions};
use retake_server::stream::StreamFilter;
use retake_service::request::{
    AcceptChanges, ApplyPlan, ApproveDialog, ChangeScope, PlanRedo, PlanReject, PlanReset,
    PlanRestore, PlanUndo, RefreshProject,
};

use super::client::{Client, DEADLINE, Door, Seen};
use super::served::{LIVELY, Served, now};

const WALKS: u64 = 6;
const STEPS: usize = 40;
const DIALOGS: [&str; 3] = ["d1", "d2", "d3"];
const FILES: [&str; 4] = ["a.txt", "b.txt", "src/c.txt", "src/d.txt"];
const LATER: Millis = 400 * 24 * 60 * 60 * 1000;

#[test]
fn each_client_sees_every_event_exactly_once_and_in_order() {
    let seed = std::env::var("RETAKE_WALK_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = seed.map_or(0..WALKS, |seed| seed..seed + 1);
    let (mut kinds, mut resets) = (BTreeSet::new(), 0);
    for seed in seeds {
        println!("RETAKE_WALK_SEED={seed}");
        let walk = Walk::run(seed);
        kinds.extend(walk.ledger.into_iter().map(|event| event.kind));
        resets += walk.resets;
    }
    if seed.is_none() {
        use JournalKind::{Approved, Collected, FileChangeStatus, FileChanged, Operation};
        for kind in [FileChanged, FileChangeStatus, Operation, Approved, Collected] {
            assert!(kinds.contains(&kind), "the walks do too little: {kinds:?}");
        }
        assert!(resets > 0, "no client came after a collection");
    }
    let is_unknown = |kind: &&JournalKind| StreamFilter::parse_kinds(name_of(**kind)).is_err();
    let unknown: Vec<_> = kinds.iter().filter(is_unknown).collect();
    assert!(unknown.is_empty(), "filters do not know {unknown:?}");
}

struct Walk {
    ledger: Vec<JournalEvent>,
    resets: usize,
}

impl Walk {
    fn run(seed: u64) -> Self {
        let served = Served::new(LIVELY);
        let config = served.test.home().join("config.toml");
        std::fs::write(config, "[retention]\nmax_dialogs = 2\nprotect_days = 1\n").unwrap();
        let mut ledger = served.table();
        // Known once nothing more is recorded.
        let end = AtomicU64::new(u64::MAX);
        let follow = |number: u64, query: &str| {
            let (path, mut rng) = (served.events(query), Rng::with_seed(seed * 10 + number));
            let (door, end) = (&served.door, &end);
            move || follow(door, &path, &mut rng, end)
        };
        let follows = [
            follow(1, "?after=0"),
            follow(2, "?after=0&dialog=d2&kinds=file_changed,file_change_status,user"),
            follow(3, "?after=0&compat=true"),
        ];
        let clients = std::thread::scope(|scope| {
            let threads = follows.map(|follow| scope.spawn(follow));
            let mut rng = Rng::with_seed(seed);
            for _ in 0..STEPS {
                step(&served, &mut rng);
                let last = ledger.last().map_or(0, |event| event.seq);
                ledger.extend(served.table_after(last));
                if rng.u8(..12) == 0 {
                    collect(&served);
                    let last = ledger.last().map_or(0, |event| event.seq);
                    ledger.extend(served.table_after(last));
                }
            }
            end.store(served.other.last_seq().unwrap(), Ordering::Release);
            threads.map(|thread| thread.join().unwrap())
        });
        // It comes when much is gone.
        let late = follow(4, "?after=0")();
        let resets = late.named("reset").len();
        let [all, some, compat] = clients;
        check(seed, &ledger, all.seen, |_| true);
        check(seed, &ledger, late.seen, |_| true);
        check(seed, &ledger, some.seen, |event| {
            ["file_changed", "file_change_status", "user_message"].contains(&event.kind.as_str())
                && event.dialog == Some(DialogId("d2".into()))
        });
        check_compat(&compat.seen);
        let older = ["file:changed", "file_edit", "stale_context_warning"];
        let own = |seen: &Seen| !older.contains(&seen.name.as_str());
        check(seed, &ledger, compat.seen.into_iter().filter(own).collect(), |_| true);
        Self { ledger, resets }
    }
}

fn name_of(kind: JournalKind) -> &'static str {
    if kind == JournalKind::UserMessage { "user" } else { kind.as_str() }
}

/// Follows with connections that break after any byte, until the end is reached.
fn follow(door: &Door, path: &str, rng: &mut Rng, end: &AtomicU64) -> Client {
    let mut client = Client::from_the_start();
    let began = Instant::now();
    let is_done = |client: &Client| client.last.unwrap_or(0) >= end.load(Ordering::Acquire);
    while !is_done(&client) {
        let mut connection = client.connect(door, path);
        let mut left = rng.usize(1..6000);
        while left > 0 && !is_done(&client) {
            assert!(began.elapsed() < 4 * DEADLINE, "stuck at {:?} of {end:?}", client.last);
            assert!(!connection.ended, "the server ended the stream");
            left -= connection.receive(left.min(700));
            client.take_in(&mut connection);
            if rng.u8(..40) == 0 {
                break;
            }
        }
        // Sometimes it stays away for a while.
        if rng.u8(..4) == 0 {
            std::thread::sleep(std::time::Duration::from_millis(rng.u64(..300)));
        }
    }
    client
}

/// What was seen is what is in the ledger, but for what a reset said is gone.
fn check(
    seed: u64,
    ledger: &[JournalEvent],
    told: Vec<Seen>,
    wanted: impl Fn(&JournalEvent) -> bool,
) {
    let (resets, events): (Vec<_>, Vec<_>) =
        told.into_iter().partition(|seen| seen.name == "reset");
    let place = |reset: &Seen, key: &str| reset.data[key].as_u64().unwrap();
    let is_gone = |event: &&JournalEvent| {
        let is_in =
            |reset: &Seen| (place(reset, "after") + 1..place(reset, "oldest")).contains(&event.seq);
        resets.iter().any(is_in)
    };
    let kept = ledger.iter().filter(|event| wanted(event) && !is_gone(event));
    let expected: Vec<_> = kept.map(|event| (event.seq, name_of(event.kind))).collect();
    let found: Vec<_> = events.iter().map(|seen| (seen.seq(), seen.name.as_str())).collect();
    let differ = expected.iter().zip(&found).position(|(expected, found)| expected != found);
    assert_eq!((differ, expected.len()), (None, found.len()), "{seed}: {expected:?}\n{found:?}");
}

/// The older names come with each change, under its number; again, if the connection broke.
fn check_compat(seen: &[Seen]) {
    for changed in seen.iter().filter(|seen| seen.name == "file_changed") {
        for name in ["file:changed", "file_edit"] {
            let is_it = |seen: &&Seen| seen.name == name && seen.seq() == changed.seq();
            assert!(seen.iter().filter(is_it).count() >= 1, "{name} of {}", changed.seq());
        }
    }
}

/// Everything but what is in use goes.
fn collect(served: &Served) {
    // Settings are read when a project is opened.
    served.test.open().collect_garbage(now() + LATER, &mut |_, _| {}).unwrap();
}

fn step(served: &Served, rng: &mut Rng) {
    let here = rng.bool();
    let dialog = *rng.choice(&DIALOGS).unwrap();
    let id = DialogId(dialog.into());
    let taking = TakeBackOptions::default();
    let what = RewindScope::Files;
    let changes =
        || ChangeScope::Changes(Selection { dialog: Some(id.clone()), ..Selection::default() });
    // That there is nothing to decide on is fine: the walk goes on.
    match rng.u8(..16) {
        0..6 => {
            let (path, lines) = (rng.choice(&FILES).unwrap(), rng.usize(1..40));
            served.edit(here, dialog, path, &format!("{}\n", rng.u32(..)).repeat(lines));
        }
        6 => served.say(here, dialog, "make it\n\nbetter"),
        7 => {
            served.test.write(rng.choice(&FILES).unwrap(), format!("mine {}\n", rng.u32(..)));
            served.ask(here, RefreshProject {}).unwrap();
        }
        8 => drop(served.ask(here, AcceptChanges { scope: changes() })),
        9 => apply(served, here, served.ask(here, PlanReject { scope: changes(), taking }).ok()),
        10 | 11 => {
            let plan = served.ask(here, PlanUndo { taking, what }).ok().flatten();
            apply(served, here, plan.map(|(plan, _)| plan));
        }
        12 => {
            let plan = served.ask(here, PlanRedo { taking, what }).ok().flatten();
            apply(served, here, plan.map(|(plan, _)| plan));
        }
        13 => drop(served.ask(here, ApproveDialog { dialog: id, message: None })),
        14 => {
            let reset = PlanReset { dialog: id, exact: false, taking };
            apply(served, here, served.ask(here, reset).ok());
        }
        _ => {
            let mut points = served.other.checkpoints(None, 100).unwrap();
            if points.is_empty() {
                return;
            }
            let checkpoint = points.swap_remove(rng.usize(..points.len()));
            let (options, title) = (GoToOptions::default(), None);
            let restore = PlanRestore { checkpoint, options, title, what };
            apply(served, here, served.ask(here, restore).ok());
        }
    }
}

fn apply(served: &Served, here: bool, plan: Option<Plan>) {
    if let Some(plan) = plan {
        served.ask(here, ApplyPlan { plan }).unwrap();
    }
}
