//! Files that an agent has read: those a message carries, and lines that a tool showed.
//!
//! Invariant: no line is reported that the agent may not have got. What a payload does not say is
//! left out; the engine then uses the call's arguments. Whether a path is a file is not checked
//! here.

use retake_model::{LineSpan, SeenFile};
use serde_json::Value;

use crate::wire;

/// Lines of a file that a message carries for sure. Agents truncate long files: Claude Code at
/// 25,000 tokens and Gemini CLI at 2,000 lines, and no hook says where.
const ASSURED_LINES: LineSpan = LineSpan { first: 1, last: 1_000 };

/// Returns the files that a person's text mentions by `@path`, as Claude Code parses them: `@` at
/// the start of a word, the path up to its last letter or digit, or in quotes; `#L10-20` for lines.
pub(crate) fn mentioned_files(words: &str) -> Vec<SeenFile> {
    let mut sights = Vec::new();
    let mut rest = words;
    let mut starts = true;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match (starts && c == '@').then(|| parse_mention(after)).flatten() {
            Some((name, tail)) => {
                sights.extend(mentioned_file(name));
                tail
            }
            None => after,
        };
        starts = c.is_whitespace();
    }
    sights
}

/// The path after an `@`, and what follows it.
fn parse_mention(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').filter(|(name, _)| !name.is_empty());
    }
    let (word, tail) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    (!name.is_empty()).then_some((name, tail))
}

/// `a.rs#L10-20`, `a.rs#L10`; any other mark after the path means the whole file.
fn mentioned_file(name: &str) -> Option<SeenFile> {
    let (path, mark) = name.split_once('#').unwrap_or((name, ""));
    if path.is_empty() || mark.contains('#') {
        return Some(included_file(name));
    }
    let range = mark.strip_prefix('L').map(|range| range.split_once('-').unwrap_or((range, range)));
    match range.filter(|(first, last)| is_numeral(first) && is_numeral(last)) {
        Some((first, last)) => read_of_lines(path, first.parse().ok()?, last.parse().ok()?),
        None => Some(included_file(path)),
    }
}

/// A file that comes along with a message.
pub(crate) fn included_file(path: &str) -> SeenFile {
    SeenFile { path: path.to_owned(), lines: Some(ASSURED_LINES) }
}

/// The files that Cline adds to a message: words after `@`, without brackets and quotes around.
pub(crate) fn cline_mentioned_files(words: &str) -> Vec<SeenFile> {
    let names = words.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let names = names.map(|name| {
        let name = name.trim_start_matches(['(', '`', '\'', '"']);
        name.trim_end_matches([')', ',', '.', ':', ';', '!', '?', '`', '\'', '"'])
    });
    names.filter(|name| !name.is_empty() && !name.contains('@')).map(included_file).collect()
}

/// The files that Gemini CLI wrote into a prompt behind the person's words, which mention them.
pub(crate) fn gemini_inlined_files(prompt: &str) -> Vec<SeenFile> {
    let Some((words, contents)) = prompt.split_once("\n--- Content from referenced files ---")
    else {
        return Vec::new();
    };
    let heads = contents.lines().filter_map(|line| line.strip_prefix("Content from @"));
    let names = heads.filter_map(|head| head.strip_suffix(':'));
    names.filter(|name| words.contains(&format!("@{name}"))).map(included_file).collect()
}

/// Parses the output of Claude Code's `Read`: `{type, file: {filePath, content, startLine, …}}`.
pub(crate) fn claude_read(response: &Value) -> Option<SeenFile> {
    let path = wire::text(response, "/file/filePath")?;
    if wire::text(response, "/type")? != "text" {
        return None;
    }
    let number = |key: &str| wire::number(response, &format!("/file/{key}"));
    let (first, count, total) = (number("startLine")?, number("numLines")?, number("totalLines")?);
    let first = first.max(1);
    if first == 1 && count >= total {
        return Some(SeenFile { path: path.to_owned(), lines: None });
    }
    // The empty text behind the last line break counts as a line there.
    let shown = wire::text(response, "/file/content")?.lines().count();
    let count = count.min(u32::try_from(shown).unwrap_or(u32::MAX));
    read_of_lines(path, first, first.saturating_add(count).saturating_sub(1))
}

