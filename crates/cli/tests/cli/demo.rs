//! `retake demo`: the whole story where it is piped, step by step at a terminal.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

use crate::support::World;

/// The headings of the screens, in their order.
const SCREENS: [&str; 7] = [
    "An agent works in your project, and you undo it.",
    "1. You ask the agent: “Greet people warmly, sell tea, and clean up.”",
    "2. The agent runs a command:  echo 'tea 4' >> prices.txt",
    "3. Meanwhile you raise the price of bread, in the same file:",
    "4. The agent “cleans up”:  rm notes.txt .env",
    "5. Who did what is on record, file by file:  retake log --files",
    "6. You want none of the agent's work:  retake undo",
];

const PROMPT: &str = "  Enter to go on, q to quit ";

fn temporary_entries(world: &World) -> usize {
    std::fs::read_dir(world.outer().join("tmp")).unwrap().count()
}

/// Counts the screens that begin in what was shown, from the first on.
fn screens_in(text: &str) -> usize {
    let count = SCREENS.iter().take_while(|screen| text.contains(**screen)).count();
    assert!(SCREENS[count..].iter().all(|screen| !text.contains(screen)), "{text}");
    count
}

#[test]
fn piped_it_is_told_at_once() {
    let world = World::new();
    for words in [&["demo"][..], &["demo", "--play"]] {
        let text = world.ok(words);
        assert_eq!((screens_in(&text), text.contains(PROMPT)), (7, false), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
        // Each screen fits a small terminal; the temporary folder alone may be long.
        for screen in text.split("\n\n") {
            assert!(screen.lines().count() <= 20, "{screen}");
        }
        let is_long = |line: &&str| line.chars().count() > 79 && !line.contains("/tmp/");
        assert_eq!(text.lines().find(is_long), None);
        let last: Vec<_> = text.lines().rev().take(3).collect();
        for (line, command) in last.iter().rev().zip(["setup", "status", "undo"]) {
            assert!(line.starts_with(&format!("   retake {command} ")), "{text}");
        }
        assert_eq!(temporary_entries(&world), 0);
    }
}

#[test]
fn at_a_terminal_each_step_waits() {
    let world = World::new();
    let Some((seen, code)) = world.answered_with_code("demo", "\n\n\n\n\n\n") else { return };
    assert_eq!((code, screens_in(&seen), seen.matches(PROMPT).count()), (0, 7, 6), "{seen}");
    // The prompt is erased when it is answered.
    assert_eq!(seen.matches("\r\x1b[2K").count(), 6, "{seen}");
    assert!(seen.contains("your price stays") && seen.contains("   retake setup "), "{seen}");
    assert_eq!(temporary_entries(&world), 0);
}

#[test]
fn leaving_in_the_middle_leaves_nothing_behind() {
    let world = World::new();
    // Other keys do nothing; the end of input leaves, too.
    for (keys, screens) in [("q", 1), ("\n\nxq", 3), ("\n", 2), ("\n\x04", 2)] {
        let Some((seen, code)) = world.answered_with_code("demo", keys) else { return };
        assert_eq!((code, screens_in(&seen)), (0, screens), "{keys:?}: {seen}");
        assert!(seen.contains("   retake setup "), "{seen}");
        assert_eq!(temporary_entries(&world), 0, "{keys:?}");
    }
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let world = World::new();
    for (words, last_seen) in [("demo", PROMPT), ("demo --play", ".env")] {
        let Some(mut child) = on_a_terminal(&world, words) else { return };
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (mut seen, mut buffer) = (String::new(), [0; 512]);
        while !seen.contains(last_seen) {
            let count = stdout.read(&mut buffer).unwrap();
            assert!(count > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        assert_eq!(temporary_entries(&world), 1);
        stdin.write_all(b"\x03").unwrap();
        stdout.read_to_string(&mut seen).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{seen}");
        // With --play, the machine may be slower than the pause.
        assert!(screens_in(&seen) < SCREENS.len() && !seen.contains("   retake setup "), "{seen}");
        assert_eq!(temporary_entries(&world), 0, "{words}");
    }
}

/// Starts a command at a terminal; none where there is no terminal to try it on.
fn on_a_terminal(world: &World, words: &str) -> Option<Child> {
    let line = format!("{} {words}", env!("CARGO_BIN_EXE_retake"));
    let mut terminal = world.terminal(OsStr::new(&line))?;
    Some(terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let world = World::new();
    let Some(mut child) = on_a_terminal(&world, "demo") else { return };
    while temporary_entries(&world) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended without a project");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // Its terminal goes away, which is a hangup.
    child.kill().unwrap();
    child.wait().unwrap();
    // It would wait for the reader forever.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while temporary_entries(&world) > 0 {
        assert!(std::time::Instant::now() < deadline, "the project is still there");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
