//! The store on its own: content in, content out, whatever happens in between.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail loudly")]

use std::collections::BTreeMap;
use std::io::Write as _;

use retake_model::{Event, EventKind, FileKind, FileState, PathState, ProjectPath};
use retake_store::{
    CHUNK_THRESHOLD_BYTES, ManifestEntry, ManifestState, ObjectKind, Spool, StatRow, Store,
    StoreAccess, StoreError, TouchedState, build_tree, encode, encode_stream, hash_blob,
};

fn message(text: &str) -> Event {
    Event::new("d1", EventKind::UserMessage { text: text.into() })
}

fn texts(spool: &Spool) -> Vec<String> {
    let text = |event: &Event| match &event.what {
        EventKind::UserMessage { text } => text.clone(),
        other => panic!("{other:?}"),
    };
    spool.entries().unwrap().0.iter().map(|entry| text(&entry.event)).collect()
}

#[test]
fn content_of_every_size_comes_back_and_is_named_as_git_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    let edge = CHUNK_THRESHOLD_BYTES as usize;
    for size in [0, 1, 4095, edge - 1, edge, edge + 1, 3 * edge, 5_000_000] {
        let mut bytes = vec![0; size];
        rng.fill(&mut bytes[size / 2..]); // half compressible, half not
        let batch = store.batch().unwrap();
        let small = encode(ObjectKind::Blob, &bytes).unwrap();
        let streamed = encode_stream(&mut bytes.as_slice(), size as u64, &mut |object| {
            batch.put_object(&object).map_err(std::io::Error::other)
        });
        assert_eq!(streamed.unwrap(), small.oid, "chunked or not, the name is the same");
        assert_eq!(hash_blob(&bytes).unwrap(), small.oid);
        batch.commit().unwrap();
        assert_eq!(store.read(&small.oid).unwrap(), bytes, "{size} bytes");
    }
    // git hash-object of nothing, and of "hello\n".
    let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    assert_eq!(hash_blob(b"").unwrap().to_string(), empty);
    let hello = "ce013625030ba8dba906f756967f9e9ca394464a";
    assert_eq!(hash_blob(b"hello\n").unwrap().to_string(), hello);
}

#[test]
fn a_stream_of_another_length_is_refused() {
    let bytes = vec![1; 400_000];
    for claimed in [399_999, 400_001] {
        let result = encode_stream(&mut bytes.as_slice(), claimed, &mut |_| Ok(()));
        assert!(matches!(result, Err(StoreError::Write(_))), "{result:?}");
    }
}

#[test]
fn a_batch_that_is_dropped_never_happened() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
    let object = encode(ObjectKind::Blob, b"content").unwrap();
    let batch = store.batch().unwrap();
    batch.put_object(&object).unwrap();
    assert_eq!(batch.next_seq(), 1);
    assert!(batch.has(&object.oid).unwrap(), "a batch sees its own writes");
    drop(batch);
    assert!(matches!(store.read(&object.oid), Err(StoreError::Missing(_))));
    assert_eq!(store.last_seq().unwrap(), 0);
}

#[test]
fn a_reader_sees_what_is_committed_and_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Store::open(folder.path(), StoreAccess::Write).unwrap();
    let reader = Store::open(folder.path(), StoreAccess::Read).unwrap();
    let object = encode(ObjectKind::Blob, b"content").unwrap();
    let batch = writer.batch().unwrap();
    batch.put_object(&object).unwrap();
    assert!(!reader.has(&object.oid).unwrap());
    batch.commit().unwrap();
    assert_eq!(reader.read(&object.oid).unwrap(), b"content");
    let other = encode(ObjectKind::Blob, b"other").unwrap();
    let refused = reader.batch().and_then(|batch| batch.put_object(&other)).unwrap_err();
    assert!(refused.is_read_only(), "{refused}");
    assert_eq!(reader.manifest().unwrap(), []);
}

#[test]
fn what_lies_beneath_a_folder_is_told_apart_from_what_has_a_similar_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
    let batch = store.batch().unwrap();
    let oid = encode(ObjectKind::Blob, b"x").unwrap().oid;
    let kind = FileKind::File;
    let stat = StatRow { kind, mode: 0o644, size: 1, mtime_ns: 1, ctime_ns: 1, inode: 1 };
    batch.put_stat_cache(b"nothing").unwrap();
    for name in ["d", "d-x/a", "d.x", "d/a", "d/in/b", "d/in0", "d0", "da"] {
        let path = name.parse().unwrap();
        let state = FileState { kind, mode: 0o644, oid, size: 1 };
        let stat = (name != "d/a").then_some(&stat);
        batch.set_manifest(&path, &ManifestState::Known(state), stat).unwrap();
    }
    batch.commit().unwrap();
    let beneath = |name: &str| {
        let entries = store.manifest_beneath(&name.parse().unwrap()).unwrap();
        let told = |entry: ManifestEntry| {
            (entry.path.to_string(), entry.touched == Some(TouchedState::There(Some(stat))))
        };
        entries.into_iter().map(told).collect::<Vec<_>>()
    };
    let expected = [("d", true), ("d/a", false), ("d/in/b", true), ("d/in0", true)];
    assert_eq!(beneath("d"), expected.map(|(name, stat)| (name.to_owned(), stat)));
    assert_eq!(beneath("d/in"), [("d/in/b".to_owned(), true)]);
    assert_eq!(beneath("none"), []);
}

