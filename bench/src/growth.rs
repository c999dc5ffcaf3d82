//! Growth of cost: with the files of a project, with the changes on record, with the dialogs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use retake_engine::model::format_count;
use serde::{Deserialize, Serialize};

use crate::cases::{self, DAEMON, RETAKE};
use crate::compare::{BenchArgs, edit_files, print_progress};
use crate::machine::MachineFacts;
use crate::measurements::median;
use crate::peers::{Peer, RetakePeer};
use crate::process::{Measurement, measure, run};
use crate::query::RecordFixture;
use crate::table::{MarkdownTable, milliseconds};
use crate::tools::BenchTools;
use crate::trees::TreeTemplate;
use crate::{files, svg};

/// How cost grows with files, changes and dialogs.
#[derive(Clone, Debug, Args)]
pub(crate) struct GrowthArgs {
    /// How often each point is measured
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Only these: files, changes, dialogs
    #[arg(long, value_name = "AXIS", value_delimiter = ',')]
    only: Vec<String>,
    /// The largest number of files and of changes
    #[arg(long, value_name = "N", default_values_t = [100_000, 1_000_000], num_args = 2)]
    most: Vec<u64>,
    /// Also write everything that was measured into this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also draw it, as files.svg, changes.svg and dialogs.svg in this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    place: BenchArgs,
}

/// All measured curves.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GrowthCurves {
    pub(crate) machine: MachineFacts,
    pub(crate) axes: Vec<GrowthAxis>,
}

/// The measurements against one quantity.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GrowthAxis {
    pub(crate) name: String,
    points: Vec<GrowthPoint>,
}

#[derive(Debug, Serialize, Deserialize)]
struct GrowthPoint {
    at: u64,
    what: String,
    times: Vec<f64>,
}

impl GrowthArgs {
    pub(crate) fn run(&self) -> Result<()> {
        let (scratch, tools) = self.place.open(None)?;
        let sweep = GrowthRun { tools: &tools, scratch: scratch.path(), rounds: self.rounds };
        let machine = MachineFacts::detect(&tools, scratch.path());
        let mut curves = GrowthCurves { machine, axes: Vec::new() };
        let wants = |axis: &str| self.only.is_empty() || self.only.iter().any(|only| only == axis);
        let up_to = |counts: &[u64], most: usize| -> Vec<u64> {
            counts.iter().copied().filter(|count| *count <= self.most[most]).collect()
        };
        if wants("files") {
            let counts = up_to(&[500, 2_000, 8_000, 30_000, 100_000], 0);
            curves.axes.push(sweep.files(&counts)?);
        }
        if wants("changes") {
            let counts = up_to(&[100, 1_000, 10_000, 100_000, 1_000_000], 1);
            curves.axes.push(sweep.records("changes", &counts, |changes| (changes, 1))?);
        }
        if wants("dialogs") {
            let pair = |dialogs| (10_000.min(self.most[1]), dialogs);
            curves.axes.push(sweep.records("dialogs", &[1, 10, 100, 1_000], pair)?);
        }
        if let Some(file) = &self.json {
            files::write(file, &serde_json::to_vec_pretty(&curves)?)?;
        }
        for axis in &curves.axes {
            println!("{}", axis.table());
            if let Some(folder) = &self.svg {
                let file = folder.join(format!("{}.svg", axis.name));
                files::write(&file, axis.plot().as_bytes())?;
            }
        }
        Ok(())
    }
}

impl GrowthAxis {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), points: Vec::new() }
    }

    fn add(&mut self, at: u64, what: &str, run: Measurement) {
        let known = |point: &&mut GrowthPoint| point.at == at && point.what == what;
        if let Some(point) = self.points.iter_mut().find(known) {
            point.times.push(run.ms);
        } else {
            self.points.push(GrowthPoint { at, what: what.to_owned(), times: vec![run.ms] });
        }
    }

    fn lines(&self) -> Vec<svg::PlotLine> {
        let mut lines: Vec<svg::PlotLine> = Vec::new();
        for point in &self.points {
            #[expect(clippy::cast_precision_loss, reason = "a place on paper")]
            let place = (point.at as f64, median(&point.times));
            match lines.iter_mut().find(|line| line.name == point.what) {
                Some(line) => line.points.push(place),
                None => lines.push(svg::PlotLine { name: point.what.clone(), points: vec![place] }),
            }
        }
        lines
    }

    pub(crate) fn plot(&self) -> String {
        svg::plot(&format!("Time against {}", self.name), &self.name, &self.lines())
    }

    /// A row for each number, and how much the time grew for tenfold the number.
    pub(crate) fn table(&self) -> String {
        let mut table =
            MarkdownTable::new(vec!["what", "of", "median", "least – most", "power"], 1);
        for line in self.lines() {
            let mut name = line.name.as_str();
            for point in self.points.iter().filter(|point| point.what == line.name) {
                let (least, most) = ends(&point.times);
                let is_last = line.points.last().is_some_and(|end| end.0 as u64 == point.at);
                table.row(vec![
                    name.to_owned(),
                    format!("{} {}", format_count(point.at), self.name),
                    milliseconds(median(&point.times)),
                    format!("{} – {}", milliseconds(least), milliseconds(most)),
                    growth_exponent(&line.points).filter(|_| is_last).unwrap_or_default(),
                ]);
                name = "";
            }
        }
        table.to_string()
    }
}

