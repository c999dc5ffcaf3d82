//! `retake doctor`: checks that everything recorded can be restored; else salvages what can be.

use anyhow::Result;
use retake_server::Masking;
use retake_server::documents::{self, Check};

use crate::args::Doctor;
use crate::context::{Context, Exit};
use crate::describe::plural;
use crate::escape::escape;
use crate::output::Style;
use crate::progress::Bar;
use crate::table::{Cell, Table};

pub(super) fn run(context: &Context, options: &Doctor) -> Result<Exit> {
    if options.salvage {
        return salvage(context);
    }
    let project = context.open()?;
    let mut bar = Bar::new("Reading");
    let found = project.check_up(options.read_data, &mut |done, all| bar.set(done, all))?;
    drop(bar);
    let found = documents::CheckUp::new(&project, &found, options.read_data, Masking::Off);
    if context.json {
        context.out.json(&found)?;
    } else {
        context.out.text(&report(context, &found.checks))?;
    }
    Ok(if found.healthy { Exit::Done } else { Exit::Problem })
}

fn salvage(context: &Context) -> Result<Exit> {
    let salvaged = context.retake.salvage(context.start(), context.now())?;
    let salvaged = documents::Salvaged::new(&salvaged);
    if context.json {
        context.out.json(&salvaged)?;
    } else {
        let rows = plural(salvaged.rows, "row", "rows");
        let kept = escape(&salvaged.kept);
        let lost = match salvaged.lost_from.as_slice() {
            [] => "Nothing was lost.".to_owned(),
            tables => format!("Rows that could not be read are lost, of: {}.", tables.join(", ")),
        };
        let next = "`retake doctor --read-data` tells whether every content is there.";
        let text = format!("Saved {rows}. {lost}\nThe damaged files are kept in {kept}\n{next}\n");
        context.out.text(&text)?;
    }
    Ok(if salvaged.lost_from.is_empty() { Exit::Done } else { Exit::Partly })
}

fn report(context: &Context, checks: &[Check]) -> String {
    let mut table = Table::default();
    for check in checks {
        let style = match check.state.as_str() {
            "ok" => Style::Good,
            "problem" => Style::Bad,
            _ => Style::Dim,
        };
        let mut mark = Cell::new(&check.state, style);
        let mut name = Cell::new(&check.name, Style::Plain);
        if check.problems.is_empty() {
            table.row([mark, name, Cell::new(escape(&check.text), Style::Plain)]);
            continue;
        }
        for problem in &check.problems {
            table.row([mark, name, Cell::new(escape(problem), Style::Plain)]);
            (mark, name) = (Cell::new("", Style::Plain), Cell::new("", Style::Plain));
        }
    }
    let is = |wanted| checks.iter().any(|check| check.state == wanted);
    let verdict = match (is("problem"), is("skipped")) {
        (true, _) => context.out.paint("There are problems; nothing was changed.", Style::Bad),
        (false, true) => context.out.paint("No problem found.", Style::Good),
        (false, false) => {
            context.out.paint("Healthy: everything recorded can be restored.", Style::Good)
        }
    };
    format!("{}\n{verdict}\n", table.render("", context.out.colour))
}