/// A random file of few names, so that a name is now a file and now a folder.
fn any_path(rng: &mut fastrand::Rng) -> ProjectPath {
    let names: Vec<_> =
        (0..rng.usize(1..5)).map(|_| ["a", "a.b", "b", "c"][rng.usize(..4)]).collect();
    names.join("/").parse().unwrap()
}

#[test]
fn the_kept_trees_patched_are_those_of_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreAccess::Write).unwrap();
    let mut rng = fastrand::Rng::with_seed(11);
    let mut model: BTreeMap<ProjectPath, Option<FileState>> = BTreeMap::new();
    for round in 0..600 {
        let batch = store.batch().unwrap();
        for number in 0..if round % 100 == 99 { 600 } else { rng.usize(0..6) } {
            // Sometimes many files come or go at once, in one folder or with all that is beneath.
            let path = match rng.u8(..) {
                _ if round % 100 == 99 => format!("c/{number}").parse().unwrap(),
                _ => any_path(&mut rng),
            };
            let in_its_way = |other: &&ProjectPath| {
                **other != path && (other.is_beneath(&path) || path.is_beneath(other))
            };
            let goes: Vec<_> = model.keys().filter(in_its_way).cloned().collect();
            for gone in goes {
                batch.remove_manifest(&gone).unwrap();
                model.remove(&gone);
            }
            if rng.u8(..3) == 0 {
                batch.remove_manifest(&path).unwrap();
                model.remove(&path);
                continue;
            }
            let object = encode(ObjectKind::Blob, &[rng.u8(..)]).unwrap();
            batch.put_object(&object).unwrap();
            let (kind, size, mode) = (FileKind::File, 1, 0o100_644);
            let state = FileState { kind, size, oid: object.oid, mode };
            let stored =
                if rng.u8(..8) == 0 { ManifestState::Unknown } else { ManifestState::Known(state) };
            batch.set_manifest(&path, &stored, None).unwrap();
            model.insert(path, (stored != ManifestState::Unknown).then_some(state));
        }
        if rng.bool() {
            let known = model.iter().filter_map(|(path, state)| Some((path.clone(), (*state)?)));
            let files: Vec<_> = known.collect();
            let expected = build_tree(&files, &mut |_| Ok(())).unwrap();
            assert_eq!(batch.project_tree().unwrap(), expected, "in round {round}");
            assert!(batch.has(&expected).unwrap());
        }
        if rng.u8(..4) > 0 {
            batch.commit().unwrap();
        } else {
            // It never happened.
            drop(batch);
            let entries = store.manifest().unwrap().into_iter();
            model = entries
                .map(|entry| (entry.path, PathState::from(entry.state).known().copied()))
                .collect();
        }
    }
}

#[test]
fn the_generation_tells_of_what_others_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [(); 2].map(|()| Store::open(folder.path(), StoreAccess::Write).unwrap());
    let write = |store: &Store, value: &[u8]| {
        let batch = store.batch().unwrap();
        batch.set_meta("key", value).unwrap();
        batch.commit().unwrap();
    };
    write(&other, b"0");
    let first = one.generation().unwrap();
    write(&one, b"1");
    assert_eq!(one.generation().unwrap(), first, "an own commit is no news");
    write(&other, b"2");
    let batch = one.batch().unwrap();
    assert_ne!(batch.generation().unwrap(), first);
}

#[test]
fn a_line_that_a_kill_cut_off_does_not_swallow_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new(folder.path());
    spool.push(&spool.new_key(1), &message("one"), 1).unwrap();
    let mut file =
        std::fs::OpenOptions::new().append(true).open(folder.path().join("spool.jsonl")).unwrap();
    file.write_all(br#"{"id":"x","at":2,"event":{"event":"user_mes"#).unwrap();
    spool.push(&spool.new_key(3), &message("three"), 3).unwrap();
    assert_eq!(texts(&spool), ["one", "three"]);
    assert_eq!(spool.entries().unwrap().1.len(), 1, "and it is reported");
}

#[test]
fn what_is_spooled_while_the_spool_is_taken_in_stays() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new(folder.path());
    spool.push(&spool.new_key(1), &message("one"), 1).unwrap();
    let taken = spool.entries().unwrap().0.len();
    spool.push(&spool.new_key(1), &message("two"), 1).unwrap();
    spool.clear(taken, 0).unwrap();
    assert_eq!(texts(&spool), ["one", "two"]);
    spool.clear(2, 0).unwrap();
    assert!(spool.is_empty());
    let ids = |spool: &Spool| spool.entries().unwrap().0[0].id.clone();
    spool.push(&spool.new_key(1), &message("three"), 1).unwrap();
    let first = ids(&spool);
    spool.clear(1, 0).unwrap();
    spool.push(&spool.new_key(1), &message("four"), 1).unwrap();
    assert_ne!(first, ids(&spool), "ids are never used twice");
}

/// The first hooks of an agent may come all at once.
#[test]
fn a_store_that_several_open_for_the_first_time_is_made_once() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| Store::open(folder.path(), StoreAccess::Write).unwrap());
            }
        });
    }
}
