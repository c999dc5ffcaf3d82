//! A FUSE file system that simulates power loss: unsynced data is lost.
//!
//! It is a real mount with all of its disk in memory, so that any program can run on it. It is
//! as pessimistic as the letter of POSIX allows: see [`LossModel`] for what a cut loses, and
//! `medium.rs` for what survives it. A cut can be scheduled at any sync
//! ([`LossyFs::cut_at`]): then every request is answered with `EIO`, until
//! [`LossyFs::power_on`]. Or a run without any cut is recorded ([`LossyFs::record_syncs`]), and each
//! sync in it is a [`SyncPoint`] whose disk can be mounted later on.
//!
//! Not supported: extended attributes (but for [`sync_all`]), devices, birth times. `syncfs` does
//! nothing, since the kernel does not forward it to a file system in user space.

mod data;
mod forget;
mod fuse;
mod medium;
mod power;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config, MountOption};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

pub use forget::LossModel;
use fuse::FuseServer;
pub use medium::DiskImage;
use power::SharedPower;
pub use power::{CutSide, PowerCut, SyncPoint};

/// Timeout of an unmount, while processes still hold files open.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(5);
const UNMOUNT_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The extended attribute that requests to make everything beneath a folder durable.
const SYNC_ALL_ATTRIBUTE: &str = "user.amnesia.sync-all";

/// Makes everything beneath a folder of such a disk durable, at once and without a sync at which
/// power could be cut: a person's work that is on the disk before anything else happens.
pub fn sync_all(folder: &Path) -> std::io::Result<()> {
    let flags = rustix::fs::XattrFlags::empty();
    Ok(rustix::fs::setxattr(folder, SYNC_ALL_ATTRIBUTE, b"", flags)?)
}

/// A mounted disk; dropped, it is gone.
#[derive(Debug)]
pub struct LossyFs {
    folder: PathBuf,
    shared: Arc<SharedPower>,
    session: Option<BackgroundSession>,
    _temp: tempfile::TempDir,
}

impl Default for LossyFs {
    fn default() -> Self {
        Self::new()
    }
}

impl LossyFs {
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
    pub fn cut_at(&self, cut: PowerCut) {
        self.shared.lock().schedule_cut(cut);
    }

    /// Returns `true` if the power has failed.
    pub fn is_off(&self) -> bool {
        self.shared.lock().is_off()
    }

    /// Records each sync from now on, with the length of the file `witness` at it.
    pub fn record_syncs(&self, witness: &Path) {
        self.shared.lock().record_syncs(witness.to_owned());
    }

    /// The syncs since [`LossyFs::record_syncs`], which end with this.
    pub fn take_sync_points(&self) -> Vec<SyncPoint> {
        std::mem::take(&mut self.shared.lock().sync_points)
    }

    /// The disk as it is, with what is durable of it.
    pub fn medium(&self) -> DiskImage {
        self.shared.lock().medium.clone()
    }

    /// Restores the power, after all programs on the mount have ended.
    pub fn power_on(&mut self, forget: LossModel) {
        let left = self.medium().after_loss(forget);
        self.mount_image(left);
    }

    /// Replaces the disk. Nothing may have a file on it open.
    pub fn mount_image(&mut self, medium: DiskImage) {
        self.unmount();
        self.shared.lock().restart(medium);
        self.mount();
    }

    fn mount(&mut self) {
        let mut config = Config::default();
        let name = MountOption::FSName("amnesia".to_owned());
        config.mount_options = vec![name, MountOption::DefaultPermissions];
        let server = FuseServer::new(self.shared.clone());
        self.session = Some(fuser::spawn_mount(server, &self.folder, &config).unwrap());
    }

    fn unmount(&mut self) {
        let Some(session) = self.session.take() else { return };
        let until = Instant::now() + UNMOUNT_TIMEOUT;
        loop {
            match unmount(&self.folder, UnmountFlags::empty()) {
                Err(Errno::BUSY) if Instant::now() < until => {
                    std::thread::sleep(UNMOUNT_POLL_INTERVAL);
                }
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

impl Drop for LossyFs {
    fn drop(&mut self) {
        self.unmount();
    }
}