/// Parses the output of Gemini CLI's `read_file`; a truncated file says so.
pub(crate) fn gemini_read(path: &str, answer: &str) -> Option<SeenFile> {
    const TRUNCATION_PREFIXES: &[&str] =
        &["\nIMPORTANT: The file content has been truncated.", "[File content truncated:"];
    if !TRUNCATION_PREFIXES.iter().any(|start| answer.starts_with(start)) {
        let shown = !answer.starts_with("Cannot display content of ");
        return shown.then(|| SeenFile { path: path.to_owned(), lines: None });
    }
    let (first, last) = range_after(answer, "howing lines ")?;
    read_of_lines(path, first, last)
}

/// Parses the output of opencode's `read`, or its frame: the file, the lines with their numbers,
/// and in brackets how it ended.
pub(crate) fn opencode_read(shown: &str) -> Option<SeenFile> {
    let mut lines = shown.lines();
    let path = lines.next()?.strip_prefix("<path>")?.strip_suffix("</path>")?;
    if lines.next()? != "<type>file</type>" {
        return None;
    }
    // Lines of the file begin with their number.
    let number = |line: &str| line.split_once(": ").and_then(|(number, _)| number.parse().ok());
    let first = lines.nth(1).and_then(number);
    let end = shown.lines().find(|line| line.starts_with('('))?;
    if let Some((first, last)) = range_after(end, "Showing lines ") {
        return read_of_lines(path, first, last);
    }
    let total = end.strip_prefix("(End of file - total ")?.strip_suffix(" lines)")?.parse().ok()?;
    match first {
        Some(1) => Some(SeenFile { path: path.to_owned(), lines: None }),
        Some(first) => read_of_lines(path, first, total),
        None => (total == 0).then(|| SeenFile { path: path.to_owned(), lines: None }),
    }
}

/// Parses one part of the output of Cline's `read_files`: `{query, result, success}`. The query is
/// the path, with `:10-20` if lines were requested; each line has its number.
pub(crate) fn cline_read(part: &Value) -> Option<SeenFile> {
    let query = wire::text(part, "/query")?;
    let result = wire::text(part, "/result")?;
    let number = |line: &str| line.split_once(" | ").and_then(|(n, _)| n.trim().parse().ok());
    let mut numbers = result.lines().map_while(number);
    let first: u32 = numbers.next()?;
    let last = numbers.last().unwrap_or(first);
    let asked = query.rsplit_once(':').filter(|(_, range)| {
        let bounds = range.split_once('-');
        bounds.is_some_and(|(first, last)| is_numeral(first) && (last == "EOF" || is_numeral(last)))
    });
    let path = asked.map_or(query, |(path, _)| path);
    let cut = result.ends_with(" to read other sections.]");
    if first == 1 && asked.is_none() && !cut {
        return Some(SeenFile { path: path.to_owned(), lines: None });
    }
    read_of_lines(path, first, last)
}

fn read_of_lines(path: &str, first: u32, last: u32) -> Option<SeenFile> {
    let lines = (1..=last).contains(&first).then_some(LineSpan { first, last })?;
    Some(SeenFile { path: path.to_owned(), lines: Some(lines) })
}

