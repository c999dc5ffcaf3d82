//! Purge: removes bytes for good, of every version of a path or of one content.
//!
//! Records stay, but what they name becomes "not captured"; the trees of checkpoints
//! keep the name, and [`crate::PurgedContent`] says that it is missing on purpose.
//! With the content goes what quotes it: arguments and commands of the calls that
//! touched the path, and lines of it in messages.
//!
//! Invariant: once [`PurgeReport::is_complete`], no byte of a purged content is in any file
//! of the project's folder, except in chunks that other contents have too. What a
//! kill interrupts is completed by the next purge or collection (`meta` `scrub`).

use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use retake_model::{Gap, GapReason, Millis, ObjectId, ProjectPath};
use rusqlite::Row;

use crate::gc::retention::RetentionPlan;
use crate::manifest::{KIND_UNKNOWN, oid_from, path_from};
use crate::objects::ObjectKind;
use crate::redaction::QuoteMatcher;
use crate::{Batch, FileLock, ManifestState, PurgedContent, Store, StoreError};

/// Key in `meta` that is set while a purge is incomplete.
const SCRUB_KEY: &str = "scrub";
/// git's id of the empty blob, which is never purged.
const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// What is to be purged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PurgeTarget {
    /// Every recorded version of a file, or of everything in a folder.
    Path(ProjectPath),
    /// One content, wherever it is.
    Content(ObjectId),
}

/// What a purge concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeScope {
    /// The contents, with their sizes.
    pub contents: Vec<(ObjectId, u64)>,
    /// Every path that has or had one of them.
    pub paths: BTreeSet<ProjectPath>,
    /// Those of them whose current content is one of them.
    pub current: BTreeSet<ProjectPath>,
    /// Changes of which a side becomes "not captured".
    pub changes: u64,
}

impl PurgeScope {
    /// The ids of the contents.
    pub fn content_ids(&self) -> Vec<ObjectId> {
        self.contents.iter().map(|(oid, _)| *oid).collect()
    }
}

/// What a purge did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeReport {
    /// What it concerned.
    pub scope: PurgeScope,
    /// Calls whose arguments or command were dropped.
    pub calls: u64,
    /// Messages and other events that quoted it and were dropped.
    pub events: u64,
    /// Checkpoints whose message quotes it: an id cannot be kept and its message changed.
    pub quoted_by_checkpoints: u64,
    /// Contents whose bytes stay in part, because others have the same chunks.
    pub shared: u64,
    /// Whether no byte is left in any file; otherwise a reader was active, or space was short.
    pub is_complete: bool,
}

impl Store {
    /// Returns the scope of a purge.
    pub fn purge_scope(&self, target: &PurgeTarget) -> Result<PurgeScope, StoreError> {
        let mut oids = HashSet::new();
        match target {
            PurgeTarget::Content(oid) => {
                oids.insert(*oid);
            }
            PurgeTarget::Path(path) => {
                self.versions_on_record(path, &mut oids)?;
                self.versions_in_trees(path, &mut oids)?;
            }
        }
        let mut scope = PurgeScope::default();
        for oid in oids {
            if oid.to_string() != EMPTY_BLOB && self.has(&oid)? {
                let (kind, size) = self.object_kind(&oid)?;
                if kind == ObjectKind::Blob {
                    scope.contents.push((oid, size));
                }
            }
        }
        scope.contents.sort_unstable();
        self.find_affected(&mut scope)?;
        Ok(scope)
    }

    fn versions_on_record(
        &self,
        path: &ProjectPath,
        oids: &mut HashSet<ObjectId>,
    ) -> Result<(), StoreError> {
        let bytes = path.as_bytes();
        let bounds = (bytes, [bytes, b"/"].concat(), [bytes, b"0"].concat());
        let at = |column: &str| format!("({column} = ?1 OR ({column} > ?2 AND {column} < ?3))");
        let (here, there) = (at("path"), at("old_path"));
        for sql in [
            format!("SELECT after_oid FROM change WHERE {here}"),
            format!("SELECT before_oid FROM change WHERE {here} AND old_path IS NULL"),
            format!("SELECT before_oid FROM change WHERE {there}"),
            format!("SELECT oid FROM manifest WHERE {here}"),
            format!("SELECT now_oid FROM step WHERE {here}"),
            format!("SELECT then_oid FROM step WHERE {here}"),
        ] {
            let mut query = self.db.prepare(&sql)?;
            let mut rows = query.query((bounds.0, &bounds.1, &bounds.2))?;
            while let Some(row) = rows.next()? {
                if let Some(oid) = row.get::<_, Option<Vec<u8>>>(0)? {
                    oids.insert(oid_from(&oid)?);
                }
            }
        }
        Ok(())
    }

