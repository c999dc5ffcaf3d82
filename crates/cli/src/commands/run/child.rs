//! The child process of `retake run`: it gets the terminal and the signals, and sets the exit code.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;

use anyhow::{Context as _, Result};
use retake_engine::model::DialogId;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

use crate::commands::run::RUN_DIALOG_VARIABLE;
use crate::context::Exit;
use crate::output::{TextStyle, print_message};

/// Signals forwarded to the program.
const FORWARDED_SIGNALS: [i32; 8] =
    [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT];

/// Exit codes as shells use them.
const EXIT_CANNOT_EXECUTE: u8 = 126;
const EXIT_NOT_FOUND: u8 = 127;

/// End of a program.
pub(super) enum ChildExit {
    /// It exited with this code.
    Code(u8),
    /// A signal killed it.
    Signal(i32),
}

/// Checks that a program is there and can be run, else says why not and returns the exit code.
pub(super) fn check_program(words: &[OsString]) -> Result<(), u8> {
    let Some(program) = words.first() else { return Ok(()) };
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let places: Vec<PathBuf> = match std::env::var_os("PATH") {
        _ if is_path => vec![PathBuf::from(program)],
        Some(folders) => {
            std::env::split_paths(&folders).map(|folder| folder.join(program)).collect()
        }
        // The system has folders of its own to search then.
        None => return Ok(()),
    };
    if places.iter().any(|place| place.is_file() && access(place, Access::EXEC_OK).is_ok()) {
        return Ok(());
    }
    let is_there = places.iter().any(|place| place.exists());
    let error = if is_there { Errno::ACCESS } else { Errno::NOENT };
    Err(report_not_started(program, &error.into()))
}

/// Runs a program to its end and forwards signals to it.
pub(super) fn run(words: &[OsString], dialog: Option<&DialogId>) -> Result<ChildExit> {
    let (program, arguments) = words.split_first().context("no command was given")?;
    // Before the start: a signal in between must not end us and leave the program alone. What is
    // ignored (under `nohup`, say) stays so, for the program as well.
    let ignored = ignored_signals();
    let handled = FORWARDED_SIGNALS.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0);
    let signals = SignalsInfo::<WithOrigin>::new(handled)?;
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(dialog) = dialog {
        command.env(RUN_DIALOG_VARIABLE, &dialog.0);
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(ChildExit::Code(report_not_started(program, &error))),
    };
    forward_signals(signals, &child);
    let status = child.wait()?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => ChildExit::Code(code as u8),
        (None, signal) => ChildExit::Signal(signal.unwrap_or(SIGTERM)),
    })
}

/// The signals that this process was told to ignore, as far as the system tells.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Forwards signals that a process sent to this one alone. The terminal sends its own (for
/// Ctrl-C and the like) to the whole group, so the program has them already.
fn forward_signals(mut signals: SignalsInfo<WithOrigin>, child: &Child) {
    let child = Pid::from_child(child);
    thread::spawn(move || {
        for origin in &mut signals {
            let sent = origin.process.is_some();
            if let Some(signal) = Signal::from_named_raw(origin.signal).filter(|_| sent) {
                // It may be over by now.
                let _ = kill_process(child, signal);
            }
        }
    });
}

/// Ends this process by a signal, so that a shell sees that.
pub(in crate::commands) fn exit_by_signal(signal: i32) -> Exit {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    // Only if the signal does not end a process by default: as shells tell it.
    Exit::Code(128_u8.saturating_add(signal as u8))
}

/// Says why a program did not start; gives the code for that.
fn report_not_started(program: &OsString, error: &io::Error) -> u8 {
    print_message(
        "error",
        TextStyle::Bad,
        &format!("{} cannot be run: {error}", program.to_string_lossy()),
    );
    print_message(
        "hint",
        TextStyle::Mark,
        "name a program; for a line of a shell: retake run -- sh -c 'LINE'",
    );
    if error.kind() == io::ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_CANNOT_EXECUTE }
}
