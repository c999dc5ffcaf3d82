//! New files with their folders, and folders that lost their last file.

use std::os::unix::fs::symlink;
use std::process::Command;

use retake_workspace::WriteFault;

use crate::support::{Project, everything, exists, mode, path, stage, staged, strings, text};

#[test]
fn a_new_file_comes_with_its_folders() {
    let project = Project::with(&["a/f"]);
    let workspace = project.workspace();
    let temp = staged(&workspace, "a/b/c/new", b"new");
    let made = workspace.place_new(&temp, &path("a/b/c/new")).unwrap();
    assert_eq!(strings(&made), ["a/b", "a/b/c"]);
    assert_eq!(
        (text(&project, "a/b/c/new"), exists(&project, temp.as_bytes())),
        ("new".into(), false)
    );
    workspace.sync_folders(made.iter().chain([&path("a/b/c/new")])).unwrap();
    // As the user's own tools make folders.
    std::fs::create_dir(project.at("made")).unwrap();
    assert_eq!(mode(&project, "a/b"), mode(&project, "made"));

    let temp = staged(&workspace, "a/b/second", b"2");
    assert_eq!(workspace.place_new(&temp, &path("a/b/second")).unwrap(), []);
    let temp = staged(&workspace, "top", b"3");
    assert_eq!(workspace.place_new(&temp, &path("top")).unwrap(), []);
    assert_eq!((text(&project, "a/b/second"), text(&project, "top")), ("2".into(), "3".into()));
}

#[test]
fn a_new_file_never_replaces_anything() {
    let project = Project::with(&["f", "folder/x"]);
    symlink("nowhere", project.at("link")).unwrap();
    project.fifo("fifo");
    let workspace = project.workspace();
    let temp = staged(&workspace, "f", b"new");
    let before = everything(&project);
    for name in ["f", "folder", "link", "fifo"] {
        let error = workspace.place_new(&temp, &path(name)).unwrap_err();
        assert!(matches!(error.why, WriteFault::Exists), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("cannot create '{name}': something is there already")
        );
        let error = workspace.put_back(&temp, &path(name)).unwrap_err();
        assert!(matches!(error.why, WriteFault::Exists), "{error:?}");
    }
    assert_eq!(everything(&project), before);
}

#[test]
fn folders_made_for_nothing_are_removed_again() {
    let project = Project::with(&["f"]);
    let workspace = project.workspace();
    let temp = staged(&workspace, "f", b"new");
    // As deep as a path can name.
    let deep = format!("{}f", "d/".repeat(2000));
    workspace.place_new(&temp, &path(&deep)).unwrap();
    workspace.move_aside(&path(&deep), &temp).unwrap();
    assert_eq!(workspace.remove_emptied(&path(&deep)).len(), 2000);
    // A folder whose name the file system refuses, below one that it takes.
    let bad = format!("new/{}/f", "n".repeat(256));
    let error = workspace.place_new(&temp, &path(&bad)).unwrap_err();
    assert!(matches!(error.why, WriteFault::NameTooLong), "{error:?}");
    let error = workspace.place_new(&path(".retake-none.tmp"), &path("new/f")).unwrap_err();
    assert!(matches!(error.why, WriteFault::Gone), "{error:?}");
    assert_eq!(error.path, path(".retake-none.tmp"));
    assert!(!exists(&project, "new"));
}

