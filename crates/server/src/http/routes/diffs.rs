//! What differs: the files of a difference in pages, then the lines of one file in pages.
//!
//! No document holds everything: the list has no lines, and a file has a page of them. What is cut
//! off is told with the way to get it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use retake_engine::model::{Actor, ChangeId, ErrorCode, ProjectPath};
use retake_engine::{ChangeFilter, DiffOptions, NetFileChange, Project, WhitespaceRule};
use retake_service::contents::find_stored;
use retake_service::documents::{
    DEFAULT_PAGE_LINES, DiffCursor, DiffFileEntry, DiffFilesPage, DiffForm, DiffLimits,
    DiffRenderer, DiffView, FileDiffDocument, LocatePaths as _, MAX_PAGE_LINES, NetChangePart,
    NetFileDiff, ShownChange, enum_schemas,
};
use retake_service::{ApiError, Masking};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::AppState;
use super::super::conditional::EntityTag;
use super::super::error::ErrorResponse;
use super::super::extract::{PathParams, QueryParams};
use super::super::route_policy::{EVERYONE, EVERYONE_SHOWING_CONTENT};
use super::changes::find_change;
use super::{
    TaggedDocument, find_agent, find_dialog, masking, page_size, parse_change_id, resolve_path,
};

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(change)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(change_diff)))
        .routes(EVERYONE.guard_route(routes!(diff)))
        .routes(EVERYONE_SHOWING_CONTENT.guard_route(routes!(diff_file)))
}

/// White space that makes no difference.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Whitespace {
    /// None.
    #[default]
    Exact,
    /// At the end of a line.
    IgnoreAtEnd,
    /// The amount of it, and all at the end of a line.
    IgnoreAmount,
    /// All.
    IgnoreAll,
}

impl From<Whitespace> for WhitespaceRule {
    fn from(rule: Whitespace) -> Self {
        match rule {
            Whitespace::Exact => Self::Exact,
            Whitespace::IgnoreAtEnd => Self::IgnoreAtEnd,
            Whitespace::IgnoreAmount => Self::IgnoreAmount,
            Whitespace::IgnoreAll => Self::IgnoreAll,
        }
    }
}

/// Whether line endings make a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LineEndingRule {
    /// They do not, and `line_endings` tells what they are.
    #[default]
    Normalised,
    /// They do, as for git.
    Exact,
}

