//! Measures Retake: `cargo run --release -p bench -- TREE…`.
//!
//! Nothing here is part of the product, and no test asserts a time: a run prints what it saw.
//! docs/benchmarks.md says what is measured and how, and holds a run.

#![expect(clippy::print_stdout, reason = "what a benchmark has to say goes to standard output")]
#![expect(clippy::print_stderr, reason = "how far it is goes to standard error")]

mod capture;
mod cases;
mod compare;
mod files;
mod fill;
mod generate;
mod goals;
mod growth;
mod hook_cost;
mod latency;
mod load;
mod machine;
mod measurements;
mod peers;
mod process;
mod query;
mod report;
mod review;
mod svg;
mod table;
mod tools;
mod trees;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures Retake beside others that keep states of a project, on the same trees in one run.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct BenchOptions {
    #[command(flatten)]
    compare: compare::CompareArgs,
    #[command(subcommand)]
    what: Option<BenchCommand>,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// How cost grows with files, changes and dialogs
    Growth(growth::GrowthArgs),
    /// Writes measured tables into a document
    Report(report::ReportArgs),
    /// Several agents change files at once through a daemon's socket; nothing may be lost
    Load(load::LoadArgs),
    /// What the look around a shell call costs an agent: the hooks before and after it
    Looks(hook_cost::HookCostArgs),
    /// What the hunks of a review cost, beside `git diff`
    Review(review::ReviewCostArgs),
    /// Serves a home, as `retake daemon run` does: the other process of a load
    #[command(hide = true)]
    Daemon { home: PathBuf },
    /// Makes a record of many changes
    #[command(hide = true)]
    FillChanges { home: PathBuf, root: PathBuf, changes: u64, dialogs: u64 },
    /// Makes a record of many edits of a large file
    #[command(hide = true)]
    FillEdits { home: PathBuf, root: PathBuf, edits: u64 },
}

fn main() -> Result<()> {
    let options = BenchOptions::parse();
    match options.what {
        None => options.compare.run(),
        Some(BenchCommand::Growth(growth)) => growth.run(),
        Some(BenchCommand::Report(report)) => report.run(),
        Some(BenchCommand::Load(load)) => load.run(),
        Some(BenchCommand::Looks(looks)) => looks.run(),
        Some(BenchCommand::Review(review)) => review.run(),
        Some(BenchCommand::Daemon { home }) => load::daemon(&home),
        Some(BenchCommand::FillChanges { home, root, changes, dialogs }) => {
            fill::changes(&home, &root, changes, dialogs)
        }
        Some(BenchCommand::FillEdits { home, root, edits }) => fill::edits(&home, &root, edits),
    }
}
