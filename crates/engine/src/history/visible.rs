//! The visible messages of a history, and their order.

use std::collections::HashSet;

use retake_model::{OperationId, ViewReason};
use retake_store::{MessageEntry, NewView, StoredView};

use super::view::active_views;

/// Places in display order, followed by everything received from `open_from` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VisibleMessages {
    /// First and last place of each stretch.
    pub(super) ranges: Vec<(i64, i64)>,
    pub(super) open_from: i64,
}

impl VisibleMessages {
    /// Everything that was received.
    pub(super) fn all() -> Self {
        Self { ranges: Vec::new(), open_from: 0 }
    }

    /// Returns what the newest active view shows.
    pub(super) fn current(views: &[StoredView]) -> Self {
        active_views(views).last().map_or_else(Self::all, |view| Self::of(view))
    }

    pub(super) fn of(view: &StoredView) -> Self {
        Self { ranges: view.places.clone(), open_from: view.open_from }
    }

    /// Returns the row of a view that shows these messages.
    pub(super) fn new_view(&self, why: ViewReason, operation: Option<OperationId>) -> NewView<'_> {
        NewView { why, places: &self.ranges, open_from: self.open_from, operation }
    }

    /// These places, and what is received from `open_from` on.
    pub(super) fn listed(places: impl IntoIterator<Item = i64>, open_from: i64) -> Self {
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for place in places {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == place => *last = place,
                _ => ranges.push((place, place)),
            }
        }
        Self { ranges, open_from }
    }

    /// Returns whether it shows this place.
    pub(super) fn shows(&self, place: i64) -> bool {
        place >= self.open_from.max(0) || self.lists(place)
    }

    fn lists(&self, place: i64) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&place))
    }

    /// Returns the visible entries of a log, in their order. Collected ones are skipped.
    pub(super) fn visible_entries(&self, log: &[MessageEntry]) -> Vec<usize> {
        let mut by_place: Vec<usize> = (0..log.len()).collect();
        by_place.sort_by_key(|&at| log[at].place);
        let (mut order, mut listed) = (Vec::with_capacity(log.len()), HashSet::new());
        for (first, last) in &self.ranges {
            let start = by_place.partition_point(|&at| log[at].place < *first);
            let stretch = by_place[start..].iter().take_while(|&&at| log[at].place <= *last);
            order.extend(stretch.copied().filter(|&at| listed.insert(at)));
        }
        let start = by_place.partition_point(|&at| log[at].place < self.open_from.max(0));
        order.extend(by_place[start..].iter().copied().filter(|at| !listed.contains(at)));
        order
    }

    /// Returns a copy that hides everything from a place up to `open_from`; for histories whose
    /// places are in display order.
    pub(super) fn cut_before(&self, before: i64, open_from: i64) -> Self {
        let open = (self.open_from, i64::MAX);
        let stretches = self.ranges.iter().copied().chain([open]);
        let ranges = stretches
            .filter(|(first, _)| *first < before)
            .map(|(first, last)| (first, last.min(before - 1)))
            .collect();
        Self { ranges, open_from }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(places: &[i64]) -> Vec<MessageEntry> {
        let entry = |place: &i64| MessageEntry {
            row: *place,
            seq: 1,
            at: 0,
            place: *place,
            number: None,
            role: None,
            ts: None,
            is_summary: false,
            index: None,
            digest: retake_store::hash_blob(b"").unwrap(),
        };
        places.iter().map(entry).collect()
    }

    fn shown(view: &VisibleMessages, log: &[MessageEntry]) -> Vec<i64> {
        view.visible_entries(log).into_iter().map(|at| log[at].place).collect()
    }

    #[test]
    fn what_is_listed_comes_first_and_once_and_own_messages_only_if_listed() {
        let log = log(&[0, 1, 2, -1, 3, 4, -2]);
        assert_eq!(shown(&VisibleMessages::all(), &log), [0, 1, 2, 3, 4]);
        assert_eq!(shown(&VisibleMessages::listed([-1, 3, 1], 2), &log), [-1, 3, 1, 2, 4]);
        assert_eq!(shown(&VisibleMessages::listed([0, 1, 9], 99), &log), [0, 1], "9 was collected");
        let view = VisibleMessages::listed([0, 1, 2, 4], 6);
        assert_eq!(view.ranges, [(0, 2), (4, 4)]);
        assert_eq!(view.cut_before(2, 8), VisibleMessages { ranges: vec![(0, 1)], open_from: 8 });
        assert_eq!(
            VisibleMessages::all().cut_before(3, 8),
            VisibleMessages { ranges: vec![(0, 2)], open_from: 8 }
        );
        assert!(!view.shows(3) && view.shows(4) && view.shows(6) && !view.shows(-1));
    }
}
