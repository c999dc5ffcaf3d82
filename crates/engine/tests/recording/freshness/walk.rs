//! Random reads and edits by an agent and a person, against a list of lines that remember what the
//! agent knows of them.
//!
//! `RETAKE_WALK_SEED=n` replays one walk, `RETAKE_LONG=1` does many more.

use fastrand::Rng;
use retake_engine::Staleness;
use retake_testkit::seeds::WalkCounts;
use retake_testkit::{TestProject, play};

const STEPS: usize = 25;

#[test]
fn what_is_stale_is_what_an_agent_knew_and_others_changed() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds/freshness.txt");
    WalkCounts { quick: 25, long: 2000 }.run(kept, |seed| Walk::new(seed).run());
}

/// A line that nobody else has, or the end of the file.
#[derive(Clone, Debug, Default)]
struct Line {
    text: String,
    known: bool,
    /// The change that made it out of something that was known.
    differs: Option<usize>,
    /// Something that was known is missing before it.
    gap: bool,
}

struct Walk {
    test: TestProject,
    /// The last one is the end of the file.
    lines: Vec<Line>,
    rng: Rng,
    count: usize,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let test = TestProject::in_memory();
        let mut walk = Self { test, lines: Vec::new(), rng: Rng::with_seed(seed), count: 0 };
        walk.lines = (0..12).map(|_| walk.line()).collect();
        walk.lines.push(Line::default());
        walk.write();
        walk.test.init();
        walk
    }

    fn run(mut self) {
        for _ in 0..STEPS {
            match self.rng.u8(0..5) {
                0 => self.read(),
                1 | 2 => self.edit_as_agent(),
                _ => self.edit_as_person(),
            }
            self.compare();
        }
    }

    fn line(&mut self) -> Line {
        self.count += 1;
        Line { text: format!("line-{}.", self.count), ..Line::default() }
    }

    fn text(&self) -> String {
        let lines = &self.lines[..self.lines.len() - 1];
        lines.iter().map(|line| line.text.clone() + "\n").collect()
    }

    fn write(&self) {
        self.test.write("a.txt", self.text());
    }

    fn read(&mut self) {
        let last = self.lines.len() - 1;
        self.count += 1;
        let call = self.count;
        if last == 0 || self.rng.u8(0..3) == 0 {
            play(&self.test, &format!("read d c{call} a.txt"));
            let all = |line: &mut Line| (line.known, line.differs, line.gap) = (true, None, false);
            self.lines.iter_mut().for_each(all);
            return;
        }
        let from = self.rng.usize(0..last);
        let to = self.rng.usize(from..last) + 1;
        play(&self.test, &format!("read d c{call} a.txt {}-{to}", from + 1));
        let whole = (from, to) == (0, last);
        for (at, line) in self.lines.iter_mut().enumerate() {
            if (from..to).contains(&at) || whole {
                (line.known, line.differs) = (true, None);
            }
            line.gap &= !(from..=to).contains(&at);
        }
    }

    /// Some lines, and what they become.
    fn any_edit(&mut self) -> (std::ops::Range<usize>, Vec<Line>) {
        let last = self.lines.len() - 1;
        let from = self.rng.usize(0..=last);
        let to = self.rng.usize(from..=last.min(from + 3));
        let some = self.rng.usize(usize::from(from == to)..3);
        (from..to, (0..some).map(|_| self.line()).collect())
    }

    fn edit_as_agent(&mut self) {
        let (old, mut new) = self.any_edit();
        let anchor = old.start.checked_sub(1);
        // What is put in, or taken out at the top, needs a line that it stands at.
        let Some(anchor) = anchor else { return };
        let block = |lines: &[Line]| -> String {
            lines.iter().map(|line| line.text.clone() + "\\n").collect()
        };
        let head = block(&self.lines[anchor..=anchor]);
        let (before, after) = (block(&self.lines[old.clone()]), block(&new));
        self.count += 1;
        let call = self.count;
        play(&self.test, &format!("edit d c{call} a.txt: {head}{before} => {head}{after}"));
        for line in &mut new {
            line.known = true;
        }
        self.replace(&old, new);
    }

    fn edit_as_person(&mut self) {
        let (old, mut new) = self.any_edit();
        let is_hit = self.is_hit(&old);
        let (change, at) = (self.count, old.start);
        if is_hit {
            for line in &mut new {
                line.differs = Some(change);
            }
        }
        let removed = new.is_empty();
        self.replace(&old, new);
        self.lines[at].gap |= is_hit && removed;
        self.write();
        play(&self.test, "look");
    }

    fn is_hit(&self, old: &std::ops::Range<usize>) -> bool {
        let lines = &self.lines;
        if old.is_empty() {
            let after = &lines[old.start];
            let Some(before) = old.start.checked_sub(1).map(|at| &lines[at]) else {
                return after.known || after.differs.is_some() || after.gap;
            };
            let same = before.differs.is_some() && before.differs == after.differs;
            return (before.known && after.known) || same;
        }
        let one = |line: &Line| line.known || line.differs.is_some();
        lines[old.clone()].iter().any(one) || lines[old.start..=old.end].iter().any(|line| line.gap)
    }

    fn replace(&mut self, old: &std::ops::Range<usize>, new: Vec<Line>) {
        if !old.is_empty() {
            self.lines[old.end].gap = false;
        } else if old.start == 0 {
            self.lines[0].gap = false;
        }
        self.lines.splice(old.clone(), new);
    }

    fn compare(&self) {
        let project = self.test.open();
        let stale = project.stale_files(&"d".into(), &"main".into()).unwrap().pop();
        let mut found = vec![(false, false); self.lines.len()];
        match stale.map(|stale| stale.what) {
            None => {}
            Some(Staleness::Lines(places)) => {
                for lines in places.iter().map(|place| place.lines) {
                    let (first, last) = (lines.first as usize - 1, lines.last as usize);
                    found[first].1 |= first == last;
                    found[first..last].iter_mut().for_each(|line| line.0 = true);
                }
            }
            Some(other) => panic!("{other:?}"),
        }
        let line = |line: &Line| (line.differs.is_some(), line.gap);
        let expected: Vec<_> = self.lines.iter().map(line).collect();
        assert_eq!(without_beside(found), without_beside(expected), "{:#?}", self.lines);
    }
}

/// What is missing beside lines that differ is told with them.
fn without_beside(mut lines: Vec<(bool, bool)>) -> Vec<(bool, bool)> {
    for at in 0..lines.len() {
        let beside = lines[at].0 || at.checked_sub(1).is_some_and(|before| lines[before].0);
        lines[at].1 &= !beside;
    }
    lines
}
