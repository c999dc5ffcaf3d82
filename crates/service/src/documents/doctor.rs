//! A check-up: can everything that was recorded be restored?

use retake_engine::{self as engine, Project, StoreProblem};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Masking;
use crate::describe::{format_size, plural};

/// Free bytes below which recording may fail.
const LOW_SPACE_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum paths that a check names.
const MAX_LISTED_PATHS: usize = 5;

/// Whether everything that was recorded can be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CheckUp)]
pub struct CheckUpDocument {
    /// Whether no check found a problem.
    pub healthy: bool,
    /// The folder of the record.
    pub store: String,
    /// Bytes that the record takes.
    pub store_bytes: u64,
    /// Bytes that are free where it lies.
    pub free_bytes: Option<u64>,
    /// Objects in the record.
    pub objects: u64,
    /// Objects whose bytes were read and hashed.
    pub objects_read: u64,
    /// Changes on record.
    pub changes: u64,
    /// Events that wait to be taken in.
    pub spooled: u64,
    /// What was checked.
    pub checks: Vec<DoctorCheck>,
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Check)]
pub struct DoctorCheck {
    /// Its name.
    pub name: String,
    /// `ok`, `problem` or `skipped`.
    pub state: String,
    /// What it found, for people.
    pub text: String,
    /// What is wrong.
    pub problems: Vec<String>,
}

impl DoctorCheck {
    fn new(name: &str, text: String, problems: Vec<String>) -> Self {
        let state = if problems.is_empty() { "ok" } else { "problem" };
        Self { name: name.to_owned(), state: state.to_owned(), text, problems }
    }
}

impl CheckUpDocument {
    /// What a check-up found; `read_data` tells whether it read every byte.
    pub fn new(
        project: &Project,
        found: &engine::HealthReport,
        read_data: bool,
        masking: Masking,
    ) -> Self {
        let mut checks = checks(found, read_data);
        // A line of the spool is an event as an agent sent it.
        for problem in checks.iter_mut().flat_map(|check| &mut check.problems) {
            *problem = masking.mask_text(problem).into_owned();
        }
        Self {
            healthy: checks.iter().all(|check| check.problems.is_empty()),
            store: project.folder().to_string_lossy().into_owned(),
            store_bytes: found.store_bytes,
            free_bytes: found.free_bytes,
            objects: found.verification.objects,
            objects_read: found.verification.objects_read,
            changes: found.verification.changes,
            spooled: found.verification.spooled,
            checks,
        }
    }
}

/// What was saved of a damaged record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Salvaged)]
pub struct SalvageDocument {
    /// Rows that could be read.
    pub rows: u64,
    /// The tables of which rows could not be read.
    pub lost_from: Vec<String>,
    /// The folder with the damaged files.
    pub kept: String,
}

impl SalvageDocument {
    /// What a salvage came to.
    pub fn new(salvaged: &engine::SalvageReport) -> Self {
        let lost = salvaged.tables.iter().filter(|table| !table.whole);
        Self {
            rows: salvaged.tables.iter().map(|table| table.rows).sum(),
            lost_from: lost.map(|table| table.name.clone()).collect(),
            kept: salvaged.kept.to_string_lossy().into_owned(),
        }
    }
}

fn checks(found: &engine::HealthReport, read_data: bool) -> Vec<DoctorCheck> {
    let verification = &found.verification;
    let problems = |wanted: fn(&StoreProblem) -> bool| -> Vec<String> {
        verification.problems.iter().filter(|problem| wanted(problem)).map(problem_text).collect()
    };
    let changes = plural(verification.changes, "change", "changes");
    let objects = plural(verification.objects, "object", "objects");
    let contents = if read_data {
        format!("{} of {objects} read, each is what its name says", verification.objects_read)
    } else {
        "not read; `retake doctor --read-data` checks every byte".to_owned()
    };
    let mut contents = DoctorCheck::new("contents", contents, problems(is_damage));
    if !read_data && contents.problems.is_empty() {
        "skipped".clone_into(&mut contents.state);
    }
    let spooled = match verification.spooled {
        0 => "no event waits".to_owned(),
        count => format!(
            "{} to be recorded by the next command",
            plural(count, "event waits", "events wait")
        ),
    };
    vec![
        DoctorCheck::new(
            "database",
            "its structure is sound".to_owned(),
            problems(|p| matches!(p, StoreProblem::Database(_) | StoreProblem::Row(_))),
        ),
        DoctorCheck::new(
            "references",
            format!("every content on record is there ({changes}, {objects})"),
            problems(|p| matches!(p, StoreProblem::Dangling { .. })),
        ),
        contents,
        DoctorCheck::new("spool", spooled, problems(|p| matches!(p, StoreProblem::SpoolLine(_)))),
        folder_check(found),
        space_check(found),
        access_check(found),
    ]
}

fn folder_check(found: &engine::HealthReport) -> DoctorCheck {
    let problems = if found.replaced {
        vec!["another folder stands where the recorded one was; say which it is with `retake init --same` or `retake init --new`".to_owned()]
    } else {
        Vec::new()
    };
    DoctorCheck::new("folder", "it is the recorded one".to_owned(), problems)
}

fn space_check(found: &engine::HealthReport) -> DoctorCheck {
    let store = format_size(found.store_bytes);
    let (text, problems) = match found.free_bytes {
        Some(free) if free < LOW_SPACE_BYTES => (
            String::new(),
            vec![format!("only {} are free where the record ({store}) lies", format_size(free))],
        ),
        Some(free) => (format!("{} free, the record takes {store}", format_size(free)), Vec::new()),
        None => (format!("the record takes {store}; how much is free is not known"), Vec::new()),
    };
    DoctorCheck::new("space", text, problems)
}

/// Names the home's paths that other users may reach. The next daemon or `init` closes those that
/// Retake made; others are as the person made them, and are only told of.
fn access_check(found: &engine::HealthReport) -> DoctorCheck {
    let describe = |open: &engine::OpenPath| {
        let (path, mode) = (open.path.display(), open.mode);
        let way_out = if open.is_own {
            "`retake init` restricts it to you".to_owned()
        } else {
            format!("`chmod go= {path}` restricts it, unless that is meant")
        };
        format!("other users may reach {path} (mode {mode:o}); {way_out}")
    };
    let listed = |is_own: bool| -> Vec<String> {
        let paths = found.open_paths.iter().filter(|open| open.is_own == is_own);
        paths.take(MAX_LISTED_PATHS).map(describe).collect()
    };
    let told = match listed(false) {
        open if open.is_empty() => "only you can reach Retake's own folder".to_owned(),
        open => open.join("; "),
    };
    DoctorCheck::new("access", told, listed(true))
}

fn is_damage(problem: &StoreProblem) -> bool {
    matches!(problem, StoreProblem::Damaged { .. } | StoreProblem::Pack { .. })
}

fn problem_text(problem: &StoreProblem) -> String {
    match problem {
        StoreProblem::Database(text) | StoreProblem::Row(text) => text.clone(),
        StoreProblem::Dangling { record, oid } => format!("{oid} is missing ({record})"),
        StoreProblem::Damaged { oid, why } => format!("{oid}: {why}"),
        StoreProblem::Pack { name, why } => format!("{name} cannot be used: {why}"),
        StoreProblem::SpoolLine(line) => {
            let start: String = line.chars().take(80).collect();
            format!("a line cannot be understood: {start}")
        }
    }
}
