//! The pace of the demo: the reader's, its own, or none where no terminal shows it.
//!
//! Invariant: a signal that would end the process is reported at the next pause instead, so that
//! the throw-away project is removed first.

use std::io::{self, IsTerminal as _, Read as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::output::{Output, TextStyle};

/// Pause after each screen where the demo goes on by itself: some 40 seconds in all.
const PLAY_PAUSE: Duration = Duration::from_millis(6500);
/// Asks for the next screen; erased once it is answered.
const GO_ON_PROMPT: &str = "  Enter to go on, q to quit ";
/// Clears the line of the cursor.
const ERASE_LINE: &str = "\r\x1b[2K";
/// The key Ctrl-D, which a terminal that gives single keys does not take as the end of input.
const CTRL_D: u8 = 4;
/// What Linux makes of a Ctrl-D that was typed before the terminal gave single keys.
const EARLY_CTRL_D: u8 = 0;

/// Answer to a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PauseAnswer {
    /// The next screen.
    GoOn,
    /// No further screen.
    Quit,
    /// This signal ends the process.
    Signal(i32),
}

/// Who decides when the next screen comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Reader,
    Play,
    Straight,
}

/// Pauses between the screens of the demo.
pub(super) struct DemoPacing {
    pace: Pace,
    out: Output,
    sender: Sender<PauseAnswer>,
    answers: Receiver<PauseAnswer>,
}

impl DemoPacing {
    /// Chooses the pace: where output or input is no terminal, it is shown straight through.
    pub(super) fn new(out: Output, play: bool) -> io::Result<Self> {
        let pace = match (out.terminal, play) {
            (true, true) => Pace::Play,
            (true, false) if io::stdin().is_terminal() => Pace::Reader,
            _ => Pace::Straight,
        };
        let (sender, answers) = channel();
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
        let to_pause = sender.clone();
        thread::spawn(move || {
            // Fails once the demo is over.
            for signal in &mut signals {
                let _ = to_pause.send(PauseAnswer::Signal(signal));
            }
        });
        Ok(Self { pace, out, sender, answers })
    }

    /// Waits as the pace says.
    pub(super) fn pause(&self) -> io::Result<PauseAnswer> {
        let wait = match self.pace {
            Pace::Reader => return self.ask_reader(),
            Pace::Play => PLAY_PAUSE,
            Pace::Straight => Duration::ZERO,
        };
        match self.answers.recv_timeout(wait) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Ok(PauseAnswer::GoOn)
            }
        }
    }

    fn ask_reader(&self) -> io::Result<PauseAnswer> {
        self.out.text(&self.out.paint(GO_ON_PROMPT, TextStyle::Dim))?;
        let keys = KeyInput::begin();
        let sender = self.sender.clone();
        thread::spawn(move || sender.send(read_key()));
        let answer = self.answers.recv().unwrap_or(PauseAnswer::Quit);
        drop(keys);
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        self.out.text(if is_dumb { "\n" } else { ERASE_LINE })?;
        Ok(answer)
    }
}

/// Reads keys until one of them is an answer.
fn read_key() -> PauseAnswer {
    let mut key = [0];
    loop {
        match io::stdin().lock().read(&mut key) {
            Ok(1) if matches!(key[0], b'\n' | b'\r' | b' ') => return PauseAnswer::GoOn,
            Ok(1) if !matches!(key[0], b'q' | b'Q' | CTRL_D | EARLY_CTRL_D) => {}
            // A key that quits, the end of input, or a terminal that is gone.
            _ => return PauseAnswer::Quit,
        }
    }
}

/// Has the terminal give single keys, without showing them, for as long as this lives. Signals of
/// the keyboard work as usual. Without it the demo still works by lines.
struct KeyInput {
    before: Option<Termios>,
}

impl KeyInput {
    fn begin() -> Self {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut keys = before.clone();
            keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &keys);
        }
        Self { before }
    }
}

impl Drop for KeyInput {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}
