//! Repacking: copies what is needed of wasteful packs into a new one.
//!
//! Invariant: a pack loses its row only in the transaction that gives one to the pack with what is
//! needed of it; its files go after that. A pack of which something needed cannot be read stays.

use std::collections::HashSet;

use retake_model::ObjectId;

use super::{Pack, PackRow, PackWriter, encode_packed, is_ours_alone, pack_files};
use crate::gc::reachability::LiveObjects;
use crate::objects::hash_object;
use crate::{Batch, Store, StoreError};

impl Store {
    /// The packs that a collection should replace: nothing or little in them is needed, or the
    /// repository that lent them has let them go, so that all of it takes space because of us.
    pub(crate) fn wasteful_packs(&self, live: &LiveObjects) -> Result<Vec<String>, StoreError> {
        let folder = self.packs_folder();
        let packs = self.packs()?;
        let mut wasteful = Vec::new();
        for PackRow { name, borrowed } in self.pack_rows()? {
            let Some(pack) = packs.iter().find(|pack| pack.name == name) else { continue };
            let needed = live.iter().filter(|oid| pack.find(oid).is_some()).count();
            let [file, _] = pack_files(&folder, &name);
            let is_ours = std::fs::metadata(file).is_ok_and(|data| is_ours_alone(&data));
            let little = is_ours && (borrowed || needed < pack.objects() as usize / 2);
            if needed == 0 || little {
                wasteful.push(name);
            }
        }
        Ok(wasteful)
    }

    /// The packs that have one of these objects.
    pub(crate) fn packs_with(&self, oids: &HashSet<ObjectId>) -> Result<Vec<String>, StoreError> {
        let has = |pack: &Pack| oids.iter().any(|oid| pack.find(oid).is_some());
        let packs = self.packs()?.into_iter().filter(|pack| has(pack));
        Ok(packs.map(|pack| pack.name.clone()).collect())
    }

    /// The bytes in packs of our own that are not needed, nearly: objects count alike.
    pub(crate) fn packed_bytes_not_in(&self, live: &LiveObjects) -> Result<u64, StoreError> {
        let folder = self.packs_folder();
        let mut bytes = 0;
        for pack in self.packs()? {
            let [file, _] = pack_files(&folder, &pack.name);
            let Ok(data) = std::fs::metadata(file) else { continue };
            if is_ours_alone(&data) {
                let all = u64::from(pack.objects()).max(1);
                let needed = live.iter().filter(|oid| pack.find(oid).is_some()).count() as u64;
                bytes += data.len() / all * all.saturating_sub(needed);
            }
        }
        Ok(bytes)
    }

    /// Returns the live objects that only packs hold.
    pub(crate) fn needed_in_packs(&self, live: &LiveObjects) -> Result<Vec<ObjectId>, StoreError> {
        let packs = self.packs()?;
        let mut needed = Vec::new();
        for oid in live {
            if packs.iter().any(|pack| pack.find(oid).is_some()) && !self.has_row(oid)? {
                needed.push(*oid);
            }
        }
        needed.sort_unstable();
        Ok(needed)
    }
}

impl Batch<'_> {
    /// Puts what is needed of these packs into a new one, and lets them go: their files are
    /// garbage once this is committed. The caller holds the project's lock.
    pub(crate) fn replace_packs(
        &self,
        names: &[String],
        live: &LiveObjects,
    ) -> Result<(), StoreError> {
        let (old, kept): (Vec<_>, Vec<_>) =
            self.packs()?.into_iter().partition(|pack| names.contains(&pack.name));
        let mut needed = Vec::new();
        for oid in live {
            let place = |pack: &Pack| pack.find(oid).map(|at| (pack.name.clone(), at));
            let Some(place) = old.iter().find_map(|pack| place(pack)) else { continue };
            if kept.iter().all(|pack| pack.find(oid).is_none()) && !self.has_row(oid)? {
                needed.push((place, *oid));
            }
        }
        needed.sort_unstable();
        let mut writer = PackWriter::new(self)?;
        for (_, oid) in needed {
            let Some((kind, bytes)) = self.read_packed_unverified(&oid)? else { continue };
            let found = hash_object(kind, &bytes)?;
            if found != oid {
                return Err(StoreError::Damaged { oid, why: format!("its hash is {found}") });
            }
            writer.add(&encode_packed(kind, oid, &bytes)?)?;
        }
        // Removed first, since the needed objects may make the very same pack again.
        for name in names {
            self.execute("remove pack", "DELETE FROM pack WHERE name = ?1", [name])?;
        }
        writer.finish(self)
    }
}
