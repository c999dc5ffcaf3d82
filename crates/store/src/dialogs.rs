//! Dialogs, their turns and their agents.

use std::collections::HashSet;

use retake_model::{AgentId, DialogId, Millis};
use rusqlite::{OptionalExtension as _, Row};

use crate::{Batch, Store, StoreError};

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// The agent's own id of it.
    pub id: DialogId,
    /// Its short name, for people: `claude-2` for the second dialog of the project if it is one with
    /// Claude Code. A short id is its own name.
    pub name: String,
    /// The name that every dialog has, whatever its id is.
    pub numbered_name: String,
    /// The product of its main agent.
    pub kind: Option<String>,
    /// A title for people: the person's own, else the agent's.
    pub title: Option<String>,
    /// The agent's own title, or the begin of the first message.
    pub agent_title: Option<String>,
    /// The title that the person gave it.
    pub given_title: Option<String>,
    /// When it was first seen.
    pub started_at: Millis,
    /// When it last did anything.
    pub last_at: Millis,
    /// When it ended, if it did.
    pub ended_at: Option<Millis>,
    /// User messages so far.
    pub turns: u64,
    /// Whether a turn is under way.
    pub turn_open: bool,
}

/// Maximum characters of an id that is short enough to be its own name.
const MAX_OWN_NAME_CHARS: usize = 12;

fn short_name(id: &str, kind: Option<&str>, number: i64) -> String {
    if number == 0 || id.chars().count() <= MAX_OWN_NAME_CHARS {
        return id.to_owned();
    }
    numbered_name(kind, number)
}

/// `claude-2`: every dialog can be named so.
fn numbered_name(kind: Option<&str>, number: i64) -> String {
    format!("{}-{number}", kind.map_or("dialog", product_name))
}

/// The product without what it is: `claude` for `claude-code`. A kind that is no plain word, and may
/// hold anything, gives the name `dialog`.
fn product_name(kind: &str) -> &str {
    let product = ["-code", "-cli"].iter().find_map(|suffix| kind.strip_suffix(suffix));
    let product = product.unwrap_or(kind);
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    // Options begin with a hyphen.
    let is_word = product.starts_with(|char: char| char.is_ascii_alphanumeric())
        && product.len() <= MAX_OWN_NAME_CHARS;
    if is_word && product.chars().all(is_plain) { product } else { "dialog" }
}

/// An agent of a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialogAgent {
    /// Its id.
    pub id: AgentId,
    /// Its product.
    pub kind: Option<String>,
    /// The agent that started it.
    pub parent: Option<AgentId>,
}

