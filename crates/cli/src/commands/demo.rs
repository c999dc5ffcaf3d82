//! `retake demo`: plays a short story through the real engine, screen by screen.
//!
//! Invariant: however it ends (to its end, by `q`, by a signal), the throw-away project is removed,
//! unless `--keep` asks for it.

use anyhow::Result;
use retake_engine::ChangeFilter;
use retake_service::documents;
use serde_json::json;

use crate::args::DemoArgs;
use crate::commands::demo_pace::{DemoPacing, PauseAnswer};
use crate::commands::demo_project::DemoProject;
use crate::commands::demo_story::{self, DEMO_FILES, DemoScreen, SCREENS};
use crate::commands::run::exit_by_signal;
use crate::context::{CommandContext, Exit};
use crate::escape::escape;
use crate::outcome::PlanOutcome;
use crate::output::Output;

pub(super) fn run(context: &CommandContext, options: &DemoArgs) -> Result<Exit> {
    if context.json {
        return print_document(context, options);
    }
    let pacing = DemoPacing::new(context.out, options.play)?;
    let mut demo = DemoProject::create(DEMO_FILES)?;
    for (at, play) in SCREENS.iter().enumerate() {
        let mut screen = DemoScreen::new(context);
        play(&mut demo, &mut screen)?;
        context.out.text(&screen.into_text())?;
        let is_last = at + 1 == SCREENS.len();
        match if is_last { PauseAnswer::GoOn } else { pacing.pause()? } {
            PauseAnswer::GoOn => {}
            PauseAnswer::Quit => break,
            PauseAnswer::Signal(signal) => {
                drop(demo);
                return Ok(exit_by_signal(signal));
            }
        }
    }
    context.out.text(&demo_story::next_commands(context.out))?;
    if options.keep {
        let root = escape(demo.project().root().as_os_str().as_encoded_bytes());
        let home = escape(demo.home().as_os_str().as_encoded_bytes());
        let folder = escape(demo.into_folder().as_os_str().as_encoded_bytes());
        context.out.text(&format!(
            "\nKept in {folder}; look around with\n  retake --home {home} --project {root} log\n"
        ))?;
    }
    Ok(Exit::Done)
}

/// Plays the story at once, for programs.
fn print_document(context: &CommandContext, options: &DemoArgs) -> Result<Exit> {
    let pacing = DemoPacing::new(Output::PLAIN, false)?;
    let mut demo = DemoProject::create(DEMO_FILES)?;
    demo_story::play_turn(&mut demo)?;
    let all = ChangeFilter { oldest_first: true, ..ChangeFilter::default() };
    let changes = demo.project().changes(&all)?;
    let undone = PlanOutcome::from(demo.undo()?.0).document(demo.project())?;
    let redone = PlanOutcome::from(demo.redo()?).document(demo.project())?;
    if let PauseAnswer::Signal(signal) = pacing.pause()? {
        drop(demo);
        return Ok(exit_by_signal(signal));
    }
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
    Ok(Exit::Done)
}
