//! One story: what happens, in which order, and who watches.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use retake_engine::model::{Event, EventKind, Gap};
use retake_engine::{OperationError, Plan, Project, RecordOutcome, TakeBackOptions};
use retake_testkit::disk::{self, DiskFiles};
use retake_testkit::{ListingHints, TestProject};
use serde_json::json;

use super::check::{self, Scene, Undone, all_changes, differing};
use super::fixture::Person;
use super::generate::{Program, Shell, program};
use super::run::run;
use super::sight::{Sight, tracked};
use super::{Tally, fixture, say};

pub(crate) struct Story<'s> {
    seed: u64,
    shells: &'s [Shell],
    tally: &'s Tally,
    test: TestProject,
    host: Host,
    rng: Rng,
    in_git: bool,
    person: Person,
    log: Vec<String>,
    complaints: Vec<String>,
    /// What git tracks.
    tracked: BTreeSet<String>,
    /// What was in sight when Retake last looked.
    known: BTreeSet<String>,
    /// Every path that was ever there.
    ever: BTreeSet<String>,
    /// What programs changed.
    touched: BTreeSet<String>,
    /// What was in sight during any call.
    seen: BTreeSet<String>,
    /// What programs made in sight.
    made: BTreeSet<String>,
    /// What the last program made out of sight.
    hidden: BTreeSet<String>,
    /// What was said not to be protected, at any time.
    gaps: Vec<Gap>,
    /// The disk right before the first program.
    first: Option<DiskFiles>,
    /// The disk when Retake last looked, and how many changes there were.
    looked: (DiskFiles, usize),
    may_be_late: bool,
}

/// How Retake is there: opened for each event, or once and with a watcher.
enum Host {
    Anew,
    Watching(Box<Project>),
}

impl<'s> Story<'s> {
    pub(crate) fn new(seed: u64, shells: &'s [Shell], tally: &'s Tally) -> Self {
        let test = TestProject::in_memory();
        let mut rng = Rng::with_seed(seed);
        let in_git = fixture::make(&test, &mut rng);
        let opened = test.init();
        let host = if rng.bool() { watching(&test, opened, &mut rng) } else { Host::Anew };
        let mut story = Self {
            seed,
            shells,
            tally,
            test,
            host,
            rng,
            in_git,
            person: Person::default(),
            log: Vec::new(),
            complaints: Vec::new(),
            tracked: BTreeSet::new(),
            known: BTreeSet::new(),
            ever: BTreeSet::new(),
            touched: BTreeSet::new(),
            seen: BTreeSet::new(),
            made: BTreeSet::new(),
            hidden: BTreeSet::new(),
            gaps: Vec::new(),
            first: None,
            looked: (DiskFiles::new(), 0),
            may_be_late: false,
        };
        story.log(&format!(
            "{} git, {}",
            if in_git { "with" } else { "without" },
            story.host.told()
        ));
        story.record(&Event::new("d1", EventKind::UserMessage { text: "do it".into() }));
        story.looked = story.look_now();
        story.tracked = story.ask_git();
        story
    }

    /// Plays it to its end.
    ///
    /// # Panics
    /// If there is something to complain about.
    pub(crate) fn play(mut self) {
        let calls = [1, 1, 1, 2, 2, 3][self.rng.usize(..6)];
        let edits_between = self.rng.bool();
        for number in 0..calls {
            if number == 0 || edits_between {
                self.person_edits();
            }
            let program = program(&mut self.rng, self.shells, self.in_git);
            if !self.call(number, &program) {
                self.tally.stopped.fetch_add(1, Ordering::Relaxed);
                say(&format!("story {} was stopped:\n{}", self.seed, self.log.join("\n")));
                return;
            }
            // What follows a loss says nothing new.
            if !self.complaints.is_empty() {
                break;
            }
        }
        if self.complaints.is_empty() {
            self.take_back(calls == 1 || !edits_between);
        }
        if !self.complaints.is_empty() {
            let recorded = self.with(check::recorded);
            self.log(&format!("Retake recorded:\n{recorded}"));
        }
        let told = self.log.join("\n");
        if std::env::var_os("RETAKE_WALK_SEED").is_some() {
            say(&told);
        }
        let complaints = self.complaints.join("\n  ");
        assert!(complaints.is_empty(), "story {}:\n{told}\n  {complaints}", self.seed);
    }

