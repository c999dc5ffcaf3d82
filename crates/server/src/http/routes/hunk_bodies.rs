//! How clients name scopes, files and hunks of a review.

use retake_engine::model::{ErrorCode, HunkId, ProjectPath};
use retake_engine::{
    CascadePolicy, HunkChoice, HunkRequest, Project, ReviewScope, TakeBackOptions,
};
use retake_service::ApiError;
use retake_service::review::{SCOPE_FORMS, find_scope, parse_hunk_lines};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::apply::Consent;
use super::bodies::bad_value;
use super::resolve_path;

/// Name of the scope if none is named.
const DEFAULT_SCOPE: &str = "all";

/// A scope, as a client names it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScopeWords<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) paths: &'a [String],
    pub(super) approved: bool,
}

impl ScopeWords<'_> {
    /// Its name.
    pub(super) fn name(&self) -> String {
        self.name.unwrap_or(DEFAULT_SCOPE).to_owned()
    }

    /// What that is in the project.
    pub(super) fn resolve(&self, project: &Project) -> Result<ReviewScope, ApiError> {
        let name = self.name();
        let changes = find_scope(project, &name)?.ok_or_else(|| {
            let forms: Vec<_> = SCOPE_FORMS.iter().map(|(form, _)| *form).collect();
            let hint = format!("scopes are {}", forms.join(", "));
            ApiError::new(ErrorCode::UnknownDialog, format!("there is no scope '{name}'"), hint)
        })?;
        let paths = self.paths.iter().map(|path| resolve_path(project, path));
        let mut paths: Vec<ProjectPath> = paths.collect::<Result<_, _>>()?;
        paths.sort();
        paths.dedup();
        Ok(ReviewScope { changes, paths, approved: self.approved })
    }
}

/// A file, as a client names it: by its path, or by the bytes of one that is not UTF-8.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileWords<'a> {
    pub(super) path: Option<&'a str>,
    pub(super) path_hex: Option<&'a str>,
}

impl FileWords<'_> {
    /// Its place in the project; none if no file is named.
    pub(super) fn resolve(&self, project: &Project) -> Result<Option<ProjectPath>, ApiError> {
        match (self.path, self.path_hex) {
            (_, Some(hex)) => parse_path_hex(hex).map(Some),
            (Some(path), None) => resolve_path(project, path).map(Some),
            (None, None) => Ok(None),
        }
    }
}

fn parse_path_hex(hex: &str) -> Result<ProjectPath, ApiError> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2));
    let bytes = digits.map(|all| all.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect());
    bytes.and_then(|bytes: Vec<u8>| ProjectPath::new(bytes).ok()).ok_or_else(|| {
        let message = format!("'{hex}' is not the path of a file in hexadecimal digits");
        ApiError::new(ErrorCode::BadValue, message, "send the `path_hex` of a document")
    })
}

/// A hunk that a client names.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChosenHunk)]
pub(super) struct HunkBody {
    /// Its name.
    #[schema(example = "h3f9a2c81d0e4")]
    id: String,
    /// Its file: then no other file is read, and a refusal tells how the file is now.
    path: Option<String>,
    /// The same in hexadecimal digits, if it is not UTF-8.
    path_hex: Option<String>,
    /// Only these lines of it, by their numbers in it from 1: added (`+`) and removed (`-`) ones.
    #[schema(example = "+1-3,-2")]
    lines: Option<String>,
    /// The `digest` of the file, which an act on one of several equal hunks needs.
    digest: Option<String>,
}

impl HunkBody {
    /// What that is in the project.
    pub(super) fn choice(&self, project: &Project) -> Result<HunkChoice, ApiError> {
        let id = self.id.parse::<HunkId>().map_err(|message| {
            ApiError::new(ErrorCode::BadValue, message, "GET …/review/file lists them")
        })?;
        let file = FileWords { path: self.path.as_deref(), path_hex: self.path_hex.as_deref() };
        let lines = self.lines.as_deref().map(parse_hunk_lines).transpose()?;
        Ok(HunkChoice { id, path: file.resolve(project)?, lines, digest: self.digest.clone() })
    }
}

