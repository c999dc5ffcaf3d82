//! The only access to standard output and standard error.
//!
//! Everything for people is escaped before it comes here (see [`mod@crate::escape`]);
//! colour is added only where a terminal shows it (`NO_COLOR` and `CLICOLOR` are
//! respected) or where `--color always` asks for it. A closed pipe ends the command quietly.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;
use signal_hook::consts::SIGINT;

use crate::escape::{escape_json, escape_text};
use crate::layout::wrap_message;

/// Columns assumed of a terminal that does not know its width.
pub(crate) const DEFAULT_WIDTH: usize = 80;

/// Style of a word on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    /// As it is.
    Plain,
    /// Heads of sections.
    Bold,
    /// What matters less.
    Dim,
    /// Added, healthy.
    Good,
    /// Removed, wrong.
    Bad,
    /// Not protected, uncertain.
    Warn,
    /// Ids and places.
    Mark,
}

impl TextStyle {
    /// The text in this style, if there is colour.
    pub(crate) fn paint(self, text: &str, colour: bool) -> String {
        let ansi = self.ansi();
        if colour && !text.is_empty() { format!("{ansi}{text}{ansi:#}") } else { text.to_owned() }
    }

    /// As the terminal has it.
    pub(crate) fn ansi(self) -> anstyle::Style {
        use anstyle::{AnsiColor, Style as Ansi};
        match self {
            Self::Plain => Ansi::new(),
            Self::Bold => Ansi::new().bold(),
            Self::Dim => Ansi::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Warn => AnsiColor::Yellow.on_default(),
            Self::Mark => AnsiColor::Cyan.on_default(),
        }
    }
}

/// Where output goes, and how it may look there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Whether standard output is a terminal.
    pub(crate) terminal: bool,
    /// Whether it shows colour.
    pub(crate) colour: bool,
    /// How many columns it has; none if lines may have any length, as in a pipe.
    pub(crate) width: Option<usize>,
}

impl Output {
    /// Detects terminal and colour from the environment.
    pub(crate) fn detect() -> Self {
        let stdout = io::stdout();
        let colour = AutoStream::choice(&stdout) != ColorChoice::Never;
        let terminal = stdout.is_terminal();
        Self { terminal, colour, width: detect_width(terminal) }
    }

    /// Output that goes into a file, or into other text.
    pub(crate) const PLAIN: Self = Self { terminal: false, colour: false, width: None };

    /// Standard error, where questions are asked.
    pub(crate) fn stderr() -> Self {
        Self {
            terminal: stderr_is_terminal(),
            colour: stderr_colour(),
            width: Some(screen_width()),
        }
    }

    /// The text in a style, if there is colour.
    pub(crate) fn paint(self, text: &str, style: TextStyle) -> String {
        style.paint(text, self.colour)
    }

    /// Writes text for people.
    pub(crate) fn text(self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Writes exact bytes.
    #[expect(clippy::unused_self, reason = "nothing is written without having an Output")]
    pub(crate) fn bytes(self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// Standard output itself, for exact bytes that come in parts.
    #[expect(clippy::unused_self, reason = "nothing is written without having an Output")]
    pub(crate) fn raw(self) -> impl io::Write {
        io::stdout().lock()
    }

    /// Writes a document as indented JSON.
    pub(crate) fn json(self, document: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string_pretty(document).map_err(io::Error::other)?;
        self.text(&(escape_json(&json) + "\n"))
    }

    /// Writes a document as one line of JSON.
    pub(crate) fn json_line(self, document: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(document).map_err(io::Error::other)?;
        self.text(&(escape_json(&json) + "\n"))
    }

    /// Writes text that may be long: through a pager if it is longer than the screen.
    pub(crate) fn paged(self, bytes: &[u8]) -> io::Result<()> {
        let lines = bytes.split(|&byte| byte == b'\n').count();
        let height = terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
        if self.terminal
            && height.is_some_and(|height| lines > height)
            && show_in_pager(bytes, Stdio::inherit()).is_some()
        {
            return Ok(());
        }
        self.bytes(bytes)
    }
}

/// The columns of the terminal. `COLUMNS` says how wide a pipe is to be taken for, and a terminal
/// that does not know its own width.
fn detect_width(terminal: bool) -> Option<usize> {
    let size = terminal_size::terminal_size().filter(|_| terminal);
    let measured = size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0);
    let named = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|width| *width > 0);
    measured.or_else(named).or(terminal.then_some(DEFAULT_WIDTH))
}

