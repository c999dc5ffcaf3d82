//! The project that all listings show: three dialogs, a subagent, names and messages in several
//! scripts, long paths, and changes in every state.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Ran, World, ran};

/// Two conversations of Claude Code and one of Codex; ids as these agents make them.
pub(super) const CHECKOUT: &str = "205e7628-cff4-45ff-a1c2-b74cc724cc0a";
const PRICES: &str = "0199f3aa-77aa-7bbb-8ccc-0123456789ab";
const CLEANUP: &str = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

const TEST: &str =
    "src/components/checkout/pages/__tests__/checkout_page_renders_the_total_price.test.tsx";
const PAGE: &str = "src/components/checkout/pages/checkout_page.tsx";
pub(super) const PRICE_NOTES: &str = "文档/价格/价格表_🍵_说明.md";

/// How far the clock is ahead when a listing is shown: all that was told of the story is as old.
const LATER: &str = "+3d";

pub(super) struct Story {
    world: World,
}

impl Story {
    /// Plays the story in a world of its own.
    pub(super) fn new() -> Self {
        let story = Self { world: World::new() };
        story.files();
        story.ok(&["init"]);
        story.checkout();
        story.prices();
        story.cleanup();
        story.decisions();
        story
    }

    /// A project with rules, a file that is too large to be kept, and both agents' folders.
    fn files(&self) {
        let world = &self.world;
        let home = world.outer();
        for folder in [".claude", ".codex", "retake-home"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        let own = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(home.join("retake-home"), own).unwrap();
        let settings = "[limits]\nmax_file_bytes = 65536\n";
        std::fs::write(home.join("retake-home/config.toml"), settings).unwrap();
        world.write("README.md", "# Shop\n\nA shop.\n");
        world.write("prices.txt", "bread 3\nmilk 2\n");
        world.write(PAGE, "export const total = 1;\n");
        world.write(".gitignore", "*.log\nnode_modules/\n");
        world.write("debug.log", "x\n");
        world.write("node_modules/left-pad/index.js", "x\n");
        world.write("assets/video/introduction_to_the_shop.mp4", vec![7; 70_000]);
        world.write("src/old_cart.ts", "export const cart = [];\n");
        // So much that the record has some MiB, however much of it is in SQLite's log.
        for number in 0..40_u64 {
            world.write(&format!("assets/photos/{number:02}.jpg"), noise(number));
        }
    }

    /// Claude Code works in three turns, with a subagent in the first.
    fn checkout(&self) {
        let claude = Agent { story: self, dialog: CHECKOUT, kind: "claude-code", subagent: None };
        claude.asks(
            "Add a checkout component with tests and documentation for every public function of it",
        );
        claude.reads("r1", "README.md");
        claude.writes("k1", TEST, "test('total', () => {});\n");
        claude.writes("k2", PAGE, "export const total = 2;\nexport const tax = 0.2;\n");
        let reviewer = Agent { subagent: Some("reviewer"), ..claude };
        reviewer.runs("k3", "mkdir -p docs; echo 'How to pay' > docs/checkout.md");
        claude.answers("The checkout page is there, with a test and a page of documentation.");
        claude.asks("Now update the README");
        claude.runs("k4", "echo 'See docs/checkout.md' >> README.md");
        claude.asks("Import the catalogue of 2024 🛒");
        claude.runs("k5", "seq 1 1234 > catalogue_2024.csv");
        claude.ends_turn();
    }

    /// Codex works in another script; the person edits what it wrote.
    fn prices(&self) {
        let codex = Agent { story: self, dialog: PRICES, kind: "codex", subagent: None };
        codex.asks("价格表里加上茶 🍵 和咖啡 ☕，然后更新测试，最后把说明写进文档里，谢谢");
        codex.runs("p1", "echo tea 4 >> prices.txt; echo coffee 5 >> prices.txt");
        codex.runs("p2", &format!("mkdir -p 文档/价格; echo 茶 > {PRICE_NOTES}"));
        codex.ends_turn();
        self.world.write("prices.txt", "bread 3.50\nmilk 2\ntea 4\ncoffee 5\n");
        self.world.write("README.md", "# Our shop\n\nA shop.\nSee docs/checkout.md\n");
        self.ok(&["status"]);
    }

    /// A third dialog at the same time as the second one: a change that either can have made.
    fn cleanup(&self) {
        let claude = Agent { story: self, dialog: CLEANUP, kind: "claude-code", subagent: None };
        let codex = Agent { story: self, dialog: PRICES, kind: "codex", subagent: None };
        claude.asks("Remove the old cart, nothing imports it");
        claude.runs("d1", "rm src/old_cart.ts");
        codex.asks("整理");
        claude.begins("d2", "Bash", &json!({ "command": "./tidy" }));
        codex.begins("p3", "shell", &json!({ "command": "./tidy" }));
        self.world.write("notes/changelog_for_the_shop.md", "- tidy\n");
        claude.ends("d2", &json!([]));
        codex.ends("p3", &json!([]));
        codex.ends_turn();
        claude.ends_turn();
    }

    /// The person decides on some of it, takes some of it back, and keeps a state.
    fn decisions(&self) {
        self.ok(&["checkpoint", "-m", "before the release 🚀 of the shop"]);
        self.ok(&["accept", &self.world.change_of(PAGE)]);
        self.ok(&["reject", &self.world.change_of("docs/checkout.md"), "--yes"]);
        let claude = Agent { story: self, dialog: CHECKOUT, kind: "claude-code", subagent: None };
        claude.asks("Make the checkout page dark");
        claude.writes("k6", "src/components/checkout/style.css", "body { background: black }\n");
        claude.ends_turn();
        self.ok(&["undo", "--yes"]);
    }

    /// The person reviews: hunks are kept, rejected and queued, lines come again, comments are sent
    /// and answered.
    pub(super) fn reviewed(&self) {
        let claude = Agent { story: self, dialog: CHECKOUT, kind: "claude-code", subagent: None };
        claude.asks("Sort the prices, and say where they come from");
        let prices = "# prices in euros, from the list of the wholesaler 🛒\nbread 3.50\ncoffee 5\nmilk 2\ntea 4\n";
        claude.writes("k7", "prices.txt", prices);
        claude.writes("k8", "src/logo.svg", "<svg/>\n");
        claude.ends_turn();
        let first = self.hunk("prices.txt", 0);
        self.ok(&[
            "reject",
            &first,
            "--reason",
            "The source is in the contract, not in the file; keep it out",
        ]);
        self.ok(&["accept", &self.hunk("src/logo.svg", 0)]);
        self.ok(&[
            "comment",
            "add",
            "src/logo.svg:1",
            "Where is the picture? This draws nothing at all, as far as I can see",
            "--question",
        ]);
        self.ok(&["comment", "add", "README.md", "Name the shop"]);
        self.ok(&["comment", "send"]);
        self.ok(&[
            "comment",
            "answer",
            "1",
            "It comes with the next step, once the colours are decided on",
        ]);
        self.ok(&["comment", "add", "-", "Add tests for all of this"]);
        claude.asks("And now the header of the prices");
        let text = self.world.read("prices.txt");
        claude.writes(
            "k9",
            "prices.txt",
            &format!("# prices in euros, from the list of the wholesaler 🛒\n{text}"),
        );
        self.ok(&[
            "reject",
            &self.hunk("catalogue_2024.csv", 0),
            "--wait",
            "--reason",
            "Too large for the repository",
        ]);
    }

    /// The id of a hunk of a file.
    fn hunk(&self, path: &str, number: usize) -> String {
        let document = self.world.run(&["review", "--json", path]).json();
        document["contents"][0]["hunks"][number]["id"].as_str().unwrap().to_owned()
    }

    /// Retake with the person's home around the project, so that paths begin with `~`.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.env("HOME", self.world.outer()).env("RETAKE_DATE", "relative");
        command
    }