/// A body that names hunks of a scope.
macro_rules! hunks_body {
    ($(#[$about:meta])* $name:ident { $($(#[$told:meta])* $field:ident: $kind:ty,)* }) => {
        #[derive(Clone, Debug, Default, Deserialize, ToSchema)]
        #[serde(default, deny_unknown_fields)]
        $(#[$about])*
        pub(super) struct $name {
            /// The scope in which they are hunks, as in `GET …/review`; `all` unless told otherwise.
            #[schema(example = "last-turn")]
            scope: Option<String>,
            /// Only in these files and folders.
            paths: Vec<String>,
            /// Also hunks of changes that are approved.
            approved: bool,
            /// These hunks.
            hunks: Vec<HunkBody>,
            /// Instead: all hunks of the scope, whatever they are by then.
            all: bool,
            $($(#[$told])* $field: $kind,)*
        }

        impl $name {
            /// What that is in the project.
            pub(super) fn request(&self, project: &Project) -> Result<HunkRequest, ApiError> {
                let Self { scope, paths, approved, .. } = self;
                let words = ScopeWords { name: scope.as_deref(), paths, approved: *approved };
                hunk_request(project, words, &self.hunks, self.all)
            }

            /// The name of the scope.
            pub(super) fn scope_name(&self) -> String {
                ScopeWords { name: self.scope.as_deref(), ..ScopeWords::default() }.name()
            }
        }
    };
}

hunks_body! {
    /// Which hunks to keep.
    #[schema(as = KeepHunks)]
    KeepHunksBody {}
}

hunks_body! {
    /// Which hunks to mark.
    #[schema(as = MarkHunks)]
    MarkHunksBody {
        /// Whether they are seen; yes unless told otherwise.
        reviewed: Option<bool>,
    }
}

hunks_body! {
    /// Which hunks to take back, and how.
    #[schema(as = RejectHunks)]
    RejectHunksBody {
        /// Why, for the agents.
        reason: Option<String>,
        /// Wait while an agent behind them is at work; yes unless told otherwise.
        wait: Option<bool>,
        /// Take back later changes that stand in the way, whoever made them.
        cascade: bool,
        /// Only tell what would be done.
        dry_run: bool,
        /// Say yes to everything that the plan asks.
        yes: bool,
        /// Say yes to these of the plan's `asks`.
        agreed: Vec<String>,
        /// Carry out the plan with this digest, and no other.
        plan_digest: Option<String>,
    }
}

impl MarkHunksBody {
    /// Whether the hunks are seen.
    pub(super) fn is_reviewed(&self) -> bool {
        self.reviewed.unwrap_or(true)
    }
}

impl RejectHunksBody {
    /// Whether to wait while an agent is at work.
    pub(super) fn waits(&self) -> bool {
        self.wait.unwrap_or(true)
    }

    /// Why, for the agents.
    pub(super) fn reason(&self) -> Option<String> {
        self.reason.clone()
    }

    /// How. Of what is in the way when a rejection that waits is carried out the person sees
    /// nothing, so only `cascade` takes it along.
    pub(super) fn take_back_options(&self, is_queued: bool) -> TakeBackOptions {
        let cascade = match (self.cascade, is_queued) {
            (true, _) => CascadePolicy::All,
            (false, true) => CascadePolicy::Leave,
            (false, false) => CascadePolicy::Agents,
        };
        TakeBackOptions { cascade, ..TakeBackOptions::default() }
    }

    pub(super) fn consent(&self) -> Consent {
        Consent {
            dry_run: self.dry_run,
            yes: self.yes,
            agreed: self.agreed.clone(),
            plan_digest: self.plan_digest.clone(),
        }
    }
}

fn hunk_request(
    project: &Project,
    scope: ScopeWords<'_>,
    hunks: &[HunkBody],
    all: bool,
) -> Result<HunkRequest, ApiError> {
    match (hunks.is_empty(), all) {
        (true, false) => {
            return Err(bad_value(
                "nothing says which hunks are meant",
                "name some, or send `all`",
            ));
        }
        (false, true) => {
            return Err(bad_value("hunks are named, and `all` is sent", "send one of them"));
        }
        _ => {}
    }
    let hunks = hunks.iter().map(|hunk| hunk.choice(project)).collect::<Result<_, _>>()?;
    Ok(HunkRequest { scope: scope.resolve(project)?, hunks, all })
}
