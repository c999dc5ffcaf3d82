//! Checkpoint ids as people write them: as many digits as it takes, and no fewer than eight.

use retake_engine::model::ObjectId;
use retake_engine::{Project, StoreError};
use retake_service::request::{MIN_ID_DIGITS as FEWEST, MadeCheckpoint};

/// The digits that name one checkpoint, and no other one.
pub(crate) fn short_checkpoint_id(project: &Project, id: &ObjectId) -> Result<String, StoreError> {
    let near = project.checkpoints_by_prefix(&id.to_string()[..FEWEST])?;
    Ok(unique_prefix(id, near.iter().map(|one| &one.id)))
}

/// As many digits of an id as none of the others has in common with it.
fn unique_prefix<'i>(id: &ObjectId, others: impl Iterator<Item = &'i ObjectId>) -> String {
    let others = others.filter(|other| *other != id).map(ToString::to_string);
    let id = id.to_string();
    let shared = others.map(|other| common_prefix_len(&id, &other)).max();
    let digits = shared.map_or(FEWEST, |shared| (shared + 1).max(FEWEST));
    id[..digits.min(id.len())].to_owned()
}

fn common_prefix_len(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// The digits that name a checkpoint that was just made.
pub(crate) fn short_new_checkpoint_id(made: &MadeCheckpoint) -> String {
    unique_prefix(&made.checkpoint.id, made.alike.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(start: &str) -> ObjectId {
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(start.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        }
        ObjectId::from_bytes(bytes)
    }

    #[test]
    fn an_id_is_as_long_as_it_takes_to_be_the_only_one() {
        let ids = [id("0011223344"), id("0011223355"), id("aabbccdd"), id("aabbccde")];
        let short = |id: &ObjectId| unique_prefix(id, ids.iter());
        assert_eq!(short(&ids[0]), "001122334");
        assert_eq!(short(&ids[1]), "001122335");
        assert_eq!(short(&ids[2]), "aabbccdd");
        assert_eq!(short(&id("ffffffffff")), "ffffffff");
    }
}
