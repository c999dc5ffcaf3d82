//! Retake's performance targets, beside the measurements.

use crate::cases::{
    self, DAEMON, EMPTY, FIRST, FSYNC, JJ, JJ_WATCHMAN, PLAIN, REFERENCE, RETAKE, ROLLBACK, SEEDED,
    SHADOW, SMALL, STATUS,
};
use crate::measurements::Measurements;

/// A performance target.
pub(crate) struct PerformanceGoal {
    /// The tree; `""` if it does not depend on one.
    pub(crate) tree: String,
    pub(crate) what: String,
    pub(crate) limit: GoalLimit,
    /// The measured value; `None` if it was not measured.
    pub(crate) measured: Option<f64>,
}

/// The bound of a target: at least or at most a number.
#[derive(Clone, Copy)]
pub(crate) enum GoalLimit {
    AtLeast(f64),
    AtMost(f64),
}

impl PerformanceGoal {
    pub(crate) fn met(&self) -> Option<bool> {
        self.measured.map(|measured| match self.limit {
            GoalLimit::AtLeast(limit) => measured >= limit,
            GoalLimit::AtMost(limit) => measured <= limit,
        })
    }
}

/// Returns all targets, for all trees of a run.
pub(crate) fn all(book: &Measurements) -> Vec<PerformanceGoal> {
    let mut targets = Vec::new();
    for tree in &book.trees {
        let mut list = GoalList { book, tree: &tree.name, targets: &mut targets };
        list.first();
        list.one_change(tree.files);
        list.hooks();
        list.restores();
        list.space();
        list.memory();
    }
    GoalList { book, tree: "", targets: &mut targets }.queries();
    GoalList { book, tree: "", targets: &mut targets }.edits();
    targets
}

struct GoalList<'a> {
    book: &'a Measurements,
    tree: &'a str,
    targets: &'a mut Vec<PerformanceGoal>,
}

