//! A FUSE file system that simulates power loss: unsynced data is lost.
//!
//! It is a real mount with all of its disk in memory, so that any program can run on it. It is
//! as pessimistic as the letter of POSIX allows: see [`Forget`] for what a cut loses, and
//! `medium.rs` for what survives it. A cut can be scheduled at any sync
//! ([`Amnesia::cut_at`]): then every request is answered with `EIO`, until
//! [`Amnesia::power_on`]. Or a run without any cut is recorded ([`Amnesia::watch`]), and each
//! sync in it is a [`Moment`] whose disk can be mounted later on.
//!
//! Not supported: extended attributes (but for [`sync_all`]), devices, birth times. `syncfs` does
//! nothing, since the kernel does not forward it to a file system in user space.

mod data;
mod forget;
mod medium;
mod power;
mod serve;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config, MountOption};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

pub use forget::Forget;
pub use medium::Medium;
use power::Shared;
pub use power::{Cut, Moment, Side};
use serve::Server;

/// Timeout of an unmount, while processes still hold files open.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// The extended attribute that requests to make everything beneath a folder durable.
const SYNC_ALL: &str = "user.amnesia.sync-all";

/// Makes everything beneath a folder of such a disk durable, at once and without a sync at which
/// power could be cut: a person's work that is on the disk before anything else happens.
pub fn sync_all(folder: &Path) -> std::io::Result<()> {
    let flags = rustix::fs::XattrFlags::empty();
    Ok(rustix::fs::setxattr(folder, SYNC_ALL, b"", flags)?)
}

/// A mounted disk; dropped, it is gone.
#[derive(Debug)]
pub struct Amnesia {
    folder: PathBuf,
    shared: Arc<Shared>,
    session: Option<BackgroundSession>,
    _temp: tempfile::TempDir,
}

impl Default for Amnesia {
    fn default() -> Self {
        Self::new()
    }
}

impl Amnesia {
    /// An empty disk, mounted.
    pub fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("retake-amnesia-").tempdir().unwrap();
        let folder = temp.path().canonicalize().unwrap().join("disk");
        std::fs::create_dir(&folder).unwrap();
        let mut disk = Self { folder, shared: Arc::default(), session: None, _temp: temp };
        disk.mount();
        disk
    }

    /// Returns the mount point.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns the number of syncs so far, of files and folders.
    pub fn syncs(&self) -> u64 {
        self.shared.lock().syncs
    }

    /// Schedules a power cut at a later sync.
    pub fn cut_at(&self, cut: Cut) {
        self.shared.lock().order(cut);
    }

    /// Returns `true` if the power has failed.
    pub fn is_off(&self) -> bool {
        self.shared.lock().is_off()
    }

    /// Records each sync from now on, with the length of the file `witness` at it.
    pub fn watch(&self, witness: &Path) {
        self.shared.lock().watch(witness.to_owned());
    }

    /// The syncs since [`Amnesia::watch`], which end with this.
    pub fn moments(&self) -> Vec<Moment> {
        std::mem::take(&mut self.shared.lock().moments)
    }

    /// The disk as it is, with what is durable of it.
    pub fn medium(&self) -> Medium {
        self.shared.lock().medium.clone()
    }

    /// Restores the power, after all programs on the mount have ended.
    pub fn power_on(&mut self, forget: Forget) {
        let left = self.medium().after(forget);
        self.put(left);
    }

    /// Replaces the disk. Nothing may have a file on it open.
    pub fn put(&mut self, medium: Medium) {
        self.unmount();
        self.shared.lock().restart(medium);
        self.mount();
    }

    fn mount(&mut self) {
        let mut config = Config::default();
        let name = MountOption::FSName("amnesia".to_owned());
        config.mount_options = vec![name, MountOption::DefaultPermissions];
        let server = Server::new(self.shared.clone());
        self.session = Some(fuser::spawn_mount(server, &self.folder, &config).unwrap());
    }

    fn unmount(&mut self) {
        let Some(session) = self.session.take() else { return };
        let until = Instant::now() + PATIENCE;
        loop {
            match unmount(&self.folder, UnmountFlags::empty()) {
                Err(Errno::BUSY) if Instant::now() < until => std::thread::sleep(PAUSE),
                Err(Errno::BUSY) => {
                    // Not joined: it ends when the last file is closed.
                    let _ = unmount(&self.folder, UnmountFlags::DETACH);
                    assert!(std::thread::panicking(), "something has the disk open");
                    return;
                }
                _ => break,
            }
        }
        let _ = session.join();
    }
}

impl Drop for Amnesia {
    fn drop(&mut self) {
        self.unmount();
    }
}
