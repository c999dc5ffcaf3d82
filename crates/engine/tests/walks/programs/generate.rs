//! Random shell programs: a function of the generator's numbers alone.
//!
//! A program is made from templates, whose holes are filled with names and with other templates.
//! Invariant: what comes out keeps to the project, which [`is_confined`] checks once more before
//! anything runs.

use fastrand::Rng;

use super::templates::{
    COMPOUND, DESTRUCTIVE, DESTRUCTIVE_BASH, GIT, LITERAL, OPTIONS_BASH, READERS, SIMPLE,
    SIMPLE_BASH,
};
use super::words::{FOLDERS, GLOBS, HIDDEN, LEFT_OUT, NEW, PATTERNS, SEEN, TEXTS, lines};

/// So deep do statements hold statements.
const DEPTH: u8 = 3;

/// Who runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shell {
    Bash,
    Sh,
    Zsh,
}

impl Shell {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::Zsh => "zsh",
        }
    }
}

/// What a program was made as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It writes nothing.
    Reader,
    /// It says literally what it writes.
    Literal,
    /// One destructive command with literal targets or patterns: the shield has no excuse.
    Destructive,
    /// Anything.
    Free,
}

/// A shell program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) shell: Shell,
    pub(crate) kind: Kind,
    /// What stands on lines of its own; nothing is amiss if somebody looks between two of them.
    pub(crate) statements: Vec<String>,
}

impl Program {
    pub(crate) fn text(&self) -> String {
        self.statements.join("\n")
    }

    /// Whether it says that something may go on after its end.
    pub(crate) fn says_background(&self) -> bool {
        self.text().contains("& wait")
    }
}

/// Makes a program; `git` is whether the project is a repository.
pub(crate) fn program(rng: &mut Rng, shells: &[Shell], git: bool) -> Program {
    // What a machine does not have is bash's there, and all other seeds stay what they are.
    let shell = match rng.u8(0..20) {
        0..15 => Shell::Bash,
        15..19 => Shell::Sh,
        _ => Shell::Zsh,
    };
    let shell = if shells.contains(&shell) { shell } else { Shell::Bash };
    let mut generator = Generator { rng, shell, git, folder: "src", depth: DEPTH };
    let (kind, statements) = match generator.rng.u8(0..20) {
        0..2 => (Kind::Reader, vec![generator.one_of(&[READERS])]),
        2..6 => (Kind::Literal, vec![generator.one_of(&[LITERAL])]),
        6..10 => (Kind::Destructive, vec![generator.destructive()]),
        _ => (Kind::Free, generator.free()),
    };
    let program = Program { shell, kind, statements };
    assert!(is_confined(&program.text()), "not confined: {}", program.text());
    program
}

struct Generator<'r> {
    rng: &'r mut Rng,
    shell: Shell,
    git: bool,
    /// The folder that was named last.
    folder: &'static str,
    depth: u8,
}

