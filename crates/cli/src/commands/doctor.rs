//! `retake doctor`: checks that everything recorded can be restored; else salvages what can be.

use anyhow::Result;
use retake_service::Masking;
use retake_service::documents::{self, DoctorCheck};

use crate::args::DoctorArgs;
use crate::context::{CommandContext, Exit};
use crate::describe::plural;
use crate::escape::escape;
use crate::layout::{TableCell, TextTable};
use crate::output::TextStyle;
use crate::progress::DelayedProgressBar;

pub(super) fn run(context: &CommandContext, options: &DoctorArgs) -> Result<Exit> {
    if options.salvage {
        return salvage(context);
    }
    let project = context.open()?;
    let mut bar = DelayedProgressBar::new("Reading");
    let found = project.check_health(options.read_data, &mut |done, all| bar.set(done, all))?;
    drop(bar);
    let found = documents::CheckUpDocument::new(&project, &found, options.read_data, Masking::Off);
    if context.json {
        context.out.json(&found)?;
    } else {
        context.out.text(&render_report(context, &found.checks))?;
    }
    Ok(if found.healthy { Exit::Done } else { Exit::Problem })
}

fn salvage(context: &CommandContext) -> Result<Exit> {
    let salvaged = context.retake.salvage(context.start_folder(), context.now())?;
    let salvaged = documents::SalvageDocument::new(&salvaged);
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

fn render_report(context: &CommandContext, checks: &[DoctorCheck]) -> String {
    let mut table = TextTable::default();
    for check in checks {
        let style = match check.state.as_str() {
            "ok" => TextStyle::Good,
            "problem" => TextStyle::Bad,
            _ => TextStyle::Dim,
        };
        let mut mark = TableCell::new(&check.state, style);
        let mut name = TableCell::new(&check.name, TextStyle::Plain);
        if check.problems.is_empty() {
            table.row([mark, name, TableCell::new(escape(&check.text), TextStyle::Plain)]);
            continue;
        }
        for problem in &check.problems {
            table.row([mark, name, TableCell::new(escape(problem), TextStyle::Plain)]);
            (mark, name) =
                (TableCell::new("", TextStyle::Plain), TableCell::new("", TextStyle::Plain));
        }
    }
    let is = |wanted| checks.iter().any(|check| check.state == wanted);
    let verdict = match (is("problem"), is("skipped")) {
        (true, _) => context.out.paint("There are problems; nothing was changed.", TextStyle::Bad),
        (false, true) => context.out.paint("No problem found.", TextStyle::Good),
        (false, false) => {
            context.out.paint("Healthy: everything recorded can be restored.", TextStyle::Good)
        }
    };
    format!("{}\n{verdict}\n", table.render("", context.out))
}
