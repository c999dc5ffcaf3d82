//! Runs a story on a disk that forgets, and cuts the power.
//!
//! A story is told by a child in a project whose root and home lie on the disk. It is told once
//! without any cut, and watched: each of its syncs is a moment at which the power could have
//! failed, and the disk of that moment is looked at. And it is told again and again with the
//! power really failing under it, to see that no success is reported then.
//!
//! The parent serves the disk, so it never works on it: killed in the middle of that it would
//! wait for itself for ever. Preparing and checking are children, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use retake_testkit::lossy_fs::{CutSide, DiskImage, LossModel, LossyFs, PowerCut, SyncPoint};
use retake_testkit::{TestProject, child};

use super::check::{Place, check};
use super::teller::Teller;
use super::told::understood;

/// A child that does not end by itself once the power is off is ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// The steps of the seam before which something has a name that is not durable.
const NAMING: [&str; 2] = ["fsync folder", "open database"];

/// Whether there is time for every cut.
pub(crate) fn is_long() -> bool {
    std::env::var_os("RETAKE_LONG").is_some()
}

/// How many cuts of each kind are made: at every n-th moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strides {
    /// Everything that was not synced is lost.
    pub(crate) unsynced: usize,
    /// Names stay, bytes are lost.
    pub(crate) bytes: usize,
    /// Chance decides; with so many seeds.
    pub(crate) chance: (usize, u64),
    /// The power really fails while the child runs.
    pub(crate) live: usize,
}

/// What a child is for.
#[derive(Clone, Copy)]
pub(crate) struct Roles {
    /// Makes what is there before the story.
    pub(crate) prepare: fn(&TestProject),
    /// Tells the story.
    pub(crate) story: fn(&Teller),
}

/// Does a child's part, if this is one.
pub(crate) fn is_child(roles: Roles) -> bool {
    let Some(role) = child::role() else { return false };
    let test = TestProject::at(Path::new(&variable("OUTER")));
    match role.as_str() {
        "prepare" => (roles.prepare)(&test),
        "story" => (roles.story)(&Teller::new(test)),
        "check" => {
            let read = |name| std::fs::read(variable(name)).unwrap();
            let so_far = understood(&read("WORDS")[..variable("SAID").parse().unwrap()]);
            let (whole, label) = (understood(&read("WHOLE")), variable("LABEL"));
            let turn = variable("TURN").parse().unwrap();
            check(&test, &Place::of(&so_far, &whole, &label), turn);
        }
        other => unreachable!("{other}"),
    }
    true
}

fn variable(name: &str) -> String {
    std::env::var(format!("RETAKE_TEST_{name}")).unwrap()
}

/// A disk, what was on it at first, and where the child's words go.
pub(crate) struct Rig {
    test: String,
    disk: LossyFs,
    start: DiskImage,
    words: tempfile::NamedTempFile,
    /// Everything that is said in a run without cuts.
    whole: tempfile::NamedTempFile,
}

impl Rig {
    /// Prepares a project; everything that is on the disk then is durable.
    pub(crate) fn new() -> Self {
        let file = || tempfile::NamedTempFile::new().unwrap();
        let (disk, words, whole) = (LossyFs::new(), file(), file());
        std::fs::create_dir(disk.path().join("project")).unwrap();
        let mut rig =
            Self { test: child::test_name(), disk, start: DiskImage::default(), words, whole };
        rig.run("prepare");
        rig.start = rig.disk.medium().all_durable();
        rig
    }

    /// Cuts everywhere; says how often.
    pub(crate) fn sweep(&mut self, strides: Strides) -> u64 {
        let began = Instant::now();
        let moments = self.watch();
        let (count, mut cuts) = (moments.len(), 0);
        for (n, moment) in moments.iter().enumerate() {
            cuts += self.cut_there(n, moment, strides);
        }
        let watched = began.elapsed();
        for n in (0..count).step_by(strides.live) {
            for (side, forget) in live_cuts(n) {
                self.cut_live(PowerCut { nth: n as u64 + 1, side }, forget);
                cuts += 1;
            }
        }
        let (test, all) = (&self.test, began.elapsed());
        eprintln!("{test}: {count} syncs, {cuts} cuts in {all:.1?}, watched {watched:.1?}");
        cuts
    }

    /// Kills a run at each kind of step, which forgets nothing; then another one tells the story
    /// to its end, and the power fails. Says how often.
    pub(crate) fn kill_first(&mut self, everywhere: bool) -> u64 {
        let began = Instant::now();
        self.watch();
        let steps = self.steps(everywhere);
        for step in &steps {
            self.disk.mount_image(self.start.clone());
            let mut killed = self.command("story");
            let killed = killed.env("RETAKE_KILL_AT", step.to_string()).status().unwrap();
            assert_eq!(killed.signal(), Some(9), "step {step}: {}", self.said());
            self.run("story");
            let label = format!("{}: killed at step {step}, then told to the end", self.test);
            self.disk.power_on(LossModel::Unsynced);
            self.check(self.words.path(), None, &label, 0);
        }
        eprintln!("{}: {} kills and cuts in {:.1?}", self.test, steps.len(), began.elapsed());
        steps.len() as u64
    }

