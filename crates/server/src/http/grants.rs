//! Tokens that survive a restart of the daemon: logins of browsers, and agents' tokens.
//!
//! `HOME/tokens.json` (0600) holds their digests, so that its reader cannot use them.
//!
//! Invariants: a token is on disk before it is handed out, and off disk before its revocation is
//! answered. An agent's token is for one project, and is bound to at most one dialog, once. No two
//! tokens are bound to one dialog, unless the person named it when they were minted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use retake_engine::model::{DialogId, ErrorCode, Millis};
use retake_service::ApiError;

use super::grant_file::{StoredGrant, StoredGrants, parse_digest, read_file};
use super::token::{Secret, TokenDigest, digest, hex};

/// Name of the file in the home.
const FILE_NAME: &str = "tokens.json";
/// Maximum tokens that are kept at once.
const MAX_GRANTS: usize = 1000;
/// Interval at which the last use of a token is written down.
const LAST_USE_INTERVAL_MS: Millis = 60 * 60 * 1000;
const DAY_MS: Millis = 24 * 60 * 60 * 1000;

/// How long tokens are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLifetimes {
    /// Days that a login lasts.
    pub login_days: u32,
    /// Days after its last use that an agent's token lasts.
    pub agent_token_days: u32,
}

impl Default for TokenLifetimes {
    fn default() -> Self {
        Self { login_days: 30, agent_token_days: 30 }
    }
}

/// A token that was handed out.
#[derive(Debug)]
pub(crate) struct TokenGrant {
    id: String,
    digest: TokenDigest,
    label: Option<String>,
    created_at: Millis,
    last_used_at: AtomicI64,
    is_revoked: AtomicBool,
    agent: Option<AgentGrant>,
}

/// What an agent's token is for.
#[derive(Debug)]
pub(crate) struct AgentGrant {
    project: String,
    dialog: OnceLock<DialogId>,
}

impl AgentGrant {
    /// For an agent in this project.
    pub(crate) fn new(project: String, dialog: Option<DialogId>) -> Self {
        let bound = dialog.map_or_else(OnceLock::new, OnceLock::from);
        Self { project, dialog: bound }
    }

    /// The project's id.
    pub(crate) fn project(&self) -> &str {
        &self.project
    }

    /// The dialog that the token is bound to.
    pub(crate) fn dialog(&self) -> Option<&DialogId> {
        self.dialog.get()
    }
}

impl TokenGrant {
    /// The token as the file has it; none if its digest is no digest.
    fn from_stored(stored: StoredGrant) -> Option<Self> {
        Some(Self {
            digest: parse_digest(&stored.digest)?,
            id: stored.id,
            label: stored.label,
            created_at: stored.created_at,
            last_used_at: AtomicI64::new(stored.last_used_at),
            is_revoked: AtomicBool::new(false),
            agent: stored.project.map(|project| AgentGrant::new(project, stored.dialog)),
        })
    }

    /// What it is compared by.
    pub(super) fn digest(&self) -> &TokenDigest {
        &self.digest
    }

    /// What it is listed and revoked by.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The person's note.
    pub(crate) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// When it was handed out.
    pub(crate) fn created_at(&self) -> Millis {
        self.created_at
    }

    /// When it was last sent.
    pub(crate) fn last_used_at(&self) -> Millis {
        self.last_used_at.load(Ordering::Relaxed)
    }

    /// What it is for, if it is an agent's; a login otherwise.
    pub(crate) fn agent(&self) -> Option<&AgentGrant> {
        self.agent.as_ref()
    }