/// Growth exponent from the last point but one to the last: 0 not at all, 1 in proportion.
fn growth_exponent(points: &[(f64, f64)]) -> Option<String> {
    let [.., before, last] = points else { return None };
    Some(format!("{:.2}", (last.1 / before.1).log10() / (last.0 / before.0).log10()))
}

fn ends(times: &[f64]) -> (f64, f64) {
    let (least, most) = (f64::INFINITY, 0.0);
    times.iter().fold((least, most), |(least, most), time| (time.min(least), time.max(most)))
}

struct GrowthRun<'a> {
    tools: &'a BenchTools,
    scratch: &'a Path,
    rounds: usize,
}

impl GrowthRun<'_> {
    fn files(&self, counts: &[u64]) -> Result<GrowthAxis> {
        let mut axis = GrowthAxis::new("files");
        for &count in counts {
            print_progress(&format!("{count} files"));
            let template = TreeTemplate::generated(self.tools, count, self.scratch)?;
            for (name, daemon) in [(RETAKE, false), (DAEMON, true)] {
                let site = template.copy(self.tools, name)?;
                let mut peer = RetakePeer::new(self.tools, name, site, daemon);
                self.on_files(&mut axis, count, &template, &mut peer)?;
                peer.stop()?;
            }
            template.remove()?;
        }
        Ok(axis)
    }

    fn on_files(
        &self,
        axis: &mut GrowthAxis,
        count: u64,
        tree: &TreeTemplate,
        peer: &mut RetakePeer,
    ) -> Result<()> {
        let name = peer.name().to_owned();
        // With the daemon it is the same work.
        for _ in 0..if name == RETAKE { self.rounds } else { 1 } {
            let run = peer.first_checkpoint()?;
            if name == RETAKE {
                axis.add(count, &format!("{name}: first checkpoint"), run);
            }
        }
        for round in 0..self.rounds {
            edit_files(peer.root(), &tree.editable[..1], round)?;
            files::sync_file_system(self.scratch)?;
            axis.add(count, &format!("{name}: {}", cases::checkpoint(1)), peer.checkpoint()?);
            let captured = hook(peer, &tree.editable[1], round)?;
            axis.add(count, &format!("{name}: hook after an edit"), captured);
            if name == RETAKE {
                let mut status = self.tools.git(peer.root(), &["status", "--porcelain"]);
                axis.add(count, cases::STATUS, measure(&mut status)?);
            }
        }
        Ok(())
    }

    /// Measures against a quantity that decides how many changes and dialogs are on record.
    fn records(
        &self,
        name: &str,
        counts: &[u64],
        of: impl Fn(u64) -> (u64, u64),
    ) -> Result<GrowthAxis> {
        let mut axis = GrowthAxis::new(name);
        for &count in counts {
            print_progress(&format!("{count} {name}"));
            let (changes, dialogs) = of(count);
            let record = RecordFixture::make(self.tools, self.scratch, changes, dialogs)?;
            for round in 0..self.rounds {
                for (what, arguments) in record.questions() {
                    axis.add(count, what, measure(&mut record.retake.command(&arguments))?);
                }
                let path = PathBuf::from("src/file_3.rs");
                let captured = hook(&record.retake, &path, round)?;
                axis.add(count, "hook after an edit", captured);
                edit_files(record.retake.root(), &[path], round)?;
                files::sync_file_system(self.scratch)?;
                let checkpoint = measure(&mut record.retake.command(&["checkpoint"]))?;
                axis.add(count, &cases::checkpoint(1), checkpoint);
            }
            record.remove()?;
        }
        Ok(axis)
    }
}

/// Measures the hook after one edit.
fn hook(peer: &RetakePeer, path: &Path, round: usize) -> Result<Measurement> {
    // The hook should not have to find a person's edits of the meantime.
    run(&mut peer.command(&["status"]))?;
    let text = std::fs::read_to_string(peer.root().join(path))?;
    let old = text.lines().next().context("an edited file has lines")?;
    let mut agent = peer.agent(&format!("growth-{round}"));
    Ok(agent.edit(path, old, &format!("{old} // agent {round}"))?.end)
}
