//! One writer at a time.
//!
//! The lock is held for one request, never for a process's life, so hooks,
//! commands, embedders and the daemon never block each other for long.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::StoreError;

const PAUSE: Duration = Duration::from_millis(2);

/// The project's lock, released when dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the project in `folder`, waiting at most `wait`.
    ///
    /// `None` means that another process kept it for the whole time.
    pub fn acquire(folder: &Path, wait: Duration) -> Result<Option<Self>, StoreError> {
        Self::acquire_file(&folder.join("lock"), wait)
    }

    /// Takes the lock of the exported repository of the project in `folder`. Whoever needs both
    /// locks takes the project's first.
    pub fn of_export(folder: &Path, wait: Duration) -> Result<Option<Self>, StoreError> {
        Self::acquire_file(&folder.join("export.lock"), wait)
    }

    fn acquire_file(path: &Path, wait: Duration) -> Result<Option<Self>, StoreError> {
        let file =
            retake_seam::fs::open_private(path).map_err(StoreError::io("open the lock", path))?;
        let locked = lock_within(&file, wait).map_err(StoreError::io("lock", path))?;
        if locked {
            note_owner(&file);
        }
        Ok(locked.then_some(Self { _file: file }))
    }

    /// The process that last took the lock of the project in `folder`, for messages.
    pub fn owner(folder: &Path) -> Option<u32> {
        let mut text = String::new();
        File::open(folder.join("lock")).ok()?.read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }
}

/// Locks a file, waiting at most `wait`; `false` means that somebody else kept it.
pub(crate) fn lock_within(file: &File, wait: Duration) -> io::Result<bool> {
    let until = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The pid serves only messages, so a failure to write it is no failure to lock.
fn note_owner(mut file: &File) {
    let pid = format!("{:<10}\n", std::process::id());
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(pid.as_bytes()));
}