    /// Returns true once it was revoked.
    pub(crate) fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Acquire)
    }

    /// Notes that it was used; `true` if that is worth writing down.
    pub(crate) fn note_use(&self, now: Millis) -> bool {
        let is_old = now.saturating_sub(self.last_used_at()) >= LAST_USE_INTERVAL_MS;
        if is_old {
            self.last_used_at.store(now, Ordering::Relaxed);
        }
        is_old
    }

    /// When it is no longer good, unless it is used before.
    pub(crate) fn expires_at(&self, lifetimes: TokenLifetimes) -> Millis {
        match self.agent {
            Some(_) => self.last_used_at() + Millis::from(lifetimes.agent_token_days) * DAY_MS,
            None => self.created_at + Millis::from(lifetimes.login_days) * DAY_MS,
        }
    }
}

/// All tokens that survive a restart.
#[derive(Debug)]
pub(crate) struct TokenGrants {
    path: PathBuf,
    lifetimes: TokenLifetimes,
    by_digest: RwLock<BTreeMap<TokenDigest, Arc<TokenGrant>>>,
    /// Held while the file and the table change, so that they change in the same order.
    saving: Mutex<()>,
}

impl TokenGrants {
    /// Reads the tokens of a home. A file that cannot be read is put aside: its tokens are not
    /// good, and none of its bytes is lost.
    pub(crate) fn open(home: &Path, lifetimes: TokenLifetimes) -> Self {
        let path = home.join(FILE_NAME);
        let stored = read_file(&path).unwrap_or_else(|why| {
            let aside = path.with_extension("json.unreadable");
            tracing::warn!("{}: {why}; it is kept as {}", path.display(), aside.display());
            if let Err(error) = retake_seam::fs::rename(&path, &aside) {
                tracing::warn!("{} cannot be moved: {error}", path.display());
            }
            StoredGrants::default()
        });
        let live = stored.tokens.into_iter().filter_map(TokenGrant::from_stored);
        let by_digest = live.map(|grant| (grant.digest, Arc::new(grant))).collect();
        Self { path, lifetimes, by_digest: RwLock::new(by_digest), saving: Mutex::default() }
    }

    /// How long tokens are good for.
    pub(crate) fn lifetimes(&self) -> TokenLifetimes {
        self.lifetimes
    }

    /// Hands out a token: for an agent, or a login.
    pub(crate) fn mint(
        &self,
        agent: Option<AgentGrant>,
        label: Option<String>,
        now: Millis,
    ) -> Result<MintedToken, ApiError> {
        let (secret, id) = (Secret::new::<32>()?, Secret::random_hex::<4>()?);
        let grant = Arc::new(TokenGrant {
            id,
            digest: digest(secret.text()),
            label,
            created_at: now,
            last_used_at: AtomicI64::new(now),
            is_revoked: AtomicBool::new(false),
            agent,
        });
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = self.unexpired(now);
        if next.len() >= MAX_GRANTS {
            let message = format!("{MAX_GRANTS} tokens and logins are in use already");
            return Err(ApiError::new(
                ErrorCode::TooManyTokens,
                message,
                "revoke some: `retake daemon token --list`, `retake daemon logout --all`",
            ));
        }
        next.insert(grant.digest, Arc::clone(&grant));
        self.replace(next)?;
        Ok(MintedToken { secret, grant })
    }

    /// The token with this text, if it is good.
    pub(crate) fn find(&self, text: &str, now: Millis) -> Option<Arc<TokenGrant>> {
        let live = self.by_digest.read().unwrap_or_else(PoisonError::into_inner);
        let grant = live.get(&digest(text)).filter(|grant| !self.is_expired(grant, now))?;
        Some(Arc::clone(grant))
    }

    /// Writes down when tokens were last used.
    pub(crate) fn save_uses(&self, now: Millis) {
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(failure) = self.replace(self.unexpired(now)) {
            tracing::warn!(code = %failure.code, "{}", failure.message);
        }
    }

    /// The tokens that are good, the oldest first.
    pub(crate) fn list(&self, now: Millis) -> Vec<Arc<TokenGrant>> {
        let mut all: Vec<_> = self.unexpired(now).into_values().collect();
        all.sort_by(|one, other| (one.created_at, one.id()).cmp(&(other.created_at, other.id())));
        all
    }

