//! The only access to standard output and standard error.
//!
//! Everything for people is escaped before it comes here (see [`mod@crate::escape`]);
//! colour is added only where a terminal shows it (`NO_COLOR` and `CLICOLOR` are
//! respected) or where `--color always` asks for it. A closed pipe ends the command quietly.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use crate::escape::{escape_json, escape_text};

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
}

impl Output {
    /// Detects terminal and colour from the environment.
    pub(crate) fn detect() -> Self {
        let stdout = io::stdout();
        let colour = AutoStream::choice(&stdout) != ColorChoice::Never;
        Self { terminal: stdout.is_terminal(), colour }
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
            && show_in_pager(bytes).is_some()
        {
            return Ok(());
        }
        self.bytes(bytes)
    }
}

/// Shows bytes in the person's pager; `None` if there is none.
fn show_in_pager(bytes: &[u8]) -> Option<()> {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pager = pager.unwrap_or_else(|| "less -FRX".to_owned());
    if pager == "cat" {
        return None;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped()).env("LESSCHARSET", "utf-8");
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn().ok()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A person who leaves the pager early closes the pipe: that is no error.
        let _ = stdin.write_all(bytes);
    }
    let status = child.wait().ok()?;
    // 127 is the shell's exit code for a program that does not exist.
    (status.code() != Some(127)).then_some(())
}

/// Returns true if standard error is a terminal, for progress and hints.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns true if a person can be asked: input and standard error are terminals.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on standard error; anything but a clear yes is a no. `text` is safe to show.
pub(crate) fn ask_yes_no(text: &str) -> io::Result<bool> {
    Ok(matches!(ask_text(text)?.to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Asks on standard error for an answer in words. `text` is safe to show.
pub(crate) fn ask_text(text: &str) -> io::Result<String> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{text}")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Prints a message on standard error; `text` is escaped here. A closed stream is no error.
pub(crate) fn print_message(label: &str, style: TextStyle, text: &str) {
    let mut stderr = io::stderr().lock();
    let colour = AutoStream::choice(&stderr) != ColorChoice::Never;
    let label = style.paint(label, colour);
    let _ = writeln!(stderr, "{label}: {}", escape_text(text));
}

/// Prints JSON on standard error, where standard output belongs to the program that is run.
pub(crate) fn print_json_message(document: &serde_json::Value) {
    let _ = writeln!(io::stderr().lock(), "{}", escape_json(&document.to_string()));
}

/// Prints a warning on standard error.
pub(crate) fn warn(text: &str) {
    print_message("warning", TextStyle::Warn, text);
}
