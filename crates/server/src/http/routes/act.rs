//! Applies a plan for a client, as far as it consented.
//!
//! Invariant: what replaces a person's edits, takes back what was not named, touches files of
//! another dialog or deletes files is never done unless the client says yes to just that.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use retake_engine::Plan;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::super::error::Problem;
use super::super::operation::human;
use super::super::token::Scope;
use super::masking;
use crate::documents::Outcome;
use crate::door::Apply;
use crate::{Failure, Room};

/// What an operation would do, or did.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(in super::super) struct Acted {
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    /// What the plan is known by: sent back, nothing but this plan is carried out.
    pub(super) plan_digest: Option<String>,
}

/// A client's consent.
#[derive(Clone, Debug, Default)]
pub(super) struct Consent {
    /// Only the plan is wanted.
    pub(super) dry_run: bool,
    /// Yes to everything.
    pub(super) yes: bool,
    /// Yes to these.
    pub(super) agreed: Vec<String>,
    /// The plan that was seen.
    pub(super) plan_digest: Option<String>,
}

impl Consent {
    /// Refuses an agent that wants more than a plan.
    pub(super) fn by(self, scope: Scope) -> Result<Self, Problem> {
        if !self.dry_run {
            human(scope)?;
        }
        Ok(self)
    }

    fn covers(&self, code: &str) -> bool {
        self.yes || self.agreed.iter().any(|agreed| agreed == code)
    }
}

/// Rejects a client that has seen a plan, if nothing is left to do.
pub(super) fn nothing(outcome: Outcome, consent: &Consent) -> Result<Acted, Problem> {
    let nothing = Acted { outcome: outcome.asked(consent.dry_run), plan_digest: None };
    if consent.plan_digest.is_some() && !consent.dry_run {
        let hint = "there is nothing to do any more";
        let problem = Problem::new("plan_changed", "the plan is not the one that was seen", hint);
        return Err(problem.with(nothing));
    }
    Ok(nothing)
}

/// Applies a plan, as far as the client consented.
pub(super) fn carry_out(room: &Room, plan: Plan, consent: &Consent) -> Result<Acted, Problem> {
    let planned = planned(room, &plan, consent)?;
    if consent.dry_run {
        return Ok(planned);
    }
    if consent.plan_digest.is_some() && consent.plan_digest != planned.plan_digest {
        let hint = "look at the new plan, and send its digest";
        let problem = Problem::new("plan_changed", "the plan is not the one that was seen", hint);
        return Err(problem.with(planned));
    }
    let asks = planned.outcome.questions.iter();
    let open: Vec<_> = asks.filter(|question| !consent.covers(&question.code)).collect();
    if !open.is_empty() {
        let texts: Vec<_> = open.iter().map(|question| format!("{}.", question.text)).collect();
        let message = format!("nothing was changed, since this needs a yes: {}", texts.join(" "));
        let hint = "send the codes in `asks` as `agreed`, or `yes`";
        return Err(Problem::new("needs_yes", message, hint).with(planned));
    }
    applied(room, plan, planned.plan_digest)
}

/// Applies a plan whole or not at all, for an answer that cannot say "in part".
pub(super) fn carry_out_whole(
    room: &Room,
    plan: Plan,
    consent: &Consent,
) -> Result<Acted, Problem> {
    let whole = |acted: Acted| {
        if acted.outcome.whole {
            return Ok(acted);
        }
        let hint = "the routes under /api/projects/{project} do the rest, and say what is left";
        let message = "some files would be left as they are";
        Err(Problem::new("partial", message, hint).with(acted))
    };
    whole(planned(room, &plan, consent)?)?;
    whole(carry_out(room, plan, consent)?)
}

fn planned(room: &Room, plan: &Plan, consent: &Consent) -> Result<Acted, Problem> {
    let outcome =
        room.read(|project| Ok(Outcome::planned(project, plan)?.masked(masking(project))))?;
    let outcome = outcome.asked(consent.dry_run);
    Ok(Acted { outcome, plan_digest: Some(digest(plan)?) })
}

fn applied(room: &Room, plan: Plan, plan_digest: Option<String>) -> Result<Acted, Problem> {
    let applied = room.ask(Apply { plan })?;
    let outcome =
        room.read(|project| Ok(Outcome::applied(project, &applied)?.masked(masking(project))))?;
    Ok(Acted { outcome, plan_digest })
}

fn digest(plan: &Plan) -> Result<String, Failure> {
    let bytes = serde_json::to_vec(plan).map_err(|error| {
        Failure::new("internal", format!("the plan cannot be written: {error}"), "report it")
    })?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)))
}
