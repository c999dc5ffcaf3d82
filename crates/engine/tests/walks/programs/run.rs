//! Really runs a program in the project, and nowhere else.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use retake_testkit::TestProject;

use super::generate::{Program, Shell};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Where the program waits until the file goes away, between two of its statements.
const PAUSE: &str = ": > \"$PAUSE\"; while [ -e \"$PAUSE\" ]; do sleep 0.005; done";

/// The shells of this machine that programs can be run by.
pub(crate) fn shells() -> Vec<Shell> {
    let there = |shell: &Shell| {
        let tried = Command::new(shell.name()).args(["-c", ":"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    [Shell::Bash, Shell::Sh, Shell::Zsh].into_iter().filter(there).collect()
}

/// Runs a program to its end; `false` if it had to be stopped.
///
/// `pause` is after which statement somebody looks, and how.
pub(crate) fn run(
    project: &TestProject,
    program: &Program,
    pause: Option<(usize, &mut dyn FnMut())>,
) -> bool {
    let flag = project.outer().join("pause");
    let Some((after, look)) = pause else {
        let mut child = start(project, program, &program.text(), &flag);
        return wait(&mut child, || false);
    };
    let (head, tail) = program.statements.split_at(after + 1);
    let text = [head, &[PAUSE.to_owned()], tail].concat().join("\n");
    let mut child = start(project, program, &text, &flag);
    // A program that ends early does not pause.
    let mut looked = false;
    let ended = wait(&mut child, || {
        let paused = !looked && flag.exists();
        looked |= paused;
        paused
    });
    if ended || !looked {
        return ended;
    }
    look();
    std::fs::remove_file(&flag).unwrap();
    wait(&mut child, || false)
}

fn start(project: &TestProject, program: &Program, text: &str, flag: &Path) -> Child {
    let root = project.root();
    let mut command = Command::new(program.shell.name());
    if program.shell == Shell::Zsh {
        command.arg("-f");
    }
    command
        .args(["-c", text])
        .current_dir(&root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        // `cd` alone stays in the project, and so does a `$P` that nothing set.
        .env("HOME", &root)
        .env("P", &root)
        .env("PAUSE", flag)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", project.outer())
        .env("GIT_EDITOR", "true");
    for (name, value) in [("NAME", "Test"), ("EMAIL", "test@example.org")] {
        command.env(format!("GIT_AUTHOR_{name}"), value);
        command.env(format!("GIT_COMMITTER_{name}"), value);
    }
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.process_group(0).spawn().unwrap()
}

/// Waits until the child has ended, or `until` says so; `true` if it has ended by itself.
fn wait(child: &mut Child, mut until: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    let mut nap = Duration::from_micros(200);
    loop {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        if until() {
            return false;
        }
        if began.elapsed() > TIMEOUT {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = child.wait();
            return false;
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(4));
    }
}
