//! Files that an agent has read: those a message carries, and lines that a tool showed.
//!
//! Invariant: no line is reported that the agent may not have got. What a payload does not say is
//! left out; the engine then uses the call's arguments. Whether a path is a file is not checked
//! here.

use retake_model::{LineSpan, SeenFile};

/// Lines of a file that a message carries for sure. Agents truncate long files: Claude Code at
/// 25,000 tokens and Gemini CLI at 2,000 lines, and no hook says where.
const ASSURED_LINES: LineSpan = LineSpan { first: 1, last: 1_000 };

/// A file that comes along with a message.
pub(crate) fn included_file(path: &str) -> SeenFile {
    SeenFile { path: path.to_owned(), lines: Some(ASSURED_LINES) }
}

/// Lines of a file that a tool showed; `None` if there are none.
pub(crate) fn read_of_lines(path: &str, first: u32, last: u32) -> Option<SeenFile> {
    let lines = (1..=last).contains(&first).then_some(LineSpan { first, last })?;
    Some(SeenFile { path: path.to_owned(), lines: Some(lines) })
}

/// Returns true if a text consists of digits.
pub(crate) fn is_numeral(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `10-20` after the first place where `mark` stands.
pub(crate) fn range_after(text: &str, mark: &str) -> Option<(u32, u32)> {
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
    use crate::{claude_code, cline, gemini, opencode};

    fn show(files: &[SeenFile]) -> String {
        let one = |file: &SeenFile| match file.lines {
            None => file.path.clone(),
            Some(ASSURED_LINES) => format!("{}…", file.path),
            Some(lines) => format!("{}:{}-{}", file.path, lines.first, lines.last),
        };
        let all: Vec<String> = files.iter().map(one).collect();
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
            claude_code::reads::mentioned_files,
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
            cline::reads::mentioned_files,
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
            gemini::reads::inlined_files,
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
            claude_code::reads::read_result(
                &json!({"type": kind, "file": {"filePath": "a", "content": content,
                "startLine": first, "numLines": count, "totalLines": total}}),
            )
        };
        let cline = |query: &str, result: &str| {
            cline::reads::read_result(&json!({"query": query, "result": result}))
        };
        let cut = "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 3-5 of 9 total lines.\n";
        let opencode = |lines: &str, end: &str| {
            opencode::reads::read_result(&format!(
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
            ("gemini, all", gemini::reads::read_result("a", "Showing lines 1-2 of 3")),
            ("gemini, some", gemini::reads::read_result("a", cut)),
            (
                "gemini, binary",
                gemini::reads::read_result("a", "Cannot display content of binary file: a"),
            ),
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
                opencode::reads::read_result("<path>a</path>\n<type>directory</type>\n(3 entries)"),
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
            ("cline, a picture", cline::reads::read_result(&json!({"query": "a", "result": []}))),
        ];
        let mut table = String::new();
        for (name, file) in rows {
            writeln!(table, "{name}: {}", show(&Vec::from_iter(file))).unwrap();
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
            let files = [
                claude_code::reads::mentioned_files(&text),
                cline::reads::mentioned_files(&text),
                gemini::reads::inlined_files(&text),
            ]
            .concat();
            let results = [
                gemini::reads::read_result("a", &text),
                opencode::reads::read_result(&text),
                cline::reads::read_result(&part),
            ];
            for file in files.into_iter().chain(results.into_iter().flatten()) {
                let lines = file.lines.unwrap_or(ASSURED_LINES);
                assert!(1 <= lines.first && lines.first <= lines.last, "{text:?}");
                assert!(file.path == "a" || text.contains(&file.path), "{text:?}");
            }
        }
    }
}
