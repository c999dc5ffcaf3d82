//! `retake demo`: plays a short scenario through the real engine and shows what was recorded.

use anyhow::{Context as _, Result};
use retake_engine::model::{Change, ChangeType, Confidence, DialogId};
use retake_engine::{AppliedPlan, ChangeFilter};
use retake_service::documents;
use serde_json::json;

use crate::args::DemoArgs;
use crate::commands::demo_project::{DEMO_DIALOG, DemoProject};
use crate::commands::{log, undo};
use crate::context::{CommandContext, Exit};
use crate::describe::{describe_actor, describe_path, line_counts};
use crate::escape::{escape, escape_text};
use crate::outcome::{PlanOutcome, plan_table};
use crate::output::TextStyle;
use crate::patch::{DiffPrinter, DiffStyle};
use crate::table::{TableCell, TextTable};

/// Files of the demo project: name and content.
const DEMO_FILES: &[(&str, &str)] = &[
    ("shop.sh", "#!/bin/sh\ngreeting=\"Welcome\"\necho \"$greeting\"\ncat prices.txt\n"),
    ("prices.txt", "bread 3\nmilk 2\n"),
    ("notes.txt", "Ask Anna about the new oven.\nThe key is under the flowerpot.\n"),
    (".env", "TOKEN=only-copy-of-this\n"),
    (".gitignore", ".env\n"),
];

pub(super) fn run(context: &CommandContext, options: &DemoArgs) -> Result<Exit> {
    let mut demo = DemoProject::create(DEMO_FILES)?;
    if context.json {
        run_scenario(&mut demo, &mut |_, _, _| Ok(()))?;
        let changes = demo.project().changes(&all_changes())?;
        let undone = PlanOutcome::from(demo.undo()?.0).document(demo.project())?;
        let redone = PlanOutcome::from(demo.redo()?).document(demo.project())?;
        let root = demo.project().root().to_string_lossy().into_owned();
        let home = demo.home();
        let kept = options.keep.then(|| demo.into_folder());
        context.out.json(&json!({
            "project": root,
            "home": home.to_string_lossy(),
            "kept": kept.is_some(),
            "changes": documents::ChangeList::from(changes.as_slice()).changes,
            "undo": undone,
            "redo": redone,
        }))?;
        return Ok(Exit::Done);
    }
    let root = escape(demo.project().root().as_os_str().as_encoded_bytes());
    context.out.text(&format!(
        "A throw-away project, a person, and an agent at work in it.\n{}\n\n",
        context.out.paint(&root, TextStyle::Dim)
    ))?;
    run_scenario(&mut demo, &mut |step, what, changes| report_step(context, step, what, changes))?;
    show_record(context, &demo)?;
    take_back(context, &demo)?;
    if options.keep {
        let (root, home) = (root.clone(), escape(demo.home().as_os_str().as_encoded_bytes()));
        let folder = escape(demo.into_folder().as_os_str().as_encoded_bytes());
        context.out.text(&format!(
            "Kept in {folder}; look around with\n  retake --home {home} --project {root} log\n"
        ))?;
    } else {
        context.out.text(
            "Everything above was real; the project is gone again. Now your agents:\n  retake setup\n",
        )?;
    }
    Ok(Exit::Done)
}

type StepReporter<'a> = &'a mut dyn FnMut(u32, &str, &[Change]) -> Result<()>;

fn run_scenario(demo: &mut DemoProject, tell: StepReporter<'_>) -> Result<()> {
    let changes = demo.person_asks("Greet people more warmly, sell tea, and clean up.")?;
    tell(1, "You ask the agent: greet people more warmly, sell tea, and clean up.", &changes)?;
    let changes = demo.agent_edits("shop.sh", "\"Welcome\"", "\"A warm welcome\"")?;
    tell(2, "The agent changes the greeting with its Edit tool.", &changes)?;
    let changes = demo.agent_runs("echo 'tea 4' >> prices.txt")?;
    tell(3, "The agent runs a command:  echo 'tea 4' >> prices.txt", &changes)?;
    let changes = demo.person_edits("prices.txt", "bread 3", "bread 3.50")?;
    tell(4, "You raise the price of bread in the same file, in your editor.", &changes)?;
    let changes = demo.agent_runs("rm notes.txt .env")?;
    tell(5, "The agent “cleans up”:  rm notes.txt .env", &changes)?;
    demo.end_turn()?;
    Ok(())
}

