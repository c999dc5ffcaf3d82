//! Projects that targets reuse from one input to the next.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread::LocalKey;

use retake_engine::Project;
use retake_engine::model::ProjectPath;
use retake_testkit::TestProject;
use tempfile::TempDir;

/// A project in memory that is open.
pub(crate) struct OpenTestProject {
    pub(crate) project: Project,
    pub(crate) test: TestProject,
    _folder: TempDir,
}

impl OpenTestProject {
    /// A project that is made once the folder was prepared.
    pub(crate) fn new(prepare: impl FnOnce(&TestProject)) -> Self {
        let folder = memory_folder();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let test = TestProject::at(folder.path());
        prepare(&test);
        Self { project: test.init(), test, _folder: folder }
    }
}

/// Creates a folder in memory. A fuzzer exits without cleanup: `RETAKE_FUZZ_FOLDER` says where, so
/// that `fuzz/run` can remove the rest.
pub(crate) fn memory_folder() -> TempDir {
    let asked = std::env::var_os("RETAKE_FUZZ_FOLDER");
    let memory = asked.as_deref().map_or(Path::new("/dev/shm"), Path::new);
    let builder = || tempfile::Builder::new().prefix("retake-fuzz-").rand_bytes(8).to_owned();
    builder().tempdir_in(memory).or_else(|_| builder().tempdir()).unwrap()
}

/// A fixture that a thread reuses, and the number of inputs it was used for.
pub(crate) type ReusedFixture<S> = RefCell<Option<(S, usize)>>;

/// Calls `act` with the fixture; it is made again after `lasts` inputs, and after a panic.
pub(crate) fn with_fixture<S>(
    kept: &'static LocalKey<ReusedFixture<S>>,
    lasts: usize,
    make: impl FnOnce() -> S,
    act: impl FnOnce(&mut S),
) {
    let (mut stage, uses) = kept.take().unwrap_or_else(|| (make(), 0));
    act(&mut stage);
    if uses + 1 < lasts {
        kept.set(Some((stage, uses + 1)));
    }
}

/// Panics if a place in the project leads out of it, unless a link of the project's own stands in
/// the way: through that nothing is ever opened.
pub(crate) fn check_place(root: &Path, path: &ProjectPath) {
    let at = root.join(OsStr::from_bytes(path.as_bytes()));
    let folders = || at.ancestors().skip(1).take_while(|above| above.starts_with(root));
    if folders().any(Path::is_symlink) {
        return;
    }
    let real = folders().find_map(|above| above.canonicalize().ok());
    assert!(real.is_some_and(|real| real.starts_with(root)), "{path:?} leads out of the project");
}