impl Store {
    /// One dialog.
    pub fn dialog(&self, id: &DialogId) -> Result<Option<Dialog>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{SELECT_DIALOG} WHERE id = ?1"))?;
        let dialog = query.query_row([&id.0], dialog_from).optional()?;
        dialog.map(|dialog| self.with_unique_name(dialog)).transpose()
    }

    /// Every dialog, the latest activity first.
    pub fn dialogs(&self) -> Result<Vec<Dialog>, StoreError> {
        let mut query =
            self.db.prepare_cached(&format!("{SELECT_DIALOG} ORDER BY last_seq DESC"))?;
        let dialogs: Vec<Dialog> = query.query_map([], dialog_from)?.collect::<Result<_, _>>()?;
        dialogs.into_iter().map(|dialog| self.with_unique_name(dialog)).collect()
    }

    /// The dialog, named by its id if its name is the id of another one: the name is ambiguous then.
    fn with_unique_name(&self, mut dialog: Dialog) -> Result<Dialog, StoreError> {
        if dialog.name != dialog.id.0 {
            let mut query = self.db.prepare_cached("SELECT 1 FROM dialog WHERE id = ?1")?;
            if query.exists([&dialog.name])? {
                dialog.name.clone_from(&dialog.id.0);
            }
        }
        Ok(dialog)
    }

    /// The dialogs with work that waits for approval, the latest activity first: what is in the
    /// files and not approved, and what was approved and taken back since.
    pub fn dialogs_to_approve(&self) -> Result<Vec<Dialog>, StoreError> {
        let mut waiting = HashSet::new();
        for sql in SELECT_DIALOGS_TO_APPROVE {
            let mut query = self.db.prepare_cached(sql)?;
            let rows = query.query_map([], |row| row.get::<_, String>(0))?;
            waiting.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        let mut dialogs = self.dialogs()?;
        dialogs.retain(|dialog| waiting.contains(&dialog.id.0));
        Ok(dialogs)
    }

    /// The dialog that has this id or this numbered name, both if they are two, else those whose id
    /// begins with the text; at most two.
    pub fn dialogs_by_name(&self, text: &str) -> Result<Vec<DialogId>, StoreError> {
        let by_id = self.dialog(&DialogId(text.to_owned()))?.map(|dialog| dialog.id);
        let by_number = self.dialog_by_numbered_name(text)?;
        let mut found: Vec<_> = by_id.into_iter().chain(by_number).collect();
        found.dedup();
        if !found.is_empty() || self.is_numbered_form(text)? {
            return Ok(found);
        }
        let sql = "SELECT id FROM dialog WHERE id BETWEEN ?1 AND ?1 || char(0x10ffff) LIMIT 2";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([text], |row| Ok(DialogId(row.get(0)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns true if the text has the form of a numbered name of this project's products: the start
    /// of an id is not meant then.
    fn is_numbered_form(&self, text: &str) -> Result<bool, StoreError> {
        let Some((product, number)) = text.rsplit_once('-') else { return Ok(false) };
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(false);
        }
        let mut query = self.db.prepare_cached("SELECT DISTINCT kind FROM dialog")?;
        let kinds = query.query_map([], |row| row.get::<_, Option<String>>(0))?;
        for kind in kinds {
            if kind?.as_deref().map_or("dialog", product_name) == product {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn dialog_by_numbered_name(&self, text: &str) -> Result<Option<DialogId>, StoreError> {
        let number = text.rsplit_once('-').and_then(|(_, number)| number.parse::<i64>().ok());
        let Some(number) = number.filter(|number| *number > 0) else { return Ok(None) };
        let sql = "SELECT id, kind FROM dialog WHERE number = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        let found: Option<(String, Option<String>)> =
            query.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        // Its product may have become known after it was named.
        let is_meant = |kind: Option<&str>| {
            [kind, None].into_iter().any(|kind| numbered_name(kind, number) == text)
        };
        Ok(found.filter(|(_, kind)| is_meant(kind.as_deref())).map(|(id, _)| DialogId(id)))
    }

    /// The product of a dialog's agent; of its main agent if that one is not known.
    pub fn agent_kind(
        &self,
        dialog: &DialogId,
        agent: Option<&AgentId>,
    ) -> Result<Option<String>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT coalesce((SELECT kind FROM agent WHERE dialog = ?1 AND id = ?2),
                (SELECT kind FROM dialog WHERE id = ?1))",
        )?;
        Ok(query.query_row((&dialog.0, agent.map(|agent| &agent.0)), |row| row.get(0))?)
    }

    /// The agents of a dialog.
    pub fn agents(&self, dialog: &DialogId) -> Result<Vec<DialogAgent>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT id, kind, parent FROM agent WHERE dialog = ?1 ORDER BY id")?;
        let rows = query.query_map([&dialog.0], |row| {
            Ok(DialogAgent {
                id: AgentId(row.get(0)?),
                kind: row.get(1)?,
                parent: row.get::<_, Option<String>>(2)?.map(AgentId),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Queries for dialogs with work that waits for approval: their own, approved and reverted since,
/// shared with other dialogs and not approved by this one.
const SELECT_DIALOGS_TO_APPROVE: [&str; 3] = [
    "SELECT DISTINCT dialog FROM change WHERE dialog NOT NULL AND actor = 'agent'
         AND status IN ('pending', 'accepted') AND approved IS NULL",
    "SELECT DISTINCT dialog FROM change WHERE dialog NOT NULL AND actor = 'agent'
         AND status IN ('rejected', 'reverted') AND approved IS NOT NULL",
    "SELECT DISTINCT k.dialog FROM change c JOIN candidate a ON a.change = c.seq
         JOIN call k ON k.id = a.call
     WHERE c.actor = 'agent' AND c.agent IS NULL AND c.dialog IS NULL AND c.approved IS NULL
         AND c.status IN ('pending', 'accepted')
         AND NOT EXISTS (SELECT 1 FROM shared_approval s
             WHERE s.change = c.seq AND s.dialog = k.dialog)",
];

/// Key of the highest number that a dialog was given.
const DIALOG_NUMBER_KEY: &str = "dialog_number";

/// Query of all columns that [`dialog_from`] reads.
const SELECT_DIALOG: &str =
    "SELECT id, kind, title, started_at, last_at, ended_at, turns, turn_open,
        coalesce(number, 0),
        (SELECT g.title FROM dialog_title g WHERE g.dialog = dialog.id) FROM dialog";

fn dialog_from(row: &Row<'_>) -> rusqlite::Result<Dialog> {
    let (id, kind): (String, Option<String>) = (row.get(0)?, row.get(1)?);
    let agent_title: Option<String> = row.get(2)?;
    let given_title: Option<String> = row.get(9)?;
    Ok(Dialog {
        name: short_name(&id, kind.as_deref(), row.get(8)?),
        numbered_name: numbered_name(kind.as_deref(), row.get(8)?),
        id: DialogId(id),
        kind,
        title: given_title.clone().or_else(|| agent_title.clone()),
        agent_title,
        given_title,
        started_at: row.get(3)?,
        last_at: row.get(4)?,
        ended_at: row.get(5)?,
        turns: row.get::<_, i64>(6)? as u64,
        turn_open: row.get(7)?,
    })
}

impl Batch<'_> {
    /// Inserts the dialog if it is new, and updates its last activity.
    pub fn touch_dialog(
        &self,
        id: &DialogId,
        kind: Option<&str>,
        title: Option<&str>,
        at: Millis,
    ) -> Result<(), StoreError> {
        let known = self.execute(
            "touch dialog",
            "UPDATE dialog SET kind = coalesce(kind, ?2), title = coalesce(?3, title),
                 last_at = ?4, ended_at = NULL WHERE id = ?1",
            (&id.0, kind, title, at),
        )?;
        if known == 0 {
            let number = self.take_dialog_number()?;
            self.execute(
                "add dialog",
                "INSERT INTO dialog(id, kind, title, started_at, last_at, last_seq, number)
                 VALUES(?1, ?2, ?3, ?4, ?4, 0, ?5)",
                (&id.0, kind, title, at, number as i64),
            )?;
        }
        Ok(())
    }

    /// The next number for a dialog; one of a dialog that was removed is not given again.
    fn take_dialog_number(&self) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(max(number), 0) FROM dialog";
        let highest: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
        let number = self.meta_number(DIALOG_NUMBER_KEY)?.max(highest as u64) + 1;
        self.set_meta(DIALOG_NUMBER_KEY, &number.to_be_bytes())?;
        Ok(number)
    }

    /// Sets the person's title of a dialog, or takes it away; the agent's own stays.
    pub fn set_given_title(&self, id: &DialogId, title: Option<&str>) -> Result<(), StoreError> {
        let sql = "DELETE FROM dialog_title WHERE dialog = ?1";
        self.execute("take title away", sql, [&id.0])?;
        if let Some(title) = title {
            let sql = "INSERT INTO dialog_title(dialog, title) VALUES(?1, ?2)";
            self.execute("give title", sql, (&id.0, title))?;
        }
        Ok(())
    }

    /// Inserts the agent into its dialog if it is new.
    pub fn touch_agent(
        &self,
        dialog: &DialogId,
        agent: &AgentId,
        kind: Option<&str>,
        parent: Option<&AgentId>,
    ) -> Result<(), StoreError> {
        self.execute(
            "touch agent",
            "INSERT INTO agent(dialog, id, kind, parent) VALUES(?1, ?2, ?3, ?4)
             ON CONFLICT(dialog, id) DO UPDATE SET
                 kind = coalesce(excluded.kind, kind), parent = coalesce(excluded.parent, parent)",
            (&dialog.0, &agent.0, kind, parent.map(|parent| &parent.0)),
        )?;
        Ok(())
    }

    /// Begins the dialog's next turn, titled by its first message.
    pub fn begin_turn(&self, dialog: &DialogId, title: &str) -> Result<(), StoreError> {
        self.execute(
            "begin turn",
            "UPDATE dialog SET turns = turns + 1, turn_open = 1, title = coalesce(title, nullif(?2, ''))
             WHERE id = ?1",
            (&dialog.0, title),
        )?;
        Ok(())
    }

    /// Marks a turn as open, even if its message was not seen.
    pub fn open_turn(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute("open turn", "UPDATE dialog SET turn_open = 1 WHERE id = ?1", [&dialog.0])?;
        Ok(())
    }

    /// Sets the `seq` of the dialog's newest event.
    pub fn set_dialog_seq(&self, dialog: &DialogId, seq: u64) -> Result<(), StoreError> {
        self.execute(
            "mark dialog",
            "UPDATE dialog SET last_seq = ?2 WHERE id = ?1",
            (&dialog.0, seq as i64),
        )?;
        Ok(())
    }

    /// Ends the dialog's turn.
    pub fn end_turn(&self, dialog: &DialogId) -> Result<(), StoreError> {
        self.execute("end turn", "UPDATE dialog SET turn_open = 0 WHERE id = ?1", [&dialog.0])?;
        Ok(())
    }

    /// Ends the dialog.
    pub fn end_dialog(&self, dialog: &DialogId, at: Millis) -> Result<(), StoreError> {
        self.execute(
            "end dialog",
            "UPDATE dialog SET turn_open = 0, ended_at = ?2 WHERE id = ?1",
            (&dialog.0, at),
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreAccess;

    const CLAUDE: &str = "205e7628-cff4-45ff-a1c2-b74cc724cc0a";
    const CODEX: &str = "0199f3aa-77aa-7bbb-8ccc-0123456789ab";
    const LATER: &str = "9f2c1d3e-0000-4000-8000-000000000000";

    fn touch(store: &Store, id: &str, kind: Option<&str>) {
        let batch = store.batch().unwrap();
        batch.touch_dialog(&id.into(), kind, None, 1).unwrap();
        batch.commit().unwrap();
    }

    fn name(store: &Store, id: &str) -> String {
        store.dialog(&id.into()).unwrap().unwrap().name
    }

    fn found(store: &Store, text: &str) -> Vec<String> {
        store.dialogs_by_name(text).unwrap().into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn dialogs_are_numbered_and_named_by_their_product() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        touch(&store, CLAUDE, None);
        assert_eq!(name(&store, CLAUDE), "dialog-1");
        touch(&store, CLAUDE, Some("claude-code"));
        touch(&store, CODEX, Some("codex"));
        touch(&store, "mine", Some("claude-code"));
        touch(&store, LATER, Some("rm -rf $HOME"));
        let names = [CLAUDE, CODEX, "mine", LATER].map(|id| name(&store, id));
        assert_eq!(names, ["claude-1", "codex-2", "mine", "dialog-4"]);
        assert_eq!(found(&store, "codex-2"), [CODEX]);
        assert_eq!(found(&store, "dialog-1"), [CLAUDE], "its name before its product was known");
        assert_eq!(found(&store, "205e"), [CLAUDE]);
        assert_eq!(found(&store, "claude-3"), ["mine"]);
        touch(&store, "a-longer-id-than-a-name", Some("--yes"));
        assert_eq!(name(&store, "a-longer-id-than-a-name"), "dialog-5");
        for none in ["codex-1", "claude-2", "codex", "-2", "codex-02", ""] {
            assert!(found(&store, none).len() != 1, "{none}");
        }
        touch(&store, "codex-12", Some("codex"));
        assert_eq!(found(&store, "codex-12"), ["codex-12"]);
        assert!(found(&store, "codex-1").is_empty(), "not the start of that id");
    }

    #[test]
    fn a_name_that_is_an_id_of_another_dialog_means_neither() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        touch(&store, CLAUDE, Some("claude-code"));
        touch(&store, "claude-1", Some("claude-code"));
        assert_eq!(found(&store, "claude-1"), ["claude-1", CLAUDE]);
        assert_eq!(name(&store, CLAUDE), CLAUDE, "its short name is taken");
        assert_eq!(found(&store, CLAUDE), [CLAUDE]);
        assert_eq!(found(&store, "claude-2"), ["claude-1"], "its other name");
    }

    #[test]
    fn a_number_is_not_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        touch(&store, CLAUDE, Some("claude-code"));
        touch(&store, CODEX, Some("codex"));
        store.db.execute("DELETE FROM dialog WHERE id = ?1", [CODEX]).unwrap();
        touch(&store, LATER, Some("codex"));
        assert_eq!(name(&store, LATER), "codex-3");
    }
}
