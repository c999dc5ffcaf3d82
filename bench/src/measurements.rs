//! Measurements: series of values by tree, case and peer, and the machine they are from.

use serde::{Deserialize, Serialize};

use crate::machine::MachineFacts;
use crate::process::Measurement;

/// All measurements of one run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measurements {
    pub(crate) machine: MachineFacts,
    pub(crate) rounds: usize,
    pub(crate) trees: Vec<TreeFacts>,
    pub(crate) series: Vec<MeasuredSeries>,
    /// Cases that could not be measured here, and why.
    pub(crate) missing: Vec<String>,
}

/// A tree that was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TreeFacts {
    pub(crate) name: String,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// The unit of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SeriesUnit {
    Ms,
    Bytes,
}

/// The values of one case of one peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MeasuredSeries {
    /// The tree's name; `""` for what does not depend on one.
    pub(crate) tree: String,
    pub(crate) case: String,
    pub(crate) peer: String,
    pub(crate) unit: SeriesUnit,
    pub(crate) values: Vec<f64>,
    /// Peak memory of a process in it; 0 if it is not one.
    pub(crate) peak_kib: u64,
}

impl MeasuredSeries {
    pub(crate) fn median(&self) -> f64 {
        median(&self.values)
    }

    pub(crate) fn least(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn most(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }
}

impl Measurements {
    pub(crate) fn new(machine: MachineFacts, rounds: usize) -> Self {
        Self { machine, rounds, trees: Vec::new(), series: Vec::new(), missing: Vec::new() }
    }

    /// One more measured time.
    pub(crate) fn add_time(&mut self, tree: &str, case: &str, peer: &str, run: Measurement) {
        let series = self.series(tree, case, peer, SeriesUnit::Ms);
        series.values.push(run.ms);
        series.peak_kib = series.peak_kib.max(run.peak_kib);
    }

    /// Space that was taken.
    pub(crate) fn add_bytes(&mut self, tree: &str, case: &str, peer: &str, bytes: u64) {
        #[expect(clippy::cast_precision_loss, reason = "no disk holds 2^53 bytes of this")]
        self.series(tree, case, peer, SeriesUnit::Bytes).values.push(bytes as f64);
    }

    fn series(
        &mut self,
        tree: &str,
        case: &str,
        peer: &str,
        unit: SeriesUnit,
    ) -> &mut MeasuredSeries {
        let known = |series: &MeasuredSeries| {
            series.tree == tree && series.case == case && series.peer == peer
        };
        let place = self.series.iter().position(known).unwrap_or_else(|| {
            let (tree, case, peer) = (tree.to_owned(), case.to_owned(), peer.to_owned());
            let series = MeasuredSeries { tree, case, peer, unit, values: Vec::new(), peak_kib: 0 };
            self.series.push(series);
            self.series.len() - 1
        });
        &mut self.series[place]
    }

    /// The series, if it was measured.
    pub(crate) fn find(&self, tree: &str, case: &str, peer: &str) -> Option<&MeasuredSeries> {
        self.series
            .iter()
            .find(|series| series.tree == tree && series.case == case && series.peer == peer)
    }

    /// The median of a series.
    pub(crate) fn median(&self, tree: &str, case: &str, peer: &str) -> Option<f64> {
        self.find(tree, case, peer).map(MeasuredSeries::median)
    }
}

/// The middle value; of an even number, the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => 0.0,
        (len, half) if len % 2 == 1 => sorted[half],
        (_, half) => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_series_come_together() {
        assert!((median(&[9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 9.0]) - 3.0).abs() < 1e-9);
        let mut book = Measurements::new(MachineFacts::default(), 3);
        for (ms, peak_kib) in [(3.0, 10), (1.0, 30), (2.0, 20)] {
            book.add_time("t", "c", "p", Measurement { ms, peak_kib });
        }
        book.add_time("t", "c", "q", Measurement { ms: 7.0, peak_kib: 1 });
        let series = book.find("t", "c", "p").unwrap();
        assert_eq!((series.values.len(), series.peak_kib), (3, 30));
        assert!((series.median() - 2.0).abs() < 1e-9);
        assert!((series.least() - 1.0).abs() < 1e-9 && (series.most() - 3.0).abs() < 1e-9);
        assert_eq!(book.median("t", "c", "nobody"), None);
    }
}
