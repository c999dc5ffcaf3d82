//! The commands that print files: parses their file operands and line ranges.
//!
//! Only fully understood options count; any other option gives nothing.

use retake_model::LineSpan;

use super::options::{CommandOptions, OptionSpec};
use super::reads::lines;
use super::word::ShellWord;
use crate::tool::FilePart;

/// Maximum line ranges of one script that are listed.
const MAX_RANGES: usize = 64;

/// The files and lines that a command is asked to print.
pub(super) struct PrintRequest {
    /// The files; if empty, the piped input.
    pub(super) files: Vec<ShellWord>,
    /// The parts of each, in order.
    pub(super) parts: Vec<FilePart>,
    /// Lines count from the start of each file.
    pub(super) counts_each: bool,
}

type PrintParser = fn(&str, &[ShellWord]) -> Option<PrintRequest>;

/// Parsers of the commands that print files, by name.
const PRINT_PARSERS: &[(&str, PrintParser)] = &[
    ("cat nl less more", whole),
    ("bat batcat", bat),
    ("head", head),
    ("tail", tail),
    ("sed gsed", sed),
    ("awk gawk mawk nawk", awk),
];

/// Parses a command that prints files; `None` for any other.
pub(super) fn parse_print_request(name: &str, args: &[ShellWord]) -> Option<PrintRequest> {
    let among = |names: &str| names.split_ascii_whitespace().any(|known| known == name);
    let (_, shower) = PRINT_PARSERS.iter().find(|(names, _)| among(names))?;
    shower(name, args)
}

/// `cat -n FILES`.
fn whole(name: &str, args: &[ShellWord]) -> Option<PrintRequest> {
    const NUMBERED: OptionSpec = OptionSpec {
        short: "binsvw",
        long: &["body-numbering", "number-format", "number-separator", "number-width"],
    };
    let (spec, harmless) = match name {
        "cat" => (OptionSpec::default(), "n b A e E t T u v number number-nonblank show-all"),
        "nl" => {
            (NUMBERED, "b i n s v w body-numbering number-format number-separator number-width")
        }
        "less" => (OptionSpec::default(), "N R S F X n r e E M"),
        _ => (OptionSpec::default(), ""),
    };
    let options = CommandOptions::parse(args, spec);
    let starts = |word: &ShellWord| word.text.starts_with('+');
    let plain = options.only(harmless) && !options.operands.iter().any(starts);
    plain.then(|| PrintRequest {
        files: options.operands,
        parts: vec![FilePart::Whole],
        counts_each: true,
    })
}

/// `bat -p FILES`, `bat -r 10:20 FILE`.
fn bat(_: &str, args: &[ShellWord]) -> Option<PrintRequest> {
    const BAT: OptionSpec = OptionSpec {
        short: "lr",
        long: &["language", "line-range", "style", "color", "paging", "theme", "decorations"],
    };
    let options = CommandOptions::parse(args, BAT);
    let harmless = "p n P l r plain number language line-range style color paging theme \
         decorations no-paging";
    if !options.only(harmless) || options.values(&["line-range", "r"]).count() > 1 {
        return None;
    }
    let part = match options.value(&["line-range", "r"]) {
        None => FilePart::Whole,
        Some(range) => {
            let range = range.exact()?;
            let (first, last) = range.split_once(':').unwrap_or((range, range));
            let first = if first.is_empty() { 1 } else { number(first)? };
            let last = if last.is_empty() { u32::MAX } else { number(last)? };
            FilePart::Lines(lines(first.max(1), last)?)
        }
    };
    Some(PrintRequest { files: options.operands, parts: vec![part], counts_each: true })
}

/// `head -n 20 FILES`, `head -20 FILE`.
fn head(_: &str, args: &[ShellWord]) -> Option<PrintRequest> {
    let (count, files) = line_count_and_files(args)?;
    let count = count.as_deref().map_or(Some(10), number)?;
    let parts = vec![FilePart::Lines(lines(1, count)?)];
    Some(PrintRequest { files, parts, counts_each: true })
}

/// `tail -n 20 FILES`, `tail -n +20 FILES`, `tail -20 FILE`.
fn tail(_: &str, args: &[ShellWord]) -> Option<PrintRequest> {
    let (count, files) = line_count_and_files(args)?;
    let count = count.unwrap_or_else(|| "10".to_owned());
    let part = match count.strip_prefix('+') {
        Some(first) => lines_from(number(first)?),
        None => FilePart::Last(number(&count).filter(|count| *count > 0)?),
    };
    Some(PrintRequest { files, parts: vec![part], counts_each: true })
}

/// The count of lines of `head` and `tail` as it is written, and their files.
fn line_count_and_files(args: &[ShellWord]) -> Option<(Option<String>, Vec<ShellWord>)> {
    if !args.iter().all(|word| word.literal) {
        return None;
    }
    let old = args.first().and_then(|word| word.text.strip_prefix('-'));
    let old = old.filter(|digits| number(digits).is_some());
    let rest = &args[usize::from(old.is_some())..];
    let options =
        CommandOptions::parse(rest, OptionSpec { short: "nc", long: &["lines", "bytes"] });
    let new = options.value(&["n", "lines"]);
    // `tail -5 a b` is an error, and so is `-5` beside `-n`.
    let clear = old.is_none() || new.is_none() && options.operands.len() <= 1;
    if !clear || !options.only("n lines q quiet silent v verbose") {
        return None;
    }
    let new = match new {
        Some(word) => Some(word.exact()?),
        None => None,
    };
    Some((old.or(new).map(str::to_owned), options.operands))
}

