//! Reference costs: the least that a machine needs for such work, `git status`,
//! and the method of the earliest designs, a JSON file for each change.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use crate::files;
use crate::process::{Measurement, measure};
use crate::tools::BenchTools;
use crate::trees::TreeCopy;

const WALK_THREADS: usize = 2;

/// The site where the references are measured.
pub(crate) struct ReferenceCosts {
    tools: BenchTools,
    site: TreeCopy,
    log: File,
    number: u64,
}

impl ReferenceCosts {
    pub(crate) fn new(tools: &BenchTools, site: TreeCopy) -> Result<Self> {
        files::make_folder(&site.peer_folder)?;
        let log =
            OpenOptions::new().create(true).append(true).open(site.peer_folder.join("log"))?;
        Ok(Self { tools: tools.clone(), site, log, number: 0 })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.site.root
    }

    pub(crate) fn empty_program(&self) -> Result<Measurement> {
        measure(&mut self.tools.command(&self.tools.empty, &self.site.peer_folder))
    }

    /// One fsync of a small append.
    pub(crate) fn fsync(&mut self) -> Result<Measurement> {
        let log = &mut self.log;
        measure_in_process(|| {
            files::append_synced(log, b"one line of a log, as a journal has it\n")
        })
    }

    /// A file of so many bytes, written and synced.
    pub(crate) fn write(&mut self, bytes: usize) -> Result<Measurement> {
        self.number += 1;
        let (file, content) =
            (self.site.peer_folder.join(format!("w{}", self.number)), vec![b'x'; bytes]);
        measure_in_process(|| files::write_synced(&file, &content))
    }

    /// One change with both contents as a JSON file, safely put in its place.
    pub(crate) fn json_file(&mut self, before: &str, after: &str) -> Result<Measurement> {
        self.number += 1;
        let file = self.site.peer_folder.join(format!("change-{}.json", self.number));
        measure_in_process(|| {
            let change = json!({
                "id": self.number, "path": "src/main.rs", "type": "modify",
                "before": { "content": before }, "after": { "content": after },
            });
            files::replace_synced(&file, &serde_json::to_vec(&change)?)
        })
    }

    pub(crate) fn git_status(&self) -> Result<Measurement> {
        measure(&mut self.tools.git(&self.site.root, &["status", "--porcelain"]))
    }

    /// All files of the tree, each asked for its size and times, by two threads.
    pub(crate) fn stat_walk(&self) -> Result<Measurement> {
        measure_in_process(|| walk(&self.site.root))
    }
}

/// Measures work of this process itself.
fn measure_in_process(work: impl FnOnce() -> Result<()>) -> Result<Measurement> {
    let begun = Instant::now();
    work()?;
    Ok(Measurement { ms: begun.elapsed().as_secs_f64() * 1000.0, peak_kib: 0 })
}

fn walk(root: &Path) -> Result<()> {
    // Folders that wait, and how many are waiting or being read.
    let (waiting, open) = (Mutex::new(vec![root.to_path_buf()]), AtomicUsize::new(1));
    let seen = AtomicUsize::new(0);
    let take = || waiting.lock().ok().and_then(|mut waiting| waiting.pop());
    thread::scope(|scope| {
        for _ in 0..WALK_THREADS {
            scope.spawn(|| {
                while open.load(Ordering::Acquire) > 0 {
                    let Some(folder) = take() else {
                        thread::yield_now();
                        continue;
                    };
                    let (files, folders) = look_into(&folder);
                    seen.fetch_add(files, Ordering::Relaxed);
                    open.fetch_add(folders.len(), Ordering::AcqRel);
                    if let Ok(mut waiting) = waiting.lock() {
                        waiting.extend(folders);
                    }
                    open.fetch_sub(1, Ordering::AcqRel);
                }
            });
        }
    });
    if seen.into_inner() == 0 {
        bail!("{} has no files", root.display());
    }
    Ok(())
}

fn look_into(folder: &Path) -> (usize, Vec<PathBuf>) {
    let (mut files, mut folders) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(about) if about.is_dir() && entry.file_name() != ".git" => {
                folders.push(entry.path());
            }
            Ok(_) => files += 1,
            Err(_) => {}
        }
    }
    (files, folders)
}
