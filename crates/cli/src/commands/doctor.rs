//! `retake doctor`: can everything that was recorded be restored?

use anyhow::Result;
use retake_engine::{CheckUp, Problem};
use serde_json::{Value, json};

use crate::args::Doctor;
use crate::context::{Context, Exit};
use crate::describe::{plural, size};
use crate::escape::escape;
use crate::output::Style;
use crate::progress::Bar;
use crate::table::{Cell, Table};

/// Below this much free space the next record may fail.
const LOW_SPACE: u64 = 64 * 1024 * 1024;

struct Check {
    name: &'static str,
    text: String,
    problems: Vec<String>,
    /// Whether it was left out.
    skipped: bool,
}

pub(super) fn run(context: &Context, options: &Doctor) -> Result<Exit> {
    let project = context.open()?;
    let mut bar = Bar::new("Reading");
    let found = project.check_up(options.read_data, &mut |done, all| bar.set(done, all))?;
    drop(bar);
    let checks = checks(&found, options.read_data);
    let healthy = checks.iter().all(|check| check.problems.is_empty());
    if context.json {
        context.out.json(&json!({
            "healthy": healthy,
            "store": project.store().folder().to_string_lossy(),
            "store_bytes": found.store_bytes,
            "free_bytes": found.free_bytes,
            "objects": found.verification.objects,
            "objects_read": found.verification.objects_read,
            "changes": found.verification.changes,
            "spooled": found.verification.spooled,
            "checks": checks.iter().map(document).collect::<Vec<_>>(),
        }))?;
    } else {
        context.out.text(&report(context, &checks))?;
    }
    Ok(if healthy { Exit::Done } else { Exit::Problem })
}

fn checks(found: &CheckUp, read_data: bool) -> Vec<Check> {
    let verification = &found.verification;
    let problems = |wanted: fn(&Problem) -> bool| -> Vec<String> {
        verification.problems.iter().filter(|problem| wanted(problem)).map(problem_text).collect()
    };
    let check = |name, text, problems| Check { name, text, problems, skipped: false };
    let changes = plural(verification.changes, "change", "changes");
    let objects = plural(verification.objects, "object", "objects");
    let contents = if read_data {
        format!("{} of {objects} read, each is what its name says", verification.objects_read)
    } else {
        "not read; `retake doctor --read-data` checks every byte".to_owned()
    };
    let spooled = match verification.spooled {
        0 => "no event waits".to_owned(),
        count => format!(
            "{} to be taken in by the next command",
            plural(count, "event waits", "events wait")
        ),
    };
    vec![
        check(
            "database",
            "its structure is sound".to_owned(),
            problems(|p| matches!(p, Problem::Database(_) | Problem::Row(_))),
        ),
        check(
            "references",
            format!("every content on record is there ({changes}, {objects})"),
            problems(|p| matches!(p, Problem::Dangling { .. })),
        ),
        Check {
            skipped: !read_data,
            ..check("contents", contents, problems(|p| matches!(p, Problem::Damaged { .. })))
        },
        check("spool", spooled, problems(|p| matches!(p, Problem::SpoolLine(_)))),
        folder_check(found),
        space_check(found),
    ]
}

fn folder_check(found: &CheckUp) -> Check {
    let problems = if found.replaced {
        vec!["another folder stands where the recorded one was; say which it is with `retake init --same` or `retake init --new`".to_owned()]
    } else {
        Vec::new()
    };
    Check { name: "folder", text: "it is the recorded one".to_owned(), problems, skipped: false }
}

fn space_check(found: &CheckUp) -> Check {
    let store = size(found.store_bytes);
    let (text, problems) = match found.free_bytes {
        Some(free) if free < LOW_SPACE => (
            String::new(),
            vec![format!("only {} are free where the record ({store}) lies", size(free))],
        ),
        Some(free) => (format!("{} free, the record takes {store}", size(free)), Vec::new()),
        None => (format!("the record takes {store}; how much is free is not known"), Vec::new()),
    };
    Check { name: "space", text, problems, skipped: false }
}

fn problem_text(problem: &Problem) -> String {
    match problem {
        Problem::Database(text) | Problem::Row(text) => text.clone(),
        Problem::Dangling { record, oid } => format!("{oid} is missing ({record})"),
        Problem::Damaged { oid, why } => format!("{oid}: {why}"),
        Problem::SpoolLine(line) => {
            let start: String = line.chars().take(80).collect();
            format!("a line cannot be understood: {start}")
        }
    }
}

fn state(check: &Check) -> &'static str {
    match (check.problems.is_empty(), check.skipped) {
        (false, _) => "problem",
        (true, true) => "skipped",
        (true, false) => "ok",
    }
}

fn document(check: &Check) -> Value {
    json!({ "name": check.name, "state": state(check), "text": check.text, "problems": check.problems })
}

fn report(context: &Context, checks: &[Check]) -> String {
    let mut table = Table::default();
    for check in checks {
        let style = match state(check) {
            "ok" => Style::Good,
            "problem" => Style::Bad,
            _ => Style::Dim,
        };
        let mut mark = Cell::new(state(check), style);
        let mut name = Cell::new(check.name, Style::Plain);
        if check.problems.is_empty() {
            table.row([mark, name, Cell::new(escape(&check.text), Style::Plain)]);
            continue;
        }
        for problem in &check.problems {
            table.row([mark, name, Cell::new(escape(problem), Style::Plain)]);
            (mark, name) = (Cell::new("", Style::Plain), Cell::new("", Style::Plain));
        }
    }
    let is = |wanted| checks.iter().any(|check| state(check) == wanted);
    let verdict = match (is("problem"), is("skipped")) {
        (true, _) => context.out.paint("There are problems; nothing was changed.", Style::Bad),
        (false, true) => context.out.paint("No problem found.", Style::Good),
        (false, false) => {
            context.out.paint("Healthy: everything recorded can be restored.", Style::Good)
        }
    };
    format!("{}\n{verdict}\n", table.render("", context.out.colour))
}
