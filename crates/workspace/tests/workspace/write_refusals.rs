//! What is never written, whoever asks and whatever is swapped meanwhile.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use retake_model::{FileKind, ProjectPath};
use retake_workspace::{StagedFile, Workspace, WriteError, WriteFault};

use crate::support::{Project, everything, path};

fn stage(workspace: &Workspace, temp: &ProjectPath) -> Result<StagedFile, WriteError> {
    workspace.stage(temp, FileKind::File, 0o644, &mut |to: &mut dyn Write| to.write_all(b"new"))
}

/// Every act on `target`; `temp` is staged, nothing is at `aside`.
fn acts(
    workspace: &Workspace,
    target: &ProjectPath,
    temp: &ProjectPath,
    aside: &ProjectPath,
) -> Vec<(&'static str, Result<(), WriteError>)> {
    vec![
        ("temp_for", workspace.temp_for(target, "x").map(drop)),
        ("may_write", workspace.check_writable(target)),
        ("exchange", workspace.exchange(temp, target)),
        ("place_new", workspace.place_new(temp, target).map(drop)),
        ("take_aside", workspace.move_aside(target, aside)),
        ("put_back", workspace.put_back(temp, target)),
        ("set_mode", workspace.set_mode(target, 0o777)),
    ]
}

/// Every act with a temp in the target's folder.
fn acts_beside(
    workspace: &Workspace,
    target: &ProjectPath,
) -> Vec<(&'static str, Result<(), WriteError>)> {
    let beside =
        |tag: &str| target.parent().unwrap().child(format!(".retake-{tag}.tmp").as_bytes());
    let (new, kept, user) = (beside("new").unwrap(), beside("kept").unwrap(), path("user"));
    vec![
        ("stage", stage(workspace, &new).map(drop)),
        ("remove_temp", workspace.remove_temp(&kept)),
        ("exchange with", workspace.exchange(&kept, &user)),
        ("place_new of", workspace.place_new(&kept, &path("new")).map(drop)),
        ("take_aside to", workspace.move_aside(&user, &new)),
        ("put_back of", workspace.put_back(&kept, &path("new"))),
    ]
}

/// A project with a staged temp, and all acts on `targets` refused for `reason`.
fn all_refused(
    project: &Project,
    workspace: &Workspace,
    targets: &[&str],
    reason: impl Fn(&WriteFault) -> bool,
) {
    project.write("user", "user");
    let temp = path(".retake-t.tmp");
    stage(workspace, &temp).unwrap();
    let before = everything(project);
    for target in targets.iter().map(path) {
        let mut done = acts(workspace, &target, &temp, &path(".retake-aside.tmp"));
        // Beside a repository's `.git` is not in it.
        if target.parent().is_some() && target.file_name() != b".git" {
            done.extend(acts_beside(workspace, &target));
        }
        for (act, done) in done {
            let error = done.expect_err(&format!("{act} {target}"));
            assert!(reason(&error.why), "{act} {target}: {error:?}");
            let message = error.to_string();
            assert!(message.contains(&format!("'{}'", error.path)), "{message}");
            let folder = target.parent().unwrap_or_else(|| target.clone());
            assert!(error.path.is_beneath(&folder), "{act} {target} names another: {message}");
        }
        assert_eq!(workspace.link_count(&target), None, "{target}");
    }
    assert_eq!(&everything(project), &before);
    assert_eq!(std::fs::read(project.at("user")).unwrap(), b"user");
}

