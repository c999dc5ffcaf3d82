//! Load test through the daemon's socket: each writer is an agent that edits its own and shared
//! files, and sends the begin and the end of each edit, as hooks do.
//!
//! The ledger is the ground truth: the last content that each writer wrote into each file, and the
//! number of acknowledged edits. In the end every file must be in the record as the ledger has
//! it, readable byte for byte, and each acknowledged edit must be a change of that writer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use retake_engine::model::{
    CallId, Caller, DialogId, Event, EventKind, Millis, PathState, ProjectPath,
};
use retake_engine::{ChangeFilter, InitOptions, Project, Retake};
use retake_server::http::HttpOptions;
use retake_server::{CallError, DaemonClient};
use retake_service::request::{RecordEvents, Submission};
use serde_json::json;

use crate::latency::Latencies;

/// How much.
#[derive(Clone, Debug, Args)]
pub(crate) struct LoadArgs {
    /// Agents that write at once
    #[arg(long, default_value_t = 16)]
    writers: u32,
    /// Edits a second of each
    #[arg(long, default_value_t = 50)]
    rate: u32,
    /// How long, in seconds
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Files of each writer
    #[arg(long, default_value_t = 20)]
    files: u32,
    /// Other files in the project
    #[arg(long, default_value_t = 1000)]
    others: u32,
}

/// The ground truth of one writer.
#[derive(Default)]
struct WriterLedger {
    /// The content that it wrote last into each file.
    last: HashMap<PathBuf, Vec<u8>>,
    /// Edits that were acknowledged.
    edits: u64,
    /// Edits that were spooled.
    kept: u64,
    begins: Latencies,
    ends: Latencies,
    /// Number of times it was behind its own rate.
    late: u64,
}

impl LoadArgs {
    pub(crate) fn run(&self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (home, root) = (folder.path().join("home"), folder.path().join("project"));
        self.fill(&root)?;
        let retake = Retake::new(&home);
        retake.init(&root, InitOptions::default(), now(), &mut |_, _| {})?;
        let mut daemon = DaemonProcess::start(&home)?;
        println!(
            "{} writers, {} edits/s each, {} s, {} files of others",
            self.writers, self.rate, self.seconds, self.others
        );
        let started = Instant::now();
        let ledgers = self.write(&home, &root)?;
        let took = started.elapsed();
        let memory = daemon.peak_memory();
        let project = retake.open(&root)?;
        project.refresh(now())?;
        report(&ledgers, took, memory);
        daemon.stop();
        check(&project, &ledgers)
    }

    fn fill(&self, root: &Path) -> Result<()> {
        for number in 0..self.others {
            let file = root.join(format!("other/{}/{number}.txt", number % 50));
            write(&file, format!("file {number}\n").as_bytes())?;
        }
        write(&root.join("README.md"), b"# load\n")
    }

    fn write(&self, home: &Path, root: &Path) -> Result<Vec<WriterLedger>> {
        let until = Instant::now() + Duration::from_secs(self.seconds);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..self.writers)
                .map(|number| scope.spawn(move || self.writer(number, home, root, until)))
                .collect();
            let done = writers.into_iter().map(|writer| match writer.join() {
                Ok(ledger) => ledger,
                Err(_) => bail!("a writer panicked"),
            });
            done.collect()
        })
    }

    fn writer(
        &self,
        number: u32,
        home: &Path,
        root: &Path,
        until: Instant,
    ) -> Result<WriterLedger> {
        let mut ledger = WriterLedger::default();
        let pace = Duration::from_secs(1) / self.rate;
        let mut next = Instant::now() + pace.mul_f64(fastrand::f64());
        let mut edit = 0_u64;
        while Instant::now() < until {
            match next.checked_duration_since(Instant::now()) {
                Some(pause) => thread::sleep(pause),
                None => ledger.late += 1,
            }
            next += pace;
            edit += 1;
            let file = root.join(format!("w{number}/f{}.txt", edit % u64::from(self.files)));
            let content =
                format!("writer {number}, edit {edit}\n").repeat(1 + (edit % 40) as usize);
            LoadAgent { home, root, number }.edit(&file, content.as_bytes(), edit, &mut ledger)?;
            ledger.last.insert(file, content.into_bytes());
        }
        Ok(ledger)
    }
}

/// One agent.
struct LoadAgent<'a> {
    home: &'a Path,
    root: &'a Path,
    number: u32,
}

