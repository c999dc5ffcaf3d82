//! Random things happen to a history, and to a simple model of it in memory.
//!
//! `RETAKE_WALK_SEED=n` replays one walk, `RETAKE_LONG=1` does many more.

use super::*;
use retake_testkit::seeds::WalkCounts;

/// What the histories should be, kept in the simplest way.
#[derive(Default)]
struct Oracle {
    /// Every message with its place, in the order in which they came.
    log: Vec<(i64, ModelMessage)>,
    /// Views on top of each other: places, where what was told goes on, and whether it is condensed.
    views: Vec<(Vec<i64>, i64, bool)>,
    /// The places of the agent's own record.
    line: Vec<i64>,
    next: i64,
    own: i64,
    said: u64,
}

impl Oracle {
    fn places(&self) -> Vec<i64> {
        self.places_under(self.views.len())
    }

    /// What is shown by the first views alone.
    fn places_under(&self, count: usize) -> Vec<i64> {
        let (listed, open, _) = self.views[..count].last().cloned().unwrap_or_default();
        let mut told: Vec<_> = self.log.iter().map(|(place, _)| *place).collect();
        told.sort_unstable();
        told.retain(|place| *place >= open && !listed.contains(place));
        [listed, told].concat()
    }

    /// What a rewind cuts: where the message is condensed away, what was shown before that.
    fn places_to_cut(&self, index: u64) -> Vec<i64> {
        let told = self.log.iter().filter(|(place, _)| *place >= 0);
        let first = told.filter_map(|(_, message)| message.index).filter(|at| *at >= index).min();
        let shows = |count: &usize| {
            let shown = self.places_under(*count);
            first.is_some() && shown.iter().any(|place| self.get(*place).index == first)
        };
        match (0..=self.views.len()).rev().find(shows) {
            Some(count) if self.views.get(count).is_some_and(|view| view.2) => {
                self.places_under(count)
            }
            _ => self.places(),
        }
    }

    fn get(&self, place: i64) -> &ModelMessage {
        &self.log.iter().find(|(at, _)| *at == place).unwrap().1
    }

    fn new_message(&mut self, rng: &mut fastrand::Rng) -> ModelMessage {
        self.said += 1;
        let role = if rng.bool() { MessageRole::User } else { MessageRole::Assistant };
        // Some say the same.
        let text = if rng.u8(..6) == 0 { "go on".to_owned() } else { format!("m{}", self.said) };
        message(role, &text, Some(self.said))
    }

    fn tell(&mut self, message: ModelMessage) -> i64 {
        self.log.push((self.next, message));
        self.next += 1;
        self.next - 1
    }
}

