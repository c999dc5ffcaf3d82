//! File locks of a project: one writer at a time.
//!
//! The lock is held for one request, never for a process's life, so hooks,
//! commands, embedders and the daemon never block each other for long.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::StoreError;

/// Interval between attempts to take a lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The project's lock, released when dropped.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock of the project in `folder`, waiting at most `wait`.
    ///
    /// `None` means that another process kept it for the whole time.
    pub fn acquire(folder: &Path, wait: Duration) -> Result<Option<Self>, StoreError> {
        Self::acquire_file(&folder.join("lock"), wait)
    }

    /// Takes the lock of the exported repository of the project in `folder`. Lock order: the
    /// project's lock comes first.
    pub fn acquire_export(folder: &Path, wait: Duration) -> Result<Option<Self>, StoreError> {
        Self::acquire_file(&folder.join("export.lock"), wait)
    }

    /// Takes the lock that marks a run of this name as alive, in the project in `folder`.
    pub fn acquire_run(folder: &Path, name: &str) -> Result<Option<Self>, StoreError> {
        match run_file(folder, name) {
            Some(path) => Self::acquire_file(&path, Duration::ZERO),
            None => Ok(None),
        }
    }

    /// Removes the lock file of a run that has ended.
    pub fn remove_run(folder: &Path, name: &str) {
        if let Some(path) = run_file(folder, name) {
            // A leftover file that no process locks means that the run is over, which is true.
            let _ = retake_seam::fs::remove_file(&path);
        }
    }

    /// Returns whether a run of this name is alive; `None` if it has no lock file.
    pub fn is_run_alive(folder: &Path, name: &str) -> Option<bool> {
        let file = retake_seam::fs::open_private_to_read(&run_file(folder, name)?).ok()?;
        Some(matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    fn acquire_file(path: &Path, wait: Duration) -> Result<Option<Self>, StoreError> {
        let file =
            retake_seam::fs::open_private(path).map_err(StoreError::io("open the lock", path))?;
        let locked = lock_within(&file, wait).map_err(StoreError::io("lock", path))?;
        if locked {
            write_owner(&file);
        }
        Ok(locked.then_some(Self { _file: file }))
    }

    /// The process that last took the lock of the project in `folder`, for messages.
    pub fn owner(folder: &Path) -> Option<u32> {
        let mut text = String::new();
        let mut file = retake_seam::fs::open_private_to_read(&folder.join("lock")).ok()?;
        file.read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }
}

/// Names that agents give are data, never file names: only a run of our own has a file.
fn run_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let rest = name.strip_prefix("run-")?;
    let plain = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then(|| folder.join(format!("{name}.lock")))
}

/// Locks a file, waiting at most `wait`; `false` means that another process holds it.
pub(crate) fn lock_within(file: &File, wait: Duration) -> io::Result<bool> {
    let until = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Writes the pid, for messages only; a failure to write it is no failure to lock.
fn write_owner(mut file: &File) {
    let pid = format!("{:<10}\n", std::process::id());
    let begin = file.seek(SeekFrom::Start(0));
    let _ = begin.and_then(|_| retake_seam::fs::write_all(file, pid.as_bytes()));
}
