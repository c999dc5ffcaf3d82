//! A copy of a prepared project that a sweep restores before each of its runs.
//!
//! Playing a story takes far longer than copying its result. The root folder itself
//! stays: a project is identified by its path and inode.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use retake_engine::model::Millis;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use crate::TestProject;

/// Copy of a project, its home and its clock at one moment.
#[derive(Debug)]
pub struct ProjectCopy {
    copy: tempfile::TempDir,
    now: Millis,
    only_home: bool,
}

impl TestProject {
    /// Copies project and home; nothing may have the project open.
    pub fn copy_all(&self) -> ProjectCopy {
        self.copy_folder(self.outer(), false)
    }

    /// Copies only Retake's home: the project's files keep the stats that git's index has.
    pub fn copy_home(&self) -> ProjectCopy {
        fs::create_dir_all(self.home()).unwrap();
        self.copy_folder(&self.home(), true)
    }

    fn copy_folder(&self, from: &Path, only_home: bool) -> ProjectCopy {
        let beside = self.outer().parent().unwrap();
        let copy = tempfile::Builder::new().prefix("retake-kept-").tempdir_in(beside).unwrap();
        copy_into(from, copy.path());
        ProjectCopy { copy, now: self.now.get(), only_home }
    }

    /// Restores a copy; nothing may have the project open.
    pub fn restore_copy(&self, kept: &ProjectCopy) {
        self.now.set(kept.now);
        if kept.only_home {
            remove(&self.home());
            fs::create_dir(self.home()).unwrap();
            return copy_into(kept.copy.path(), &self.home());
        }
        for entry in fs::read_dir(self.outer()).unwrap() {
            let path = entry.unwrap().path();
            if path == self.root() {
                for inner in fs::read_dir(path).unwrap() {
                    remove(&inner.unwrap().path());
                }
            } else {
                remove(&path);
            }
        }
        copy_into(kept.copy.path(), self.outer());
    }
}

fn remove(path: &Path) {
    if path.symlink_metadata().unwrap().is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

/// Copies the content of one folder into another: names, kinds, modes, bytes and times of files.
fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (old, new) = (entry.path(), to.join(entry.file_name()));
        let found = entry.metadata().unwrap();
        if found.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(old).unwrap(), &new).unwrap();
            set_time(&new, &found);
        } else if found.is_dir() {
            fs::create_dir_all(&new).unwrap();
            copy_into(&old, &new);
            fs::set_permissions(new, found.permissions()).unwrap();
        } else {
            fs::copy(old, &new).unwrap();
            set_time(&new, &found);
        }
    }
}

fn set_time(path: &Path, found: &fs::Metadata) {
    let time = Timespec { tv_sec: found.mtime(), tv_nsec: found.mtime_nsec() };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{disk, play};

    #[test]
    fn a_project_is_as_it_was_kept() {
        let project = TestProject::in_memory();
        play(&project, "file a.txt: a\nfile b/run: b\nrun chmod 755 b/run; ln -s a.txt l\ninit");
        let (kept, before) = (project.copy_all(), disk::read_files(&project.root()));
        let at = project.tick();
        play(&project, "run rm -r b l; echo c > a.txt; echo d > new\nlook");
        assert_eq!(project.changes().len(), 4);

        project.restore_copy(&kept);
        let now = disk::read_files(&project.root());
        assert!(disk::same_files(&now, &before));
        assert_eq!(now["a.txt"], before["a.txt"], "with its time");
        assert_eq!(project.changes(), []);
        assert_eq!(project.tick(), at);
        assert_eq!(
            project.refresh().changes,
            [],
            "it is the same project, and nothing is new in it"
        );
    }
}