    fn person_edits(&mut self) {
        let root = self.test.root();
        // What a program wrote stays its own under another name, which nobody here keeps track of.
        let may_rename = self.first.is_none();
        let mut done = self.person.edit(&root, &mut self.rng, may_rename);
        self.log.append(&mut done);
        // Somebody may have looked, but not at all of it.
        if self.rng.u8(0..6) == 0 {
            self.look_around();
        }
        if self.rng.u8(0..4) == 0 {
            let mut more = self.person.edit(&root, &mut self.rng, may_rename);
            self.log.append(&mut more);
        }
    }

    /// One call, whole; `false` if its program had to be stopped.
    fn call(&mut self, number: usize, program: &Program) -> bool {
        let (id, root) = (format!("s{number}"), self.test.root());
        let (kind, shell) = (program.kind, program.shell.name());
        self.log(&format!("{kind:?} program of {shell}:\n{}", indented(program)));
        let earlier_gaps = self.with(check::gaps);
        let input = json!({ "command": program.text() });
        let at_begin = self.record(&TestProject::begin("d1", &id, "Bash", input));
        let begin_changes = self.with(|project| all_changes(project).len());
        let before = disk::read_files(&root);
        if !self.run(program) {
            return false;
        }
        let after = disk::read_files(&root);
        self.tally.ran.fetch_add(1, Ordering::Relaxed);
        if self.rng.u8(0..6) == 0 {
            self.look_around();
        }
        let at_end = self.record(&TestProject::end("d1", &id));
        if self.rng.u8(0..8) == 0 {
            self.look_around();
        }
        let sight = self.sight(&before, &after);
        self.ever.extend(before.keys().cloned());
        self.tracked = self.ask_git();
        let complaints = self.with(|project| {
            let scene = Scene {
                project,
                program,
                looked: &self.looked.0,
                before: &before,
                after: &after,
                sight: &sight,
                known_changes: self.looked.1,
                begin_changes,
                earlier_gaps: &earlier_gaps,
                replies: [&at_begin, &at_end],
                ever: &self.ever,
                tracked: &self.tracked,
                may_be_late: self.may_be_late,
            };
            scene.complaints()
        });
        self.complaints.extend(complaints);
        self.gaps.append(&mut self.with(check::gaps));
        self.remember(before, &after, &sight, program);
        true
    }

    /// What is in sight during a call: git's index has not changed since it was last asked.
    fn sight(&self, before: &DiskFiles, after: &DiskFiles) -> Sight {
        let known = self.known.union(&self.tracked).cloned().collect();
        let disks = [&self.looked.0, before, after];
        Sight::of(&self.test.outer().join("rules"), before, &disks, known)
    }

    fn remember(&mut self, before: DiskFiles, after: &DiskFiles, sight: &Sight, program: &Program) {
        self.touched.extend(differing(&before, after).cloned());
        self.known = sight.seen_on(after);
        self.seen.extend(sight.seen_on(&before));
        self.seen.extend(self.known.iter().cloned());
        let made = after.keys().filter(|path| !before.contains_key(*path));
        let (seen, hidden): (Vec<_>, Vec<_>) = made.cloned().partition(|path| sight.sees(path));
        self.made.extend(seen);
        // What is there at a later begin may be taken by the shield, whoever made it.
        let is_new = |path: &String| !self.ever.contains(path);
        self.hidden = hidden.into_iter().filter(is_new).collect();
        self.first.get_or_insert(before);
        self.may_be_late |= program.says_background();
        self.looked = self.look_now();
    }

