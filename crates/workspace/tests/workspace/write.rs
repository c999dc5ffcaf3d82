//! Writing the user's files: each act does what it says, and nothing more.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use retake_model::FileKind;
use retake_workspace::{WriteError, WriteFault, is_temp_name};

use crate::support::{Project, everything, exists, mode, path, stage, staged, text};

#[test]
fn a_temp_lies_beside_its_target_or_in_the_deepest_folder_that_exists() {
    let project = Project::with(&["a/b/f", "top"]);
    let before = everything(&project);
    let workspace = project.workspace();
    let temp = |name: &str| workspace.temp_for(&path(name), "op1-2").unwrap().to_string();
    assert_eq!(temp("a/b/f"), "a/b/.retake-op1-2.tmp");
    assert_eq!(temp("a/b/new"), "a/b/.retake-op1-2.tmp");
    assert_eq!(temp("a/x/y/z"), "a/.retake-op1-2.tmp");
    assert_eq!(temp("top"), ".retake-op1-2.tmp");
    assert_eq!(temp("x/y"), ".retake-op1-2.tmp");
    assert!(is_temp_name(b".retake-op1-2.tmp"));
    assert_eq!(everything(&project), before);
    for tag in ["", "a/b", "..", "a b", "~", &"x".repeat(101)] {
        let error = workspace.temp_for(&path("top"), tag).unwrap_err();
        assert!(matches!(error.why, WriteFault::NotATemp), "{tag:?}: {error}");
    }
}

#[test]
fn a_staged_file_has_the_exact_bytes_and_mode() {
    let project = Project::with(&["d/f"]);
    let workspace = project.workspace();
    let large: Vec<u8> = (0..500_000_u32).flat_map(u32::to_le_bytes).collect();
    for (number, mode) in
        [0o644, 0o755, 0o600, 0o444, 0o4755, 0o2711, 0o1777, 0o200, 0].into_iter().enumerate()
    {
        let temp = path(format!("d/.retake-{number}.tmp"));
        let content = if number % 2 == 0 { b"short\0\n".to_vec() } else { large.clone() };
        let done = stage(&workspace, &temp, &content, mode | 0o100_000);
        assert_eq!((&done.temp, done.kind), (&temp, FileKind::File));
        assert!(std::fs::read(project.at(temp.as_bytes())).unwrap() == content);
        assert_eq!(crate::support::mode(&project, temp.as_str().unwrap()), mode, "{mode:o}");
        workspace.sync_staged(&[done]).unwrap();
    }
    let empty = path("d/.retake-empty.tmp");
    stage(&workspace, &empty, b"", 0o640);
    assert_eq!(project.at("d/.retake-empty.tmp").metadata().unwrap().len(), 0);
}

#[test]
fn a_staged_file_is_private_until_it_is_complete() {
    let project = Project::new();
    let workspace = project.workspace();
    let mut seen = 0;
    let fill = &mut |to: &mut dyn Write| {
        seen = mode(&project, ".retake-t.tmp");
        to.write_all(b"secret")
    };
    workspace.stage(&path(".retake-t.tmp"), FileKind::File, 0o666, fill).unwrap();
    assert_eq!((seen, mode(&project, ".retake-t.tmp")), (0o600, 0o666));
}

#[test]
fn a_staged_link_has_the_exact_target() {
    let project = Project::new();
    let workspace = project.workspace();
    let longest = vec![b'x'; 4095];
    for (number, target) in
        [b"../a b".as_slice(), b"/abs/\xff\n", b".", &longest].into_iter().enumerate()
    {
        let temp = path(format!(".retake-{number}.tmp"));
        let fill =
            &mut |to: &mut dyn Write| target.chunks(2).try_for_each(|part| to.write_all(part));
        let done = workspace.stage(&temp, FileKind::Link, 0o777, fill).unwrap();
        let found = std::fs::read_link(project.at(temp.as_bytes())).unwrap();
        assert_eq!(found.as_os_str().as_bytes(), target);
        workspace.sync_staged(&[done]).unwrap();
    }
    for (target, named) in [(b"".as_slice(), false), (b"a\0b", false), (&[b'x'; 4096], true)] {
        let fill = &mut |to: &mut dyn Write| to.write_all(target);
        let error = workspace.stage(&path(".retake-x.tmp"), FileKind::Link, 0, fill).unwrap_err();
        assert!(matches!(
            (error.why, named),
            (WriteFault::Filled(_), false) | (WriteFault::NameTooLong, true)
        ));
        assert!(!exists(&project, ".retake-x.tmp"));
    }
}

