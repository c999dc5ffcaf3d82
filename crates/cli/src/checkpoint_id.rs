//! Checkpoint ids as people write them: as many digits as it takes, and no fewer than eight.

use retake_engine::model::ObjectId;
use retake_engine::{Project, StoreError};

const FEWEST: usize = 8;

/// Short ids that name exactly one checkpoint each.
pub(crate) struct ShortIds {
    sorted: Vec<String>,
}

impl ShortIds {
    /// For lists: knows all checkpoints.
    pub(crate) fn all(project: &Project) -> Result<Self, StoreError> {
        let ids = project.checkpoints(None, i64::MAX as usize)?;
        Ok(Self::new(ids.into_iter().map(|checkpoint| checkpoint.id.to_string()).collect()))
    }

    fn new(mut sorted: Vec<String>) -> Self {
        sorted.sort();
        sorted.dedup();
        Self { sorted }
    }

    /// The digits that name this one.
    pub(crate) fn of(&self, id: &ObjectId) -> String {
        let id = id.to_string();
        let at = self.sorted.partition_point(|other| *other < id);
        let others = self.sorted[at.saturating_sub(1)..].iter().take(3);
        let shared = others.filter(|other| **other != id).map(|other| in_common(&id, other)).max();
        let digits = shared.map_or(FEWEST, |shared| (shared + 1).max(FEWEST));
        id[..digits.min(id.len())].to_owned()
    }
}

fn in_common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// The digits that name one checkpoint.
pub(crate) fn short(project: &Project, id: &ObjectId) -> Result<String, StoreError> {
    let digits = id.to_string();
    let near = project.store().checkpoints_named(&digits[..FEWEST])?;
    Ok(ShortIds::new(near.into_iter().map(|one| one.id.to_string()).collect()).of(id))
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
        let short = ShortIds::new(ids.iter().map(ToString::to_string).collect());
        assert_eq!(short.of(&ids[0]), "001122334");
        assert_eq!(short.of(&ids[1]), "001122335");
        assert_eq!(short.of(&ids[2]), "aabbccdd");
        assert_eq!(short.of(&id("ffffffffff")), "ffffffff");
    }
}