    /// The steps to be killed at.
    fn steps(&mut self, everywhere: bool) -> BTreeSet<u64> {
        self.disk.mount_image(self.start.clone());
        let counted = tempfile::NamedTempFile::new().unwrap();
        let mut story = self.command("story");
        let status = story.env("RETAKE_COUNT_STEPS", counted.path()).status().unwrap();
        assert!(status.success(), "{}", self.said());
        let counted = std::fs::read_to_string(counted.path()).unwrap();
        let mut places: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (number, name) in counted.lines().filter_map(|line| line.split_once(' ')) {
            places.entry(name).or_default().push(number.parse().unwrap());
        }
        places.retain(|name, _| everywhere || NAMING.contains(name));
        places.into_values().flatten().collect()
    }

    /// Tells the story without a cut.
    fn watch(&mut self) -> Vec<SyncPoint> {
        self.disk.mount_image(self.start.clone());
        self.disk.record_syncs(self.words.path());
        self.run("story");
        let moments = self.disk.take_sync_points();
        std::fs::copy(self.words.path(), self.whole.path()).unwrap();
        self.disk.power_on(LossModel::Unsynced);
        self.check(self.whole.path(), None, &format!("{}: at the end", self.test), 0);
        moments
    }

    /// Looks at what a cut at a moment of the watched run would have left.
    fn cut_there(&mut self, n: usize, moment: &SyncPoint, strides: Strides) -> u64 {
        let mut cuts = Vec::new();
        // Just after this sync the same is durable as just before the next one.
        if n.is_multiple_of(strides.unsynced) {
            cuts.push((CutSide::Before, LossModel::Unsynced));
        }
        if n.is_multiple_of(strides.bytes) {
            for side in [CutSide::Before, CutSide::After] {
                cuts.extend([(side, LossModel::Bytes), (side, LossModel::BytesToZeros)]);
            }
        }
        let (stride, seeds) = strides.chance;
        if n.is_multiple_of(stride) {
            let seed = |nth: u64| n as u64 * 1000 + nth;
            let side =
                |nth: u64| if nth.is_multiple_of(2) { CutSide::Before } else { CutSide::After };
            cuts.extend((0..seeds).map(|nth| (side(nth), LossModel::Some { seed: seed(nth) })));
        }
        for (side, forget) in &cuts {
            let (test, nth, path) = (&self.test, n + 1, moment.path());
            let label = format!("{test}: {side:?} sync {nth} of {path}, {forget:?}");
            self.disk.mount_image(moment.medium_after_cut(*side).after_loss(*forget));
            self.check(self.whole.path(), Some(moment.witness_bytes), &label, n);
        }
        cuts.len() as u64
    }

    /// Lets the power fail under the child.
    fn cut_live(&mut self, cut: PowerCut, forget: LossModel) {
        self.disk.mount_image(self.start.clone());
        self.disk.cut_at(cut);
        let mut child = self.command("story").spawn().unwrap();
        await_end(&mut child);
        assert!(self.disk.is_off(), "{cut:?}: the story has fewer syncs than before");
        let label = format!("{}: live {cut:?}, {forget:?}", self.test);
        self.disk.power_on(forget);
        self.check(self.words.path(), None, &label, cut.nth as usize);
    }

    /// A child; what it says takes the place of what was said before.
    fn command(&self, role: &str) -> Command {
        let words = File::create(self.words.path()).unwrap();
        let mut command = child::command_for(&self.test, role);
        command.env("RETAKE_TEST_OUTER", self.disk.path());
        command.stderr(words.try_clone().unwrap()).stdout(words);
        command
    }

    fn run(&self, role: &str) {
        let status = self.command(role).status().unwrap();
        assert!(status.success(), "{role}: {}", self.said());
    }

    /// Checks what is on the disk now, of a run in which so much was said.
    fn check(&self, words: &Path, said: Option<u64>, label: &str, turn: usize) {
        let said = said.unwrap_or_else(|| words.metadata().unwrap().len());
        let output = child::command_for(&self.test, "check")
            .env("RETAKE_TEST_OUTER", self.disk.path())
            .envs([("RETAKE_TEST_WORDS", words), ("RETAKE_TEST_WHOLE", self.whole.path())])
            .env("RETAKE_TEST_SAID", said.to_string())
            .env("RETAKE_TEST_LABEL", label)
            .env("RETAKE_TEST_TURN", turn.to_string())
            .output()
            .unwrap();
        let (out, err) = (&output.stdout, &output.stderr);
        let shown = [out, err].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(output.status.success(), "{label}: {}", shown.concat());
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.words.path()).unwrap()).into_owned()
    }
}

/// The kinds of loss take turns, and but for a long run so do the sides.
fn live_cuts(n: usize) -> Vec<(CutSide, LossModel)> {
    let seed = n as u64;
    let kinds =
        [LossModel::Unsynced, LossModel::Some { seed }, LossModel::Bytes, LossModel::BytesToZeros];
    let sides = [CutSide::Before, CutSide::After];
    if is_long() {
        return (0..2).map(|nth| (sides[nth], kinds[(n + nth) % kinds.len()])).collect();
    }
    vec![(sides[n / 2 % 2], kinds[n % kinds.len()])]
}

fn await_end(child: &mut Child) {
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
