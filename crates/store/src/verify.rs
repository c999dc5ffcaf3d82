//! Verification: checks that every acknowledged record and its content is still there.
//!
//! Verification only reads; what it finds it names, it never repairs or deletes.

use std::collections::HashSet;

use retake_model::ObjectId;

use crate::gc::links::EntryLink;
use crate::gc::retention::RetentionPlan;
use crate::manifest::{KIND_UNKNOWN, oid_from};
use crate::objects::ObjectKind;
use crate::{Spool, Store, StoreError};

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreProblem {
    /// SQLite found its own structure damaged.
    Database(String),
    /// A record names an object that is not there.
    Dangling {
        /// Which record.
        record: String,
        /// The object.
        oid: ObjectId,
    },
    /// A pack that records count on cannot be opened.
    Pack {
        /// Its name.
        name: String,
        /// What was seen.
        why: String,
    },
    /// An object's bytes are not what its name says.
    Damaged {
        /// The object.
        oid: ObjectId,
        /// What was seen.
        why: String,
    },
    /// A row holds something that no version of Retake writes.
    Row(String),
    /// A line of the spool cannot be understood.
    SpoolLine(String),
}

/// What verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Objects in the store.
    pub objects: u64,
    /// Objects whose bytes were read and hashed.
    pub objects_read: u64,
    /// Changes on record.
    pub changes: u64,
    /// Contents that are missing on purpose.
    pub purged: u64,
    /// Events that wait in the spool.
    pub spooled: u64,
    /// Everything that is wrong.
    pub problems: Vec<StoreProblem>,
}

impl Store {
    /// Checks structure and references; with `read_data` also every object's hash.
    ///
    /// `progress` is told how many of how many objects were read.
    pub fn verify(
        &self,
        read_data: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<VerifyReport, StoreError> {
        let mut found = VerifyReport {
            objects: self.count("object")? + self.objects_in_own_packs()?,
            changes: self.count("change")?,
            purged: self.count("purged")?,
            ..VerifyReport::default()
        };
        self.check_database(&mut found.problems)?;
        let broken = self.broken_packs()?.into_iter();
        found.problems.extend(broken.map(|(name, why)| StoreProblem::Pack { name, why }));
        self.check_references(&mut found.problems)?;
        self.check_chunks(&mut found.problems)?;
        self.check_rows(&mut found.problems)?;
        if read_data {
            found.problems.extend(self.unreadable_messages()?.into_iter().map(StoreProblem::Row));
            self.check_objects(&mut found, progress)?;
        }
        let (entries, bad) = Spool::new(self.folder()).entries()?;
        found.spooled = entries.len() as u64;
        found.problems.extend(bad.into_iter().map(StoreProblem::SpoolLine));
        Ok(found)
    }

    fn count(&self, table: &str) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {table}");
        Ok(self.db.query_row(&sql, [], |row| row.get::<_, i64>(0))? as u64)
    }

