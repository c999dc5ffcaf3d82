//! What a child says while it works, in lines of JSON: what it was promised, and what the files are.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use retake_engine::Project;
use retake_engine::model::ObjectId;
use retake_testkit::disk::{self, DiskFile};
use serde::{Deserialize, Serialize};

const MARK: &str = "told ";

/// Path to kind, mode and id of the content.
pub(crate) type Files = BTreeMap<String, String>;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    /// The project's files after a step.
    State(Files),
    /// A verb is about to begin.
    Verb(String),
    /// Acknowledged: the project is initialised.
    Init,
    /// Acknowledged: a change of a file, with the ids of both contents.
    Change { dialog: Option<String>, path: String, before: Option<String>, after: Option<String> },
    /// Acknowledged: a checkpoint of these files.
    Checkpoint { dialog: Option<String>, id: String, files: Files },
    /// Acknowledged: the approval of a dialog's work, a commit with these files.
    Approval { dialog: String, commit: String, files: Files },
    /// Acknowledged: a message, recorded or spooled.
    Message { dialog: String, text: String },
    /// Acknowledged: an operation that was carried out.
    Operation(String),
    /// Acknowledged: the content is nowhere any more.
    Purged(String),
    /// From here on what was acknowledged for these dialogs may go.
    ReleaseDialogs(Vec<String>),
    /// From here on what was acknowledged of this path may go.
    ReleasePath(String),
}

/// Says a line; once this returns it can be read.
pub(crate) fn tell(told: &Told) {
    let line = format!("\n{MARK}{}\n", serde_json::to_string(told).unwrap());
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The lines that were said.
pub(crate) fn understood(bytes: &[u8]) -> Vec<Told> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter_map(|line| line.strip_prefix(MARK));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The id of a content.
pub(crate) fn id(content: &[u8]) -> String {
    retake_store::hash_blob(content).unwrap().to_string()
}

/// The files of a project, without those that Retake works with.
pub(crate) fn files(root: &Path) -> Files {
    let exact = |entry: &DiskFile| {
        let kind = if entry.is_link { "link" } else { "file" };
        format!("{kind} {:o} {}", entry.mode, id(&entry.content))
    };
    read(root, exact)
}

/// The same as a checkpoint keeps them.
pub(crate) fn kept_files(root: &Path) -> Files {
    read(root, |entry| {
        let mode = match (entry.is_link, entry.mode & 0o100 != 0) {
            (true, _) => "120000",
            (false, true) => "100755",
            (false, false) => "100644",
        };
        format!("{mode} {}", id(&entry.content))
    })
}

fn read(root: &Path, describe: impl Fn(&DiskFile) -> String) -> Files {
    let files = disk::read_files(root).into_iter();
    let own = files.filter(|(name, _)| !name.contains(".retake-"));
    own.map(|(name, entry)| (name, describe(&entry))).collect()
}

/// The tree of a commit in the store.
pub(crate) fn tree_of(project: &Project, commit: &ObjectId) -> ObjectId {
    let text = String::from_utf8(project.store().read(commit).unwrap()).unwrap();
    text.strip_prefix("tree ").unwrap()[..40].parse().unwrap()
}

/// The files that a tree in the store names, each content read and so verified.
pub(crate) fn tree_files(project: &Project, tree: &ObjectId) -> Files {
    let mut files = Files::new();
    collect(project, tree, "", &mut files);
    files
}

fn collect(project: &Project, tree: &ObjectId, prefix: &str, files: &mut Files) {
    let bytes = project.store().read(tree).unwrap();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == 0).unwrap();
        let (head, tail) = (std::str::from_utf8(&rest[..end]).unwrap(), &rest[end + 1..]);
        let (mode, name) = head.split_once(' ').unwrap();
        let oid = ObjectId::from_bytes(tail[..20].try_into().unwrap());
        let path = format!("{prefix}{name}");
        if mode == "40000" {
            collect(project, &oid, &format!("{path}/"), files);
        } else {
            let content = project.store().read(&oid).unwrap();
            files.insert(path, format!("{mode} {}", id(&content)));
        }
        rest = &tail[20..];
    }
}
