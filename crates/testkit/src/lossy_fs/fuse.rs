//! The FUSE server: answers the kernel's requests from the simulated disk.
//!
//! Locks are the kernel's own. All access goes through this one mount, so the kernel may cache
//! names, attributes and pages for as long as it likes.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};

use super::SYNC_ALL_ATTRIBUTE;
use super::data::{BLOCK_BYTES, FileData};
use super::medium::{DiskImage, DiskNode, NodeBody, NodeLocation, NodeMetadata};
use super::power::{PowerState, SharedPower};

const CACHE_TTL: Duration = Duration::from_secs(3600);
const GENERATION: Generation = Generation(0);
/// Number of free blocks and files that the disk reports.
const FREE_BLOCKS: u64 = 1 << 30;

/// One mount of the disk.
pub(super) struct FuseServer {
    shared: Arc<SharedPower>,
}

impl FuseServer {
    pub(super) fn new(shared: Arc<SharedPower>) -> Self {
        Self { shared }
    }

    /// Locks the disk; fails while the power is off.
    fn powered(&self) -> Result<MutexGuard<'_, PowerState>, Errno> {
        let power = self.shared.lock();
        if power.is_off() { Err(Errno::EIO) } else { Ok(power) }
    }

    fn read_only<T>(&self, ask: impl FnOnce(&DiskImage) -> Result<T, Errno>) -> Result<T, Errno> {
        ask(&self.powered()?.medium)
    }

    fn change<T>(&self, act: impl FnOnce(&mut DiskImage) -> Result<T, Errno>) -> Result<T, Errno> {
        act(&mut self.powered()?.medium)
    }

    fn attributes(&self, id: u64) -> Result<FileAttr, Errno> {
        self.read_only(|medium| Ok(attributes(id, medium.node(id)?)))
    }

    fn make(
        &self,
        request: &Request,
        location: NodeLocation<'_>,
        mode: u32,
        body: NodeBody,
    ) -> Result<FileAttr, Errno> {
        let meta = NodeMetadata::new(mode, request.uid(), request.gid());
        self.change(|medium| {
            let id = medium.make(location, meta, body)?;
            Ok(attributes(id, medium.node(id)?))
        })
    }

    fn sync(&self, id: INodeNo, whole: bool) -> Result<(), Errno> {
        self.powered()?.sync(id.0, whole)
    }
}

fn location_of(folder: INodeNo, name: &OsStr) -> NodeLocation<'_> {
    NodeLocation { folder: folder.0, name }
}

fn attributes(id: u64, node: &DiskNode) -> FileAttr {
    let (kind, size, blocks) = match &node.body {
        NodeBody::File(data) => {
            (FileType::RegularFile, data.size(), data.allocated_blocks() * (BLOCK_BYTES / 512))
        }
        NodeBody::Folder(entries) => (FileType::Directory, entries.len() as u64, 0),
        NodeBody::Link(target) => (FileType::Symlink, target.len() as u64, 0),
    };
    let NodeMetadata { mode, uid, gid, atime, mtime, ctime } = node.meta;
    FileAttr {
        ino: INodeNo(id),
        size,
        blocks,
        atime,
        mtime,
        ctime,
        crtime: SystemTime::UNIX_EPOCH,
        kind,
        perm: mode as u16,
        nlink: node.links,
        uid,
        gid,
        rdev: 0,
        blksize: BLOCK_BYTES as u32,
        flags: 0,
    }
}

fn file(node: &DiskNode) -> Result<&FileData, Errno> {
    match &node.body {
        NodeBody::File(data) => Ok(data),
        NodeBody::Folder(_) => Err(Errno::EISDIR),
        NodeBody::Link(_) => Err(Errno::EINVAL),
    }
}

fn file_mut(node: &mut DiskNode) -> Result<&mut FileData, Errno> {
    match &mut node.body {
        NodeBody::File(data) => Ok(data),
        NodeBody::Folder(_) => Err(Errno::EISDIR),
        NodeBody::Link(_) => Err(Errno::EINVAL),
    }
}

fn time(asked: TimeOrNow) -> SystemTime {
    match asked {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    }
}

/// Snapshot of a folder's names, taken when a process began to list it.
pub(super) type DirListing = Vec<(u64, FileType, OsString)>;

fn listing(medium: &DiskImage, folder: u64) -> Result<DirListing, Errno> {
    let entries = medium.entries(folder)?;
    let above = [".", ".."].map(|name| (folder, FileType::Directory, name.into()));
    let entry = |(name, id): (&OsString, &u64)| {
        let kind = match medium.node(*id)?.body {
            NodeBody::File(_) => FileType::RegularFile,
            NodeBody::Folder(_) => FileType::Directory,
            NodeBody::Link(_) => FileType::Symlink,
        };
        Ok((*id, kind, name.clone()))
    };
    above.into_iter().map(Ok).chain(entries.iter().map(entry)).collect()
}

/// Replies with the result, or with the error.
macro_rules! answer {
    ($reply:ident, $found:expr, |$value:pat_param| $good:expr) => {
        match $found {
            Ok($value) => $good,
            Err(errno) => $reply.error(errno),
        }
    };
}