/// A query with how a difference is compared and written.
macro_rules! diff_query {
    ($(#[$about:meta])* $name:ident { $($(#[$told:meta])* $field:ident: $kind:ty,)* }) => {
        #[derive(Clone, Debug, Default, Deserialize, IntoParams)]
        #[serde(default, deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        $(#[$about])*
        struct $name {
            $($(#[$told])* $field: $kind,)*
            /// As text alone, or also by lines with changed words and highlighting.
            #[param(inline)]
            form: DiffForm,
            /// Lines around what differs, or `all`; 3 unless told otherwise.
            #[param(pattern = "^([0-9]+|all)$")]
            context: Option<String>,
            /// White space that makes no difference.
            #[param(inline)]
            whitespace: Whitespace,
            /// Leave out places where only blank lines differ.
            ignore_blank_lines: bool,
            /// Whether line endings make a difference.
            #[param(inline)]
            line_endings: LineEndingRule,
            /// Mark changed words; yes unless told otherwise.
            words: Option<bool>,
            /// Highlight lines; yes unless told otherwise.
            tokens: Option<bool>,
            /// At most so many lines; 2000 unless told otherwise.
            #[param(minimum = 1, maximum = 5000)]
            lines: Option<usize>,
            /// The `next` of the page before.
            cursor: Option<String>,
        }

        impl $name {
            fn choice(&self) -> DiffChoice<'_> {
                DiffChoice {
                    form: self.form,
                    context: self.context.as_deref(),
                    whitespace: self.whitespace,
                    ignore_blank_lines: self.ignore_blank_lines,
                    line_endings: self.line_endings,
                    words: self.words,
                    tokens: self.tokens,
                    lines: self.lines,
                    cursor: self.cursor.as_deref(),
                }
            }
        }
    };
}

diff_query! {
    /// How a difference is compared and written.
    DiffQuery {}
}

diff_query! {
    /// Which file of which changes, and how its difference is compared and written.
    DiffFileQuery {
        /// The file, after the changes or before them.
        #[param(required, value_type = String, example = "src/main.rs")]
        path: Option<String>,
        /// The part of the file, if something else changed it in between; 1 unless told otherwise.
        #[param(minimum = 1, maximum = 1_000_000)]
        part: Option<usize>,
        /// Of this dialog.
        dialog: Option<String>,
        /// Of this agent.
        agent: Option<String>,
        /// By this actor.
        #[param(schema_with = enum_schemas::actor, required = false)]
        actor: Option<Actor>,
        /// From this change on.
        from: Option<String>,
        /// Up to this change, and with it.
        to: Option<String>,
    }
}

/// How a difference is compared and written, as a client says it.
#[derive(Debug)]
struct DiffChoice<'a> {
    form: DiffForm,
    context: Option<&'a str>,
    whitespace: Whitespace,
    ignore_blank_lines: bool,
    line_endings: LineEndingRule,
    words: Option<bool>,
    tokens: Option<bool>,
    lines: Option<usize>,
    cursor: Option<&'a str>,
}

impl DiffChoice<'_> {
    /// What that is for this change, whose page the cursor must be of.
    fn view(&self, net: &NetFileChange) -> Result<DiffView, ApiError> {
        let options = DiffOptions {
            context: self.context_lines()?,
            whitespace: self.whitespace.into(),
            ignore_blank_lines: self.ignore_blank_lines,
            ignore_line_endings: self.line_endings == LineEndingRule::Normalised,
        };
        let max_lines = self.lines.unwrap_or(DEFAULT_PAGE_LINES);
        if !(1..=MAX_PAGE_LINES).contains(&max_lines) {
            let message = format!("`lines` is {max_lines}, not 1 to {MAX_PAGE_LINES}");
            return Err(ApiError::new(ErrorCode::BadValue, message, "ask for several pages"));
        }
        let cursor = self.cursor.map(str::parse::<DiffCursor>).transpose()?;
        let first = cursor.map(|cursor| cursor.check(net, &options)).transpose()?;
        Ok(DiffView {
            options,
            form: self.form,
            words: self.words.unwrap_or(true),
            tokens: self.tokens.unwrap_or(true),
            limits: Some(DiffLimits { first: first.unwrap_or(0), max_lines }),
        })
    }

    fn context_lines(&self) -> Result<Option<u32>, ApiError> {
        match self.context {
            None => Ok(DiffOptions::default().context),
            Some("all") => Ok(None),
            Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Some(text.parse().unwrap_or(u32::MAX)))
            }
            Some(text) => {
                let message = format!("`context` is '{text}', neither a number nor `all`");
                Err(ApiError::new(ErrorCode::BadValue, message, "send a number of lines, or `all`"))
            }
        }
    }
}

/// Fails with the reason if a content was purged or is missing.
fn check_stored(project: &Project, net: &NetFileChange) -> Result<(), ApiError> {
    for state in [&net.before, &net.after].into_iter().filter_map(|side| side.known()) {
        find_stored(project, &state.oid)?;
    }
    Ok(())
}

/// Names the bytes of a difference's document: they follow from the contents and the view.
fn tag_of(net: &NetFileChange, view: &DiffView, masking: Masking) -> EntityTag {
    let (names, states) = ((&net.old_path, &net.path), (&net.before, &net.after));
    EntityTag::of(&[
        &format!("{names:?}"),
        &format!("{states:?}"),
        &format!("{view:?}"),
        &format!("{masking:?}"),
    ])
}

