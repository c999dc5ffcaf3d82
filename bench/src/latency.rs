//! Latency distributions: median, percentiles and maximum.

use std::fmt;
use std::time::Duration;

/// Many measured times.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    times: Vec<Duration>,
}

impl Latencies {
    /// Adds a time.
    pub(crate) fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// Adds all times of another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.times.extend(&other.times);
    }

    /// Returns the number of times.
    pub(crate) fn count(&self) -> usize {
        self.times.len()
    }

    /// Returns the number of times within a limit.
    pub(crate) fn within(&self, limit: Duration) -> usize {
        self.times.iter().filter(|time| **time <= limit).count()
    }

    /// Returns a percentile in milliseconds: the time that this part (0 to 1) did not exceed.
    pub(crate) fn percentile_ms(&self, part: f64) -> f64 {
        self.sorted().percentile(part).as_secs_f64() * 1000.0
    }

    fn sorted(&self) -> Self {
        let mut times = self.times.clone();
        times.sort_unstable();
        Self { times }
    }

    /// Returns a percentile of sorted times.
    fn percentile(&self, part: f64) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "a rank")]
        let rank = (self.times.len() as f64 * part).ceil() as usize;
        self.times.get(rank.clamp(1, self.times.len().max(1)) - 1).copied().unwrap_or_default()
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorted = self.sorted();
        let ms = |part: f64| sorted.percentile(part).as_secs_f64() * 1000.0;
        write!(
            f,
            "median {:8.2}   p95 {:8.2}   p99 {:8.2}   most {:8.2} ms   ({} times)",
            ms(0.5),
            ms(0.95),
            ms(0.99),
            ms(1.0),
            sorted.times.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_among_those_that_count() {
        let mut times = Latencies::default();
        (1..=100).for_each(|ms| times.add(Duration::from_millis(ms)));
        assert_eq!(times.percentile(0.5), Duration::from_millis(50));
        assert_eq!(times.percentile(0.99), Duration::from_millis(99));
        assert_eq!(times.percentile(1.0), Duration::from_millis(100));
        assert_eq!(Latencies::default().percentile(0.5), Duration::ZERO);
        times.add(Duration::from_millis(1));
        assert!((times.percentile_ms(0.01) - 1.0).abs() < 1e-9);
        assert_eq!((times.count(), times.within(Duration::from_millis(2))), (101, 3));
    }
}