    /// Every path that names one of the contents.
    fn find_affected(&self, scope: &mut PurgeScope) -> Result<(), StoreError> {
        let doomed: HashSet<ObjectId> = scope.contents.iter().map(|(oid, _)| *oid).collect();
        let is_doomed = |row: &Row<'_>, at: usize| -> Result<bool, StoreError> {
            let oid: Option<Vec<u8>> = row.get(at)?;
            Ok(oid.map(|oid| oid_from(&oid)).transpose()?.is_some_and(|oid| doomed.contains(&oid)))
        };
        let sql = "SELECT path, old_path, before_oid, after_oid FROM change";
        let mut query = self.db.prepare(sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (before, after) = (is_doomed(row, 2)?, is_doomed(row, 3)?);
            if before || after {
                scope.changes += 1;
                scope.paths.insert(path_from(row.get(0)?)?);
                let old: Option<Vec<u8>> = row.get(1)?;
                scope.paths.extend(old.map(path_from).transpose()?);
            }
        }
        let mut query = self.db.prepare("SELECT path, oid FROM manifest WHERE oid NOT NULL")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            if is_doomed(row, 1)? {
                let path = path_from(row.get(0)?)?;
                scope.current.insert(path.clone());
                scope.paths.insert(path);
            }
        }
        Ok(())
    }

    /// Purges, and overwrites what is left of it on disk. The caller holds the project's lock,
    /// and no operation is unfinished.
    pub fn purge(
        &self,
        target: &PurgeTarget,
        at: Millis,
        wait: Duration,
    ) -> Result<PurgeReport, StoreError> {
        let export = FileLock::acquire_export(self.folder(), wait)?;
        let mut purge = PurgeReport { scope: self.purge_scope(target)?, ..PurgeReport::default() };
        if !purge.scope.contents.is_empty() {
            self.run_pragma("PRAGMA main.secure_delete = ON")?;
            self.purge_records(&mut purge, target, at)?;
        }
        purge.is_complete = self.scrub(export.is_some())?;
        Ok(purge)
    }

    /// One transaction: records let go of the contents, and the contents go.
    fn purge_records(
        &self,
        purge: &mut PurgeReport,
        target: &PurgeTarget,
        at: Millis,
    ) -> Result<(), StoreError> {
        let quotes = QuoteMatcher::of(self, &purge.scope.contents)?;
        let batch = self.batch()?;
        batch.set_meta(SCRUB_KEY, b"1")?;
        purge.calls = batch.redact_calls(&quotes, target, &purge.scope)?;
        purge.events = batch.redact_events(&quotes)?;
        purge.events += batch.redact_messages(&quotes)?;
        purge.quoted_by_checkpoints = self.count_quoting_checkpoints(&quotes)?;
        for (oid, size) in &purge.scope.contents {
            batch.forget_content(oid)?;
            batch.put_purged(&PurgedContent { oid: *oid, size: *size, at })?;
        }
        for path in &purge.scope.current {
            batch.set_manifest(path, &ManifestState::Unknown, None)?;
            let detail = "its content was purged; it is captured again once it changes".to_owned();
            let gap = Gap { path: path.clone(), reason: GapReason::Purged, detail };
            batch.put_gap(&gap, at)?;
        }
        let doomed: HashSet<ObjectId> = purge.scope.contents.iter().map(|(oid, _)| *oid).collect();
        let live = self.live_objects(&RetentionPlan::default(), &doomed)?;
        for oid in &doomed {
            let chunks = self.chunks_of(oid)?;
            let shared = live.contains(oid) || chunks.iter().any(|chunk| live.contains(chunk));
            purge.shared += u64::from(shared);
        }
        for id in self.garbage_rows(&live)? {
            batch.execute("purge object", "DELETE FROM object WHERE id = ?1", [id])?;
        }
        batch.replace_packs(&self.packs_with(&doomed)?, &live)?;
        batch.commit()
    }

    /// Returns whether a purge was interrupted before it was complete.
    pub fn needs_scrub(&self) -> Result<bool, StoreError> {
        Ok(self.meta(SCRUB_KEY)?.is_some())
    }

    /// Vacuums the database and drops everything derived. Returns whether nothing is left.
    pub(crate) fn scrub(&self, may_remove_export: bool) -> Result<bool, StoreError> {
        if !self.needs_scrub()? {
            return Ok(true);
        }
        self.remove_stray_packs()?;
        let mut complete = may_remove_export;
        if may_remove_export {
            self.remove_export()?;
        }
        complete &= self.truncate_wal()?;
        retake_seam::statement("vacuum")?;
        match self.db.execute_batch("VACUUM main") {
            Ok(()) => {}
            Err(error) => {
                tracing::warn!(%error, "the database could not be written anew");
                complete = false;
            }
        }
        complete &= self.truncate_wal()?;
        if complete {
            let batch = self.batch()?;
            batch.execute("scrubbed", "DELETE FROM meta WHERE key = ?1", [SCRUB_KEY])?;
            batch.commit()?;
        }
        Ok(complete)
    }
}

impl Batch<'_> {
    /// Marks this content as not captured in every record.
    fn forget_content(&self, oid: &ObjectId) -> Result<(), StoreError> {
        for (table, side) in
            [("change", "before"), ("change", "after"), ("step", "now"), ("step", "then")]
        {
            let sql = format!(
                "UPDATE {table} SET {side}_kind = {KIND_UNKNOWN}, {side}_mode = NULL,
                     {side}_size = NULL, {side}_oid = NULL WHERE {side}_oid = ?1"
            );
            self.execute("forget content", &sql, [oid.as_bytes().as_slice()])?;
        }
        Ok(())
    }
}