#[test]
fn nothing_is_written_through_a_link() {
    let project = Project::with(&["real/f", "real/sub/f", "real/.retake-kept.tmp", "d/x"]);
    let outside = Project::with(&["f", "sub/f", ".retake-kept.tmp", "sub/.retake-kept.tmp"]);
    symlink("real", project.at("inner")).unwrap();
    symlink(outside.root(), project.at("outer")).unwrap();
    symlink(outside.root(), project.at("d/outer")).unwrap();
    symlink("..", project.at("d/up")).unwrap();
    symlink("nowhere", project.at("dangling")).unwrap();
    symlink("self", project.at("self")).unwrap();
    let before = everything(&outside);
    let targets = [
        "inner/f",
        "inner/new",
        "inner/sub/f",
        "inner/new/new",
        "outer/f",
        "outer/new",
        "outer/sub/f",
        "d/outer/f",
        "d/outer/new/new",
        "d/up/real/f",
        "d/up/user",
        "dangling/f",
        "self/f",
    ];
    all_refused(&project, &project.workspace(), &targets, |why| {
        matches!(why, WriteFault::LinkOnTheWay(_))
    });
    assert_eq!(everything(&outside), before);

    let error = project.workspace().check_writable(&path("d/outer/sub/f")).unwrap_err();
    assert_eq!(error.why.obstacle(), Some(&path("d/outer")));
    assert_eq!(
        error.to_string(),
        "cannot write 'd/outer/sub/f': the symbolic link 'd/outer' is on the way, \
         and links are never followed"
    );
    // A plan that takes the link away finds its temp by the link's own path.
    let temp = project.workspace().temp_for(&path("d/outer"), "t").unwrap();
    assert_eq!(temp, path("d/.retake-t.tmp"));
}

#[test]
fn a_file_is_no_folder() {
    let project = Project::with(&["f"]);
    project.fifo("fifo");
    let targets = ["f/x", "f/x/y", "fifo/x"];
    all_refused(&project, &project.workspace(), &targets, |why| {
        matches!(why, WriteFault::FileOnTheWay(_))
    });
    let error = project.workspace().temp_for(&path("f/x/y"), "t").unwrap_err();
    assert_eq!(error.why.obstacle(), Some(&path("f")));
}

#[test]
fn version_control_and_own_state_are_off_limits() {
    let project = Project::with(&[
        ".git/config",
        ".git/.retake-kept.tmp",
        "a/.git/config",
        "a/.git/hooks/.retake-kept.tmp",
        ".hg/store",
        ".svn/entries",
        "sub/.git",
        "state/db",
        "state/.retake-kept.tmp",
        "state/deep/er/f",
    ]);
    let mut workspace = project.workspace();
    workspace.exclude_own_folder(&project.at("state"));
    let targets = [
        ".git",
        ".git/config",
        ".git/hooks/pre-commit",
        "a/.git/config",
        "a/.git/hooks/new",
        ".hg/store",
        ".svn/new",
        "sub/.git",
        "new/.git/config",
        "state",
        "state/db",
        "state/new",
        "state/deep/er/f",
    ];
    all_refused(&project, &workspace, &targets, |why| matches!(why, WriteFault::OffLimits));
    // Own state is known again under another name.
    std::fs::rename(project.at("state"), project.at("elsewhere")).unwrap();
    for name in ["elsewhere", "elsewhere/db", "elsewhere/new", "elsewhere/deep/er/f"] {
        let error = workspace.check_writable(&path(name)).unwrap_err();
        assert!(matches!(error.why, WriteFault::OffLimits), "{error:?}");
        assert!(workspace.exchange(&path(".retake-t.tmp"), &path(name)).is_err());
    }
    // What only looks like it is the user's.
    for name in [".gitignore", "a/.github/x", "git/x", "states/x", ".git2/x"] {
        workspace.check_writable(&path(name)).unwrap();
    }
}

#[test]
fn no_path_leads_up_or_starts_at_the_top() {
    for name in ["..", "../f", "a/../f", "a/..", "/etc/passwd", "/", "./f", "a//f", "a/", ""] {
        assert!(ProjectPath::new(name).is_err(), "{name:?}");
    }
    let folder = path("a");
    for name in ["..", ".", "/", "../x", ""] {
        assert!(folder.child(name.as_bytes()).is_err(), "{name:?}");
    }
}