impl Generator<'_> {
    fn destructive(&mut self) -> String {
        if self.shell == Shell::Sh {
            self.one_of(&[DESTRUCTIVE])
        } else {
            self.one_of(&[DESTRUCTIVE, DESTRUCTIVE_BASH])
        }
    }

    fn free(&mut self) -> Vec<String> {
        let mut made: Vec<String> = Vec::new();
        for _ in 0..self.rng.u8(1..=4) {
            let next = self.statement();
            let joint = match self.rng.u8(0..10) {
                0 => "; ",
                1 => " && ",
                2 => " || ",
                _ => "",
            };
            match made.last_mut().filter(|last| !joint.is_empty() && is_one_line(last)) {
                Some(last) if is_one_line(&next) => *last = format!("{last}{joint}{next}"),
                _ => made.push(next),
            }
        }
        made
    }

    fn statement(&mut self) -> String {
        match self.rng.u8(0..12) {
            0..5 if self.depth > 0 => {
                self.depth -= 1;
                let made = self.one_of(&[COMPOUND]);
                self.depth += 1;
                made
            }
            5 if self.shell == Shell::Bash => self.one_of(&[OPTIONS_BASH]),
            6 => self.one_of(&[LITERAL]),
            7 => self.one_of(&[READERS]),
            _ => self.command(),
        }
    }

    /// On one line.
    fn command(&mut self) -> String {
        loop {
            let made = match self.rng.u8(0..10) {
                0..3 if self.git => self.one_of(&[GIT]),
                3..5 if self.shell == Shell::Bash => self.one_of(&[SIMPLE_BASH]),
                5 => self.one_of(&[READERS]),
                _ => self.one_of(&[SIMPLE]),
            };
            if is_one_line(&made) {
                return made;
            }
        }
    }

    fn list(&mut self) -> String {
        let many = self.rng.u8(1..=2);
        (0..many).map(|_| self.statement()).collect::<Vec<_>>().join("\n")
    }

    /// A template of these tables, filled in.
    fn one_of(&mut self, tables: &[&[&str]]) -> String {
        let all: usize = tables.iter().map(|table| table.len()).sum();
        let mut at = self.rng.usize(..all);
        for table in tables {
            match table.get(at) {
                Some(template) => return self.fill(template),
                None => at -= table.len(),
            }
        }
        unreachable!("the place is in one of the tables")
    }

    fn fill(&mut self, template: &str) -> String {
        let mut text = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('@') {
            text.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let end = after.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(after.len());
            match self.hole(&after[..end]) {
                Some(filled) => text.push_str(&filled),
                None => text.push_str(&rest[at..=at + end]),
            }
            rest = &after[end..];
        }
        text + rest
    }

    fn hole(&mut self, name: &str) -> Option<String> {
        Some(match name {
            "file" => {
                let name = self.file();
                self.word(name)
            }
            "hidden" => {
                let name = self.choose(&[HIDDEN, HIDDEN, LEFT_OUT]);
                self.word(name)
            }
            "new" => {
                let name = self.choose(&[NEW]);
                self.word(name)
            }
            "base" => self.plain_file().to_owned(),
            "dir" => {
                self.folder = self.choose(&[FOLDERS]);
                self.word(self.folder)
            }
            "folder" => {
                self.folder = self.plain(&[FOLDERS]);
                self.folder.to_owned()
            }
            "in" => self.inside(),
            "glob" => self.choose(&[GLOBS]).to_owned(),
            "pattern" => self.choose(&[PATTERNS]).to_owned(),
            "text" => self.choose(&[TEXTS]).to_owned(),
            "cmd" => self.command(),
            "list" => self.list(),
            "quoted" => {
                let list = self.list();
                format!("'{}'", list.replace('\'', r"'\''"))
            }
            "patch" => self.patch(),
            _ => return None,
        })
    }

    fn choose<'a>(&mut self, tables: &[&[&'a str]]) -> &'a str {
        let names: Vec<&'a str> = tables.concat();
        names[self.rng.usize(..names.len())]
    }

    fn plain<'a>(&mut self, tables: &[&[&'a str]]) -> &'a str {
        loop {
            let name = self.choose(tables);
            if is_plain(name) {
                return name;
            }
        }
    }

    fn file(&mut self) -> &'static str {
        self.choose(&[
            SEEN,
            SEEN,
            HIDDEN,
            HIDDEN,
            LEFT_OUT,
            NEW,
            &["link", "envlink", ".gitignore"],
        ])
    }

    fn plain_file(&mut self) -> &'static str {
        loop {
            let name = self.file();
            if is_plain(name) {
                return name;
            }
        }
    }

    /// A name in the folder that was named last, most often of something that is there.
    fn inside(&mut self) -> String {
        let prefix = format!("{}/", self.folder);
        let all = [SEEN, HIDDEN, LEFT_OUT, NEW].concat();
        let there: Vec<_> = all.iter().filter_map(|name| name.strip_prefix(&prefix)).collect();
        if there.is_empty() || self.rng.u8(0..4) == 0 {
            return self.plain_file().to_owned();
        }
        let name = there[self.rng.usize(..there.len())];
        self.word(name)
    }

    /// A name as one word of the shell, quoted in one of its ways.
    fn word(&mut self, name: &str) -> String {
        match self.rng.u8(0..8) {
            0 => format!("'{name}'"),
            1 => format!("\"{name}\""),
            2 => format!("./{}", name.replace(' ', "\\ ")),
            3 if is_plain(name) => format!("{}\"{}\"", &name[..1], &name[1..]),
            _ => name.replace(' ', "\\ "),
        }
    }

    /// A patch of a file, with the tool that takes it.
    fn patch(&mut self) -> String {
        let name = self.plain(&[&["a.txt", "src/x.txt", "src/deep/y.txt", "b.txt", "a.log"]]);
        let in_src = name.strip_prefix("src/").unwrap_or(name);
        let (tool, shown) = match self.rng.u8(0..8) {
            0 => ("patch -f -p0", name.to_owned()),
            1 => ("patch -f -d src -p0", in_src.to_owned()),
            2 => ("cd src && patch -f -p2", format!("a/src/{in_src}")),
            3 => ("git apply", format!("a/{name}")),
            4 => ("git apply -p2 --directory=src", format!("a/src/{in_src}")),
            5 => ("git apply -p0", name.to_owned()),
            6 => ("patch -f -b -p1", format!("a/{name}")),
            _ => ("patch -f -p1", format!("a/{name}")),
        };
        let hunk = match self.rng.u8(0..3) {
            0 => {
                let gone = lines(name).trim_end().replace('\n', "\n-");
                format!("--- {shown}\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-{gone}\n")
            }
            1 => format!("--- /dev/null\n+++ {shown}.new\n@@ -0,0 +1 @@\n+patched\n"),
            _ => format!(
                "--- {shown}\n+++ {shown}\n@@ -1,3 +1,3 @@\n-{name} one\n+patched\n {name} two\n \
                 {name} three\n"
            ),
        };
        format!("{tool} <<'EOF'\n{hunk}EOF\n")
    }
}

/// Whether a shell takes the name for one word, and no command for an option.
fn is_plain(name: &str) -> bool {
    !name.contains(' ') && !name.starts_with('-')
}

fn is_one_line(text: &str) -> bool {
    !text.contains('\n')
}

/// Whether nothing in the text can lead out of the project.
///
/// The runner sets `P`, `PWD` is always set, and a shell that starts has neither another variable
/// of these programs nor an `OLDPWD`.
pub(crate) fn is_confined(text: &str) -> bool {
    let bytes = text.as_bytes();
    let slashes = (0..bytes.len()).filter(|at| bytes[*at] == b'/');
    let all_inside = slashes.clone().all(|at| {
        let before = &text[..at];
        let begins_word =
            before.is_empty() || before.ends_with(|c: char| " \n\t'\"=<>(|&;:`{}$,".contains(c));
        let variable = before.rfind('$').map(|dollar| &before[dollar + 1..]);
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let behind_variable = variable
            .is_some_and(|name| !name.is_empty() && is_name(name) && !["P", "PWD"].contains(&name));
        let null = text[at..].starts_with("/dev/null");
        (null || !begins_word) && !behind_variable
    });
    let ups = text.matches("..").count();
    let guarded = text.matches("( cd src && ").count() + text.matches("( cd src/deep && ").count();
    let guarded_ups = text.matches("&& cd .. && ").count();
    all_inside && ups == guarded_ups && guarded_ups <= guarded
}