#[test]
fn a_temp_that_cannot_be_filled_is_gone_again() {
    let project = Project::new();
    let workspace = project.workspace();
    let temp = path(".retake-t.tmp");
    for kind in [FileKind::File, FileKind::Link] {
        let fill = &mut |to: &mut dyn Write| -> io::Result<()> {
            to.write_all(b"half")?;
            Err(io::Error::other("damaged object"))
        };
        let error = workspace.stage(&temp, kind, 0o644, fill).unwrap_err();
        assert!(matches!(error.why, WriteFault::Filled(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            "cannot write '.retake-t.tmp': its content cannot be produced: damaged object"
        );
        assert_eq!(everything(&project).len(), 0);
    }
}

#[test]
fn staging_never_reuses_what_is_there() {
    let project = Project::new();
    let outside = Project::with(&["secret"]);
    let workspace = project.workspace();
    project.write(".retake-a.tmp", "displaced");
    symlink(outside.at("secret"), project.at(".retake-b.tmp")).unwrap();
    symlink("nowhere", project.at(".retake-c.tmp")).unwrap();
    std::fs::create_dir(project.at(".retake-d.tmp")).unwrap();
    for name in ["a", "b", "c", "d"].map(|tag| format!(".retake-{tag}.tmp")) {
        for kind in [FileKind::File, FileKind::Link] {
            let fill = &mut |to: &mut dyn Write| to.write_all(b"overwritten");
            let error = workspace.stage(&path(&name), kind, 0o644, fill).unwrap_err();
            assert!(matches!(error.why, WriteFault::Exists), "{error:?}");
            assert!(exists(&project, &name));
        }
    }
    assert_eq!(text(&project, ".retake-a.tmp"), "displaced");
    assert_eq!(text(&outside, "secret"), "content");
    assert!(!exists(&project, "nowhere"));
}

#[test]
fn many_staged_files_are_synced_together() {
    let project = Project::new();
    let workspace = project.workspace();
    let many: Vec<_> = (0..40)
        .map(|number| stage(&workspace, &path(format!(".retake-{number}.tmp")), b"x", 0o644))
        .collect();
    workspace.sync_staged(&many).unwrap();
    workspace.sync_staged(&many[..4]).unwrap();
    workspace.sync_staged(&[]).unwrap();
    // Not what was staged any more: nobody may believe that it is durable.
    std::fs::rename(project.at(".retake-4.tmp"), project.at(".retake-3.tmp")).unwrap();
    for number in [3, 4] {
        let error = workspace.sync_staged(&many[number..=number]).unwrap_err();
        assert!(matches!(error.why, WriteFault::Gone), "{error:?}");
        assert_eq!(error.path, many[number].temp);
    }
}

#[test]
fn an_exchange_swaps_and_swaps_back() {
    let project = Project::with(&["d/f", "d/sibling", "other"]);
    std::fs::set_permissions(project.at("d/f"), Permissions::from_mode(0o751)).unwrap();
    let before = everything(&project);
    let workspace = project.workspace();
    let temp = workspace.temp_for(&path("d/f"), "t").unwrap();
    stage(&workspace, &temp, b"new", 0o640);
    workspace.exchange(&temp, &path("d/f")).unwrap();
    assert_eq!((text(&project, "d/f"), mode(&project, "d/f")), ("new".into(), 0o640));
    assert_eq!(text(&project, temp.as_bytes()), "content");
    assert_eq!(mode(&project, "d/.retake-t.tmp"), 0o751);
    assert_eq!(workspace.finish_exchange(&temp, &path("d/f")).unwrap(), None);
    workspace.exchange(&temp, &path("d/f")).unwrap();
    workspace.remove_temp(&temp).unwrap();
    workspace.sync_folders([&temp, &path("d/f")]).unwrap();

    // Same inodes, modes and mtimes; only the folder was touched.
    let files = |lines: Vec<String>| -> Vec<_> {
        lines.into_iter().filter(|line| !line.starts_with("d ")).collect()
    };
    assert_eq!(files(everything(&project)), files(before));
}

#[test]
fn an_exchange_swaps_kinds() {
    let project = Project::with(&["f"]);
    symlink("f", project.at("link")).unwrap();
    let workspace = project.workspace();
    let temp = path(".retake-t.tmp");
    let fill = &mut |to: &mut dyn Write| to.write_all(b"link");
    workspace.stage(&temp, FileKind::Link, 0, fill).unwrap();
    workspace.exchange(&temp, &path("f")).unwrap();
    assert_eq!(std::fs::read_link(project.at("f")).unwrap().to_str(), Some("link"));
    workspace.remove_temp(&temp).unwrap();
    stage(&workspace, &temp, b"file", 0o644);
    workspace.exchange(&temp, &path("link")).unwrap();
    assert_eq!(text(&project, "link"), "file");
    assert_eq!(std::fs::read_link(project.at(".retake-t.tmp")).unwrap().to_str(), Some("f"));
}

#[test]
fn a_file_is_taken_aside_and_put_back() {
    let project = Project::with(&["d/f", "d/g"]);
    symlink("../g", project.at("d/link")).unwrap();
    let workspace = project.workspace();
    for name in ["d/f", "d/link"] {
        let before = everything(&project);
        let aside = workspace.temp_for(&path(name), "t").unwrap();
        workspace.move_aside(&path(name), &aside).unwrap();
        assert!(!exists(&project, name) && exists(&project, aside.as_bytes()));
        workspace.put_back(&aside, &path(name)).unwrap();
        let files =
            |lines: Vec<String>| lines.into_iter().filter(|l| !l.starts_with("d ")).collect();
        let (before, after): (Vec<_>, Vec<_>) = (files(before), files(everything(&project)));
        assert_eq!(after, before);
    }
    project.write("d/.retake-t.tmp", "displaced before");
    let error = workspace.move_aside(&path("d/f"), &path("d/.retake-t.tmp")).unwrap_err();
    assert!(matches!(error.why, WriteFault::Exists), "{error:?}");
    assert_eq!(error.path, path("d/.retake-t.tmp"));
    assert_eq!(text(&project, "d/.retake-t.tmp"), "displaced before");
    for act in [
        workspace.move_aside(&path("d/none"), &path("d/.retake-u.tmp")),
        workspace.move_aside(&path("none/x"), &path(".retake-u.tmp")),
        workspace.exchange(&path("d/.retake-t.tmp"), &path("d/none")),
        workspace.put_back(&path("d/.retake-u.tmp"), &path("d/none")),
    ] {
        assert!(matches!(act, Err(WriteError { why: WriteFault::Gone, .. })), "{act:?}");
    }
}

#[test]
fn only_temps_are_removed_staged_or_displaced_to() {
    let project = Project::with(&["f", "g", "d/f"]);
    std::fs::create_dir(project.at(".retake-folder.tmp")).unwrap();
    let workspace = project.workspace();
    let before = everything(&project);
    let not_a_temp = |done: Result<(), WriteError>| {
        let error = done.unwrap_err();
        assert!(matches!(error.why, WriteFault::NotATemp), "{error:?}");
        assert!(error.to_string().contains(&format!("'{}'", error.path)));
    };
    for name in ["f", "d/f", "d", ".retake-.tmp", "retake-a.tmp", ".retake-a.tmp/x"] {
        not_a_temp(workspace.remove_temp(&path(name)));
        let fill = &mut |_: &mut dyn Write| Ok(());
        not_a_temp(workspace.stage(&path(name), FileKind::File, 0, fill).map(drop));
        not_a_temp(workspace.exchange(&path(name), &path("g")));
        not_a_temp(workspace.move_aside(&path("g"), &path(name)));
        not_a_temp(workspace.put_back(&path(name), &path("new")));
        not_a_temp(workspace.place_new(&path(name), &path("new")).map(drop));
    }
    let error = workspace.remove_temp(&path(".retake-folder.tmp")).unwrap_err();
    assert!(matches!(error.why, WriteFault::NotAFile("folder")), "{error:?}");
    assert_eq!(everything(&project), before);

    let temp = staged(&workspace, "f", b"new");
    for _ in 0..2 {
        workspace.remove_temp(&temp).unwrap();
    }
    workspace.remove_temp(&path("none/.retake-t.tmp")).unwrap();
    assert_eq!(everything(&project), before);
}

#[test]
fn a_mode_is_set_in_place() {
    let project = Project::with(&["f", "folder/x"]);
    symlink("f", project.at("link")).unwrap();
    project.fifo("fifo");
    let workspace = project.workspace();
    let before = project.at("f").metadata().unwrap();
    for mode in [0o755, 0, 0o4711, 0o640] {
        workspace.set_mode(&path("f"), 0o100_000 | mode).unwrap();
        let after = project.at("f").metadata().unwrap();
        assert_eq!(after.permissions().mode() & 0o7777, mode);
        let same = |m: &std::fs::Metadata| (m.ino(), m.mtime(), m.mtime_nsec(), m.size());
        assert_eq!(same(&after), same(&before));
    }
    for (name, kind) in [("folder", "folder"), ("link", "symbolic link"), ("fifo", "fifo")] {
        let error = workspace.set_mode(&path(name), 0o777).unwrap_err();
        assert!(matches!(error.why, WriteFault::NotAFile(what) if what == kind), "{error:?}");
    }
    assert_eq!(mode(&project, "f"), 0o640);
    let error = workspace.set_mode(&path("none"), 0o777).unwrap_err();
    assert_eq!(error.to_string(), "cannot change the mode of 'none': it is not there");
}

#[test]
fn names_are_bytes_in_every_act() {
    let project = Project::new();
    let workspace = project.workspace();
    let folder = b"f\xfflder\n";
    let longest = [b'\xf0'; 255];
    for name in [b"\xff\xfe".as_slice(), b"a\nb\x1b[2J", b"-rf ~", &longest] {
        let target = path([folder.as_slice(), b"/", name].concat());
        let temp = workspace.temp_for(&target, "t").unwrap();
        workspace.check_writable(&target).unwrap();
        stage(&workspace, &temp, name, 0o644);
        workspace.place_new(&temp, &target).unwrap();
        assert_eq!(std::fs::read(project.at(target.as_bytes())).unwrap(), name);
        let temp = workspace.temp_for(&target, "t").unwrap();
        assert_eq!(temp.parent(), target.parent());
        stage(&workspace, &temp, b"two", 0o644);
        workspace.exchange(&temp, &target).unwrap();
        workspace.remove_temp(&temp).unwrap();
        workspace.set_mode(&target, 0o600).unwrap();
        assert_eq!(text(&project, target.as_bytes()), "two");
        workspace.move_aside(&target, &temp).unwrap();
        workspace.remove_temp(&temp).unwrap();
        assert_eq!(workspace.remove_emptied(&target), [path(folder)]);
    }
    assert_eq!(everything(&project).len(), 0);
}

#[test]
fn links_are_counted_and_space_is_known() {
    let project = Project::with(&["a", "folder/x"]);
    std::fs::hard_link(project.at("a"), project.at("b")).unwrap();
    symlink("a", project.at("link")).unwrap();
    let workspace = project.workspace();
    let count = |name: &str| workspace.link_count(&path(name));
    assert_eq!((count("a"), count("b"), count("folder/x")), (Some(2), Some(2), Some(1)));
    assert_eq!(
        (count("folder"), count("link"), count("none"), count("link/x")),
        (None, None, None, None)
    );
    assert!(workspace.free_bytes().unwrap() > 0);
}