    fn check_database(&self, problems: &mut Vec<StoreProblem>) -> Result<(), StoreError> {
        let damage = crate::wal::describe_damage(&self.folder().join("retake.db-wal"));
        problems.extend(damage.map(StoreProblem::Database));
        for pragma in ["PRAGMA main.integrity_check", "PRAGMA main.foreign_key_check"] {
            let mut query = self.db.prepare(pragma)?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let text: String = row.get(0)?;
                if text != "ok" {
                    problems.push(StoreProblem::Database(text));
                }
            }
        }
        Ok(())
    }

    fn check_references(&self, problems: &mut Vec<StoreProblem>) -> Result<(), StoreError> {
        const REFERENCES: &[(&str, &str, &str, &str)] = &[
            ("manifest", "manifest", "path", "oid"),
            ("before of a change", "change", "path", "before_oid"),
            ("after of a change", "change", "path", "after_oid"),
            ("step of an operation", "step", "path", "now_oid"),
            ("step of an operation", "step", "path", "then_oid"),
            ("kept tree", "folder_tree", "path", "oid"),
            ("checkpoint", "checkpoint", "message", "oid"),
            ("tree of a checkpoint", "checkpoint", "message", "tree"),
            ("base of a work session", "work_session", "dialog", "base"),
            ("tip of a work session", "work_session", "dialog", "tip"),
            ("approval", "work_session", "dialog", "approved_commit"),
            ("safety of an operation", "operation", "title", "safety"),
        ];
        for (what, table, name, column) in REFERENCES {
            let mut query = self.db.prepare(&format!(
                "SELECT {column}, CAST({name} AS BLOB) FROM {table} WHERE {column} IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM object o WHERE o.oid = {table}.{column})"
            ))?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let path: Vec<u8> = row.get(1)?;
                let record = format!("{what}, {}", String::from_utf8_lossy(&path));
                problems.push(match oid_from(&row.get::<_, Vec<u8>>(0)?) {
                    Ok(oid) if self.is_packed(&oid)? => continue,
                    Ok(oid) => StoreProblem::Dangling { record, oid },
                    Err(error) => StoreProblem::Row(format!("{record}: {error}")),
                });
            }
        }
        Ok(())
    }

    /// Rows are read leniently where they serve; here each one must make sense.
    fn check_rows(&self, problems: &mut Vec<StoreProblem>) -> Result<(), StoreError> {
        let unknown = format!("kind NOT IN (1, 2) AND NOT (kind = {KIND_UNKNOWN} AND oid IS NULL)");
        let checks = [
            ("manifest", format!("{unknown} OR length(path) = 0 OR length(oid) <> 20")),
            ("gap", "length(path) = 0 OR length(reason) = 0".to_owned()),
            ("event", "NOT json_valid(body)".to_owned()),
            ("object", "length(oid) <> 20 OR kind NOT IN (1, 2, 3)".to_owned()),
        ];
        for (table, wrong) in checks {
            let sql = format!("SELECT count(*) FROM {table} WHERE {wrong}");
            let count: i64 = self.db.query_row(&sql, [], |row| row.get(0))?;
            if count > 0 {
                problems.push(StoreProblem::Row(format!("{count} rows of {table} make no sense")));
            }
        }
        self.check_changes(problems)
    }

    fn check_chunks(&self, problems: &mut Vec<StoreProblem>) -> Result<(), StoreError> {
        let mut query = self.db.prepare("SELECT oid FROM object WHERE encoding = 2")?;
        let oids = query.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
        for oid in oids {
            let oid = oid_from(&oid?)?;
            let chunks = match self.chunks_of(&oid) {
                Ok(chunks) => chunks,
                Err(error) => {
                    problems.push(StoreProblem::Damaged { oid, why: error.to_string() });
                    continue;
                }
            };
            for chunk in chunks {
                if !self.has(&chunk)? {
                    problems.push(StoreProblem::Dangling {
                        record: format!("object {oid}"),
                        oid: chunk,
                    });
                }
            }
        }
        Ok(())
    }

    fn check_objects(
        &self,
        found: &mut VerifyReport,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        // No more than there are: a damaged table may lead in circles.
        let sql = "SELECT oid, kind FROM object ORDER BY id LIMIT ?1";
        let mut query = self.db.prepare(sql)?;
        let most = self.count("object")? as i64;
        let oids = query.query_map([most], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)))?;
        for row in oids {
            let (oid, kind): (_, i64) = row?;
            let oid = oid_from(&oid)?;
            if kind == ObjectKind::Tree.code() {
                self.check_tree(&oid, &mut found.problems)?;
            } else if let Err(error) = self.read_into(&oid, &mut std::io::sink()) {
                found.problems.push(StoreProblem::Damaged { oid, why: error.to_string() });
            }
            found.objects_read += 1;
            progress(found.objects_read, found.objects);
        }
        self.check_packed(found, progress)
    }

    /// Checks the packed objects that records need; a borrowed pack has all of the user's history.
    fn check_packed(
        &self,
        found: &mut VerifyReport,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let live = match self.live_objects(&RetentionPlan::default(), &HashSet::new()) {
            Ok(live) => live,
            // What cannot be followed was named above.
            Err(StoreError::Damaged { .. } | StoreError::Missing(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let needed = self.needed_in_packs(&live)?;
        found.objects = found.objects_read + needed.len() as u64;
        for oid in needed {
            if let Err(error) = self.read_packed(&oid) {
                found.problems.push(StoreProblem::Damaged { oid, why: error.to_string() });
            }
            found.objects_read += 1;
            progress(found.objects_read, found.objects);
        }
        Ok(())
    }

    /// Everything in a folder must be there, unless it was purged.
    fn check_tree(
        &self,
        oid: &ObjectId,
        problems: &mut Vec<StoreProblem>,
    ) -> Result<(), StoreError> {
        let links = match self.tree_links(oid) {
            Ok(links) => links,
            Err(error) => {
                problems.push(StoreProblem::Damaged { oid: *oid, why: error.to_string() });
                return Ok(());
            }
        };
        for (name, link) in links {
            let (EntryLink::Tree(named) | EntryLink::Blob(named)) = link;
            if !self.has(&named)? && !self.is_purged(&named)? {
                let record = format!("{} in tree {oid}", String::from_utf8_lossy(&name));
                problems.push(StoreProblem::Dangling { record, oid: named });
            }
        }
        Ok(())
    }
}
