//! The daemon's log file: readable by its owner only, rotated at a maximum size.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use retake_server::RunFolder;
use tracing_subscriber::filter::{FilterExt as _, FilterFn, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// Maximum bytes of the log file before it is rotated.
const MAX_LOG_BYTES: u64 = 1024 * 1024;

/// Logs to the file of a home's daemon.
pub(crate) fn log_to_file(home: &Path, filter: EnvFilter) -> io::Result<()> {
    let folder = RunFolder::in_home(home);
    folder.create()?;
    let log = DaemonLogFile::open(folder.log_path())?;
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(log));
    tracing_subscriber::registry().with(layer.with_filter(filter.and(own_targets_filter()))).init();
    Ok(())
}

/// Logs to standard error.
pub(crate) fn log_to_stderr(filter: EnvFilter) {
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    tracing_subscriber::registry().with(layer.with_filter(filter.and(own_targets_filter()))).init();
}

/// Keeps only Retake's own log targets: other crates log whole commands.
fn own_targets_filter() -> FilterFn {
    filter_fn(|event| event.target().starts_with("retake"))
}

struct DaemonLogFile {
    path: PathBuf,
    file: File,
    size: u64,
}

impl DaemonLogFile {
    fn open(path: PathBuf) -> io::Result<Self> {
        let file = retake_seam::fs::open_private(&path)?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size })
    }

    fn rotate(&mut self) -> io::Result<()> {
        retake_seam::fs::rename(&self.path, &self.path.with_extension("log.1"))?;
        *self = Self::open(self.path.clone())?;
        Ok(())
    }
}

impl Write for DaemonLogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.size > MAX_LOG_BYTES {
            self.rotate()?;
        }
        retake_seam::fs::append(&mut self.file, bytes)?;
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_within_its_bound_and_keeps_the_newest() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("daemon.log");
        let mut log = DaemonLogFile::open(path.clone()).unwrap();
        let line = [b'x'; 4096];
        for _ in 0..(3 * MAX_LOG_BYTES / 4096) {
            log.write_all(&line).unwrap();
        }
        log.write_all(b"newest").unwrap();
        assert!(std::fs::read(&path).unwrap().ends_with(b"newest"));
        let size = |name: &str| temp.path().join(name).metadata().unwrap().len();
        assert!(size("daemon.log") + size("daemon.log.1") <= 2 * (MAX_LOG_BYTES + 4096));
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 2);
    }
}