/// Shows bytes in the person's pager, which writes to `screen`; `None` if there is none.
fn show_in_pager(bytes: &[u8], screen: Stdio) -> Option<()> {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pager = pager.unwrap_or_else(|| "less -FRX".to_owned());
    if pager == "cat" {
        return None;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped()).stdout(screen).env("LESSCHARSET", "utf-8");
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let interrupts = interrupts_of_pagers();
    interrupts.store(false, Ordering::SeqCst);
    let status = feed_pager(&mut command, bytes);
    interrupts.store(true, Ordering::SeqCst);
    // 127 is the shell's exit code for a program that does not exist.
    status.filter(|status| status.code() != Some(127)).map(drop)
}

/// Whether Ctrl-C ends this process: while a pager runs, it belongs to the pager.
fn interrupts_of_pagers() -> &'static AtomicBool {
    static ENDS_PROCESS: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    ENDS_PROCESS.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(true));
        // Without a handler, Ctrl-C ends both.
        let _ = signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&flag));
        flag
    })
}

/// Runs a pager to its end.
fn feed_pager(command: &mut Command, bytes: &[u8]) -> Option<ExitStatus> {
    let mut child = command.spawn().ok()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A person who leaves the pager early closes the pipe: that is no error.
        let _ = stdin.write_all(bytes);
    }
    child.wait().ok()
}

/// Returns true if standard error is a terminal, for progress and hints.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns true if a person can be asked: input and standard error are terminals.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns true if standard error shows colour.
pub(crate) fn stderr_colour() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// Returns the columns of the terminal at which a person is asked.
pub(crate) fn screen_width() -> usize {
    detect_width(true).unwrap_or(DEFAULT_WIDTH)
}

/// Prints text that belongs to a question on standard error. `text` is safe to show.
pub(crate) fn print_to_person(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Shows bytes on standard error: through a pager if they are longer than the screen.
pub(crate) fn page_on_stderr(bytes: &[u8]) -> io::Result<()> {
    let lines = bytes.split(|&byte| byte == b'\n').count();
    let size = terminal_size::terminal_size_of(io::stderr());
    if size.is_some_and(|(_, height)| lines > usize::from(height.0))
        && show_in_pager(bytes, io::stderr().as_fd().try_clone_to_owned()?.into()).is_some()
    {
        return Ok(());
    }
    io::stderr().lock().write_all(bytes)
}

/// Prints a message on standard error; `text` is escaped here. A closed stream is no error.
pub(crate) fn print_message(label: &str, style: TextStyle, text: &str) {
    let mut stderr = io::stderr().lock();
    let colour = AutoStream::choice(&stderr) != ColorChoice::Never;
    let mut text = escape_text(text);
    if stderr.is_terminal() {
        text = wrap_message(&text, label.len() + ": ".len(), screen_width());
    }
    let label = style.paint(label, colour);
    let _ = writeln!(stderr, "{label}: {text}");
}

/// Prints a hint on standard error, whole: it has commands to copy. `text` is escaped here.
pub(crate) fn print_hint(text: &str) {
    let mut stderr = io::stderr().lock();
    let label = TextStyle::Mark.paint("hint", stderr_colour());
    let _ = writeln!(stderr, "{label}: {}", escape_text(text));
}

/// Prints that the person declined: a decision, and no error. `text` is escaped here.
pub(crate) fn print_cancelled(text: &str) {
    let _ = writeln!(io::stderr().lock(), "Cancelled; {}.", escape_text(text));
}

/// Prints JSON on standard error, where standard output belongs to the program that is run.
pub(crate) fn print_json_message(document: &serde_json::Value) {
    let _ = writeln!(io::stderr().lock(), "{}", escape_json(&document.to_string()));
}

/// Prints a warning on standard error.
pub(crate) fn warn(text: &str) {
    print_message("warning", TextStyle::Warn, text);
}