#[test]
fn folders_and_special_files_are_never_replaced_or_moved() {
    let project = Project::with(&["folder/x", "user"]);
    std::fs::create_dir(project.at("empty")).unwrap();
    project.fifo("fifo");
    let _socket = UnixListener::bind(project.at("socket")).unwrap();
    let workspace = project.workspace();
    let temp = path(".retake-t.tmp");
    stage(&workspace, &temp).unwrap();
    // A folder or FIFO under a temp's name is none of ours, either.
    std::fs::create_dir(project.at(".retake-folder.tmp")).unwrap();
    project.fifo(".retake-fifo.tmp");
    let before = everything(&project);
    for (name, kind) in
        [("folder", "folder"), ("empty", "folder"), ("fifo", "fifo"), ("socket", "socket")]
    {
        for (act, done) in acts(&workspace, &path(name), &temp, &path(".retake-aside.tmp")) {
            match (act, done.map_err(|error| error.why)) {
                ("temp_for", Ok(())) | ("place_new" | "put_back", Err(WriteFault::Exists)) => {}
                ("temp_for" | "place_new" | "put_back", other) => panic!("{act} {name} {other:?}"),
                (_, Err(WriteFault::NotAFile(what))) => assert_eq!(what, kind),
                (_, other) => panic!("{act} {name}: {other:?}"),
            }
        }
    }
    for odd in [".retake-folder.tmp", ".retake-fifo.tmp"].map(path) {
        for done in [
            workspace.remove_temp(&odd),
            workspace.exchange(&odd, &path("user")),
            workspace.place_new(&odd, &path("new")).map(drop),
            workspace.put_back(&odd, &path("new")),
        ] {
            assert!(matches!(done.unwrap_err().why, WriteFault::NotAFile(_)));
        }
        let error = workspace.move_aside(&path("user"), &odd).unwrap_err();
        assert!(matches!(error.why, WriteFault::Exists), "{error:?}");
    }
    assert_eq!(everything(&project), before);
}

#[test]
fn a_folder_that_becomes_a_link_between_two_acts_is_refused() {
    let project = Project::with(&["d/f", "d/gone"]);
    let outside = Project::with(&["f", "gone", ".retake-t.tmp", ".retake-aside.tmp"]);
    let workspace = project.workspace();
    workspace.check_writable(&path("d/f")).unwrap();
    let temp = workspace.temp_for(&path("d/f"), "t").unwrap();
    let done = stage(&workspace, &temp).unwrap();
    workspace.move_aside(&path("d/gone"), &path("d/.retake-aside.tmp")).unwrap();
    let inside = everything(&project);
    let before = everything(&outside);

    std::fs::rename(project.at("d"), project.at("moved")).unwrap();
    symlink(outside.root(), project.at("d")).unwrap();
    for done in [
        workspace.sync_staged(&[done]),
        workspace.exchange(&temp, &path("d/f")),
        workspace.finish_exchange(&temp, &path("d/f")).map(drop),
        workspace.place_new(&temp, &path("d/new/f")).map(drop),
        workspace.move_aside(&path("d/f"), &path("d/.retake-u.tmp")),
        workspace.put_back(&path("d/.retake-aside.tmp"), &path("d/new")),
        workspace.remove_temp(&temp),
        workspace.set_mode(&path("d/f"), 0o777),
    ] {
        let error = done.unwrap_err();
        assert!(matches!(error.why.obstacle(), Some(at) if *at == path("d")), "{error:?}");
        assert!(error.to_string().contains("'d/"), "{error}");
    }
    assert_eq!(workspace.remove_emptied(&path("d/f")), []);
    assert_eq!(everything(&outside), before);
    // Nor is it written where the folder went.
    std::fs::remove_file(project.at("d")).unwrap();
    std::fs::rename(project.at("moved"), project.at("d")).unwrap();
    assert_eq!(everything(&project), inside);
    workspace.exchange(&temp, &path("d/f")).unwrap();
}