/// One change, the difference that it made, and what was said.
#[utoipa::path(
    get, path = "/api/projects/{project}/changes/{change}", tag = "changes",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("change" = String, Path, description = "The change's id.", example = "c12"),
        DiffQuery,
    ),
    responses((status = 200, description = "The change.", body = ShownChange))
)]
async fn change(
    State(state): State<AppState>,
    PathParams((id, change)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<DiffQuery>,
) -> Result<Response, ErrorResponse> {
    state
        .read_heavy(id, move |project| {
            let change = find_change(project, &change)?;
            let net = NetFileChange::from(&change);
            check_stored(project, &net)?;
            let view = query.choice().view(&net)?;
            Ok(ShownChange::read(project, &change, view, masking(project))?)
        })
        .await
}

/// The difference that one change made, in pages of lines.
#[utoipa::path(
    get, path = "/api/projects/{project}/changes/{change}/diff", tag = "changes",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("change" = String, Path, description = "The change's id.", example = "c12"),
        DiffQuery,
    ),
    responses(
        (status = 200, description = "The difference.", body = FileDiffDocument),
        (status = 304, description = "The client has it: `If-None-Match` names its `ETag`."),
    )
)]
async fn change_diff(
    State(state): State<AppState>,
    PathParams((id, change)): PathParams<(String, String)>,
    QueryParams(query): QueryParams<DiffQuery>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    state
        .read_tagged(id, headers, move |project, known| {
            let net = NetFileChange::from(&find_change(project, &change)?);
            check_stored(project, &net)?;
            let (view, masking) = (query.choice().view(&net)?, masking(project));
            let tag = tag_of(&net, &view, masking);
            if known.has(&tag) {
                return Ok(TaggedDocument { tag, document: None });
            }
            let document = DiffRenderer::for_one_file(project, view, masking).render_net(&net)?;
            Ok(TaggedDocument { tag, document: Some(document) })
        })
        .await
}

/// Which changes a difference is of; what is given all must hold.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DiffListQuery {
    /// Of this dialog.
    dialog: Option<String>,
    /// Of this agent.
    agent: Option<String>,
    /// Of this file, or of everything in this folder.
    path: Option<String>,
    /// By this actor.
    #[param(schema_with = enum_schemas::actor, required = false)]
    actor: Option<Actor>,
    /// From this change on.
    from: Option<String>,
    /// Up to this change, and with it.
    to: Option<String>,
    /// At most so many files; 200 unless told otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// The changes that a query names.
struct ChangesNamed<'a> {
    dialog: Option<&'a str>,
    agent: Option<&'a str>,
    actor: Option<Actor>,
    from: Option<&'a str>,
    to: Option<&'a str>,
}

impl ChangesNamed<'_> {
    fn filter(&self, project: &Project) -> Result<ChangeFilter, ApiError> {
        let after = self.from.map(parse_change_id).transpose()?;
        let until = self.to.map(parse_change_id).transpose()?;
        Ok(ChangeFilter {
            dialogs: self
                .dialog
                .map(|id| find_dialog(project, id))
                .transpose()?
                .into_iter()
                .collect(),
            agents: self.agent.map(|id| find_agent(project, id)).transpose()?.into_iter().collect(),
            actors: self.actor.into_iter().collect(),
            after: after.map(|id| id.0.saturating_sub(1)),
            before: until.map(|id| ChangeId(id.0.saturating_add(1))),
            ..ChangeFilter::default()
        })
    }
}

/// The files that several changes made a difference to, by path, in pages.
///
/// What was taken back since is left out. The lines of a file are at `…/diff/file`.
#[utoipa::path(
    get, path = "/api/projects/{project}/diff", tag = "changes",
    params(("project" = String, Path, description = "The project's id."), DiffListQuery),
    responses((status = 200, description = "A page of files.", body = DiffFilesPage))
)]
async fn diff(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<DiffListQuery>,
) -> Result<Response, ErrorResponse> {
    state
        .read_heavy(id, move |project| {
            let limit = page_size(query.limit, 200)?;
            let cursor = query.cursor.as_deref().map(ListCursor::parse).transpose()?;
            let DiffListQuery { dialog, agent, actor, from, to, .. } = &query;
            let named = ChangesNamed {
                dialog: dialog.as_deref(),
                agent: agent.as_deref(),
                actor: *actor,
                from: from.as_deref(),
                to: to.as_deref(),
            };
            let path = query.path.as_deref().map(|path| resolve_path(project, path)).transpose()?;
            let nets = project.net_changes(&ChangeFilter { path, ..named.filter(project)? })?;
            Ok(files_page(&nets, cursor.as_ref(), limit).located(project.root()))
        })
        .await
}

