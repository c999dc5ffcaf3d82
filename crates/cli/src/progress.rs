//! A progress bar on standard error, for long work.
//!
//! It appears only on a terminal and only after a while, so quick commands stay quiet.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::stderr_is_terminal;

/// Delay before the bar appears.
const SHOW_DELAY: Duration = Duration::from_millis(300);

/// A progress bar that appears after a delay.
pub(crate) struct DelayedProgressBar {
    drawn: ProgressBar,
    started: Instant,
    shown: bool,
}

impl DelayedProgressBar {
    /// A bar for this work; `what` is a word of our own.
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        Self { drawn: bar, started: Instant::now(), shown: false }
    }

    /// Sets the progress.
    pub(crate) fn set(&mut self, done: u64, all: u64) {
        if !self.shown && stderr_is_terminal() && self.started.elapsed() > SHOW_DELAY {
            self.drawn.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.drawn.set_length(all);
        self.drawn.set_position(done);
    }
}

impl Drop for DelayedProgressBar {
    fn drop(&mut self) {
        self.drawn.finish_and_clear();
    }
}