    fn ok(&self, arguments: &[&str]) {
        let done = ran(self.command(arguments).stdin(Stdio::null()).output().unwrap());
        assert_eq!(done.code, 0, "{arguments:?}: {} {}", done.text(), done.stderr);
    }

    /// Returns what a person sees days later in a terminal of this width.
    pub(super) fn shown(&self, arguments: &[&str], width: usize) -> String {
        let inner = self.command(arguments);
        let mut command = Command::new("faketime");
        command.args(["-f", LATER]).arg(inner.get_program()).args(inner.get_args()).env_clear();
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap());
        }
        command.env("COLUMNS", width.to_string()).current_dir(self.world.root());
        let shown = ran(command.stdin(Stdio::null()).output().unwrap());
        assert!(matches!(shown.code, 0 | 3), "{arguments:?}: {} {}", shown.text(), shown.stderr);
        self.without_chance(&(shown.text() + &shown.stderr))
    }

    /// The change that the newest line of a file comes from.
    pub(super) fn change_of(&self, path: &str) -> String {
        self.world.change_of(path)
    }

    /// The id of the checkpoint with this name.
    pub(super) fn checkpoint(&self, name: &str) -> String {
        let checkpoints = self.checkpoints();
        let mut found = checkpoints.iter().filter(|one| one["message"] == name);
        found.next().unwrap()["id"].as_str().unwrap().to_owned()
    }

    fn checkpoints(&self) -> Vec<Value> {
        let list = self.world.run(&["checkpoints", "--json", "--no-look"]).json();
        list["checkpoints"].as_array().unwrap().clone()
    }

    /// Replaces what differs from run to run by text that is as wide.
    fn without_chance(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (number, checkpoint) in self.checkpoints().iter().rev().enumerate() {
            let id = &checkpoint["id"].as_str().unwrap()[..8];
            text = text.replace(id, &format!("cafe{number:04}"));
        }
        let project = self.world.store();
        let project = project.file_name().unwrap().to_str().unwrap();
        text = text.replace(project, &"0123456789abcdef".repeat(4)[..project.len()]);
        without_numbers(&without_record_sizes(&without_free_space(&text)))
    }
}

