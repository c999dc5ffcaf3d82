//! Measures queries on records of different lengths, in turns.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::cases::{self, RETAKE};
use crate::compare::{Comparison, print_progress};
use crate::files;
use crate::peers::{Peer as _, RetakePeer};
use crate::process::{measure, run};
use crate::tools::BenchTools;
use crate::trees::TreeCopy;

/// A project with a record of `changes` changes.
pub(crate) struct RecordFixture {
    pub(crate) changes: u64,
    pub(crate) retake: RetakePeer,
    /// Its newest change.
    newest: String,
}

impl RecordFixture {
    /// Makes one, in a process of its own: Linux would count its memory as that of every child.
    pub(crate) fn make(
        tools: &BenchTools,
        scratch: &Path,
        changes: u64,
        dialogs: u64,
    ) -> Result<Self> {
        let side = scratch.join(format!("record-{changes}-{dialogs}"));
        let root = side.join("project");
        let retake = RetakePeer::new(
            tools,
            RETAKE,
            TreeCopy { root, peer_folder: side, repository: None },
            false,
        );
        let mut child = Command::new(std::env::current_exe()?);
        child.arg("fill-changes").arg(retake.home()).arg(retake.root());
        run(child.args([changes.to_string(), dialogs.to_string()]))?;
        let said = run(&mut retake.command(&["log", "-n", "1", "--json"]))?;
        let said: Value = serde_json::from_str(&said)?;
        let newest = said["changes"][0]["id"].as_str().context("a change has an id")?.to_owned();
        Ok(Self { changes, retake, newest })
    }

    /// Returns the names of the queries and their arguments.
    pub(crate) fn questions(&self) -> [(&'static str, Vec<&str>); 4] {
        [
            ("log of the last 50", vec!["log", "-n", "50"]),
            ("diff of a change", vec!["diff", &self.newest]),
            ("status", vec!["status"]),
            ("history of a file", vec!["log", "--file", "src/file_7.rs", "-n", "50"]),
        ]
    }

    pub(crate) fn remove(&self) -> Result<()> {
        files::remove(self.retake.root().parent().context("a record has a folder")?)
    }
}

/// Measures queries on records of `counts` changes, with one dialog per thousand of them.
pub(crate) fn measure_queries(arena: &mut Comparison<'_>, counts: &[u64]) -> Result<()> {
    let mut records = Vec::new();
    for &count in counts {
        print_progress(&format!("a record of {count} changes"));
        let dialogs = (count / 1000).clamp(1, 1000);
        records.push(RecordFixture::make(arena.tools, arena.scratch, count, dialogs)?);
    }
    for _ in 0..arena.rounds {
        for record in &records {
            for (what, arguments) in record.questions() {
                files::sync_file_system(arena.scratch)?;
                let run = measure(&mut record.retake.command(&arguments))?;
                arena.book.add_time("", &cases::query(what, record.changes), RETAKE, run);
            }
        }
    }
    records.iter().try_for_each(RecordFixture::remove)
}