    /// Revokes the tokens that are chosen; returns their ids.
    pub(crate) fn revoke(
        &self,
        now: Millis,
        is_chosen: impl Fn(&TokenGrant) -> bool,
    ) -> Result<Vec<String>, ApiError> {
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let (gone, kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
            self.unexpired(now).into_iter().partition(|(_, grant)| is_chosen(grant));
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        self.replace(kept)?;
        // Streams of the token end at their next frame.
        for grant in gone.values() {
            grant.is_revoked.store(true, Ordering::Release);
        }
        Ok(gone.into_values().map(|grant| grant.id.clone()).collect())
    }

    /// Binds an agent's token to a dialog; `false` if it, or another token, is bound otherwise.
    pub(crate) fn bind(
        &self,
        grant: &TokenGrant,
        dialog: &DialogId,
        now: Millis,
    ) -> Result<bool, ApiError> {
        let Some(agent) = grant.agent() else { return Ok(false) };
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bound) = agent.dialog() {
            return Ok(bound == dialog);
        }
        let all = self.unexpired(now);
        let has_it = |other: &Arc<TokenGrant>| {
            let other = other.agent().and_then(AgentGrant::dialog);
            other.is_some_and(|other| other == dialog)
        };
        if grant.is_revoked() || all.values().any(has_it) {
            return Ok(false);
        }
        let mut stored = StoredGrants::of(&all);
        for one in stored.tokens.iter_mut().filter(|one| one.id == grant.id) {
            one.dialog = Some(dialog.clone());
        }
        self.write(&stored)?;
        Ok(agent.dialog.set(dialog.clone()).is_ok())
    }

    fn is_expired(&self, grant: &TokenGrant, now: Millis) -> bool {
        now >= grant.expires_at(self.lifetimes)
    }

    fn unexpired(&self, now: Millis) -> BTreeMap<TokenDigest, Arc<TokenGrant>> {
        let live = self.by_digest.read().unwrap_or_else(PoisonError::into_inner);
        let good = live.iter().filter(|(_, grant)| !self.is_expired(grant, now));
        good.map(|(digest, grant)| (*digest, Arc::clone(grant))).collect()
    }

