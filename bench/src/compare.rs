//! The comparison: all peers do the same on copies of the same tree, in turns.
//!
//! In each round every peer runs once, beginning with another one each time; before each run the
//! file system is synced, so that none pays for the one before. Restored files are checked.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::cases::{self, DAEMON, FIRST, JJ, JJ_WATCHMAN, PLAIN, RETAKE, SHADOW, SMALL};
use crate::machine::MachineFacts;
use crate::measurements::Measurements;
use crate::peers::{
    GitTuning, JjPeer, Peer, ReferenceCosts, RetakePeer, SeededGit, ShadowGit, WatchmanServer,
};
use crate::process::Measurement;
use crate::tools::BenchTools;
use crate::trees::TreeTemplate;
use crate::{capture, files, generate, goals, query, table};

/// What to compare, and how often.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompareArgs {
    /// Work trees of git to measure on; they stay as they are [default: one of 15,000 files is made]
    #[arg(value_name = "TREE")]
    trees: Vec<PathBuf>,
    /// How often each case is measured
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Only these: first, plain, checkpoint, restore, rollback, hook, space, edits, query
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    only: Vec<String>,
    /// How many small edits of a large file are made to see the space that they take
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    edits: u64,
    /// How many changes are on record where questions are asked
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100, 100_000, 1_000_000])]
    records: Vec<u64>,
    /// Also write everything that was measured into this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    place: BenchArgs,
}

/// Cases that need a tree, and a copy of it for every peer.
const TREE_CASES: [&str; 7] =
    ["first", "plain", "checkpoint", "restore", "rollback", "hook", "space"];

/// Where to measure, and what.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchArgs {
    /// Make copies and records in this folder [default: beside the first tree]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    retake: Option<PathBuf>,
    /// Where jj is [default: as PATH says]
    #[arg(long, value_name = "FILE")]
    jj: Option<PathBuf>,
}

impl BenchArgs {
    /// The scratch folder, which goes when it is dropped, and the tools.
    pub(crate) fn open(&self, beside: Option<&Path>) -> Result<(tempfile::TempDir, BenchTools)> {
        let default = beside.and_then(|tree| tree.canonicalize().ok()?.parent().map(PathBuf::from));
        let folder = self.scratch.clone().or(default).unwrap_or_else(std::env::temp_dir);
        let scratch = files::scratch_in(&folder)?;
        let tools = BenchTools::locate(self.retake.as_deref(), self.jj.as_deref(), scratch.path())?;
        Ok((scratch, tools))
    }
}

/// The state of a comparison.
pub(crate) struct Comparison<'a> {
    pub(crate) tools: &'a BenchTools,
    pub(crate) scratch: &'a Path,
    pub(crate) book: Measurements,
    pub(crate) rounds: usize,
    /// Whether jj takes part.
    pub(crate) jj: bool,
    jj_with_watchman: bool,
}

/// A peer, and the cases that it takes part in.
struct PeerEntry {
    peer: Box<dyn Peer>,
    part: PeerCases,
    /// The files of its tree that are edited.
    editable: Vec<PathBuf>,
}

impl PeerEntry {
    fn new(part: PeerCases, peer: impl Peer + 'static, tree: &TreeTemplate) -> Self {
        Self { peer: Box::new(peer), part, editable: tree.editable.clone() }
    }

    fn full(peer: impl Peer + 'static, tree: &TreeTemplate) -> Self {
        Self::new(PeerCases::Full, peer, tree)
    }

    /// Ends what runs in the background, and removes the copy.
    fn remove(mut self) -> Result<()> {
        self.peer.stop()?;
        files::remove(self.peer.root().parent().context("a copy is in a folder of its own")?)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PeerCases {
    /// In everything.
    Full,
    /// A variant, whose first checkpoint is not another one.
    Later,
    /// Only one changed file: on another tree, for comparison.
    OneChange,
}

/// The names of the cases under which first checkpoints are measured.
#[derive(Clone, Copy)]
struct CheckpointCases<'a> {
    time: &'a str,
    space: &'a str,
}

impl CompareArgs {
    pub(crate) fn run(&self) -> Result<()> {
        let (scratch, tools) = self.place.open(self.trees.first().map(PathBuf::as_path))?;
        let book = Measurements::new(MachineFacts::detect(&tools, scratch.path()), self.rounds);
        let mut arena = Comparison {
            tools: &tools,
            scratch: scratch.path(),
            book,
            rounds: self.rounds,
            jj: false,
            jj_with_watchman: false,
        };
        arena.note_missing();
        if TREE_CASES.iter().any(|case| self.wants(case)) {
            self.on_trees(&mut arena)?;
        }
        if self.wants("edits") {
            capture::many_edits(&mut arena, self.edits)?;
        }
        if self.wants("query") {
            query::measure_queries(&mut arena, &self.records)?;
        }
        if let Some(file) = &self.json {
            files::write(file, &serde_json::to_vec_pretty(&arena.book)?)?;
        }
        println!("{}", table::comparison(&arena.book));
        println!("{}", table::targets(&goals::all(&arena.book)));
        Ok(())
    }

