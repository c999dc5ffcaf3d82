//! The names that fixtures are made of and programs speak of: few, so that they often meet.

/// Files that no rule hides.
pub(crate) const SEEN: &[&str] = &[
    "a.txt",
    "b.txt",
    "notes.md",
    "names",
    "src/x.txt",
    "src/deep/y.txt",
    "src/main.rs",
    "docs/a.txt",
    "my file.txt",
    "-dash.txt",
    "data.bin",
];

/// Files that the fixture's own rules hide.
pub(crate) const HIDDEN: &[&str] = &[
    ".env",
    "a.log",
    "B.log",
    "secret/key",
    "data.local",
    "build/out.bin",
    "src/deep/z.log",
    "src/my notes.local",
];

/// Files that only the list of what is left out by default hides.
pub(crate) const LEFT_OUT: &[&str] = &["dist/app.js", "logs/l.txt", "x.o", "docs/out/page.html"];

/// What a program may come to write, or miss.
pub(crate) const NEW: &[&str] = &[
    "new.txt",
    "new.log",
    "c.txt",
    "fresh/new.txt",
    "src/new.txt",
    "src/new.log",
    "other.local",
    "moved",
    "build/new.bin",
    "a.txt.bak",
    "missing/none.txt",
];

/// Folders that are there, and some that are not.
pub(crate) const FOLDERS: &[&str] = &[
    "src", "src", "src/deep", "docs", "secret", "build", "dist", "logs", "missing", "gone",
    "sub dir", "dirlink",
];

/// What a shell makes names of.
pub(crate) const GLOBS: &[&str] = &[
    "*",
    "*.txt",
    "*.log",
    "?.txt",
    "[ab].txt",
    "[a-z].log",
    "[!a]*",
    "[^b]*.log",
    "[[:alpha:]]*",
    "[[:upper:]]*",
    "*.l*",
    ".e*",
    "src/*",
    "*/*",
    "s*/*.txt",
    "src/*/*",
    "secret/*",
    "*o*",
];

/// What `find` compares names with; none takes a file of `.git`.
pub(crate) const PATTERNS: &[&str] =
    &["'*.txt'", "'*.log'", "\"*.l*\"", "'[a-z].log'", "a.txt", "'?.o'", "key", "'.e*'", "\\*.md"];

/// What is written.
pub(crate) const TEXTS: &[&str] = &["agent", "'by the agent'", "\"$PWD\"", "one", "$(date +%Y)"];

/// The three lines of a text file in the fixture.
pub(crate) fn lines(name: &str) -> String {
    format!("{name} one\n{name} two\n{name} three\n")
}
