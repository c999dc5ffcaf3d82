//! Measures Retake: `cargo run --release -p bench -- load`.
//!
//! Nothing here is part of the product, and no test asserts a time: a run prints what it saw.

#![expect(clippy::print_stdout, reason = "what a benchmark has to say goes to standard output")]

mod latency;
mod load;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures Retake.
#[derive(Debug, Parser)]
struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Several agents change files at once through a daemon's socket; nothing may be lost
    Load(load::Load),
    /// Serves a home, as `retake daemon run` does: the other process of a load
    #[command(hide = true)]
    Daemon { home: PathBuf },
}

fn main() -> Result<()> {
    match Options::parse().what {
        What::Load(load) => load.run(),
        What::Daemon { home } => load::daemon(&home),
    }
}
