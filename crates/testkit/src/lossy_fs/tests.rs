//! The file system does what programs expect of one, and forgets what it should.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{CutSide, LossModel, LossyFs, PowerCut};
use crate::machine::{self, MachineRequirement};

fn mounted() -> Option<LossyFs> {
    machine::has_all(&[MachineRequirement::Root, MachineRequirement::Fuse]).then(LossyFs::new)
}

fn sync(path: &Path) {
    File::open(path).unwrap().sync_all().unwrap();
}

/// Writes a file; neither it nor its name is durable.
fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::write(path, bytes).unwrap();
}

/// Writes a file durably, name and all.
fn keep(path: &Path, bytes: impl AsRef<[u8]>) {
    write(path, bytes);
    sync(path);
    sync(path.parent().unwrap());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn programs_see_a_file_system() {
    let Some(disk) = mounted() else { return };
    let at = |name: &str| disk.path().join(name);
    fs::create_dir_all(at("a/b")).unwrap();
    write(&at("a/b/file"), "some text");
    let mut file = File::options().read(true).write(true).open(at("a/b/file")).unwrap();
    file.seek(SeekFrom::Start(1 << 20)).unwrap();
    file.write_all(b"far away").unwrap();
    file.set_len((1 << 20) + 3).unwrap();
    let mut text = String::new();
    file.seek(SeekFrom::Start(1 << 20)).unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "far");
    let known = fs::metadata(at("a/b/file")).unwrap();
    assert_eq!((known.len(), known.blocks()), ((1 << 20) + 3, 16));
    fs::set_permissions(at("a/b/file"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(at("a/b/file"), at("second")).unwrap();
    let (one, other) = (at("a/b/file").metadata().unwrap(), at("second").metadata().unwrap());
    assert_eq!((one.ino(), one.nlink(), one.mode() & 0o7777), (other.ino(), 2, 0o640));
    symlink("a/b", at("way")).unwrap();
    assert_eq!(names(&at("way")), ["file"]);
    assert!(fs::remove_dir(at("a")).is_err(), "it is not empty");
    fs::remove_file(at("second")).unwrap();
    assert_eq!(at("a/b/file").metadata().unwrap().nlink(), 1);
    for n in 0..500 {
        write(&at(&format!("many-{n:03}")), "x");
    }
    assert_eq!(names(disk.path()).len(), 502);
    fs::remove_dir_all(at("a")).unwrap();
    assert!(file.metadata().unwrap().len() > 0, "what is open stays until it is closed");
    assert!(File::open(disk.path().join("x".repeat(256))).is_err());
}

#[test]
fn renames_with_flags() {
    let Some(disk) = mounted() else { return };
    let at = |name: &str| disk.path().join(name);
    let rename = |from, to, flags| renameat_with(CWD, at(from), CWD, at(to), flags);
    let text = |name| fs::read_to_string(at(name)).unwrap();
    write(&at("a"), "a");
    write(&at("b"), "b");
    assert!(rename("a", "b", RenameFlags::NOREPLACE).is_err());
    assert!(rename("a", "c", RenameFlags::EXCHANGE).is_err());
    rename("a", "b", RenameFlags::EXCHANGE).unwrap();
    assert_eq!((text("a"), text("b")), ("b".into(), "a".into()));
    rename("a", "c", RenameFlags::NOREPLACE).unwrap();
    rename("b", "c", RenameFlags::empty()).unwrap();
    assert_eq!((names(disk.path()), text("c")), (vec!["c".to_owned()], "a".into()));
    fs::create_dir(at("folder")).unwrap();
    write(&at("folder/in"), "in");
    rename("folder", "c", RenameFlags::EXCHANGE).unwrap();
    assert_eq!((text("folder"), text("c/in")), ("a".into(), "in".into()));
}

#[test]
fn what_was_not_synced_is_gone() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    let at = |name: &str| folder.join(name);
    keep(&at("kept"), "kept");
    write(&at("kept"), "lost!");
    write(&at("unsynced"), "lost");
    write(&at("unnamed"), "its bytes are safe, its name is not");
    sync(&at("unnamed"));
    disk.power_on(LossModel::Unsynced);
    assert_eq!(names(&folder), ["kept"]);
    assert_eq!(fs::read(at("kept")).unwrap(), b"kept");

    // A name that is durable before its bytes are.
    write(&at("empty"), "lost");
    sync(&folder);
    fs::create_dir(at("new")).unwrap();
    keep(&at("new/in"), "in a folder that has no durable name");
    disk.power_on(LossModel::Unsynced);
    assert_eq!(names(&folder), ["empty", "kept"]);
    assert_eq!(fs::read(at("empty")).unwrap(), b"");
}

#[test]
fn a_mode_is_durable_with_a_whole_sync() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    let at = |name: &str| folder.join(name);
    let mode = |name| at(name).metadata().unwrap().mode() & 0o777;
    for name in ["data", "whole", "never"] {
        keep(&at(name), name);
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o705)).unwrap();
    }
    File::open(at("data")).unwrap().sync_data().unwrap();
    File::open(at("whole")).unwrap().sync_all().unwrap();
    disk.power_on(LossModel::Unsynced);
    assert_eq!([mode("data"), mode("whole"), mode("never")], [0o644, 0o705, 0o644]);
}

