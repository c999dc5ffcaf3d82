//! Patches: the `*** Begin Patch` format of Codex, and unified diffs.
//!
//! Both become the same hunks: an old block and a new one, with hints where to look. Parsing is
//! lenient about what surrounds a patch (a heredoc, prose) and never invents lines.

use super::{EditKind, FileEdit};

/// The patch format, which decides about the newline at the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchDialect {
    /// `*** Begin Patch`: a patched file always ends in a newline.
    Codex,
    /// A unified diff: a marker line says when the newline is missing.
    Unified,
}

/// One place where a patch changes a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchHunk {
    /// Its format.
    pub dialect: PatchDialect,
    /// Lines that come somewhere before the block, each after the one before (`@@ fn main`).
    pub context: Vec<String>,
    /// The line (from 1) where the old block starts, in the file before the patch.
    pub line: Option<usize>,
    /// The lines that must be there.
    pub old: Vec<String>,
    /// The lines that take their place.
    pub new: Vec<String>,
    /// The block is the end of the file.
    pub at_end: bool,
    /// The new block ends the file without a newline.
    pub no_newline: bool,
}

impl PatchHunk {
    fn new(dialect: PatchDialect) -> Self {
        Self {
            dialect,
            context: Vec::new(),
            line: None,
            old: Vec::new(),
            new: Vec::new(),
            at_end: false,
            no_newline: false,
        }
    }

    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }

    fn push_context(&mut self, line: &str) {
        self.old.push(line.to_owned());
        self.new.push(line.to_owned());
    }
}

/// The edits of a patch in either format; empty if `text` holds none.
pub fn parse_patch(text: &str) -> Vec<FileEdit> {
    if text.contains("*** Begin Patch") { parse_codex(text) } else { parse_unified(text) }
}

// ---- Codex ---------------------------------------------------------------------------------

fn parse_codex(text: &str) -> Vec<FileEdit> {
    let begin = |line: &&str| line.trim() != "*** Begin Patch";
    let mut edits: Vec<FileEdit> = Vec::new();
    for line in text.lines().skip_while(begin).skip(1) {
        if line.trim() == "*** End Patch" {
            break;
        }
        match codex_header(line) {
            Some(edit) => edits.push(edit),
            None => {
                if let Some(last) = edits.last_mut() {
                    codex_line(&mut last.edit, line);
                }
            }
        }
    }
    for edit in &mut edits {
        drop_empty_hunks(&mut edit.edit);
    }
    edits
}

fn codex_header(line: &str) -> Option<FileEdit> {
    let (verb, path) = line.strip_prefix("*** ")?.split_once(" File: ")?;
    let edit = match verb {
        "Add" => EditKind::Content(Vec::new()),
        "Update" => EditKind::Hunks(Vec::new()),
        "Delete" => EditKind::Delete,
        _ => return None,
    };
    Some(FileEdit { path: path.trim().to_owned(), edit })
}

fn codex_line(edit: &mut EditKind, line: &str) {
    if let (EditKind::Hunks(hunks), Some(to)) = (&mut *edit, line.strip_prefix("*** Move to: ")) {
        let hunks = std::mem::take(hunks);
        *edit = EditKind::MoveTo { to: to.trim().to_owned(), hunks };
        return;
    }
    match edit {
        EditKind::Content(content) => {
            if let Some(added) = line.strip_prefix('+') {
                content.extend_from_slice(added.as_bytes());
                content.push(b'\n');
            }
        }
        EditKind::Hunks(hunks) | EditKind::MoveTo { hunks, .. } => codex_hunk_line(hunks, line),
        _ => {}
    }
}

fn codex_hunk_line(hunks: &mut Vec<PatchHunk>, line: &str) {
    if let Some(context) = line.strip_prefix("@@") {
        // Several `@@` lines in a row narrow the place down, class first, then method.
        if hunks.last().is_none_or(|hunk| !hunk.is_empty()) {
            hunks.push(PatchHunk::new(PatchDialect::Codex));
        }
        let context = context.strip_prefix(' ').unwrap_or(context);
        if let Some(hunk) = hunks.last_mut().filter(|_| !context.trim().is_empty()) {
            hunk.context.push(context.to_owned());
        }
        return;
    }
    if hunks.is_empty() {
        hunks.push(PatchHunk::new(PatchDialect::Codex));
    }
    let Some(hunk) = hunks.last_mut() else { return };
    if line.trim_end() == "*** End of File" {
        hunk.at_end = true;
    } else if let Some(text) = line.strip_prefix('+') {
        hunk.new.push(text.to_owned());
    } else if let Some(text) = line.strip_prefix('-') {
        hunk.old.push(text.to_owned());
    } else if let Some(text) = line.strip_prefix(' ') {
        hunk.push_context(text);
    } else if line.is_empty() {
        hunk.push_context("");
    }
}

fn drop_empty_hunks(edit: &mut EditKind) {
    if let EditKind::Hunks(hunks) | EditKind::MoveTo { hunks, .. } = edit {
        hunks.retain(|hunk| !hunk.is_empty());
    }
}

// ---- Unified -------------------------------------------------------------------------------

/// The headers of one file, as far as they are parsed.
#[derive(Default)]
struct DiffHeader {
    old: Option<String>,
    new: Option<String>,
    renames: bool,
    deletes: bool,
}

/// Lines of a hunk that are still to come.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct LinesLeft {
    old: usize,
    new: usize,
}