impl GoalList<'_> {
    fn median(&self, case: &str, peer: &str) -> Option<f64> {
        self.book.median(self.tree, case, peer)
    }

    fn add(&mut self, what: impl Into<String>, limit: GoalLimit, measured: Option<f64>) {
        let (tree, what) = (self.tree.to_owned(), what.into());
        self.targets.push(PerformanceGoal { tree, what, limit, measured });
    }

    /// Adds the target to be `times` as fast as a peer.
    fn faster(&mut self, case: &str, ours: &str, theirs: &str, times: f64) {
        let measured = ratio(self.median(case, theirs), self.median(case, ours));
        let what = format!("{case}: {ours} faster than {theirs}");
        self.add(what, GoalLimit::AtLeast(times), measured);
    }

    fn first(&mut self) {
        self.faster(FIRST, RETAKE, SHADOW, 25.0);
        self.faster(FIRST, RETAKE, SEEDED, 1.0);
        self.faster(PLAIN, RETAKE, SHADOW, 7.0);
    }

    fn one_change(&mut self, files: u64) {
        let case = cases::checkpoint(1);
        self.faster(&case, RETAKE, SHADOW, 3.0);
        self.faster(&case, RETAKE, JJ, 2.0);
        let status = ratio(self.median(REFERENCE, STATUS), self.median(&case, RETAKE));
        self.add(format!("{case}: Retake faster than git status"), GoalLimit::AtLeast(1.0), status);
        let times = if files >= 60_000 { 60.0 } else { 20.0 };
        self.faster(&case, DAEMON, SHADOW, times);
        self.net(&case, SHADOW, times);
        self.faster(&case, DAEMON, JJ_WATCHMAN, 8.0);
        self.net(&case, JJ_WATCHMAN, 8.0);
        if files >= 60_000 {
            let grown = ratio(self.median(&case, DAEMON), self.median(&case, SMALL));
            let what = format!("{case}, daemon: time on this tree against one of 500 files");
            self.add(what, GoalLimit::AtMost(1.3), grown);
        }
        self.faster(&cases::checkpoint(100), DAEMON, SHADOW, 5.0);
    }

    /// Like [`Self::faster`], without the fsync that only Retake waits for.
    fn net(&mut self, case: &str, theirs: &str, times: f64) {
        let ours = self.median(case, DAEMON).zip(self.median(REFERENCE, FSYNC));
        let measured = ratio(self.median(case, theirs), ours.map(|(ours, fsync)| ours - fsync));
        let what = format!("{case}: the same against {theirs}, net of one fsync");
        self.add(what, GoalLimit::AtLeast(times), measured);
    }

    fn hooks(&mut self) {
        let least = self.median(REFERENCE, EMPTY).zip(self.median(REFERENCE, FSYNC));
        let least = least.map(|(start, fsync)| start + fsync);
        let hook = self.median(&cases::hook_end("10 KB"), DAEMON);
        let what = "hook after an edit of 10 KB, daemon: against an empty program + one fsync";
        self.add(what, GoalLimit::AtMost(3.0), ratio(hook, least));
        let written = self.median(REFERENCE, &cases::written("1 MB"));
        let hook = self.median(&cases::hook_end("1 MB"), DAEMON);
        let what = "hook after an edit of 1 MB, daemon: against a plain write + fsync";
        self.add(what, GoalLimit::AtMost(5.0), ratio(hook, written));
    }

    fn restores(&mut self) {
        let case = cases::restore(100);
        let of = |peer: &str| peer.starts_with(RETAKE);
        let fastest =
            self.book.series.iter().filter(|series| {
                series.tree == self.tree && series.case == case && !of(&series.peer)
            });
        let fastest = fastest.map(crate::measurements::MeasuredSeries::median).reduce(f64::min);
        for ours in [RETAKE, DAEMON] {
            let measured = ratio(fastest, self.median(&case, ours));
            let what = format!("{case}: {ours} faster than the fastest peer");
            self.add(what, GoalLimit::AtLeast(1.0), measured);
        }
        for ours in [RETAKE, DAEMON] {
            let what = format!("{ROLLBACK}: {ours}, in ms");
            self.add(what, GoalLimit::AtMost(20.0), self.median(ROLLBACK, ours));
        }
    }

    fn space(&mut self) {
        for (case, limit) in
            [(cases::SPACE_FIRST, 0.05), (cases::SPACE_PLAIN, 0.6), (cases::SPACE_CAPTURES, 0.25)]
        {
            let measured = ratio(self.median(case, RETAKE), self.median(case, SHADOW));
            self.add(format!("{case}: against shadow git"), GoalLimit::AtMost(limit), measured);
        }
    }

    fn memory(&mut self) {
        let mib = |hooks: bool| {
            let ours = self.book.series.iter().filter(|series| {
                let of_retake = series.tree == self.tree && series.peer.starts_with(RETAKE);
                of_retake && (!hooks || series.case.starts_with("hook"))
            });
            #[expect(clippy::cast_precision_loss, reason = "for people")]
            ours.map(|series| series.peak_kib).max().map(|kib| kib as f64 / 1024.0)
        };
        let (every, hook) = (mib(false), mib(true));
        self.add("memory of every command, in MiB", GoalLimit::AtMost(256.0), every);
        self.add("memory of a hook, in MiB", GoalLimit::AtMost(100.0), hook);
        let daemon = self.median(cases::DAEMON_MEMORY, DAEMON).map(|bytes| bytes / 1_048_576.0);
        self.add("memory of the daemon, in MiB", GoalLimit::AtMost(256.0), daemon);
    }

    fn queries(&mut self) {
        let time = |changes| self.median(&cases::query("log of the last 50", changes), RETAKE);
        let measured = ratio(time(1_000_000), time(100));
        let what = "log of the last 50: of 1,000,000 changes against of 100";
        self.add(what, GoalLimit::AtMost(2.0), measured);
    }

    fn edits(&mut self) {
        let case = cases::edits(10_000);
        let ours = self.median(&case, RETAKE);
        for copies in ["full copies, zlib", "full copies, zstd"] {
            let measured = ratio(ours, self.median(&case, copies));
            self.add(format!("{case}: against {copies}"), GoalLimit::AtMost(0.05), measured);
        }
    }
}

/// Returns the ratio of two values, if both were measured.
fn ratio(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.zip(other).filter(|(_, other)| *other > 0.0).map(|(one, other)| one / other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MachineFacts;
    use crate::measurements::TreeFacts;
    use crate::process::Measurement;

    #[test]
    fn what_was_not_measured_is_neither_met_nor_missed() {
        let mut book = Measurements::new(MachineFacts::default(), 1);
        book.trees.push(TreeFacts { name: "t".to_owned(), files: 70_000, bytes: 1 });
        let mut time = |case: &str, peer: &str, ms| {
            book.add_time("t", case, peer, Measurement { ms, peak_kib: 9 });
        };
        time(FIRST, SHADOW, 2600.0);
        time(FIRST, RETAKE, 100.0);
        time(FIRST, SEEDED, 99.0);
        time(&cases::checkpoint(1), SHADOW, 130.0);
        time(&cases::checkpoint(1), DAEMON, 3.0);
        time(REFERENCE, FSYNC, 1.0);
        let met: Vec<_> = all(&book).iter().map(PerformanceGoal::met).collect();
        // Shadow git: 26 times; seeded: a little slower; plain: not measured.
        assert_eq!(met[..3], [Some(true), Some(false), None]);
        // 130 / 3 is less than 60, 130 / (3 - 1) is more.
        assert_eq!(met[6..8], [Some(false), Some(true)]);
    }
}