    /// Writes the file, and then changes the table.
    fn replace(&self, next: BTreeMap<TokenDigest, Arc<TokenGrant>>) -> Result<(), ApiError> {
        self.write(&StoredGrants::of(&next))?;
        *self.by_digest.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    fn write(&self, stored: &StoredGrants) -> Result<(), ApiError> {
        let bytes = serde_json::to_vec_pretty(stored).map_err(|error| self.unwritable(&error))?;
        retake_seam::fs::replace_durably(&self.path, &bytes)
            .map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &dyn std::error::Error) -> ApiError {
        let message = format!("{} cannot be written: {error}", self.path.display());
        ApiError::new(ErrorCode::RunFiles, message, "check that file and its folder; try again")
    }
}

/// A token just handed out, with its secret.
#[derive(Debug)]
pub(crate) struct MintedToken {
    /// The token itself, which is shown once.
    pub(super) secret: Secret,
    /// What is kept of it.
    pub(crate) grant: Arc<TokenGrant>,
}

impl MintedToken {
    /// The token itself.
    pub(crate) fn text(&self) -> &str {
        self.secret.text()
    }
}

impl StoredGrants {
    fn of(live: &BTreeMap<TokenDigest, Arc<TokenGrant>>) -> Self {
        Self { tokens: live.values().map(|grant| StoredGrant::of(grant)).collect() }
    }
}

impl StoredGrant {
    fn of(grant: &TokenGrant) -> Self {
        Self {
            id: grant.id().to_owned(),
            digest: hex(grant.digest()),
            label: grant.label().map(str::to_owned),
            created_at: grant.created_at(),
            last_used_at: grant.last_used_at(),
            project: grant.agent().map(|agent| agent.project().to_owned()),
            dialog: grant.agent().and_then(AgentGrant::dialog).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_700_000_000_000;

    fn grants(home: &Path) -> TokenGrants {
        TokenGrants::open(home, TokenLifetimes::default())
    }

    fn agent(project: &str) -> AgentGrant {
        AgentGrant::new(project.to_owned(), None)
    }

    #[test]
    fn a_token_outlives_the_process_and_only_its_digest_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let minted = grants(home.path()).mint(Some(agent("p")), Some("bot".into()), NOW).unwrap();
        let text = std::fs::read_to_string(home.path().join(FILE_NAME)).unwrap();
        assert!(!text.contains(minted.text()), "{text}");
        let found = grants(home.path()).find(minted.text(), NOW).unwrap();
        assert_eq!((found.id(), found.label()), (minted.grant.id(), Some("bot")));
        assert_eq!(found.agent().unwrap().project(), "p");
        assert!(grants(home.path()).find("guess", NOW).is_none());
    }

    #[test]
    fn a_token_is_bound_once_and_no_other_token_to_the_same_dialog() {
        let home = tempfile::tempdir().unwrap();
        let all = grants(home.path());
        let one = all.mint(Some(agent("p")), None, NOW).unwrap();
        let other = all.mint(Some(agent("p")), None, NOW).unwrap();
        assert!(all.bind(&one.grant, &"d1".into(), NOW).unwrap());
        assert!(all.bind(&one.grant, &"d1".into(), NOW).unwrap());
        assert!(!all.bind(&one.grant, &"d2".into(), NOW).unwrap());
        assert!(!all.bind(&other.grant, &"d1".into(), NOW).unwrap());
        let again = grants(home.path()).find(one.text(), NOW).unwrap();
        assert_eq!(again.agent().unwrap().dialog(), Some(&"d1".into()));
    }

    #[test]
    fn a_revoked_token_is_gone_for_good() {
        let home = tempfile::tempdir().unwrap();
        let all = grants(home.path());
        let (one, login) =
            (all.mint(Some(agent("p")), None, NOW).unwrap(), all.mint(None, None, NOW));
        let gone = all.revoke(NOW, |grant| grant.id() == one.grant.id()).unwrap();
        assert_eq!(gone, [one.grant.id()]);
        assert!(one.grant.is_revoked() && all.find(one.text(), NOW).is_none());
        assert!(grants(home.path()).find(one.text(), NOW).is_none());
        assert!(grants(home.path()).find(login.unwrap().text(), NOW).is_some());
    }

    #[test]
    fn a_login_ends_after_its_days_and_an_agents_token_when_it_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let all = grants(home.path());
        let (login, token) =
            (all.mint(None, None, NOW).unwrap(), all.mint(Some(agent("p")), None, NOW));
        let token = token.unwrap();
        let later = NOW + 20 * DAY_MS;
        for minted in [&login, &token] {
            let grant = all.find(minted.text(), later).unwrap();
            assert!(grant.note_use(later) && !grant.note_use(later + 1));
        }
        all.save_uses(later);
        let again = grants(home.path());
        assert!(again.find(login.text(), NOW + 30 * DAY_MS).is_none());
        assert!(again.find(token.text(), NOW + 49 * DAY_MS).is_some(), "it was used on day 20");
        assert!(again.find(token.text(), NOW + 50 * DAY_MS).is_none());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE_NAME);
        retake_seam::fs::replace_durably(&path, b"{\"tokens\": 1").unwrap();
        let all = grants(home.path());
        assert!(all.list(NOW).is_empty());
        all.mint(None, None, NOW).unwrap();
        let aside = home.path().join("tokens.json.unreadable");
        assert_eq!(std::fs::read(aside).unwrap(), b"{\"tokens\": 1");
    }
}