/// `sed -n '10,20p' FILE`.
fn sed(_: &str, args: &[ShellWord]) -> Option<PrintRequest> {
    let spec = OptionSpec { short: "efl", long: &["expression", "file", "line-length"] };
    let options = CommandOptions::parse(args, spec);
    let quiet = options.has(&["n", "quiet", "silent"]);
    let harmless = options.only("n quiet silent e expression E r s u separate unbuffered");
    if !quiet || !harmless || !args.iter().all(|word| word.literal) {
        return None;
    }
    let mut scripts: Vec<&ShellWord> = options.values(&["e", "expression"]).collect();
    let own = usize::from(scripts.is_empty()).min(options.operands.len());
    let (script, files) = options.operands.split_at(own);
    scripts.extend(script);
    let scripts: Option<Vec<&str>> = scripts.into_iter().map(ShellWord::exact).collect();
    let parts = sed_parts(&scripts?.join("\n"))?;
    let counts_each = options.has(&["s", "separate"]);
    Some(PrintRequest { files: files.to_vec(), parts, counts_each })
}

/// Returns the parts that a script of addresses with `p` and `q` prints.
fn sed_parts(script: &str) -> Option<Vec<FilePart>> {
    let mut parts = Vec::new();
    let mut end = u32::MAX;
    for command in script.split([';', '\n']).map(str::trim).filter(|command| !command.is_empty()) {
        if parts.len() >= MAX_RANGES {
            return None;
        }
        if let Some(address) = command.strip_suffix('q') {
            // It quits after that line, which later commands of the script do not see.
            let line = number(address.trim()).filter(|line| *line > 0)?;
            parts = parts.into_iter().filter_map(|part| cut_after(part, line)).collect();
            end = end.min(line - 1);
        } else {
            parts.extend(cut_after(sed_part(command.strip_suffix('p')?.trim())?, end));
        }
    }
    (!parts.is_empty()).then_some(parts)
}

/// `10`, `10,20`, `10,+5`, `10,$`, `$`.
fn sed_part(address: &str) -> Option<FilePart> {
    if address == "$" {
        return Some(FilePart::Last(1));
    }
    let (first, last) = address.split_once(',').unwrap_or((address, address));
    let first = number(first.trim()).filter(|first| *first > 0)?;
    let last = match last.trim() {
        "$" => u32::MAX,
        // A last line before the first still prints the first.
        last => match last.strip_prefix('+') {
            Some(more) => first.checked_add(number(more)?)?,
            None => number(last)?.max(first),
        },
    };
    Some(if (first, last) == (1, u32::MAX) {
        FilePart::Whole
    } else {
        FilePart::Lines(lines(first, last)?)
    })
}

/// A part without the lines after `end`.
fn cut_after(part: FilePart, end: u32) -> Option<FilePart> {
    let LineSpan { first, last } = match part {
        _ if end == u32::MAX => return Some(part),
        FilePart::Whole => LineSpan { first: 1, last: u32::MAX },
        FilePart::Lines(lines) => lines,
        FilePart::Last(_) => return None,
    };
    lines(first, last.min(end)).map(FilePart::Lines)
}

/// `awk 'NR>=10 && NR<=20' FILE`.
fn awk(_: &str, args: &[ShellWord]) -> Option<PrintRequest> {
    let [program, files @ ..] = args else {
        return None;
    };
    if program.is_option() || !args.iter().all(|word| word.literal) {
        return None;
    }
    let program = program.exact()?.replace(char::is_whitespace, "");
    let blocks = ["{print}", "{print$0}"];
    let pattern = blocks.iter().find_map(|block| program.strip_suffix(block)).unwrap_or(&program);
    let (mut first, mut last) = (1, u32::MAX);
    for test in pattern.split("&&") {
        let test = test.strip_prefix('F').unwrap_or(test).strip_prefix("NR")?;
        let (low, high) = compared_lines(test)?;
        (first, last) = (first.max(low), last.min(high));
    }
    let parts = vec![FilePart::Lines(lines(first, last)?)];
    Some(PrintRequest { files: files.to_vec(), parts, counts_each: false })
}

/// The lines that `>=10` and the like let through.
fn compared_lines(test: &str) -> Option<(u32, u32)> {
    let digits = test.trim_start_matches(['<', '>', '=']);
    let line = number(digits)?;
    Some(match &test[..test.len() - digits.len()] {
        "==" => (line, line),
        ">=" => (line, u32::MAX),
        ">" => (line.checked_add(1)?, u32::MAX),
        "<=" => (1, line),
        "<" => (1, line.checked_sub(1)?),
        _ => return None,
    })
}

/// From a line on.
fn lines_from(first: u32) -> FilePart {
    if first <= 1 { FilePart::Whole } else { FilePart::Lines(LineSpan { first, last: u32::MAX }) }
}

/// A number in digits alone: a sign or a unit means something else.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}
