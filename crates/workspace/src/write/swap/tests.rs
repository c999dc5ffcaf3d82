//! The ways around a missing exchange, which no file system at hand lacks.

use std::os::unix::fs::symlink;

use retake_model::FileKind;

use super::*;

const TEMP: &str = ".retake-t.tmp";
const SPARE: &str = ".retake-t~.tmp";

struct SwapCase {
    temp: tempfile::TempDir,
    workspace: Workspace,
}

impl SwapCase {
    /// `d/f` holds `old`; the temp beside it is staged with `new`.
    fn new(lacks: MissingFeatures) -> Self {
        let temp = tempfile::tempdir().unwrap();
        retake_seam::fs::create_private_dir_all(&temp.path().join("d")).unwrap();
        retake_seam::fs::write_unsynced(&temp.path().join("d/f"), b"old").unwrap();
        let mut workspace = Workspace::open(temp.path()).unwrap();
        workspace.missing_features = lacks;
        let case = Self { temp, workspace };
        case.stage();
        case
    }

    fn all_ways() -> impl Iterator<Item = Self> {
        [(false, false), (true, false), (true, true)]
            .map(|(exchange, rename_new)| MissingFeatures { exchange, rename_new, link: false })
            .into_iter()
            .map(Self::new)
    }

    fn stage(&self) {
        let fill = &mut |to: &mut dyn io::Write| to.write_all(b"new");
        self.workspace.stage(&path(TEMP), FileKind::File, 0o644, fill).unwrap();
    }

    fn exchange(&self) -> Result<(), WriteError> {
        self.workspace.exchange(&path(TEMP), &path("d/f"))
    }

    fn settle(&self) -> Option<ProjectPath> {
        self.workspace.finish_exchange(&path(TEMP), &path("d/f")).unwrap()
    }

    /// What stands at the path, the temp and the spare.
    fn state(&self) -> [Option<String>; 3] {
        ["d/f", TEMP, SPARE].map(|name| std::fs::read_to_string(self.temp.path().join(name)).ok())
    }

    /// Moves as an exchange without help does, but no further.
    fn rename(&self, from: &str, to: &str) {
        let (from, to) = (path(from), path(to));
        let from = self.workspace.open_target(&from, "test").unwrap();
        let to = self.workspace.open_target(&to, "test").unwrap();
        at::rename_new(from.at(), to.at()).unwrap();
    }
}

fn path(name: &str) -> ProjectPath {
    name.parse().unwrap()
}

fn state(at_path: &str, at_temp: &str, at_spare: &str) -> [Option<String>; 3] {
    [at_path, at_temp, at_spare].map(|text| (!text.is_empty()).then(|| text.to_owned()))
}

#[test]
fn every_way_exchanges_and_swaps_back() {
    for case in SwapCase::all_ways() {
        let displaced = inode_of(&case, "d/f");
        case.exchange().unwrap();
        assert_eq!(case.state(), state("new", "old", ""));
        assert_eq!(inode_of(&case, TEMP), displaced, "the displaced file itself is kept");
        case.exchange().unwrap();
        assert_eq!(case.state(), state("old", "new", ""));
        assert_eq!(inode_of(&case, "d/f"), displaced);
        assert_eq!(case.settle(), None);
    }
}

fn inode_of(case: &SwapCase, name: &str) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&case.temp.path().join(name).metadata().unwrap())
}

#[test]
fn every_way_exchanges_links() {
    for case in SwapCase::all_ways() {
        let target = |name: &str| std::fs::read_link(case.temp.path().join(name)).ok();
        case.rename("d/f", SPARE);
        symlink("elsewhere", case.temp.path().join("d/f")).unwrap();
        case.workspace.remove_temp(&path(SPARE)).unwrap();
        case.exchange().unwrap();
        assert_eq!(target(TEMP).unwrap().to_str(), Some("elsewhere"));
        assert_eq!(target("d/f"), None);
        case.exchange().unwrap();
        assert_eq!(target("d/f").unwrap().to_str(), Some("elsewhere"));
    }
}