fn chattr(flag: &str, project: &Project, name: &str) -> bool {
    let status = Command::new("chattr").arg(flag).arg(project.at(name)).output();
    status.is_ok_and(|output| output.status.success())
}

#[test]
fn what_is_immutable_is_found_before_anything_is_written() {
    let project = Project::with(&["fixed", "log", "shut/f", "free"]);
    if !chattr("+i", &project, "fixed") {
        return crate::support::not_tested("immutable files", "the right to `chattr +i`");
    }
    assert!(chattr("+a", &project, "log") && chattr("+i", &project, "shut"));
    let workspace = project.workspace();
    let temp = path(".retake-t.tmp");
    stage(&workspace, &temp).unwrap();
    let before = everything(&project);
    let asked: Vec<_> = ["fixed", "log", "shut/f", "shut/new", "shut/new/f", "free"]
        .map(|name| workspace.check_writable(&path(name)).map_err(|error| error.why))
        .into();
    let tried: Vec<_> = ["fixed", "log", "shut/f"]
        .map(|name| {
            (
                workspace.exchange(&temp, &path(name)).is_ok(),
                workspace.move_aside(&path(name), &path(".retake-aside.tmp")).is_ok(),
            )
        })
        .into();
    let placed = workspace.place_new(&temp, &path("shut/new/f"));
    let after = everything(&project);
    // Freed before anything is asserted, or the folder could not be removed.
    for name in ["fixed", "log", "shut"] {
        assert!(chattr("-ia", &project, name));
    }
    assert_eq!(after, before);
    assert!(matches!(asked.last(), Some(Ok(()))));
    for why in &asked[..5] {
        assert!(matches!(why, Err(WriteFault::Immutable)), "{why:?}");
    }
    assert_eq!(tried, [(false, false); 3]);
    assert!(matches!(placed.unwrap_err().why, WriteFault::Io(_)));
}

#[test]
fn what_the_user_may_not_write_is_found_before_anything_is_written() {
    if rustix::process::geteuid().is_root() {
        // As root everything may be written: run this very test again as nobody.
        return crate::support::run_without_root();
    }
    let project = Project::with(&["shut/f", "blind/f", "sealed/f", "f"]);
    let set = |name: &str, mode| {
        std::fs::set_permissions(project.at(name), Permissions::from_mode(mode)).unwrap();
    };
    set("shut", 0o500);
    set("blind", 0o300);
    set("sealed", 0o600);
    let workspace = project.workspace();
    for name in ["shut/f", "shut/new", "shut/new/f", "sealed/f", "sealed/new/f"] {
        let error = workspace.check_writable(&path(name)).unwrap_err();
        assert!(matches!(&error.why, WriteFault::Io(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("cannot write '{name}': Permission denied (os error 13)")
        );
    }
    // A folder that cannot be listed can be written, and synced.
    workspace.check_writable(&path("blind/f")).unwrap();
    let temp = workspace.temp_for(&path("blind/f"), "t").unwrap();
    workspace.sync_staged(&[stage(&workspace, &temp).unwrap()]).unwrap();
    workspace.exchange(&temp, &path("blind/f")).unwrap();
    workspace.sync_folders([&path("blind/f")]).unwrap();

    // A file that even its owner cannot open: made, synced, and opened up again.
    workspace.remove_temp(&temp).unwrap();
    let fill = &mut |to: &mut dyn Write| to.write_all(b"new");
    let sealed = workspace.stage(&temp, FileKind::File, 0, fill).unwrap();
    workspace.sync_staged(&[sealed]).unwrap();
    workspace.exchange(&temp, &path("f")).unwrap();
    assert!(std::fs::read(project.at("f")).is_err());
    workspace.set_mode(&path("f"), 0o640).unwrap();
    assert_eq!(std::fs::read(project.at("f")).unwrap(), b"new");
    set("sealed", 0o700);
    set("shut", 0o700);
    set("blind", 0o700);
}
