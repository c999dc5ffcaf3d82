//! Object cache of the current batch: an event compares the same few contents again and again, and
//! unpacking and hashing them each time would take longer than all else.
//!
//! Invariant: cached content was verified against its id, and is evicted with the batch.

use std::cell::{Cell, RefCell};

use retake_model::ObjectId;

use crate::Batch;

/// Maximum bytes of the cache; a larger content is not cached.
const MAX_CACHE_BYTES: usize = 16 * 1024 * 1024;

/// Contents by id, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct ObjectCache {
    is_enabled: Cell<bool>,
    contents: RefCell<Vec<(ObjectId, Vec<u8>)>>,
}

impl ObjectCache {
    fn has(&self, oid: &ObjectId) -> bool {
        self.contents.borrow().iter().any(|(cached, _)| cached == oid)
    }

    pub(crate) fn get(&self, oid: &ObjectId) -> Option<Vec<u8>> {
        let contents = self.contents.borrow();
        contents.iter().find(|(cached, _)| cached == oid).map(|(_, bytes)| bytes.clone())
    }

    /// Caches a verified content; only while there is a batch.
    pub(crate) fn insert(&self, oid: &ObjectId, bytes: &[u8]) {
        if !self.is_enabled.get() || bytes.len() > MAX_CACHE_BYTES {
            return;
        }
        let mut contents = self.contents.borrow_mut();
        contents.push((*oid, bytes.to_vec()));
        let mut total: usize = contents.iter().map(|(_, bytes)| bytes.len()).sum();
        while total > MAX_CACHE_BYTES {
            total -= contents.remove(0).1.len();
        }
    }

    /// Enables the cache until the guard is dropped.
    pub(crate) fn enable(&self) -> ObjectCacheGuard<'_> {
        self.is_enabled.set(true);
        ObjectCacheGuard(self)
    }
}

/// Guard of the enabled cache; dropping it clears the cache.
#[derive(Debug)]
pub(crate) struct ObjectCacheGuard<'s>(&'s ObjectCache);

impl Drop for ObjectCacheGuard<'_> {
    fn drop(&mut self) {
        self.0.is_enabled.set(false);
        self.0.contents.take();
    }
}

impl Batch<'_> {
    /// Caches the bytes of an object whose id was just computed from them.
    pub fn cache_object(&self, oid: &ObjectId, bytes: &[u8]) {
        if !self.object_cache.has(oid) {
            self.object_cache.insert(oid, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::objects::{ObjectKind, encode};
    use crate::{Store, StoreAccess};

    #[test]
    fn what_a_batch_has_read_is_known_to_it_and_to_nobody_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
        let object = encode(ObjectKind::Blob, b"content").unwrap();
        let batch = store.batch().unwrap();
        batch.put_object(&object).unwrap();
        batch.commit().unwrap();
        let forget = || store.db.execute("DELETE FROM object", []).unwrap();
        let read = || store.read_if_intact(&object.oid).unwrap();
        let batch = store.batch().unwrap();
        assert_eq!(read().as_deref(), Some(&b"content"[..]));
        forget();
        assert_eq!(read().as_deref(), Some(&b"content"[..]), "it was read before");
        drop(batch);
        assert!(read().is_some(), "the batch was taken back");
        forget();
        assert_eq!(read(), None);
        let batch = store.batch().unwrap();
        assert_eq!(read(), None, "nothing is kept between batches");
        batch.cache_object(&object.oid, b"content");
        assert!(read().is_some());
    }
}