    /// Runs the program; sometimes somebody looks in the middle of it.
    fn run(&mut self, program: &Program) -> bool {
        let places = program.statements.len() - 1;
        if places == 0 || self.rng.u8(0..4) > 0 {
            return run(&self.test, program, None);
        }
        let after = self.rng.usize(..places);
        let mut looked = false;
        let mut look = || {
            looked = true;
            let at = self.test.tick();
            self.with(|project| project.refresh_in_background(at).unwrap());
        };
        let ended = run(&self.test, program, Some((after, &mut look)));
        if looked {
            self.log(&format!("somebody looked after statement {}", after + 1));
        }
        ended
    }

    fn take_back(&mut self, strict: bool) {
        let last = disk::read_files(&self.test.root());
        self.checkpoint(&last);
        if self.rng.bool() {
            self.record(&Event::new("d1", EventKind::TurnEnd { background: Vec::new() }));
        }
        let undone = self.undo();
        let plan = match &undone {
            Ok(plan) => Some(plan),
            Err(OperationError::NothingTo(_)) => None,
            Err(error) => {
                self.complaints.push(format!("(e) undo failed: {error}"));
                return;
            }
        };
        let now = disk::read_files(&self.test.root());
        let first = self.first.as_ref().unwrap_or(&last);
        let undone = Undone {
            before: first,
            last: &last,
            now: &now,
            strict,
            seen: &self.seen,
            made: &self.made,
            touched: &self.touched,
            gaps: &self.gaps,
            plan,
        };
        self.complaints.extend(undone.complaints());
    }

    /// Makes a checkpoint, in which nothing may be that programs made out of sight.
    fn checkpoint(&mut self, last: &DiskFiles) {
        let at = self.test.tick();
        self.with(|project| project.checkpoint(None, None, at).unwrap());
        let folder = self.test.outer().join("rules");
        let now = Sight::of(&folder, last, &[last], self.tracked.clone());
        let hidden = self.hidden.iter().filter(|path| last.contains_key(*path) && !now.sees(path));
        let hidden = hidden.cloned().collect();
        let taken = self.with(|project| check::hidden_in_manifest(project, &hidden));
        self.complaints.extend(taken);
    }

    fn undo(&self) -> Result<Plan, OperationError> {
        let (plan_at, at) = (self.test.tick(), self.test.tick());
        self.with(|project| {
            let (plan, _) = project.plan_undo(TakeBackOptions::default(), plan_at)?;
            Ok(project.apply(&plan, at)?.plan)
        })
    }

    fn ask_git(&self) -> BTreeSet<String> {
        if self.in_git { tracked(&self.test.root()) } else { BTreeSet::new() }
    }

    fn look_now(&self) -> (DiskFiles, usize) {
        let changes = self.with(|project| all_changes(project).len());
        (disk::read_files(&self.test.root()), changes)
    }

    fn look_around(&mut self) {
        let at = self.test.tick();
        self.with(|project| project.refresh_in_background(at).unwrap());
        self.log("somebody looked around");
    }

    fn record(&self, event: &Event) -> RecordOutcome {
        let at = self.test.tick();
        self.with(|project| project.record(event, at).unwrap())
    }

    fn with<T>(&self, act: impl FnOnce(&Project) -> T) -> T {
        match &self.host {
            Host::Anew => act(&self.test.open()),
            Host::Watching(project) => act(project),
        }
    }

    fn log(&mut self, line: &str) {
        self.log.push(format!("- {line}"));
    }
}

impl Host {
    fn told(&self) -> &'static str {
        match self {
            Self::Anew => "opened for each event",
            Self::Watching(_) => "with a watcher",
        }
    }
}

fn watching(test: &TestProject, mut project: Project, rng: &mut Rng) -> Host {
    let rules = project.watch_rules().unwrap();
    let eyes = ListingHints::open(&test.root(), rules.clone());
    let eyes = if rng.bool() { eyes.vague(rng.u64(..)) } else { eyes };
    project.set_hint_source(Box::new(eyes), rules);
    Host::Watching(Box::new(project))
}

fn indented(program: &Program) -> String {
    format!("    {}", program.text().trim_end().replace('\n', "\n    "))
}
