//! Cookie files that come back as events: once a cookie's event is read, so are all earlier ones.
//!
//! Invariant: numbers grow over the whole process, and one is drawn before its file is made. So
//! an event of number n proves that everything from before the drawing of any number up to n has
//! been reported.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use retake_seam::fs;

const COOKIE_PREFIX: &str = "cookie-";

static LAST_COOKIE: AtomicU64 = AtomicU64::new(0);

/// The folder in which cookies are made.
#[derive(Debug)]
pub(crate) struct CookieFolder {
    folder: PathBuf,
}

impl CookieFolder {
    /// Prepares the folder, and removes what killed processes left in it.
    ///
    /// The cookie of a living process may go as well: its event is on the way by then.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        fs::create_private_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(COOKIE_PREFIX.as_bytes()) {
                remove_if_present(&entry.path())?;
            }
        }
        Ok(Self { folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a cookie and gives its number.
    pub(crate) fn create_cookie(&self) -> io::Result<u64> {
        let number = LAST_COOKIE.fetch_add(1, Ordering::SeqCst) + 1;
        let path = self.folder.join(format!("{COOKIE_PREFIX}{}-{number}", std::process::id()));
        fs::write_unsynced(&path, b"")?;
        remove_if_present(&path)?;
        Ok(number)
    }
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The number of a cookie of this process, by the name of its file.
pub(crate) fn cookie_number(name: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(name).ok()?.strip_prefix(COOKIE_PREFIX)?;
    let (process, number) = name.split_once('-')?;
    (process.parse() == Ok(std::process::id())).then(|| number.parse().ok())?
}
