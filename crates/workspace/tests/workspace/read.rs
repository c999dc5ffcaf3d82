//! Reading contents: of one moment, beneath the root, within the limit.

use std::fs::OpenOptions;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use retake_model::GapReason;
use retake_workspace::{FileStat, ReadError, StatKind, Workspace};

use crate::support::{Project, path};

const LIMIT: u64 = 1 << 20;

fn content(workspace: &Workspace, name: &str) -> Result<(Vec<u8>, FileStat), ReadError> {
    let mut bytes = Vec::new();
    let stat = workspace.read(&path(name), LIMIT, &mut |reader, _| {
        bytes.clear();
        reader.read_to_end(&mut bytes).map(drop)
    })?;
    Ok((bytes, stat))
}

#[test]
fn files_and_links_are_read() {
    let project = Project::new();
    project.write("d/file", "hello");
    symlink("../etc/\u{e9}", project.at("d/link")).unwrap();
    let workspace = project.workspace();
    let (bytes, stat) = content(&workspace, "d/file").unwrap();
    assert_eq!((bytes.as_slice(), stat.kind, stat.size), (b"hello".as_slice(), StatKind::File, 5));
    let (bytes, stat) = content(&workspace, "d/link").unwrap();
    assert_eq!((bytes.as_slice(), stat.kind), ("../etc/\u{e9}".as_bytes(), StatKind::Link));
    assert_eq!(stat.size, bytes.len() as u64);
}

#[test]
fn a_link_on_the_way_is_never_followed() {
    let project = Project::with(&["real/file"]);
    let outside = Project::with(&["secret"]);
    symlink("real", project.at("inner")).unwrap();
    symlink(outside.root(), project.at("outer")).unwrap();
    std::fs::create_dir(project.at("d")).unwrap();
    symlink(outside.root(), project.at("d/outer")).unwrap();
    let workspace = project.workspace();
    for name in ["inner/file", "outer/secret", "d/outer/secret", "real/file/x", "none", "d/none"] {
        let error = content(&workspace, name).unwrap_err();
        assert!(matches!(error, ReadError::Gone), "{name}: {error:?}");
        assert_eq!(error.gap_reason(), None);
    }
}

#[test]
fn only_regular_files_are_opened() {
    let project = Project::with(&["folder/a"]);
    project.fifo("fifo");
    let _socket = UnixListener::bind(project.at("socket")).unwrap();
    let workspace = project.workspace();
    for name in ["folder", "fifo", "socket"] {
        assert!(matches!(content(&workspace, name), Err(ReadError::NotAFile)), "{name}");
    }
}

#[test]
fn a_file_that_changes_once_is_read_again() {
    let project = Project::with(&["f"]);
    let mut calls = 0;
    let mut seen = Vec::new();
    let stat = project.workspace().read(&path("f"), LIMIT, &mut |reader, _| {
        calls += 1;
        seen.clear();
        reader.read_to_end(&mut seen)?;
        if calls == 1 {
            project.write("f", "changed meanwhile");
        }
        Ok(())
    });
    assert_eq!((calls, seen.as_slice()), (2, b"changed meanwhile".as_slice()));
    assert_eq!(stat.unwrap().size, 17);
}