impl Filesystem for FuseServer {
    fn init(&mut self, _: &Request, _: &mut KernelConfig) -> std::io::Result<()> {
        self.shared.lock().listings = HashMap::new();
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.read_only(|medium| {
            let id = medium.find(location_of(parent, name))?;
            Ok(attributes(id, medium.node(id)?))
        });
        answer!(reply, found, |attr| reply.entry(&CACHE_TTL, &attr, GENERATION));
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer!(reply, self.attributes(ino.0), |attr| reply.attr(&CACHE_TTL, &attr));
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let done = self.change(|medium| {
            let node = medium.node_mut(ino.0)?;
            let now = SystemTime::now();
            if let Some(size) = size {
                file_mut(node)?.resize(size);
                node.meta.mtime = now;
            }
            let meta = &mut node.meta;
            meta.mode = mode.map_or(meta.mode, |mode| mode & 0o7777);
            meta.uid = uid.unwrap_or(meta.uid);
            meta.gid = gid.unwrap_or(meta.gid);
            meta.atime = atime.map_or(meta.atime, time);
            meta.mtime = mtime.map_or(meta.mtime, time);
            meta.ctime = now;
            Ok(attributes(ino.0, node))
        });
        answer!(reply, done, |attr| reply.attr(&CACHE_TTL, &attr));
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let found = self.read_only(|medium| match &medium.node(ino.0)?.body {
            NodeBody::Link(target) => Ok(target.clone()),
            _ => Err(Errno::EINVAL),
        });
        answer!(reply, found, |target| reply.data(&target));
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let body = NodeBody::Folder(<_>::default());
        let new = self.make(request, location_of(parent, name), mode & !umask, body);
        answer!(reply, new, |attr| reply.entry(&CACHE_TTL, &attr, GENERATION));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.change(|medium| medium.unlink(location_of(parent, name)));
        answer!(reply, done, |()| reply.ok());
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.change(|medium| medium.remove_folder(location_of(parent, name)));
        answer!(reply, done, |()| reply.ok());
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let body = NodeBody::Link(target.as_os_str().as_bytes().to_vec());
        let made = self.make(request, location_of(parent, name), 0o777, body);
        answer!(reply, made, |attr| reply.entry(&CACHE_TTL, &attr, GENERATION));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = (location_of(parent, name), location_of(newparent, newname));
        let done = self.change(|medium| medium.rename(from, to, flags));
        answer!(reply, done, |()| reply.ok());
    }

    fn link(
        &self,
        _: &Request,
        ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        let done = self.change(|medium| {
            medium.link(ino.0, location_of(newparent, newname))?;
            Ok(attributes(ino.0, medium.node(ino.0)?))
        });
        answer!(reply, done, |attr| reply.entry(&CACHE_TTL, &attr, GENERATION));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let powered = self.powered().map(drop);
        answer!(reply, powered, |()| reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE));
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let body = NodeBody::File(FileData::default());
        let new = self.make(request, location_of(parent, name), mode & !umask, body);
        let kept = FopenFlags::FOPEN_KEEP_CACHE;
        answer!(reply, new, |attr| reply.created(
            &CACHE_TTL,
            &attr,
            GENERATION,
            FileHandle(0),
            kept
        ));
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let found =
            self.read_only(|medium| Ok(file(medium.node(ino.0)?)?.read(offset, u64::from(size))));
        answer!(reply, found, |bytes| reply.data(&bytes));
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let done = self.change(|medium| {
            let node = medium.node_mut(ino.0)?;
            file_mut(node)?.write(offset, data);
            node.meta.mtime = SystemTime::now();
            node.meta.ctime = node.meta.mtime;
            Ok(data.len() as u32)
        });
        answer!(reply, done, |written| reply.written(written));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        answer!(reply, self.powered().map(drop), |()| reply.ok());
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, data: bool, reply: ReplyEmpty) {
        answer!(reply, self.sync(ino, !data), |()| reply.ok());
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer!(reply, self.sync(ino, true), |()| reply.ok());
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let handle = self.powered().map(|mut power| power.new_handle());
        answer!(reply, handle, |handle| reply.opened(FileHandle(handle), FopenFlags::empty()));
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let listed = self.powered().and_then(|mut power| {
            if offset == 0 {
                let listing = listing(&power.medium, ino.0)?;
                power.listings.insert(fh.0, listing);
            }
            let listing = power.listings.get(&fh.0).ok_or(Errno::EBADF)?;
            for (at, (id, kind, name)) in listing.iter().enumerate().skip(offset as usize) {
                if reply.add(INodeNo(*id), at as u64 + 1, *kind, name) {
                    break;
                }
            }
            Ok(())
        });
        answer!(reply, listed, |()| reply.ok());
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.shared.lock().listings.remove(&fh.0);
        reply.ok();
    }

    fn setxattr(
        &self,
        _: &Request,
        ino: INodeNo,
        name: &OsStr,
        _: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let done = self.change(|medium| match name.to_str() {
            Some(SYNC_ALL_ATTRIBUTE) => {
                medium.sync_beneath(ino.0);
                Ok(())
            }
            _ => Err(Errno::ENOTSUP),
        });
        answer!(reply, done, |()| reply.ok());
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let size = BLOCK_BYTES as u32;
        let powered = self.powered().map(drop);
        answer!(reply, powered, |()| reply.statfs(
            FREE_BLOCKS,
            FREE_BLOCKS,
            FREE_BLOCKS,
            FREE_BLOCKS,
            FREE_BLOCKS,
            size,
            255,
            size
        ));
    }
}
