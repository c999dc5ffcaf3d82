//! The description of the interface, OpenAPI 3.1: made of the routes, never by hand.
//!
//! `docs/openapi.json` is its text; a test fails if the two differ.

use serde_json::{Value, json};
use utoipa::OpenApi as _;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{
    Operation as Documented, Parameter, ParameterBuilder, ParameterIn, ParameterStyle,
};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, OpenApi, Ref, RefOr, Required, ResponseBuilder};

use super::reveal::REVEAL_PARAMETER;
use super::route_policy::{EnforcedPolicy, RouteAccess, RouteReach};
use super::routes;

/// The JSON schema of events.
const EVENT_SCHEMA: &str = include_str!("../../../../docs/event.schema.json");

/// Name of the security scheme.
const BEARER_SCHEME: &str = "bearer";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Retake",
        description = "What agents changed, and everything that can be done about it. docs/api.md \
                       tells how to get the address and a token, and shows a session with curl.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "projects", description = "Projects and where they stand."),
        (name = "changes", description = "What was changed, by whom, and what differs."),
        (name = "contents", description = "Files as they are and were."),
        (name = "context", description = "What agents know of files, and what of it is out of date."),
        (name = "review", description = "Deciding on changes and going back."),
        (name = "checkpoints", description = "States that can be restored."),
        (name = "dialogs", description = "One dialog: its messages, session and approval."),
        (name = "file changes", description = "One dialog's records, decided one by one."),
        (name = "access", description = "Logins, and tokens of agents."),
        (name = "events", description = "Recording what happens."),
        (name = "maintenance", description = "Upkeep of the record, settings and setup."),
        (name = "interface", description = "The interface itself."),
    )
)]
struct ApiDocument;

/// The whole description.
pub fn description() -> Value {
    let mut described = serde_json::to_value(build_document()).unwrap_or_default();
    // What an event is, is said in one place, which is read by others, too.
    let events: Value = serde_json::from_str(EVENT_SCHEMA).unwrap_or_default();
    let schemas = &mut described["components"]["schemas"];
    schemas["Event"] = events["$defs"]["event"].clone();
    schemas["NewEvents"]["properties"]["events"]["items"] =
        json!({ "$ref": "#/components/schemas/Event" });
    described
}

fn build_document() -> OpenApi {
    let mut described = ApiDocument::openapi();
    described.merge(routes::all_routes().into_openapi());
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(
        "The token in HOME/run/http.json, new at each start; a login that `POST /api/exchange` \
             gave; or a token that was minted for an agent.",
    ));
    described
        .components
        .get_or_insert_with(Components::new)
        .add_security_scheme(BEARER_SCHEME, SecurityScheme::Http(bearer.build()));
    described
}

/// The answers that come of the guard and of reading the request, so that no route repeats them.
pub(super) fn document_operation(path: &str, operation: &mut Documented, enforced: EnforcedPolicy) {
    let policy = enforced.policy;
    if policy.can_reveal {
        operation.parameters.get_or_insert_default().push(reveal_parameter());
    }
    for parameter in operation.parameters.iter_mut().flatten() {
        document_list(parameter);
    }
    let has_body = operation.request_body.is_some();
    let has_query = operation.parameters.iter().flatten().next().is_some();
    let mut add = |status: &str, text: &str| {
        operation
            .responses
            .responses
            .entry(status.to_owned())
            .or_insert_with(|| error_response(text));
    };
    if has_body || has_query {
        add("400", "The request cannot be read: `bad_json`, `bad_body`, `bad_query`, `bad_path`.");
    }
    if policy.access != RouteAccess::Public {
        add("401", "There is no valid token: `unauthorized`.");
    }
    add("403", &describe_access(enforced));
    if path.contains('{') {
        add("404", "Something that is named does not exist: `unknown_…`.");
        add("409", "It does not fit what is on record; the code says how.");
    }
    add("413", "The body is too large: `too_large`.");
    if has_body || has_query {
        add("422", "A value is not possible here: `bad_value`, `outside_project`.");
    }
    add("500", "A fault of Retake or of the disk; the code says which.");
    add("503", "Too much is asked for at once: `busy`. Or the disk is full: `no_space`.");
    if policy.access != RouteAccess::Public {
        operation.security = Some(vec![SecurityRequirement::new(BEARER_SCHEME, [""; 0])]);
    }
    let extensions = operation.extensions.get_or_insert_with(Extensions::default);
    extensions.insert("x-scope".into(), policy.access.as_str().into());
    extensions.insert("x-reach".into(), enforced.reach.as_str().into());
}

/// Every list of a query is one value with commas, unless it says otherwise; utoipa leaves that out
/// where the schema is given by a function.
fn document_list(parameter: &mut Parameter) {
    let is_repeated = parameter.explode == Some(true);
    if !is_repeated && matches!(parameter.schema, Some(RefOr::T(Schema::Array(_)))) {
        parameter.style = Some(ParameterStyle::Form);
        parameter.explode = Some(false);
    }
}

fn reveal_parameter() -> Parameter {
    ParameterBuilder::new()
        .name(REVEAL_PARAMETER)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some("Shows secrets in this answer; for people."))
        .schema(Some(ObjectBuilder::new().schema_type(Type::Boolean)))
        .build()
}

fn describe_access(enforced: EnforcedPolicy) -> String {
    let mut reasons = Vec::new();
    if enforced.policy.can_reveal {
        reasons.push("An agent asked to reveal secrets: `human_only`.");
    }
    match enforced.policy.access {
        RouteAccess::Public | RouteAccess::AnyToken => {}
        RouteAccess::OwnDialog => reasons.push(
            "An agent spoke for a dialog that is not its token's: `other_dialog`, `unbound_token`.",
        ),
        RouteAccess::HumansOrDryRuns => {
            reasons.push("An agent asked for more than a dry run: `human_only`.");
        }
        RouteAccess::Humans => reasons.push("An agent asked: `human_only`."),
    }
    let is_limited = matches!(enforced.reach, RouteReach::Project | RouteReach::Machine)
        && !matches!(enforced.policy.access, RouteAccess::Public | RouteAccess::Humans);
    if is_limited {
        reasons.push("The token is for another project: `other_project`.");
    }
    reasons.push("The Host or Origin is not this server's: `foreign_host`, `foreign_origin`.");
    reasons.join(" ")
}

fn error_response(text: &str) -> RefOr<utoipa::openapi::Response> {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(text).content("application/json", content).build().into()
}