impl LoadAgent<'_> {
    fn edit(
        &self,
        file: &Path,
        content: &[u8],
        edit: u64,
        ledger: &mut WriterLedger,
    ) -> Result<()> {
        let call = Some(CallId(format!("call-{edit}")));
        let text = String::from_utf8_lossy(content);
        let input = json!({ "file_path": file.to_string_lossy(), "content": text });
        let tool = "Write".to_owned();
        let begun = Instant::now();
        self.send_event(EventKind::ToolBegin { call: call.clone(), tool, input })?;
        ledger.begins.add(begun.elapsed());
        write(file, content)?;
        let ended = Instant::now();
        let input = serde_json::Value::Null;
        let what = EventKind::ToolEnd {
            call,
            ok: Some(true),
            exit_code: None,
            tool: None,
            input,
            background: false,
            task: None,
        };
        if self.send_event(what)? {
            ledger.edits += 1;
        } else {
            ledger.kept += 1;
        }
        ledger.ends.add(ended.elapsed());
        Ok(())
    }

    /// Sends an event; returns `true` if it is recorded, `false` if it is spooled.
    fn send_event(&self, what: EventKind) -> Result<bool> {
        static NEXT_KEY: AtomicU64 = AtomicU64::new(0);
        let dialog = DialogId(format!("writer-{}", self.number));
        let mut event = Event::new(dialog, what);
        event.cwd = Some(self.root.to_string_lossy().into_owned());
        let key = format!("load-{}", NEXT_KEY.fetch_add(1, Ordering::Relaxed));
        let submissions = vec![Submission::new(key, event, now())];
        let client = DaemonClient::connect(self.home).ok().context("the daemon does not answer")?;
        let asked = client.run(
            self.root,
            false,
            Caller::default(),
            RecordEvents { submissions },
            &mut |_, _| {},
        );
        let answers = asked.map_err(|unanswered| match unanswered {
            CallError::Failed(failure) => anyhow::Error::new(failure),
            other => anyhow::anyhow!("the daemon did not record it: {other:?}"),
        })?;
        let recorded = answers.into_iter().next().context("no answer")??;
        Ok(recorded.seq.is_some())
    }
}

/// Serves a home, as `retake daemon run` does.
pub(crate) fn daemon(home: &Path) -> Result<()> {
    let daemon = retake_server::Daemon::open(Retake::new(home), now)?;
    daemon.serve(Duration::from_secs(600), &HttpOptions::default())?;
    Ok(())
}

/// The daemon, as a process of its own.
struct DaemonProcess {
    child: Child,
}

impl DaemonProcess {
    fn start(home: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("daemon").arg(home).stdin(Stdio::null());
        let child = command.spawn().context("the daemon cannot be started")?;
        let until = Instant::now() + Duration::from_secs(20);
        while DaemonClient::connect(home).is_err() {
            ensure!(Instant::now() < until, "the daemon does not answer");
            thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { child })
    }

    /// Returns its peak memory, in MiB.
    fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kilobytes / 1024)
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

fn report(ledgers: &[WriterLedger], took: Duration, memory: Option<u64>) {
    let sum = |count: fn(&WriterLedger) -> u64| ledgers.iter().map(count).sum::<u64>();
    let (edits, kept, late) = (sum(|l| l.edits), sum(|l| l.kept), sum(|l| l.late));
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let rate = (edits + kept) as f64 / took.as_secs_f64();
    println!("edits     {edits} acknowledged, {kept} kept for later, {late} began late");
    println!("rate      {rate:.1} edits/s (two events each)");
    println!("begin     {}", all(ledgers, |ledger| &ledger.begins));
    println!("end       {}", all(ledgers, |ledger| &ledger.ends));
    if let Some(memory) = memory {
        println!("memory    {memory} MiB at most in the daemon");
    }
}

fn all(ledgers: &[WriterLedger], which: fn(&WriterLedger) -> &Latencies) -> Latencies {
    let mut joined = Latencies::default();
    for ledger in ledgers {
        joined.merge(which(ledger));
    }
    joined
}

/// Compares the record with what the writers did.
fn check(project: &Project, ledgers: &[WriterLedger]) -> Result<()> {
    let (mut files, mut lost) = (0_u64, 0_u64);
    for (file, content) in ledgers.iter().flat_map(|ledger| &ledger.last) {
        let path = file.strip_prefix(project.root())?.to_string_lossy().into_owned();
        let path: ProjectPath = path.parse()?;
        let entry = project.store().manifest_entry(&path)?;
        let side = entry.map_or(PathState::Absent, |entry| entry.state.into());
        files += 1;
        if project.content(&side)?.as_ref() != Some(content) {
            lost += 1;
            println!("lost      the final state of {path}");
        }
    }
    let mut missing = 0;
    for (number, ledger) in ledgers.iter().enumerate() {
        let dialogs = vec![DialogId(format!("writer-{number}"))];
        let changes = project.changes(&ChangeFilter { dialogs, ..ChangeFilter::default() })?;
        missing += ledger.edits.saturating_sub(changes.len() as u64);
    }
    println!(
        "ledger    {files} files, {lost} final states lost, {missing} acknowledged edits lost"
    );
    ensure!(lost == 0 && missing == 0, "the record is not what was written");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the agents of a benchmark write files, not Retake")]
fn write(file: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::fs::write(file, content)?)
}

fn now() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as Millis)
}