fn is_numeral(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `10-20` after the first place where `mark` stands.
fn range_after(text: &str, mark: &str) -> Option<(u32, u32)> {
    let (_, after) = text.split_once(mark)?;
    let (first, after) = after.split_once('-')?;
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    Some((first.parse().ok()?, after[..end].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn show(sights: &[SeenFile]) -> String {
        let one = |sight: &SeenFile| match sight.lines {
            None => sight.path.clone(),
            Some(ASSURED_LINES) => format!("{}…", sight.path),
            Some(lines) => format!("{}:{}-{}", sight.path, lines.first, lines.last),
        };
        let all: Vec<String> = sights.iter().map(one).collect();
        if all.is_empty() { "-".to_owned() } else { all.join(", ") }
    }

    fn check(find: fn(&str) -> Vec<SeenFile>, texts: &[&str], expected: &Expect) {
        let mut table = String::new();
        for text in texts {
            writeln!(table, "{text:?}: {}", show(&find(text))).unwrap();
        }
        expected.assert_eq(&table);
    }

    const MENTIONS: &[&str] = &[
        "@a.rs",
        "see @./src/a.rs, and @src/b_c.rs.",
        "@/abs/a.ts\n@~/x",
        "@\"a b.txt\" and @\"c\"!",
        "@a.rs#L10-20) @b#L7 @c#heading @d#L9-3 @#L1",
        "mail me@b.de or (@c.rs) x@d",
        "@ @, @\" @\"\" @\"open",
        "@tag/über @ü",
        "@a@b",
    ];

    #[test]
    fn a_mention_is_a_word_that_begins_with_an_at() {
        check(
            mentioned_files,
            MENTIONS,
            &expect![[r#"
            "@a.rs": a.rs…
            "see @./src/a.rs, and @src/b_c.rs.": ./src/a.rs…, src/b_c.rs…
            "@/abs/a.ts\n@~/x": /abs/a.ts…, ~/x…
            "@\"a b.txt\" and @\"c\"!": a b.txt…, c…
            "@a.rs#L10-20) @b#L7 @c#heading @d#L9-3 @#L1": a.rs:10-20, b:7-7, c…, #L1…
            "mail me@b.de or (@c.rs) x@d": -
            "@ @, @\" @\"\" @\"open":  @…
            "@tag/über @ü": tag/über…
            "@a@b": a@b…
        "#]],
        );
        check(
            cline_mentioned_files,
            MENTIONS,
            &expect![[r#"
            "@a.rs": a.rs…
            "see @./src/a.rs, and @src/b_c.rs.": ./src/a.rs…, src/b_c.rs…
            "@/abs/a.ts\n@~/x": /abs/a.ts…, ~/x…
            "@\"a b.txt\" and @\"c\"!": a…, c…
            "@a.rs#L10-20) @b#L7 @c#heading @d#L9-3 @#L1": a.rs#L10-20…, b#L7…, c#heading…, d#L9-3…, #L1…
            "mail me@b.de or (@c.rs) x@d": -
            "@ @, @\" @\"\" @\"open": open…
            "@tag/über @ü": tag/über…, ü…
            "@a@b": -
        "#]],
        );
    }

    #[test]
    fn a_prompt_has_what_is_written_into_it() {
        check(
            gemini_inlined_files,
            &[
                "look at @a",
                "look at @a and ( @./b c)\n--- Content from referenced files ---\nContent from @./b c:\n# b\n\
                 Content from @a:\nContent from @z:\n--- End of content ---",
            ],
            &expect![[r#"
                "look at @a": -
                "look at @a and ( @./b c)\n--- Content from referenced files ---\nContent from @./b c:\n# b\nContent from @a:\nContent from @z:\n--- End of content ---": ./b c…, a…
            "#]],
        );
    }

    #[test]
    fn answers_say_which_lines_they_show() {
        let claude = |kind: &str, content: &str, first: u32, count: u32, total: u32| {
            claude_read(&json!({"type": kind, "file": {"filePath": "a", "content": content,
                "startLine": first, "numLines": count, "totalLines": total}}))
        };
        let cline =
            |query: &str, result: &str| cline_read(&json!({"query": query, "result": result}));
        let cut = "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 3-5 of 9 total lines.\n";
        let opencode = |lines: &str, end: &str| {
            opencode_read(&format!(
                "<path>a</path>\n<type>file</type>\n<content>\n{lines}\n\n({end}\n</content>"
            ))
        };
        let rows = [
            ("claude, all", claude("text", "x\ny\n", 1, 3, 3)),
            ("claude, some", claude("text", "x\ny", 2, 2, 9)),
            ("claude, at the end", claude("text", "x\ny\n", 7, 3, 9)),
            ("claude, empty lines", claude("text", "x\n\n", 7, 3, 99)),
            ("claude, behind the end", claude("text", "", 50, 0, 9)),
            ("claude, a picture", claude("image", "", 1, 1, 1)),
            ("gemini, all", gemini_read("a", "Showing lines 1-2 of 3")),
            ("gemini, some", gemini_read("a", cut)),
            ("gemini, binary", gemini_read("a", "Cannot display content of binary file: a")),
            ("opencode, all", opencode("1: (x)\n2: y", "End of file - total 2 lines)")),
            ("opencode, the end", opencode("8: x\n9: y", "End of file - total 9 lines)")),
            ("opencode, some", opencode("2: x", "Showing lines 2-2 of 9. Use offset=3")),
            (
                "opencode, capped",
                opencode("1: x", "Output capped at 50 KB. Showing lines 1-1. Use"),
            ),
            ("opencode, empty", opencode("", "End of file - total 0 lines)")),
            (
                "opencode, a folder",
                opencode_read("<path>a</path>\n<type>directory</type>\n(3 entries)"),
            ),
            ("cline, all", cline("a", "1 | x\n2 | y")),
            ("cline, asked", cline("a:9-10", " 9 | x\n10 | y")),
            ("cline, to the end", cline("a:1-EOF", "1 | x")),
            (
                "cline, cut",
                cline(
                    "a",
                    "1 | x\n\n[Showing lines 1-1 of 9. Use start_line/end_line to read other sections.]",
                ),
            ),
            ("cline, a name with a colon", cline("a:b", "1 | x")),
            ("cline, a picture", cline_read(&json!({"query": "a", "result": []}))),
        ];
        let mut table = String::new();
        for (name, sight) in rows {
            writeln!(table, "{name}: {}", show(&Vec::from_iter(sight))).unwrap();
        }
        expect![[r"
            claude, all: a
            claude, some: a:2-3
            claude, at the end: a:7-8
            claude, empty lines: a:7-8
            claude, behind the end: -
            claude, a picture: -
            gemini, all: a
            gemini, some: a:3-5
            gemini, binary: -
            opencode, all: a
            opencode, the end: a:8-9
            opencode, some: a:2-2
            opencode, capped: a:1-1
            opencode, empty: a
            opencode, a folder: -
            cline, all: a
            cline, asked: a:9-10
            cline, to the end: a:1-1
            cline, cut: a:1-1
            cline, a name with a colon: a:b
            cline, a picture: -
        "]]
        .assert_eq(&table);
    }

    #[test]
    fn any_text_is_read_and_only_what_stands_in_it_is_claimed() {
        const BITS: &[&str] = &[
            "@",
            "\"",
            "#L",
            "#",
            "-",
            "12",
            "99999999999",
            " ",
            "\n",
            "(",
            ")",
            ".",
            "é",
            "a",
            "/",
            " | ",
            ": ",
            "<path>",
            "</path>\n",
            "<type>file</type>\n",
            "(End of file - total ",
            "Content from @",
            "\n--- Content from referenced files ---\n",
            "Showing lines ",
        ];
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..20_000 {
            let bits = (0..random.usize(..14)).filter_map(|_| random.choice(BITS).copied());
            let text: String = bits.collect();
            let part = json!({"query": text, "result": text});
            let sights =
                [mentioned_files(&text), cline_mentioned_files(&text), gemini_inlined_files(&text)]
                    .concat();
            let told = [gemini_read("a", &text), opencode_read(&text), cline_read(&part)];
            for sight in sights.into_iter().chain(told.into_iter().flatten()) {
                let lines = sight.lines.unwrap_or(ASSURED_LINES);
                assert!(1 <= lines.first && lines.first <= lines.last, "{text:?}");
                assert!(sight.path == "a" || text.contains(&sight.path), "{text:?}");
            }
        }
    }
}