#[test]
fn only_emptied_folders_are_removed() {
    let project = Project::with(&["keep/f", "keep/a/b/c/gone", "ignored/.cache", "ignored/d/gone"]);
    let outside = Project::new();
    std::fs::create_dir_all(outside.at("a/b")).unwrap();
    symlink(outside.root(), project.at("keep/link")).unwrap();
    std::fs::create_dir_all(project.at("x/.git/refs/heads")).unwrap();
    std::fs::create_dir_all(project.at("state/inner/deep")).unwrap();
    std::fs::create_dir_all(project.at("only/empty")).unwrap();
    let mut workspace = project.workspace();
    workspace.exclude_own_folder(&project.at("state/inner"));
    let removed = |name: &str| strings(workspace.remove_emptied(&path(name)));

    assert_eq!(removed("keep/a/b/c/gone"), [""; 0], "it is not empty yet");
    std::fs::remove_file(project.at("keep/a/b/c/gone")).unwrap();
    assert_eq!(removed("keep/a/b/c/gone"), ["keep/a/b/c", "keep/a/b", "keep/a"]);
    assert_eq!(removed("keep/a/b/c/gone"), [""; 0], "once more is harmless");
    std::fs::remove_file(project.at("ignored/d/gone")).unwrap();
    assert_eq!(removed("ignored/d/gone"), ["ignored/d"], "an ignored file keeps its folder");
    for name in ["keep/link/x", "keep/link/a/b/x", "x/.git/refs/heads/main", "state/inner/deep/x"] {
        assert_eq!(removed(name), [""; 0], "{name}");
    }
    assert!(exists(&outside, "a/b") && exists(&project, "keep/link"));
    assert!(exists(&project, "x/.git/refs/heads") && exists(&project, "state/inner/deep"));
    // A folder that is gone already does not keep those above.
    assert_eq!(removed("only/empty/gone/x"), ["only/empty", "only"]);
    assert_eq!(removed("top"), [""; 0]);
    assert!(project.root().exists());
}

#[test]
fn folders_are_synced_even_if_they_are_gone() {
    let project = Project::with(&["a/b/f"]);
    symlink("a", project.at("link")).unwrap();
    let workspace = project.workspace();
    let paths = ["a/b/f", "a/b/g", "none/x/y", "link/b/f", "top", "a/b/f/x"].map(path);
    workspace.sync_folders(&paths).unwrap();
    let many: Vec<_> = (0..40).map(|number| path(format!("{number}/f"))).collect();
    workspace.sync_folders(&many).unwrap();
    workspace.sync_folders(&[]).unwrap();
}

#[test]
fn the_longest_path_can_be_written() {
    let project = Project::new();
    let workspace = project.workspace();
    // 15 folders of 255 bytes and one name: 4095 bytes, the most that the system takes.
    let folders = format!("{}/", "n".repeat(255)).repeat(15);
    let target = path(format!("{folders}{}", "x".repeat(4095 - folders.len())));
    let short = path(format!("{folders}y"));
    for target in [&target, &short] {
        workspace.check_writable(target).unwrap();
        let temp = workspace.temp_for(target, "t").unwrap();
        stage(&workspace, &temp, b"deep", 0o644);
        workspace.place_new(&temp, target).unwrap();
    }
    let temp = workspace.temp_for(&short, "t").unwrap();
    assert_eq!(temp.parent(), short.parent());
    let full = path(format!("{}{}/z", &folders[..folders.len() - 1], "/m".repeat(126)));
    assert_eq!(full.as_bytes().len(), 4093);
    stage(&workspace, &temp, b"z", 0o644);
    let made = workspace.place_new(&temp, &full).unwrap();
    assert_eq!(made.len(), 126);
    // There is no room for a temp in its own folder.
    let temp = workspace.temp_for(&full, "t").unwrap();
    assert!(full.parent().unwrap().is_beneath(&temp.parent().unwrap()));
    assert!(temp.as_bytes().len() < 4095 && temp.parent() != full.parent());
    stage(&workspace, &temp, b"exchanged", 0o644);
    workspace.exchange(&temp, &full).unwrap();
    workspace.remove_temp(&temp).unwrap();
    workspace.move_aside(&full, &temp).unwrap();
    workspace.remove_temp(&temp).unwrap();

    for long in [format!("{folders}{}", "x".repeat(256)), format!("d/{}/f", "n".repeat(256))] {
        for error in [
            workspace.check_writable(&path(&long)).unwrap_err(),
            workspace.temp_for(&path(&long), "t").unwrap_err(),
        ] {
            assert!(matches!(error.why, WriteFault::NameTooLong), "{error:?}");
        }
    }
    // `tempfile` removes by descriptors, but let us not depend on it.
    Command::new("rm").arg("-rf").arg(project.at("n".repeat(255))).status().unwrap();
}
