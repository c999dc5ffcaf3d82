//! Cost of a review: the list of its files, the hunks of one of them, and those of all.
//!
//! The engine is measured as user interfaces use it, in one process, with a project that is open. git
//! shows the same changes in the same run, as a process of its own; an empty one is measured beside it.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use retake_engine::model::{CallId, DialogId, Event, EventKind, Millis};
use retake_engine::{InitOptions, Project, Retake, Review, ReviewScope, ScopeChanges};
use serde_json::{Value, json};

use crate::compare::print_progress;
use crate::latency::Latencies;
use crate::machine::MachineFacts;
use crate::process::run;
use crate::table::{MarkdownTable, milliseconds, times};
use crate::tools::BenchTools;
use crate::{files, generate};

/// Size of each of the many files.
const SMALL_BYTES: usize = 4_000;
/// Bytes of a line that the generator makes, about.
const LINE_BYTES: usize = 40;
/// In the large file every so many lines one is changed.
const LINES_PER_CHANGE: usize = 20;
const START_TIME: Millis = 1_767_225_600_000;

/// What the hunks of a review cost.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReviewCostArgs {
    /// Number of files that an agent changed
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    files: u64,
    /// Number of lines of one large file that it changed
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    lines: usize,
    /// How often each is measured
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: usize,
}

/// One case, measured in turns.
struct ReviewCase<'c> {
    what: String,
    retake: Box<dyn Fn() -> Result<()> + 'c>,
    /// The arguments of git.
    git: Vec<&'static str>,
    times: [Latencies; 2],
}

impl ReviewCostArgs {
    pub(crate) fn run(&self) -> Result<()> {
        let scratch = files::scratch_in(&std::env::temp_dir())?;
        let tools = BenchTools::locate(None, None, scratch.path())?;
        for (name, value) in MachineFacts::detect(&tools, scratch.path()).lines() {
            println!("- {name}: {value}");
        }
        print_progress(&format!("{} files, and one of {} lines", self.files, self.lines));
        let root = scratch.path().join("project");
        let project = self.prepare(&tools, scratch.path(), &root)?;
        let mut empty = Latencies::default();
        let mut cases = self.cases(&project);
        for _ in 0..self.rounds {
            let started = Instant::now();
            run(&mut std::process::Command::new("true"))?;
            empty.add(started.elapsed());
            for case in &mut cases {
                case.measure(&tools, &root)?;
            }
        }
        println!("- an empty process: {}\n", milliseconds(empty.percentile_ms(0.5)));
        print!("{}", render(&cases));
        Ok(())
    }