#[test]
fn names_are_durable_with_their_folder() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    let at = |name: &str| folder.join(name);
    let text = |name| fs::read_to_string(at(name)).unwrap();
    let rename = |from, to, flags| renameat_with(CWD, at(from), CWD, at(to), flags).unwrap();
    for name in ["a", "b", "c", "d"] {
        keep(&at(name), name);
    }
    let change = || {
        rename("a", "b", RenameFlags::EXCHANGE);
        rename("c", "moved", RenameFlags::empty());
        fs::hard_link(at("d"), at("second")).unwrap();
        symlink("d", at("way")).unwrap();
    };
    change();
    disk.power_on(LossModel::Unsynced);
    assert_eq!((names(&folder).concat(), text("a")), ("abcd".into(), "a".into()));
    assert_eq!(at("d").metadata().unwrap().nlink(), 1);

    change();
    sync(&folder);
    fs::remove_file(at("d")).unwrap();
    disk.power_on(LossModel::Unsynced);
    assert_eq!(names(&folder), ["a", "b", "d", "moved", "second", "way"]);
    assert_eq!((text("a"), text("b"), text("way")), ("b".into(), "a".into(), "d".into()));
    assert_eq!(at("second").metadata().unwrap().nlink(), 2);
}

/// Between two folders a rename is two changes; each is durable with its own folder.
#[test]
fn a_move_between_folders_can_be_half_there() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    let at = |name: &str| folder.join(name);
    for name in ["from", "to"] {
        fs::create_dir(at(name)).unwrap();
    }
    keep(&at("from/x"), "x");
    sync(&folder);
    fs::rename(at("from/x"), at("to/x")).unwrap();
    sync(&at("to"));
    disk.power_on(LossModel::Unsynced);
    assert_eq!((names(&at("from")), names(&at("to"))), (vec!["x".into()], vec!["x".into()]));
    fs::remove_file(at("to/x")).unwrap();
    sync(&at("to"));
    fs::rename(at("from/x"), at("to/x")).unwrap();
    sync(&at("from"));
    disk.power_on(LossModel::Unsynced);
    assert_eq!(names(&at("from")).len() + names(&at("to")).len(), 0);
}

#[test]
fn names_without_bytes() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    let at = |name: &str| folder.join(name);
    let mess = || {
        write(&at("new"), "lost");
        fs::rename(at("new"), at("kept")).unwrap();
        let mut grown = File::options().append(true).open(at("grown")).unwrap();
        grown.write_all(b" and more").unwrap();
    };
    keep(&at("kept"), "kept");
    keep(&at("grown"), "some");
    let before = disk.medium();
    mess();
    disk.power_on(LossModel::Bytes);
    assert_eq!(names(&folder), ["grown", "kept"]);
    assert_eq!(fs::read(at("kept")).unwrap(), b"", "renamed into its place without a sync");
    assert_eq!(fs::read(at("grown")).unwrap(), b"some");
    disk.mount_image(before);
    mess();
    disk.power_on(LossModel::BytesToZeros);
    assert_eq!(fs::read(at("kept")).unwrap(), [0; 4]);
    assert_eq!(fs::read(at("grown")).unwrap(), b"some\0\0\0\0\0\0\0\0\0");
}

