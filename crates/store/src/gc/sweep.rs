//! Lists the rows that a plan removes: unreachable objects and unneeded calls.
//!
//! Invariant: whatever names others is listed before what it names, so that a kill
//! between two transactions leaves nothing that names what is gone.

use retake_model::DialogId;

use crate::gc::reachability::LiveObjects;
use crate::gc::retention::RetentionPlan;
use crate::manifest::oid_from;
use crate::{Store, StoreError};

impl Store {
    /// The rows of objects that are not needed, those that name others first.
    ///
    /// A tree comes after the trees in it, so the newest tree goes first; a large content goes
    /// before its chunks.
    pub(crate) fn garbage_rows(&self, live: &LiveObjects) -> Result<Vec<i64>, StoreError> {
        let mut query = self.db.prepare("SELECT id, oid, kind, encoding FROM object")?;
        let mut rows = query.query([])?;
        let mut garbage = Vec::new();
        while let Some(row) = rows.next()? {
            let oid = oid_from(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
            if !live.contains(&oid) {
                let (id, kind): (i64, i64) = (row.get(0)?, row.get(2)?);
                let is_list = row.get::<_, i64>(3)? == 2;
                garbage.push((-kind, !is_list, -id));
            }
        }
        garbage.sort_unstable();
        Ok(garbage.into_iter().map(|(_, _, id)| -id).collect())
    }

    /// The calls that can do nothing more and that no change names.
    pub(crate) fn doomed_calls(&self, plan: &RetentionPlan) -> Result<Vec<i64>, StoreError> {
        let mut query = self.db.prepare(
            "SELECT id, dialog, state <> 0 AND afterlife = 0 AND coalesce(end_seq, begin_seq) < ?1
             FROM call
             WHERE id NOT IN (SELECT call FROM change WHERE call IS NOT NULL)
               AND id NOT IN (SELECT call FROM candidate)
             ORDER BY id",
        )?;
        let mut rows = query.query([plan.cut as i64])?;
        let mut doomed = Vec::new();
        while let Some(row) = rows.next()? {
            if row.get::<_, bool>(2)? || plan.gone.contains(&DialogId(row.get(1)?)) {
                doomed.push(row.get(0)?);
            }
        }
        Ok(doomed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{ObjectKind, encode, encode_stream};
    use crate::trees::build_tree;
    use crate::{CHUNK_THRESHOLD_BYTES, StoreAccess};
    use retake_model::{FileKind, FileState, Stamp};

    #[test]
    fn what_names_others_is_swept_before_what_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let batch = store.batch().unwrap();
        let mut noise = vec![0; 3 * CHUNK_THRESHOLD_BYTES as usize];
        fastrand::Rng::with_seed(1).fill(&mut noise);
        let size = noise.len() as u64;
        let mut emit =
            |object: crate::EncodedObject| batch.put_object(&object).map_err(std::io::Error::other);
        let large = encode_stream(&mut noise.as_slice(), size, &mut emit).unwrap();
        let state = FileState { kind: FileKind::File, mode: 0o644, oid: large, size };
        let files = [("a/b/c".parse().unwrap(), state)];
        let tree = build_tree(&files, &mut |object| batch.put_object(&object)).unwrap();
        batch.put_commit(&tree, &[], "x", None, Stamp { seq: 1, at: 0 }).unwrap();
        batch.put_object(&encode(ObjectKind::Blob, b"alone").unwrap()).unwrap();
        batch.commit().unwrap();
        let garbage = store.garbage_rows(&LiveObjects::new()).unwrap();
        let oid = |id: i64| -> retake_model::ObjectId {
            let sql = "SELECT oid FROM object WHERE id = ?1";
            let oid: Vec<u8> = store.db.query_row(sql, [id], |row| row.get(0)).unwrap();
            oid_from(&oid).unwrap()
        };
        let order: Vec<_> = garbage.into_iter().map(oid).collect();
        let place = |oid| order.iter().position(|at| *at == oid).unwrap();
        assert_eq!(place(tree), 1, "after its commit");
        let mut at = tree;
        for _ in 0..2 {
            let (crate::gc::links::EntryLink::Tree(inner)
            | crate::gc::links::EntryLink::Blob(inner)) = store.tree_links(&at).unwrap()[0].1;
            assert!(place(at) < place(inner));
            at = inner;
        }
        let chunks = store.chunks_of(&large).unwrap();
        assert!(chunks.len() > 3 && chunks.iter().all(|chunk| place(large) < place(*chunk)));
        assert!(place(at) < place(large));
    }
}