/// Does one random thing to both.
fn act(project: &Project, oracle: &mut Oracle, rng: &mut fastrand::Rng, at: i64) {
    let (dialog, agent) = (dialog(), main_agent());
    let add = |messages: &[(u64, ModelMessage)]| {
        project.add_model_messages(&dialog, &agent, messages, at).unwrap();
    };
    let places = oracle.places();
    match rng.u8(..8) {
        0 | 1 => {
            let count = rng.usize(1..4);
            let new: Vec<_> = (0..count).map(|_| oracle.new_message(rng)).collect();
            add(&numbered(oracle.line.len() as u64, &new));
            for message in new {
                let place = oracle.tell(message);
                oracle.line.push(place);
            }
        }
        2 => {
            let Some(&last) = oracle.line.last() else { return };
            let mut grown = oracle.get(last).clone();
            grown.content.push(json!({ "type": "text", "text": format!("and {at}") }));
            add(&[(oracle.line.len() as u64 - 1, grown.clone())]);
            oracle.log.iter_mut().find(|(place, _)| *place == last).unwrap().1 = grown;
        }
        3 if !oracle.line.is_empty() => {
            // The agent's own record was rewritten from some message on.
            let keep = rng.usize(..oracle.line.len());
            let kept = oracle.line[..keep].iter().map(|place| oracle.get(*place).clone());
            let mut whole: Vec<_> = kept.collect();
            let left = oracle.line.split_off(keep);
            for _ in 0..rng.usize(1..3) {
                let mut message = oracle.new_message(rng);
                message.content[0] = json!({ "type": "text", "text": format!("other {at}") });
                message.role = MessageRole::User;
                whole.push(message.clone());
                let place = oracle.tell(message);
                oracle.line.push(place);
            }
            add(&numbered(0, &whole));
            let shown = oracle.places();
            if shown.iter().any(|place| left.contains(place)) {
                let stays = shown.into_iter().filter(|place| !left.contains(place)).collect();
                oracle.views.push((stays, oracle.next, false));
            }
        }
        4 => {
            // A program saves its own list: some are left out, some are new.
            let mut list: Vec<i64> = places.iter().copied().filter(|_| rng.u8(..5) > 0).collect();
            let mut messages: Vec<_> = list.iter().map(|at| oracle.get(*at).clone()).collect();
            if rng.bool() {
                let new = oracle.new_message(rng);
                let new = ModelMessage { ts: Some(at), index: None, ..new };
                messages.push(new.clone());
                list.push(oracle.tell(new));
            }
            project.save_model_messages(&dialog, &agent, &messages, at).unwrap();
            // Which of two that say the same is left out cannot be told.
            let saved = project.model_messages(&dialog, &agent).unwrap();
            let content = |message: &ModelMessage| message.content.clone();
            let says: Vec<_> = saved.iter().map(|kept| content(&kept.message)).collect();
            assert_eq!(says, messages.iter().map(content).collect::<Vec<_>>());
            let list: Vec<_> = saved.iter().map(|kept| kept.place).collect();
            if list != oracle.places() {
                oracle.views.push((list, oracle.next, false));
            }
        }
        5 if places.len() > 1 => {
            let count = rng.usize(1..places.len());
            condense(project, count, at).unwrap();
            oracle.own -= 1;
            let summary = ModelMessage { is_summary: true, ..user(&format!("summary of {count}")) };
            oracle.log.push((oracle.own, summary));
            oracle.views.push(([&[oracle.own], &places[count..]].concat(), oracle.next, true));
        }
        6 => {
            let index = rng.u64(..=oracle.said + 1);
            let behind = |place: &i64| oracle.get(*place).index.is_some_and(|at| at >= index);
            let to = RewindTarget::Message(index);
            let rewound = project.rewind_conversation(&dialog, &agent, to, None, at);
            let mut kept = oracle.places_to_cut(index);
            match kept.iter().position(behind) {
                Some(start) => {
                    kept.truncate(start);
                    let hidden = places.iter().filter(|place| !kept.contains(place)).count();
                    let rewound = rewound.unwrap();
                    let counts = (rewound.kept as usize, rewound.hidden as usize);
                    assert_eq!(counts, (start, hidden));
                    if kept != places {
                        oracle.views.push((kept, oracle.next, false));
                    }
                }
                None => assert!(matches!(rewound, Err(HistoryError::NoMessage { .. }))),
            }
        }
        7 => {
            let back = project.bring_back(&dialog, &agent, at);
            let is_nothing = matches!(back, Err(HistoryError::NothingHidden(_)));
            assert_eq!(oracle.views.pop().is_none(), is_nothing, "{back:?}");
        }
        _ => {}
    }
}

#[test]
fn a_random_walk_loses_nothing_and_shows_what_a_simple_model_shows() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds/history.txt");
    WalkCounts { quick: 24, long: 1000 }.run(kept, walk);
}

fn walk(seed: u64) {
    let test = TestProject::in_memory();
    let (project, mut oracle) = (test.init(), Oracle::default());
    let mut rng = fastrand::Rng::with_seed(seed);
    let first = user("first");
    project.add_model_messages(&dialog(), &main_agent(), &[(0, first.clone())], 1).unwrap();
    let place = oracle.tell(first);
    oracle.line.push(place);
    for step in 0..60 {
        act(&project, &mut oracle, &mut rng, test.tick());
        let pairs = |kept: Vec<HistoryMessage>| -> Vec<(i64, ModelMessage)> {
            kept.into_iter().map(|kept| (kept.place, kept.message)).collect()
        };
        let log = pairs(project.model_log(&dialog(), &main_agent()).unwrap());
        assert_eq!(log, oracle.log, "step {step}: the log");
        let view = pairs(project.model_messages(&dialog(), &main_agent()).unwrap());
        let expected: Vec<_> =
            oracle.places().iter().map(|at| (*at, oracle.get(*at).clone())).collect();
        assert_eq!(view, expected, "step {step}: the view");
    }
    assert_clean(&project);
}