    fn on_trees(&self, arena: &mut Comparison<'_>) -> Result<()> {
        let (tools, scratch) = (arena.tools, arena.scratch);
        let _server = WatchmanServer::detect();
        let small = TreeTemplate::generated(tools, 500, scratch)?;
        arena.try_jj(&small)?;
        if self.trees.is_empty() {
            let tree = TreeTemplate::generated(tools, 15_000, scratch)?;
            return self.on_tree(arena, &tree, &small);
        }
        for tree in &self.trees {
            let tree = TreeTemplate::clone_of(tools, tree, scratch)?;
            self.on_tree(arena, &tree, &small)?;
            tree.remove()?;
        }
        Ok(())
    }

    fn wants(&self, case: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == case)
    }

    fn on_tree(
        &self,
        arena: &mut Comparison<'_>,
        tree: &TreeTemplate,
        small: &TreeTemplate,
    ) -> Result<()> {
        print_progress(&format!("{}: {} files", tree.facts.name, tree.facts.files));
        arena.book.trees.push(tree.facts.clone());
        if self.wants("plain") {
            arena.measure_plain_folder(tree)?;
        }
        let mut references =
            ReferenceCosts::new(arena.tools, tree.copy(arena.tools, "references")?)?;
        let mut entrants = arena.entrants(tree, small)?;
        let rounds = if self.wants("first") { arena.rounds } else { 0 };
        print_progress("  first checkpoints");
        arena.measure_first_checkpoints(
            tree,
            &mut entrants,
            CheckpointCases { time: FIRST, space: cases::SPACE_FIRST },
            rounds,
        )?;
        for changed in [0, 1, 100] {
            if self.wants("checkpoint") {
                arena.measure_checkpoints(tree, &mut entrants, &mut references, changed)?;
            }
        }
        for changed in [1, 100] {
            if self.wants("restore") {
                arena.measure_restores(tree, &mut entrants, changed)?;
            }
        }
        entrants.into_iter().try_for_each(PeerEntry::remove)?;
        if ["rollback", "hook", "space"].iter().any(|case| self.wants(case)) {
            let wants = |case: &str| self.wants(case);
            capture::measure_tree(arena, tree, &mut references, &wants)?;
        }
        Ok(())
    }
}