fn report_step(context: &CommandContext, step: u32, what: &str, changes: &[Change]) -> Result<()> {
    let mut text = context.out.paint(&format!("{step}. {what}"), TextStyle::Bold) + "\n";
    let mut table = TextTable::default();
    for change in changes {
        let (added, removed) = line_counts(change);
        table.row([
            TableCell::new("Retake saw", TextStyle::Dim),
            TableCell::new(
                format!("{} {}", change.change_type, describe_path(change)),
                TextStyle::Plain,
            ),
            TableCell::right(added, TextStyle::Good),
            TableCell::right(removed, TextStyle::Bad),
            TableCell::new(format!("by {}", describe_actor(change)), TextStyle::Plain),
            TableCell::new(describe_confidence(change.confidence), TextStyle::Dim),
        ]);
    }
    text.push_str(&table.render("   ", context.out.colour));
    Ok(context.out.text(&(text + "\n"))?)
}

fn describe_confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "(certain: it is what the tool announced)",
        Confidence::Window => "(window: only this command was running)",
        Confidence::Shared => "(shared: several commands were running)",
        Confidence::Late => "(late: after its command had ended)",
        Confidence::Assumed => "(assumed: no agent can have done it)",
    }
}

fn show_record(context: &CommandContext, demo: &DemoProject) -> Result<()> {
    let project = demo.project();
    let changes = project.changes(&all_changes())?;
    let mut text = heading(context, "Who changed what", "retake log");
    text.push_str(&log::table(project, &changes)?.render("   ", context.out.colour));

    text.push('\n');
    text.push_str(&heading(
        context,
        "What the agent did, without your price",
        "from retake diff --dialog demo",
    ));
    let filter = ChangeFilter {
        dialogs: vec![DialogId::from(DEMO_DIALOG)],
        oldest_first: true,
        ..ChangeFilter::default()
    };
    let edits: Vec<Change> = project
        .changes(&filter)?
        .into_iter()
        .filter(|c| c.change_type == ChangeType::Modify)
        .collect();
    let style = DiffStyle { readable: true, colour: context.out.colour };
    let mut printer = DiffPrinter::new(project, style);
    for diff in project.net_diff(&edits)? {
        text.push_str(&indented(&String::from_utf8_lossy(&printer.render_file(&diff)?)));
    }

    for (name, why) in [
        ("notes.txt", "it is gone from the disk, not from the record"),
        (".env", "ignored, so not tracked, but captured just before `rm` could run"),
    ] {
        let deleted = |change: &&Change| {
            change.path.as_str() == Some(name) && change.change_type == ChangeType::Delete
        };
        let change = changes.iter().find(deleted).context("the demo's deletion was not seen")?;
        let bytes = project.content(&change.before)?.unwrap_or_default();
        text.push('\n');
        let command = format!("retake show {} --before", change.id);
        text.push_str(&heading(context, &format!("{name}: {why}"), &command));
        text.push_str(&indented(&escape_text(&bytes)));
    }
    text.push('\n');
    Ok(context.out.text(&text)?)
}

/// The end of the demo: the whole turn goes, and comes back, and the person's edit stays.
fn take_back(context: &CommandContext, demo: &DemoProject) -> Result<()> {
    let project = demo.project();
    let shown = |applied: AppliedPlan, what: &str| -> Result<String> {
        let outcome = PlanOutcome::from(applied);
        let mut text = plan_table(project, &outcome.plan, true)?.render("   ", context.out.colour);
        text.push_str(&indented(&undo::describe_outcome(context, project, &outcome, what)?));
        text.push_str("   prices.txt is now\n");
        text.push_str(&indented(&indented(&escape_text(demo.read("prices.txt")?))));
        Ok(text + "\n")
    };
    let (undone, step) = demo.undo()?;
    let what = undo::describe_step(project, &step)?;
    let mut text = heading(context, "You do not want any of it", "retake undo");
    text.push_str(&shown(undone, &what)?);
    text.push_str(&heading(context, "You change your mind", "retake redo"));
    text.push_str(&shown(demo.redo()?, &what)?);
    Ok(context.out.text(&text)?)
}

fn heading(context: &CommandContext, text: &str, command: &str) -> String {
    let command = context.out.paint(&format!("({command})"), TextStyle::Dim);
    format!("{} {command}\n", context.out.paint(text, TextStyle::Bold))
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["   ", line, "\n"]).collect()
}

fn all_changes() -> ChangeFilter {
    ChangeFilter { oldest_first: true, ..ChangeFilter::default() }
}