#[test]
fn every_way_moves_and_never_replaces() {
    for case in SwapCase::all_ways() {
        let workspace = &case.workspace;
        let refused = |done: Result<(), WriteError>| {
            let why = done.unwrap_err().why;
            assert!(matches!(why, WriteFault::Exists), "{why:?}");
        };
        refused(workspace.put_back(&path(TEMP), &path("d/f")));
        refused(workspace.place_new(&path(TEMP), &path("d/f")).map(drop));
        refused(workspace.move_aside(&path("d/f"), &path(TEMP)));
        assert_eq!(case.state(), state("old", "new", ""));

        workspace.move_aside(&path("d/f"), &path(SPARE)).unwrap();
        assert_eq!(case.state(), state("", "new", "old"));
        workspace.place_new(&path(TEMP), &path("d/f")).unwrap();
        assert_eq!(case.state(), state("new", "", "old"));
        refused(workspace.put_back(&path(SPARE), &path("d/f")));
        workspace.move_aside(&path("d/f"), &path(TEMP)).unwrap();
        workspace.put_back(&path(SPARE), &path("d/f")).unwrap();
        assert_eq!(case.state(), state("old", "new", ""));
    }
}

#[test]
fn an_exchange_that_was_interrupted_is_settled() {
    for case in SwapCase::all_ways() {
        case.rename("d/f", SPARE);
        assert_eq!(case.settle(), None);
        assert_eq!(case.state(), state("old", "new", ""), "killed after the first move: undone");

        case.rename("d/f", SPARE);
        case.rename(TEMP, "d/f");
        assert_eq!(case.settle(), None);
        assert_eq!(case.state(), state("new", "old", ""), "killed after the second: finished");
        assert_eq!(case.settle(), None, "nothing is left to settle");
    }
}

#[test]
fn an_exchange_interrupted_between_two_names_is_finished() {
    let case = SwapCase::new(MissingFeatures { exchange: true, rename_new: true, link: false });
    case.rename("d/f", SPARE);
    let at = |name: &str| case.temp.path().join(name);
    #[expect(clippy::disallowed_methods, reason = "what a kill leaves behind")]
    std::fs::hard_link(at(TEMP), at("d/f")).unwrap();
    assert_eq!(case.settle(), None);
    assert_eq!(case.state(), state("new", "old", ""));

    // The same for a file that was to be placed where nothing stood.
    #[expect(clippy::disallowed_methods, reason = "what a kill leaves behind")]
    std::fs::hard_link(at(TEMP), at("d/g")).unwrap();
    case.workspace.place_new(&path(TEMP), &path("d/g")).unwrap();
    assert_eq!(case.state(), state("new", "", ""));
    assert_eq!(std::fs::read(at("d/g")).unwrap(), b"old");
}

#[test]
fn what_somebody_wrote_meanwhile_is_never_replaced_and_what_was_displaced_is_named() {
    for case in SwapCase::all_ways() {
        case.rename("d/f", SPARE);
        retake_seam::fs::write_unsynced(&case.temp.path().join("d/f"), b"user").unwrap();
        assert_eq!(case.settle(), Some(path(SPARE)));
        assert_eq!(case.state(), state("user", "new", "old"));
        case.workspace.remove_temp(&path(SPARE)).unwrap();
        assert_eq!(case.settle(), None);
        assert_eq!(case.state(), state("user", "new", ""));
    }
}

#[test]
fn a_spare_that_is_in_the_way_is_not_replaced() {
    let case = SwapCase::new(MissingFeatures { exchange: true, rename_new: true, link: false });
    retake_seam::fs::write_unsynced(&case.temp.path().join(SPARE), b"kept").unwrap();
    assert!(matches!(case.exchange().unwrap_err().why, WriteFault::Exists));
    assert_eq!(case.state(), state("old", "new", "kept"));
}

#[test]
fn without_any_safe_way_nothing_changes() {
    let case = SwapCase::new(MissingFeatures { exchange: true, rename_new: true, link: true });
    let error = case.exchange().unwrap_err();
    assert!(matches!(error.why, WriteFault::Io(_)), "{error}");
    assert_eq!(case.state(), state("old", "new", ""));
    assert!(case.workspace.place_new(&path(TEMP), &path("new/folder/f")).is_err());
    assert!(!case.temp.path().join("new").exists());
    assert_eq!(case.state(), state("old", "new", ""));
}