    /// An agent has changed one line of each file, and many of the large one.
    fn prepare(&self, tools: &BenchTools, scratch: &Path, root: &Path) -> Result<Project> {
        for number in 0..self.files {
            let text = generate::text(number, SMALL_BYTES);
            files::write(&root.join(small(number)), text.as_bytes())?;
        }
        let large = generate::text(0, self.lines * LINE_BYTES * 2);
        let large: Vec<_> = large.lines().take(self.lines).collect();
        ensure!(large.len() == self.lines, "the generator made {} lines", large.len());
        files::write(&root.join("large.rs"), (large.join("\n") + "\n").as_bytes())?;
        for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "start"]] {
            run(&mut tools.git(root, arguments))?;
        }
        let retake = Retake::new(scratch.join("home"));
        retake.init(root, InitOptions::default(), START_TIME, &mut |_, _| {})?;
        let project = retake.open(root)?;
        record(&project, EventKind::UserMessage { text: "change all".to_owned() })?;
        let call = Some(CallId("change-all".to_owned()));
        let input = json!({ "command": "make all" });
        record(&project, EventKind::ToolBegin { call, tool: "Bash".to_owned(), input })?;
        for number in 0..self.files {
            let text = generate::text(number, SMALL_BYTES);
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            let middle = lines.len() / 2;
            lines[middle].push_str(" // by an agent");
            files::write(&root.join(small(number)), (lines.join("\n") + "\n").as_bytes())?;
        }
        let changed = |(at, line): (usize, &&str)| {
            if at % LINES_PER_CHANGE == 0 {
                format!("{line} // by an agent\n")
            } else {
                format!("{line}\n")
            }
        };
        let text: String = large.iter().enumerate().map(changed).collect();
        files::write(&root.join("large.rs"), text.as_bytes())?;
        record(&project, end_of_call())?;
        Ok(project)
    }

    fn cases<'p>(&self, project: &'p Project) -> Vec<ReviewCase<'p>> {
        let files = self.files as usize + 1;
        let all = move || all_agents(project);
        let list = move || {
            let review = all()?;
            ensure!(review.entries().len() == files, "{} files", review.entries().len());
            Ok(())
        };
        let hunks_of_all = move || {
            let review = all()?;
            let count = review.entries().iter().map(|entry| Ok(review.files(entry)?.len()));
            ensure!(count.sum::<Result<usize>>()? == files, "every file has hunks");
            Ok(())
        };
        let large_hunks = self.lines.div_ceil(LINES_PER_CHANGE);
        let case =
            |what: String, retake, git| ReviewCase { what, retake, git, times: Default::default() };
        vec![
            case(
                format!("list of {} files", self.files + 1),
                Box::new(list),
                vec!["diff", "--numstat"],
            ),
            case(
                format!("hunks of one of {} files", self.files + 1),
                Box::new(move || hunks_of_one(project, "src/file_7.rs", 1)),
                vec!["diff", "--", "src/file_7.rs"],
            ),
            case(
                format!("hunks of all {} files", self.files + 1),
                Box::new(hunks_of_all),
                vec!["diff"],
            ),
            case(
                format!("{large_hunks} hunks of a file of {} lines", self.lines),
                Box::new(move || hunks_of_one(project, "large.rs", large_hunks)),
                vec!["diff", "--", "large.rs"],
            ),
        ]
    }
}

impl ReviewCase<'_> {
    fn measure(&mut self, tools: &BenchTools, root: &Path) -> Result<()> {
        let started = Instant::now();
        (self.retake)()?;
        self.times[0].add(started.elapsed());
        let mut git = tools.git(root, &self.git);
        let started = Instant::now();
        let shown = run(&mut git)?;
        self.times[1].add(started.elapsed());
        ensure!(!shown.is_empty(), "git sees the changes");
        Ok(())
    }
}

fn render(cases: &[ReviewCase<'_>]) -> String {
    let mut table = MarkdownTable::new(
        vec!["", "Retake: median", "p95", "git: median", "p95", "git / Retake"],
        1,
    );
    for case in cases {
        let [ours, git] = &case.times;
        let cell = |times: &Latencies, part| milliseconds(times.percentile_ms(part));
        table.row(vec![
            case.what.clone(),
            cell(ours, 0.5),
            cell(ours, 0.95),
            cell(git, 0.5),
            cell(git, 0.95),
            times(git.percentile_ms(0.5) / ours.percentile_ms(0.5)),
        ]);
    }
    table.to_string()
}

fn small(number: u64) -> String {
    format!("src/file_{number}.rs")
}

fn all_agents(project: &Project) -> Result<Review<'_>> {
    Ok(project.review(&ReviewScope::of(ScopeChanges::AllAgents))?)
}

fn hunks_of_one(project: &Project, path: &str, hunks: usize) -> Result<()> {
    let path = path.parse().ok().context("it is a path of a project")?;
    let scope = ReviewScope::of(ScopeChanges::AllAgents).in_file(&path);
    let review = project.review(&scope)?;
    let entry = review.entries().first().context("the file is in the review")?;
    let found: usize = review.files(entry)?.iter().map(|file| file.hunks.len()).sum();
    ensure!(found == hunks, "{path} has {found} hunks, not {hunks}");
    Ok(())
}

fn end_of_call() -> EventKind {
    EventKind::ToolEnd {
        call: Some(CallId("change-all".to_owned())),
        ok: Some(true),
        exit_code: None,
        tool: None,
        input: Value::Null,
        background: false,
        task: None,
    }
}

fn record(project: &Project, what: EventKind) -> Result<()> {
    let mut event = Event::new(DialogId("reviewed".to_owned()), what);
    event.cwd = Some(project.root().to_string_lossy().into_owned());
    project.record(&event, START_TIME)?;
    Ok(())
}