#[test]
fn a_file_that_is_replaced_while_read_is_read_again() {
    let project = Project::with(&["f", "next"]);
    let mut calls = 0;
    project
        .workspace()
        .read(&path("f"), LIMIT, &mut |_, _| {
            calls += 1;
            // Same size, and the descriptor still shows the old file.
            if calls == 1 {
                std::fs::rename(project.at("next"), project.at("f"))?;
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(calls, 2);
}

#[test]
fn a_file_that_changes_each_time_is_unstable() {
    let project = Project::with(&["f"]);
    let mut calls = 0;
    let mut grow = |reader: &mut dyn Read, _: &FileStat| -> io::Result<()> {
        calls += 1;
        io::copy(reader, &mut io::sink())?;
        OpenOptions::new().append(true).open(project.at("f"))?.write_all(b"more")
    };
    let error = project.workspace().read(&path("f"), LIMIT, &mut grow).unwrap_err();
    assert!(matches!(error, ReadError::Unstable), "{error:?}");
    assert_eq!((calls, error.gap_reason()), (3, Some(GapReason::Unstable)));
}

#[test]
fn a_file_that_vanishes_while_read_is_gone() {
    let project = Project::with(&["f"]);
    let mut remove = |_: &mut dyn Read, _: &FileStat| std::fs::remove_file(project.at("f"));
    let error = project.workspace().read(&path("f"), LIMIT, &mut remove).unwrap_err();
    assert!(matches!(error, ReadError::Gone), "{error:?}");
}

#[test]
fn a_file_swapped_for_something_else_while_read() {
    for (to, expected) in [("link", "Ok"), ("folder", "NotAFile"), ("fifo", "NotAFile")] {
        let project = Project::with(&["f"]);
        let mut calls = 0;
        let result = project.workspace().read(&path("f"), LIMIT, &mut |_, _| {
            calls += 1;
            if calls > 1 {
                return Ok(());
            }
            std::fs::remove_file(project.at("f"))?;
            match to {
                "link" => symlink("/etc/passwd", project.at("f")),
                "folder" => std::fs::create_dir(project.at("f")),
                _ => {
                    project.fifo("f");
                    Ok(())
                }
            }
        });
        let got = match result {
            Ok(stat) => {
                assert_eq!(stat.kind, StatKind::Link);
                "Ok".to_owned()
            }
            Err(error) => format!("{error:?}"),
        };
        assert_eq!(got, expected, "{to}");
    }
}

#[test]
fn the_limit_holds_before_and_while_reading() {
    let project = Project::new();
    project.write("exact", [7; 100]);
    project.write("over", [7; 101]);
    let workspace = project.workspace();
    let mut called = false;
    let over = workspace.read(&path("over"), 100, &mut |_, _| {
        called = true;
        Ok(())
    });
    assert!(matches!(over, Err(ReadError::TooLarge { size: 101 })) && !called, "{over:?}");
    let mut read = 0;
    let mut drain = |reader: &mut dyn Read, _: &FileStat| {
        read = io::copy(reader, &mut io::sink())?;
        Ok(())
    };
    workspace.read(&path("exact"), 100, &mut drain).unwrap();
    assert_eq!(read, 100);

    // A log that grows faster than it is read.
    let (mut calls, mut chunks) = (0, 0);
    let mut grow = |reader: &mut dyn Read, _: &FileStat| {
        calls += 1;
        loop {
            chunks += 1;
            OpenOptions::new().append(true).open(project.at("exact"))?.write_all(&[7; 64])?;
            if reader.read(&mut [0; 64])? == 0 {
                return Ok(());
            }
        }
    };
    let grown = workspace.read(&path("exact"), 1000, &mut grow).unwrap_err();
    assert!(matches!(grown, ReadError::TooLarge { .. }), "{grown:?}");
    assert_eq!(grown.gap_reason(), Some(GapReason::TooLarge));
    assert!(calls == 1 && chunks < 20, "{calls} {chunks}");
}

#[test]
fn a_sink_that_fails_is_told_apart_from_a_file_that_does() {
    let project = Project::with(&["f"]);
    let mut calls = 0;
    let error = project.workspace().read(&path("f"), LIMIT, &mut |_, _| {
        calls += 1;
        Err(io::Error::other("disk full"))
    });
    assert!(matches!(error, Err(ReadError::Sink(ref e)) if e.to_string() == "disk full"));
    assert_eq!((calls, error.unwrap_err().gap_reason()), (1, None));

    // A sink that found fewer bytes than the stat promised, because of a change, is called again.
    let mut calls = 0;
    let result = project.workspace().read(&path("f"), LIMIT, &mut |_, _| {
        calls += 1;
        if calls > 1 {
            return Ok(());
        }
        project.write("f", "");
        Err(io::Error::other("content does not fit"))
    });
    assert_eq!((calls, result.unwrap().size), (2, 0));
}

#[test]
fn sparse_and_empty_files_are_read_to_their_end() {
    let project = Project::with(&["sparse"]);
    project.write("empty", "");
    let file = OpenOptions::new().write(true).open(project.at("sparse")).unwrap();
    file.set_len(8 << 20).unwrap();
    let mut length = 0;
    let mut measure = |reader: &mut dyn Read, _: &FileStat| {
        length = io::copy(reader, &mut io::sink())?;
        Ok(())
    };
    project.workspace().read(&path("sparse"), 8 << 20, &mut measure).unwrap();
    assert_eq!(length, 8 << 20);
    assert_eq!(content(&project.workspace(), "empty").unwrap().0, b"");
}

#[test]
fn a_path_over_the_limit_is_an_error_of_its_own() {
    let project = Project::new();
    let error = content(&project.workspace(), &"n/".repeat(3000)[..5999]).unwrap_err();
    assert_eq!(error.gap_reason(), Some(GapReason::NameTooLong), "{error:?}");
    let error = content(&project.workspace(), &"n".repeat(300)).unwrap_err();
    assert!(matches!(error, ReadError::NameTooLong), "{error:?}");
}