fn files_page(nets: &[NetFileChange], cursor: Option<&ListCursor>, limit: usize) -> DiffFilesPage {
    let is_before = |net: &NetFileChange| {
        cursor.is_some_and(|cursor| (&net.path, net.first) <= (&cursor.path, cursor.first))
    };
    let start = nets.partition_point(is_before);
    let end = nets.len().min(start + limit);
    let next = nets[start..end].last().filter(|_| end < nets.len());
    DiffFilesPage {
        files: (start..end).map(|place| DiffFileEntry::new(nets, place)).collect(),
        count: nets.len() as u64,
        next: next.map(|net| ListCursor { path: net.path.clone(), first: net.first }.to_text()),
    }
}

/// The last file of a page.
struct ListCursor {
    path: ProjectPath,
    first: ChangeId,
}

impl ListCursor {
    fn to_text(&self) -> String {
        format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(self.path.as_bytes()), self.first.0)
    }

    fn parse(text: &str) -> Result<Self, ApiError> {
        let parsed = text.split_once('.').and_then(|(path, first)| {
            let path = ProjectPath::new(BASE64_URL_SAFE_NO_PAD.decode(path).ok()?).ok()?;
            Some(Self { path, first: ChangeId(first.parse().ok()?) })
        });
        parsed.ok_or_else(|| {
            let message = format!("'{text}' is not a cursor of this list");
            ApiError::new(ErrorCode::BadValue, message, "send the `next` of the page before")
        })
    }
}

/// The difference that several changes made to one file, in pages of lines.
///
/// A file that something else changed in between has several parts, which are shown one by one.
#[utoipa::path(
    get, path = "/api/projects/{project}/diff/file", tag = "changes",
    params(("project" = String, Path, description = "The project's id."), DiffFileQuery),
    responses(
        (status = 200, description = "The difference.", body = NetFileDiff),
        (status = 304, description = "The client has it: `If-None-Match` names its `ETag`."),
    )
)]
async fn diff_file(
    State(state): State<AppState>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<DiffFileQuery>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    state
        .read_tagged(id, headers, move |project, known| {
            let (nets, place) = find_part(project, &query)?;
            let (net, changes) = (&nets[place], NetChangePart::new(&nets, place));
            check_stored(project, net)?;
            let (view, masking) = (query.choice().view(net)?, masking(project));
            let made_by = format!("{changes:?}");
            let tag = tag_of(net, &view, masking).with(&made_by);
            if known.has(&tag) {
                return Ok(TaggedDocument { tag, document: None });
            }
            let diff = DiffRenderer::for_one_file(project, view, masking).render_net(net)?;
            Ok(TaggedDocument { tag, document: Some(NetFileDiff { diff, changes }) })
        })
        .await
}

/// The net changes of a file, and the place of the part that is asked for.
fn find_part(
    project: &Project,
    query: &DiffFileQuery,
) -> Result<(Vec<NetFileChange>, usize), ApiError> {
    let Some(text) = query.path.as_deref() else {
        let hint = "name the file in `path`; …/diff lists them";
        return Err(ApiError::new(ErrorCode::BadValue, "no file is named", hint));
    };
    let DiffFileQuery { dialog, agent, actor, from, to, .. } = query;
    let named = ChangesNamed {
        dialog: dialog.as_deref(),
        agent: agent.as_deref(),
        actor: *actor,
        from: from.as_deref(),
        to: to.as_deref(),
    };
    let nets =
        project.net_changes_of_file(&named.filter(project)?, &resolve_path(project, text)?)?;
    let part = query.part.unwrap_or(1);
    if part == 0 || (part > nets.len() && !nets.is_empty()) {
        let message = format!("`part` is {part}, and '{text}' has 1 to {}", nets.len().max(1));
        return Err(ApiError::new(ErrorCode::BadValue, message, "…/diff lists the parts"));
    }
    if nets.is_empty() {
        let message = format!("these changes make no difference to '{text}'");
        return Err(ApiError::new(ErrorCode::UnknownFile, message, "…/diff lists the files"));
    }
    Ok((nets, part - 1))
}