impl Comparison<'_> {
    fn note_missing(&mut self) {
        let tools = self.tools;
        for (there, what) in [
            (tools.git_has_fsmonitor, "git's own fsmonitor: not supported here"),
            (tools.jj.is_some(), "jj: not installed"),
            (tools.watchman, "jj with watchman: watchman is not installed"),
        ] {
            if !there {
                self.book.missing.push(what.to_owned());
            }
        }
    }

    /// Runs all cases with jj once, on a small tree: an incompatible version is left out here,
    /// and does not fail the run after half an hour.
    fn try_jj(&mut self, small: &TreeTemplate) -> Result<()> {
        for (name, watchman) in [(JJ, false), (JJ_WATCHMAN, true)] {
            if self.tools.jj.is_none() || (watchman && !self.tools.watchman) {
                continue;
            }
            let site = small.copy(self.tools, &format!("try {name}"))?;
            let mut peer = JjPeer::new(self.tools, name, site, watchman)?;
            let mut go_through = || {
                peer.first_checkpoint()?;
                peer.checkpoint()?;
                edit_files(peer.root(), &small.editable[..2], 0)?;
                peer.restore(&small.editable[..2])?;
                ensure!(
                    read_contents(peer.root(), &small.editable[..2])?
                        == read_contents(&small.root, &small.editable[..2])?,
                    "it did not bring the files back"
                );
                peer.stop()
            };
            match go_through() {
                Ok(()) if watchman => self.jj_with_watchman = true,
                Ok(()) => self.jj = true,
                Err(error) => self.book.missing.push(format!("{name}: {error:#}")),
            }
        }
        Ok(())
    }

    fn entrants(&self, tree: &TreeTemplate, small: &TreeTemplate) -> Result<Vec<PeerEntry>> {
        let tools = self.tools;
        let mut entrants = Vec::new();
        for (name, daemon) in [(RETAKE, false), (DAEMON, true)] {
            let peer = RetakePeer::new(tools, name, tree.copy(tools, name)?, daemon);
            entrants.push(PeerEntry::full(peer, tree));
        }
        let watcher = tools.git_has_fsmonitor.then_some(GitTuning::Watcher);
        for tuning in
            [Some(GitTuning::Plain), Some(GitTuning::ManyFiles), watcher].into_iter().flatten()
        {
            let part = if tuning == GitTuning::Plain { PeerCases::Full } else { PeerCases::Later };
            let (shadow, seeded) = tuning.names();
            let peer = ShadowGit::new(tools, shadow, tree.copy(tools, shadow)?, tuning);
            entrants.push(PeerEntry::new(part, peer, tree));
            let peer = SeededGit::new(tools, seeded, tree.copy(tools, seeded)?, tuning);
            entrants.push(PeerEntry::new(part, peer, tree));
        }
        if self.jj {
            entrants
                .push(PeerEntry::full(JjPeer::new(tools, JJ, tree.copy(tools, JJ)?, false)?, tree));
        }
        if self.jj_with_watchman {
            let peer = JjPeer::new(tools, JJ_WATCHMAN, tree.copy(tools, JJ_WATCHMAN)?, true)?;
            entrants.push(PeerEntry::new(PeerCases::Later, peer, tree));
        }
        let site = small.copy(tools, &format!("{} small", tree.facts.name))?;
        let peer = RetakePeer::new(tools, SMALL, site, true);
        entrants.push(PeerEntry::new(PeerCases::OneChange, peer, small));
        Ok(entrants)
    }

    /// Measures the first checkpoint of each peer, from scratch in every round; then its space.
    fn measure_first_checkpoints(
        &mut self,
        tree: &TreeTemplate,
        entrants: &mut [PeerEntry],
        cases: CheckpointCases<'_>,
        rounds: usize,
    ) -> Result<()> {
        for round in 0..rounds {
            self.in_turns(
                round,
                entrants,
                |entrant| entrant.part == PeerCases::Full,
                |arena, entrant| {
                    let run = entrant.peer.first_checkpoint()?;
                    arena.book.add_time(&tree.facts.name, cases.time, entrant.peer.name(), run);
                    Ok(())
                },
            )?;
        }
        for entrant in entrants {
            if rounds == 0 || entrant.part != PeerCases::Full {
                entrant.peer.first_checkpoint()?;
            } else {
                self.note_space(tree, entrant.peer.as_mut(), cases.space)?;
            }
        }
        Ok(())
    }

    fn note_space(&mut self, tree: &TreeTemplate, peer: &mut dyn Peer, case: &str) -> Result<()> {
        let (space, name) = (peer.space()?, peer.name().to_owned());
        let mut note = |name: &str, bytes: u64| {
            self.book.add_bytes(&tree.facts.name, case, name, bytes);
        };
        note(&name, space.own);
        if space.shared > 0 {
            note(&format!("{name} (shared with .git)"), space.shared);
        }
        if let Some(packed) = peer.packed_space()? {
            note(&format!("{name}, after gc"), packed.own);
        }
        Ok(())
    }

    /// Measures the first checkpoint of a folder that is no repository.
    fn measure_plain_folder(&mut self, tree: &TreeTemplate) -> Result<()> {
        print_progress("  first checkpoints of a plain folder");
        let tools = self.tools;
        let site = |name: &str| tree.copy_plain(&format!("plain {name}"));
        let mut entrants = vec![
            PeerEntry::full(RetakePeer::new(tools, RETAKE, site(RETAKE)?, false), tree),
            PeerEntry::full(ShadowGit::new(tools, SHADOW, site(SHADOW)?, GitTuning::Plain), tree),
        ];
        if self.jj {
            entrants.push(PeerEntry::full(JjPeer::new(tools, JJ, site(JJ)?, false)?, tree));
        }
        self.measure_first_checkpoints(
            tree,
            &mut entrants,
            CheckpointCases { time: PLAIN, space: cases::SPACE_PLAIN },
            self.rounds,
        )?;
        entrants.into_iter().try_for_each(PeerEntry::remove)
    }

    fn measure_checkpoints(
        &mut self,
        tree: &TreeTemplate,
        entrants: &mut [PeerEntry],
        references: &mut ReferenceCosts,
        changed: usize,
    ) -> Result<()> {
        let case = cases::checkpoint(changed);
        print_progress(&format!("  {case}"));
        let takes_part = |entrant: &PeerEntry| changed == 1 || entrant.part != PeerCases::OneChange;
        for round in 0..self.rounds {
            self.in_turns(round, entrants, takes_part, |arena, entrant| {
                edit_files(entrant.peer.root(), &entrant.editable[..changed], round)?;
                let run = entrant.peer.checkpoint()?;
                arena.book.add_time(&tree.facts.name, &case, entrant.peer.name(), run);
                Ok(())
            })?;
            self.measure_references(tree, references, round)?;
        }
        Ok(())
    }

    fn measure_restores(
        &mut self,
        tree: &TreeTemplate,
        entrants: &mut [PeerEntry],
        changed: usize,
    ) -> Result<()> {
        let case = cases::restore(changed);
        print_progress(&format!("  {case}"));
        for round in 0..self.rounds {
            self.in_turns(
                round,
                entrants,
                |entrant| entrant.part != PeerCases::OneChange,
                |arena, entrant| {
                    let (peer, paths) = (&mut entrant.peer, &tree.editable[..changed]);
                    peer.checkpoint()?;
                    let before = read_contents(peer.root(), paths)?;
                    edit_files(peer.root(), paths, round)?;
                    files::sync_file_system(arena.scratch)?;
                    let run = peer.restore(paths)?;
                    let same = read_contents(peer.root(), paths)? == before;
                    ensure!(same, "{} did not bring the files back", peer.name());
                    arena.book.add_time(&tree.facts.name, &case, peer.name(), run);
                    Ok(())
                },
            )?;
        }
        Ok(())
    }

    /// Measures the references, once in each round: they are as noisy as everything else.
    pub(crate) fn measure_references(
        &mut self,
        tree: &TreeTemplate,
        to: &mut ReferenceCosts,
        round: usize,
    ) -> Result<()> {
        edit_files(to.root(), &tree.editable[..1], round)?;
        let note = |arena: &mut Self, peer: &str, run: Measurement| {
            arena.book.add_time(&tree.facts.name, cases::REFERENCE, peer, run);
        };
        files::sync_file_system(self.scratch)?;
        note(self, cases::STATUS, to.git_status()?);
        note(self, cases::WALK, to.stat_walk()?);
        note(self, cases::EMPTY, to.empty_program()?);
        for _ in 0..3 {
            note(self, cases::FSYNC, to.fsync()?);
        }
        for (size, bytes) in cases::SIZES {
            let text = generate::text(7, bytes);
            note(self, &cases::written(size), to.write(bytes)?);
            note(self, &cases::json_file(size), to.json_file(&text, &text)?);
        }
        Ok(())
    }

    /// Runs every participating peer, another one first in each round.
    fn in_turns(
        &mut self,
        round: usize,
        entrants: &mut [PeerEntry],
        takes_part: impl Fn(&PeerEntry) -> bool,
        mut go: impl FnMut(&mut Self, &mut PeerEntry) -> Result<()>,
    ) -> Result<()> {
        let count = entrants.len();
        for turn in 0..count {
            let entrant = &mut entrants[(turn + round) % count];
            if takes_part(entrant) {
                files::sync_file_system(self.scratch)?;
                go(self, entrant).with_context(|| entrant.peer.name().to_owned())?;
            }
        }
        Ok(())
    }
}

/// Prints the progress.
pub(crate) fn print_progress(what: &str) {
    eprintln!("{what}");
}

/// Edits these files as a person would.
pub(crate) fn edit_files(root: &Path, paths: &[PathBuf], round: usize) -> Result<()> {
    for path in paths {
        files::append(&root.join(path), &format!("// edit {round} {}\n", fastrand::u64(..)))?;
    }
    Ok(())
}

pub(crate) fn read_contents(root: &Path, paths: &[PathBuf]) -> Result<Vec<Vec<u8>>> {
    paths.iter().map(|path| Ok(std::fs::read(root.join(path))?)).collect()
}
