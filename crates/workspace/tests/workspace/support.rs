//! A throw-away project for the tests of this crate.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use retake_model::{FileKind, Gap, GapReason, ProjectPath};
use retake_workspace::{ListingFilter, RuleSources, ScanResult, StagedFile, StatCache, Workspace};

/// A folder that is removed at the end.
pub(crate) struct Project {
    temp: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    /// For thousands of files: in memory where the system offers that, since
    /// making and removing them on a busy disk took a minute.
    pub(crate) fn large() -> Self {
        let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { temp: temp.unwrap() }
    }

    pub(crate) fn with(files: &[&str]) -> Self {
        let project = Self::new();
        for file in files {
            project.write(file, "content");
        }
        project
    }

    pub(crate) fn root(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn at(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.root().join(OsStr::from_bytes(path.as_ref()))
    }

    pub(crate) fn write(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Makes a FIFO: who opens it for reading waits for a writer that never comes.
    pub(crate) fn fifo(&self, path: &str) {
        let status = Command::new("mkfifo").arg(self.at(path)).status();
        assert!(status.unwrap().success());
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::open(self.root()).unwrap()
    }

    pub(crate) fn scan(&self, known: &StatCache, base: &RuleSources) -> ScanResult {
        self.workspace().scan(known, base)
    }

    /// What is known after everything was taken in.
    pub(crate) fn all_known(&self) -> StatCache {
        let scan = self.scan(&StatCache::default(), &RuleSources::default());
        StatCache::new(scan.suspects.into_iter().map(|s| (s.path, Some(s.stat))))
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> Vec<u8> {
        git(self.root(), arguments)
    }
}

/// Runs git without the settings of this machine.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = git_command(folder, arguments).output().expect("git is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {errors}");
    output.stdout
}

pub(crate) fn git_command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(folder)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder.join("none"))
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org");
    command
}

pub(crate) fn path(text: impl AsRef<[u8]>) -> ProjectPath {
    ProjectPath::new(text.as_ref()).unwrap()
}

pub(crate) fn strings<T: ToString>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}

/// The suspects' paths; a known one with `*`.
pub(crate) fn suspects(scan: &ScanResult) -> Vec<String> {
    let show = |s: &retake_workspace::SuspectFile| {
        format!("{}{}", s.path.as_bytes().escape_ascii(), if s.known { "*" } else { "" })
    };
    scan.suspects.iter().map(show).collect()
}

pub(crate) fn missing(scan: &ScanResult) -> Vec<String> {
    strings(&scan.missing)
}

pub(crate) fn gaps(gaps: &[Gap]) -> Vec<(String, GapReason)> {
    gaps.iter().map(|gap| (gap.path.to_string(), gap.reason)).collect()
}

pub(crate) fn stage(
    workspace: &Workspace,
    temp: &ProjectPath,
    content: &[u8],
    mode: u32,
) -> StagedFile {
    let fill = &mut |to: &mut dyn Write| to.write_all(content);
    workspace.stage(temp, FileKind::File, mode, fill).unwrap()
}

/// A temp for `target`, staged with `content`.
pub(crate) fn staged(workspace: &Workspace, target: &str, content: &[u8]) -> ProjectPath {
    let temp = workspace.temp_for(&path(target), "t").unwrap();
    stage(workspace, &temp, content, 0o644);
    temp
}

pub(crate) fn mode(project: &Project, name: &str) -> u32 {
    project.at(name).symlink_metadata().unwrap().permissions().mode() & 0o7777
}

pub(crate) fn text(project: &Project, name: impl AsRef<[u8]>) -> String {
    String::from_utf8(std::fs::read(project.at(name)).unwrap()).unwrap()
}

pub(crate) fn exists(project: &Project, name: impl AsRef<[u8]>) -> bool {
    project.at(name).symlink_metadata().is_ok()
}

/// Everything in the project: path, inode, mode, mtime and target of a link.
pub(crate) fn everything(project: &Project) -> Vec<String> {
    let mut find = Command::new("find");
    find.arg(project.root()).args(["-mindepth", "1", "-printf", "%P %i %m %T@ %l\n"]);
    let output = find.output().expect("find is installed");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Says loudly that a test could not run; the test harness swallows `eprintln!`.
pub(crate) fn not_tested(test: &str, needs: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "NOT TESTED: {test} needs {needs}").unwrap();
}

/// Returns the calling test's name with its modules, as `--exact` expects it: libtest runs each test
/// in a thread of that name.
pub(crate) fn test_name() -> String {
    let thread = std::thread::current();
    let name = thread.name().filter(|name| *name != "main");
    name.expect("called in the thread of a test").to_owned()
}

/// Runs the calling test once more, without root's powers.
pub(crate) fn run_without_root() {
    let test = &test_name();
    let temp = tempfile::tempdir().unwrap();
    std::fs::set_permissions(temp.path(), Permissions::from_mode(0o777)).unwrap();
    // The build folder may be closed to others.
    let binary = temp.path().join("tests");
    // By another process: while this one had it open for writing, a test that
    // starts a child at the same time could make it "busy" for longer.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&binary).status();
    assert!(copied.unwrap().success());
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&binary)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", temp.path())
        .current_dir(temp.path())
        .output();
    let Ok(output) = output else {
        return not_tested(test, "`setpriv`, or a user that is not root");
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Chooses everything.
pub(crate) struct All;

impl ListingFilter for All {
    fn lists_file(&mut self, _path: &ProjectPath) -> bool {
        true
    }

    fn reports_folder(&mut self, _path: &ProjectPath) -> bool {
        true
    }
}
