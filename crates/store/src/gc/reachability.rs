//! Reachability: the live objects, named by a record directly or through other objects.
//!
//! Commits do not keep their parents alive: a parent is needed only if a record
//! names it itself. So collecting old checkpoints of a chain frees them although
//! newer ones follow them.
//!
//! Invariant: what is in the live set is a superset of what any kept record
//! needs. A tree or commit that cannot be read is an error, never "names nothing".

use std::collections::HashSet;

use retake_model::ObjectId;
use rusqlite::{Row, params_from_iter};

use crate::gc::links::EntryLink;
use crate::gc::retention::RetentionPlan;
use crate::manifest::oid_from;
use crate::{Store, StoreError};

/// The set of live objects. Some fifty bytes for each.
pub(crate) type LiveObjects = HashSet<ObjectId>;

impl Store {
    /// Returns the objects that are live once a plan is executed; contents in `without` are not,
    /// even if trees name them.
    pub(crate) fn live_objects(
        &self,
        plan: &RetentionPlan,
        without: &HashSet<ObjectId>,
    ) -> Result<LiveObjects, StoreError> {
        let mut live = LiveObjects::new();
        let cut = plan.cut as i64;
        let mut blobs = |sql: &str, values: &[i64]| self.collect_oids(sql, values, &mut live);
        blobs("SELECT oid FROM manifest", &[])?;
        blobs("SELECT before_oid FROM change WHERE seq >= ?1", &[cut])?;
        blobs("SELECT after_oid FROM change WHERE seq >= ?1", &[cut])?;
        blobs("SELECT oid FROM sight WHERE seq >= ?1", &[cut])?;
        blobs("SELECT now_oid FROM step WHERE operation >= ?1", &[cut])?;
        blobs("SELECT then_oid FROM step WHERE operation >= ?1", &[cut])?;
        let mut trees = HashSet::new();
        self.collect_oids("SELECT oid FROM folder_tree", &[], &mut trees)?;
        for commit in self.kept_commits(plan)? {
            live.insert(commit);
            trees.insert(self.commit_links(&commit)?.tree);
        }
        for tree in trees {
            self.mark_tree(tree, without, &mut live)?;
        }
        self.mark_chunks(&mut live)?;
        Ok(live)
    }

    fn collect_oids(
        &self,
        sql: &str,
        values: &[i64],
        into: &mut HashSet<ObjectId>,
    ) -> Result<(), StoreError> {
        let mut query = self.db.prepare_cached(sql)?;
        let oid = |row: &Row<'_>| row.get::<_, Option<Vec<u8>>>(0);
        for oid in query.query_map(params_from_iter(values), oid)? {
            if let Some(oid) = oid? {
                into.insert(oid_from(&oid)?);
            }
        }
        Ok(())
    }

    /// The commits that records name once a plan is executed.
    fn kept_commits(&self, plan: &RetentionPlan) -> Result<HashSet<ObjectId>, StoreError> {
        let mut commits = HashSet::new();
        let safeties = "SELECT safety FROM operation WHERE seq >= ?1";
        self.collect_oids(safeties, &[plan.cut as i64], &mut commits)?;
        let doomed: HashSet<_> = self.doomed_checkpoints(plan)?.into_iter().collect();
        for checkpoint in self.checkpoints(None, usize::MAX)? {
            if !doomed.contains(&checkpoint.seq) {
                commits.insert(checkpoint.id);
            }
        }
        for session in self.partition_sessions(plan)?.1 {
            commits.extend([session.base, session.tip]);
            commits.extend(session.approved_commit);
        }
        Ok(commits)
    }

    fn mark_tree(
        &self,
        tree: ObjectId,
        without: &HashSet<ObjectId>,
        live: &mut LiveObjects,
    ) -> Result<(), StoreError> {
        let mut trees = vec![tree];
        while let Some(tree) = trees.pop() {
            if !live.insert(tree) {
                continue;
            }
            for (_, link) in self.tree_links(&tree)? {
                match link {
                    EntryLink::Tree(inner) => trees.push(inner),
                    EntryLink::Blob(blob) if !without.contains(&blob) => {
                        live.insert(blob);
                    }
                    EntryLink::Blob(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Adds the chunks of the large contents in the set.
    fn mark_chunks(&self, live: &mut LiveObjects) -> Result<(), StoreError> {
        let mut query = self.db.prepare("SELECT oid FROM object WHERE encoding = 2")?;
        let oids = query.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
        let mut chunks = Vec::new();
        for oid in oids {
            let oid = oid_from(&oid?)?;
            if live.contains(&oid) {
                chunks.extend(self.chunks_of(&oid)?);
            }
        }
        live.extend(chunks);
        Ok(())
    }
}