#[test]
fn chance_takes_blocks_and_names_but_nothing_synced() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    let at = |name: &str| folder.join(name);
    keep(&at("safe"), "safe");
    keep(&at("blocks"), vec![b'o'; 8 * 4096]);
    write(&at("blocks"), vec![b'n'; 8 * 4096]);
    for n in 0..8 {
        write(&at(&format!("name-{n}")), "");
    }
    let then = disk.medium();
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..20 {
        disk.mount_image(then.after_loss(LossModel::Some { seed }));
        assert_eq!(fs::read(at("safe")).unwrap(), b"safe");
        let bytes = fs::read(at("blocks")).unwrap();
        let blocks = bytes.chunks(4096);
        let new = blocks.clone().filter(|block| block.iter().all(|&b| b == b'n')).count();
        let old = blocks.clone().filter(|block| block.iter().all(|&b| b == b'o')).count();
        let zero = blocks.filter(|block| block.iter().all(|&b| b == 0)).count();
        assert_eq!(new + old + zero, bytes.len() / 4096, "whole blocks");
        kinds.insert((new, names(&folder).len()));
        let same = then.after_loss(LossModel::Some { seed });
        disk.mount_image(same);
        assert_eq!(fs::read(at("blocks")).unwrap(), bytes, "the same seed, the same loss");
    }
    assert!(kinds.len() > 8, "{kinds:?}");
}

#[test]
fn the_power_fails_at_the_nth_sync() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    let at = |name: &str| folder.join(name);
    keep(&at("a"), "old");
    assert_eq!(disk.syncs(), 2);
    for (side, left) in [(CutSide::Before, "old"), (CutSide::After, "new")] {
        disk.cut_at(PowerCut { nth: 2, side });
        sync(&folder);
        let mut file = File::options().write(true).open(at("a")).unwrap();
        file.write_all(b"new").unwrap();
        assert!(!disk.is_off());
        assert!(file.sync_all().is_err() && disk.is_off());
        assert!(file.write_all(b"more").is_err() && File::create(at("b")).is_err());
        assert!(file.sync_all().is_err(), "there is no second chance");
        drop(file);
        disk.power_on(LossModel::Unsynced);
        assert_eq!(fs::read_to_string(at("a")).unwrap(), left);
    }
}

#[test]
fn each_sync_is_a_moment_that_can_be_gone_back_to() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    let witness = tempfile::NamedTempFile::new().unwrap();
    disk.record_syncs(witness.path());
    for n in 0..3 {
        keep(&folder.join(format!("f{n}")), "whole");
        witness.as_file().set_len(n + 1).unwrap();
    }
    let moments = disk.take_sync_points();
    let said: Vec<_> = moments.iter().map(|moment| moment.witness_bytes).collect();
    assert_eq!(said, [0, 0, 1, 1, 2, 2]);
    for (n, moment) in moments.iter().enumerate() {
        for (side, syncs) in [(CutSide::Before, n), (CutSide::After, n + 1)] {
            disk.mount_image(moment.medium_after_cut(side).after_loss(LossModel::Unsynced));
            assert_eq!(names(&folder).len(), syncs / 2);
        }
    }
}

#[test]
fn a_person_can_have_everything_synced() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    fs::create_dir_all(folder.join("a/b")).unwrap();
    write(&folder.join("a/b/in"), "in");
    write(&folder.join("out"), "out");
    let syncs = disk.syncs();
    super::sync_all(&folder.join("a")).unwrap();
    sync(&folder);
    disk.power_on(LossModel::Unsynced);
    assert_eq!(fs::read(folder.join("a/b/in")).unwrap(), b"in");
    assert_eq!((fs::read(folder.join("out")).unwrap(), disk.syncs()), (vec![], syncs + 1));
}

/// The kernel answers it by itself, and says that all is well.
#[test]
fn syncfs_makes_nothing_durable() {
    let Some(mut disk) = mounted() else { return };
    let folder = disk.path().to_owned();
    write(&folder.join("a"), "a");
    rustix::fs::syncfs(File::open(&folder).unwrap()).unwrap();
    disk.power_on(LossModel::Unsynced);
    assert_eq!(names(&folder), [""; 0]);
}
