//! Finds the contents that a path had in the trees of checkpoints.

use std::collections::HashSet;

use retake_model::{ObjectId, ProjectPath};

use crate::gc::links::EntryLink;
use crate::manifest::oid_from;
use crate::{Store, StoreError};

impl Store {
    /// Adds the contents that a path, or what is beneath it, has in any tree of a checkpoint.
    pub(crate) fn versions_in_trees(
        &self,
        path: &ProjectPath,
        oids: &mut HashSet<ObjectId>,
    ) -> Result<(), StoreError> {
        let mut seen = HashSet::new();
        for commit in self.named_commits()? {
            let tree = self.commit_links(&commit)?.tree;
            if let Some(link) = self.link_at(tree, path)? {
                self.blobs_beneath(link, &mut seen, oids)?;
            }
        }
        Ok(())
    }

    /// Looks up a path in a tree.
    fn link_at(&self, tree: ObjectId, path: &ProjectPath) -> Result<Option<EntryLink>, StoreError> {
        let mut at = EntryLink::Tree(tree);
        for name in path.as_bytes().split(|&byte| byte == b'/') {
            let EntryLink::Tree(tree) = at else { return Ok(None) };
            let mut links = self.tree_links(&tree)?.into_iter();
            let Some((_, link)) = links.find(|(entry, _)| entry == name) else { return Ok(None) };
            at = link;
        }
        Ok(Some(at))
    }

    fn blobs_beneath(
        &self,
        start: EntryLink,
        seen: &mut HashSet<ObjectId>,
        oids: &mut HashSet<ObjectId>,
    ) -> Result<(), StoreError> {
        let mut links = vec![start];
        while let Some(link) = links.pop() {
            match link {
                EntryLink::Blob(oid) => {
                    oids.insert(oid);
                }
                EntryLink::Tree(tree) if seen.insert(tree) => {
                    links.extend(self.tree_links(&tree)?.into_iter().map(|(_, link)| link));
                }
                EntryLink::Tree(_) => {}
            }
        }
        Ok(())
    }

    /// Every commit that a record names.
    fn named_commits(&self) -> Result<HashSet<ObjectId>, StoreError> {
        let mut query = self.db.prepare(
            "SELECT oid FROM checkpoint UNION SELECT safety FROM operation
             UNION SELECT base FROM work_session UNION SELECT tip FROM work_session
             UNION SELECT approved_commit FROM work_session WHERE approved_commit NOT NULL",
        )?;
        let oids = query.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
        oids.map(|oid| oid_from(&oid?)).collect()
    }
}
