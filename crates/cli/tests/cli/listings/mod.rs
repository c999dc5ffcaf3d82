//! Every listing at three widths, as a person sees it; `UPDATE_EXPECT=1` writes the snapshots again.

mod story;

use expect_test::expect_file;
use retake_testkit::machine::{MachineRequirement, has_all};
use unicode_width::UnicodeWidthStr as _;

use self::story::{CHECKOUT, PRICE_NOTES, Story};

const WIDTHS: [usize; 3] = [80, 120, 200];

/// A listing: the name of its snapshots, and the command.
struct Listing {
    name: &'static str,
    words: Vec<String>,
}

impl Listing {
    fn new(name: &'static str, words: &str) -> Self {
        let words = words.split_whitespace().map(str::to_owned).collect();
        Self { name, words }
    }
}

/// Shows the listings at each width, and compares them with what was stored.
fn check(story: &Story, listings: &[Listing]) {
    let mut ugly = Vec::new();
    for listing in listings {
        let words: Vec<_> = listing.words.iter().map(String::as_str).collect();
        for width in WIDTHS {
            let text = story.shown(&words, width);
            let is_ugly = |line: &&str| line.width() > width || line.ends_with(char::is_whitespace);
            ugly.extend(text.lines().filter(is_ugly).map(|line| format!("{words:?}: {line}|")));
            expect_file![format!("snapshots/{}.{width}.txt", listing.name)].assert_eq(&text);
        }
    }
    assert!(ugly.is_empty(), "too wide, or blanks at the end:\n{}", ugly.join("\n"));
}

fn story() -> Option<Story> {
    has_all(&[MachineRequirement::Program("faketime")]).then(Story::new)
}

#[test]
fn what_was_done_is_listed() {
    let Some(story) = story() else { return };
    let page = "src/components/checkout/pages/checkout_page.tsx";
    let show = format!("show {} --no-look", story.change_of(PRICE_NOTES));
    check(
        &story,
        &[
            Listing::new("alone", "--no-look"),
            Listing::new("status", "status --no-look"),
            Listing::new("status-short", "status --short"),
            Listing::new("status-ignored", "status --ignored"),
            Listing::new("log", "log --no-look"),
            Listing::new("log-files", "log --files --no-look"),
            Listing::new("log-all", "log --all --no-look"),
            Listing::new("log-path", "log src --no-look"),
            Listing::new("diff-stat", "diff --stat --no-look"),
            Listing::new("show", &show),
            Listing::new("blame", &format!("blame {page} --no-look")),
            Listing::new("blame-prices", "blame prices.txt --no-look"),
        ],
    );
}

#[test]
fn dialogs_and_checkpoints_are_listed() {
    let Some(story) = story() else { return };
    check(
        &story,
        &[
            Listing::new("dialogs", "dialogs"),
            Listing::new("dialogs-turns", "dialogs --turns claude-1"),
            Listing::new("dialogs-calls", "dialogs --calls claude-1"),
            Listing::new("checkpoints", "checkpoints"),
            Listing::new("ops", "ops"),
            Listing::new("session", "session --dialog claude-1 --no-look"),
            Listing::new("session-all", "session --all --dialog claude-1 --no-look"),
            Listing::new("context", "context --dialog claude-1 --no-look"),
            Listing::new("context-timeline", "context --timeline --dialog claude-1 --no-look"),
            Listing::new("history", &format!("history --dialog {CHECKOUT}")),
        ],
    );
}

#[test]
fn plans_are_listed() {
    let Some(story) = story() else { return };
    let reject = format!("reject {} --dry-run", story.change_of("catalogue_2024.csv"));
    let kept = story.checkpoint("before the release 🚀 of the shop");
    check(
        &story,
        &[
            Listing::new("undo-list", "undo --list"),
            Listing::new("undo-dry-run", "undo --dry-run"),
            Listing::new("undo-2-dry-run", "undo 2 --dry-run"),
            Listing::new("redo-dry-run", "redo --dry-run"),
            Listing::new("reject-dry-run", &reject),
            Listing::new("reset-dry-run", "reset --dialog claude-1 --dry-run"),
            Listing::new("restore-dry-run", &format!("restore {} --dry-run", &kept[..8])),
            Listing::new("rollback-dry-run", "rollback --after 2026-02-16T10:00:00Z --dry-run"),
        ],
    );
}

#[test]
fn reviews_are_listed() {
    let Some(story) = story() else { return };
    story.reviewed();
    check(
        &story,
        &[
            Listing::new("review", "review --no-look"),
            Listing::new("review-last-turn", "review last-turn --no-look"),
            Listing::new("review-everything", "review everything --no-look"),
            Listing::new("review-lines", "review prices.txt README.md --no-look"),
            Listing::new("review-queue", "review --queue --no-look"),
            Listing::new("comment", "comment --no-look"),
        ],
    );
}

#[test]
fn upkeep_is_listed() {
    let Some(story) = story() else { return };
    check(
        &story,
        &[
            Listing::new("projects", "projects"),
            Listing::new("config", "config"),
            Listing::new("gc-dry-run", "gc --dry-run"),
            Listing::new("setup-status", "setup --status"),
            Listing::new("init", "init"),
            Listing::new("recover", "recover"),
            Listing::new("doctor", "doctor"),
            Listing::new("daemon-status", "daemon status"),
            Listing::new("purge-dry-run", "purge prices.txt --dry-run"),
        ],
    );
}