fn parse_unified(text: &str) -> Vec<FileEdit> {
    let mut edits = Vec::new();
    let mut header = DiffHeader::default();
    let mut hunks: Vec<PatchHunk> = Vec::new();
    let mut left = LinesLeft::default();
    let mut previous = "";
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let before = std::mem::replace(&mut previous, line);
        if left != LinesLeft::default() || line.starts_with('\\') {
            left = match hunks.last_mut() {
                Some(hunk) if line.starts_with('\\') => {
                    hunk.at_end = true;
                    // After a removed line the marker is about the old file.
                    hunk.no_newline |= !before.starts_with('-');
                    left
                }
                Some(hunk) => unified_line(hunk, line, left),
                None => LinesLeft::default(),
            };
            continue;
        }
        let next_is_new = lines.peek().is_some_and(|next| next.starts_with("+++ "));
        // `rename to` names the new file before `---` does; that is no second file.
        let complete = header.new.is_some() && (!header.renames || !hunks.is_empty());
        if line.starts_with("diff --git ") || (next_is_new && complete) {
            finish_file(&mut edits, &mut header, &mut hunks);
        }
        if let Some((start, old, new)) = ranges(line).filter(|_| header.new.is_some()) {
            let mut hunk = PatchHunk::new(PatchDialect::Unified);
            hunk.line = Some(start);
            hunks.push(hunk);
            left = LinesLeft { old, new };
        } else if line.starts_with("--- ") && !next_is_new {
            // A removed line outside of any hunk, or prose.
        } else {
            header_line(&mut header, line);
        }
    }
    finish_file(&mut edits, &mut header, &mut hunks);
    edits
}

fn header_line(header: &mut DiffHeader, line: &str) {
    if let Some(path) = line.strip_prefix("--- ") {
        header.old = Some(file_name(path, "a/"));
    } else if let Some(path) = line.strip_prefix("+++ ") {
        header.new = Some(file_name(path, "b/"));
    } else if let Some(path) = line.strip_prefix("rename from ") {
        header.old = Some(path.to_owned());
    } else if let Some(path) = line.strip_prefix("rename to ") {
        header.new = Some(path.to_owned());
        header.renames = true;
    } else if line.starts_with("deleted file mode ") {
        header.deletes = true;
    }
}

/// `@@ -12,3 +12,4 @@`: the old block's first line, and both lengths.
fn ranges(line: &str) -> Option<(usize, usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let (start, old) = range(old)?;
    Some((start, old, range(new)?.1))
}

fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// Adds one line to the hunk; returns the lines that are still to come after it.
fn unified_line(hunk: &mut PatchHunk, line: &str, left: LinesLeft) -> LinesLeft {
    let LinesLeft { old, new } = left;
    match line.as_bytes().first() {
        Some(b'+') => {
            hunk.new.push(line[1..].to_owned());
            LinesLeft { old, new: new.saturating_sub(1) }
        }
        Some(b'-') => {
            hunk.old.push(line[1..].to_owned());
            LinesLeft { old: old.saturating_sub(1), new }
        }
        Some(b' ') | None => {
            hunk.push_context(line.get(1..).unwrap_or_default());
            LinesLeft { old: old.saturating_sub(1), new: new.saturating_sub(1) }
        }
        Some(_) => LinesLeft::default(),
    }
}

/// The path of a `---` or `+++` line; empty stands for `/dev/null`.
fn file_name(text: &str, prefix: &str) -> String {
    let name = text.split('\t').next().unwrap_or(text).trim_end();
    let name = unquoted(name).unwrap_or_else(|| name.to_owned());
    let bare = name.strip_prefix(prefix).unwrap_or(&name);
    // Copilot prefixes even the null device.
    if name == "/dev/null" || bare == "dev/null" { String::new() } else { bare.to_owned() }
}

/// A name that git quotes as C does: bytes in octal, a few signs by letters.
fn unquoted(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix('"')?.strip_suffix('"')?.bytes().peekable();
    let mut bytes = Vec::new();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            digit @ b'0'..=b'7' => {
                let mut value = u32::from(digit - b'0');
                while let Some(digit) = rest.next_if(|next| (b'0'..=b'7').contains(next)) {
                    value = value * 8 + u32::from(digit - b'0');
                }
                u8::try_from(value).ok()?
            }
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            sign => sign,
        });
    }
    String::from_utf8(bytes).ok()
}

fn finish_file(edits: &mut Vec<FileEdit>, header: &mut DiffHeader, hunks: &mut Vec<PatchHunk>) {
    let hunks = std::mem::take(hunks);
    let DiffHeader { old, new, renames, deletes } = std::mem::take(header);
    let (Some(old), Some(new)) = (old, new) else {
        return;
    };
    let edit = match (old.is_empty(), new.is_empty()) {
        (true, true) => return,
        (true, false) => FileEdit { edit: EditKind::Content(created_content(&hunks)), path: new },
        (false, true) => FileEdit { edit: EditKind::Delete, path: old },
        _ if deletes => FileEdit { edit: EditKind::Delete, path: old },
        _ if renames && old != new => {
            FileEdit { edit: EditKind::MoveTo { to: new, hunks }, path: old }
        }
        _ => FileEdit { edit: EditKind::Hunks(hunks), path: new },
    };
    edits.push(edit);
}

fn created_content(hunks: &[PatchHunk]) -> Vec<u8> {
    let lines: Vec<&str> = hunks.iter().flat_map(|hunk| &hunk.new).map(String::as_str).collect();
    let mut content = lines.join("\n").into_bytes();
    if !lines.is_empty() && !hunks.iter().any(|hunk| hunk.no_newline) {
        content.push(b'\n');
    }
    content
}