/// Bytes that cannot be compressed, by xorshift.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed + 0x9e37_79b9_7f4a_7c15;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).take(60_000 / 8).flatten().collect()
}

/// Replaces the space that is free on the disk.
fn without_free_space(text: &str) -> String {
    let Some((before, after)) = text.split_once(" free,") else { return text.to_owned() };
    let words = before.rsplitn(3, ' ').last().unwrap_or_default();
    format!("{words} 99.99 GiB free,{after}")
}

/// Replaces the size of the records without their contents, which is about one MiB.
fn without_record_sizes(text: &str) -> String {
    let Some((before, after)) = text.split_once(", records ") else { return text.to_owned() };
    let (_, rest) = after.split_once('.').and_then(|(_, rest)| rest.split_once('.')).unwrap();
    format!("{before}, records 99.99 KiB.{rest}")
}

/// Sizes depend on the file system, and times on the clock: the digits of `136.81 KiB` and of
/// `2026-02-16 10:00:00` become nines.
fn without_numbers(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    for unit in [" KiB", " MiB", " GiB"] {
        for (end, _) in text.match_indices(unit) {
            let start =
                text[..end].bytes().rposition(|byte| !is_number(byte)).map_or(0, |at| at + 1);
            replace_digits(&mut bytes[start..end]);
        }
    }
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    for (start, time) in shape.match_indices("0000-00-00 00:00:00") {
        replace_digits(&mut bytes[start..start + time.len()]);
    }
    String::from_utf8(bytes).unwrap()
}

fn replace_digits(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'9');
}

/// Someone who works in a dialog.
#[derive(Clone, Copy)]
struct Agent<'a> {
    story: &'a Story,
    dialog: &'a str,
    kind: &'a str,
    /// None for the main agent.
    subagent: Option<&'a str>,
}

impl Agent<'_> {
    fn tells(&self, event: &str, fields: &Value) {
        let mut whole = json!({ "event": event, "dialog": self.dialog, "kind": self.kind });
        if let Some(agent) = self.subagent {
            whole["agent"] = json!(agent);
        }
        whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let done: Ran = self.story.world.feed(whole.to_string());
        assert_eq!(done.code, 0, "{whole}: {} {}", done.text(), done.stderr);
    }

    fn asks(&self, text: &str) {
        self.tells("user_message", &json!({ "text": text }));
    }

    fn answers(&self, text: &str) {
        self.tells("assistant_message", &json!({ "text": text }));
    }

    fn begins(&self, call: &str, tool: &str, input: &Value) {
        self.tells("tool_begin", &json!({ "call": call, "tool": tool, "input": input }));
    }

    fn ends(&self, call: &str, reads: &Value) {
        self.tells("tool_end", &json!({ "call": call, "ok": true, "reads": reads }));
    }

    fn ends_turn(&self) {
        self.tells("turn_end", &json!({}));
    }

    fn reads(&self, call: &str, path: &str) {
        self.begins(call, "Read", &json!({ "file_path": path }));
        self.ends(call, &json!([{ "path": path }]));
    }

    fn writes(&self, call: &str, path: &str, content: &str) {
        self.begins(call, "Write", &json!({ "file_path": path, "content": content }));
        self.story.world.write(path, content);
        self.ends(call, &json!([]));
    }

    fn runs(&self, call: &str, script: &str) {
        self.begins(call, "Bash", &json!({ "command": script }));
        let mut shell = Command::new("sh");
        let status = shell.args(["-c", script]).current_dir(self.story.world.root()).status();
        assert!(status.unwrap().success(), "{script}");
        self.ends(call, &json!([]));
    }
}
