//! The events of several projects in one stream, with one cursor for all of them.
//!
//! Each project's events come in its own order; there is none between projects. Invariants: a project
//! that comes while the stream is open is told and followed from its beginning; one that goes, or
//! cannot be read, is told and ends nothing; a project with much to tell does not keep the others
//! back. Records are opened when there is something to read, and only a few stay open.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use retake_engine::model::Millis;
use retake_engine::{KnownProject, Retake, iso_8601};
use retake_service::ApiError;
use serde_json::{Value, json};

use super::feed::{EventFeed, FeedEvent, touched_fields};
use super::{
    EventFollower, SeveralCursor, StreamChoice, StreamEvent, StreamFilter, StreamNews, StreamStart,
    StreamSubscription, TouchedFile,
};

/// Maximum projects in one stream: its cursor names all of them.
pub const MAX_FOLLOWED_PROJECTS: usize = 256;
/// Maximum records that one stream keeps open.
const MAX_OPEN_RECORDS: usize = 4;

/// Where a stream of several projects starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeveralStart {
    /// With what is recorded from now on.
    Now,
    /// With the first event of each.
    Beginning,
    /// After these places.
    Cursor(SeveralCursor),
}

impl SeveralStart {
    /// Returns true if a project has come since a client was last connected.
    fn is_new(&self, project: &str) -> bool {
        matches!(self, Self::Cursor(cursor) if !cursor.places.contains_key(project))
    }

    fn of(&self, project: &str) -> StreamStart {
        match self {
            Self::Now => StreamStart::Now,
            Self::Beginning => StreamStart::After(0),
            Self::Cursor(cursor) => cursor.start_of(project),
        }
    }
}

/// Returns true if the client may follow the project, and wants to.
pub type ProjectPredicate = Box<dyn Fn(&str) -> bool + Send>;

/// The feed of several projects.
pub(crate) struct SeveralFeed {
    retake: Retake,
    is_wanted: ProjectPredicate,
    choice: StreamChoice,
    followers: BTreeMap<String, EventFollower>,
    /// Projects that may have something to read, the next one first.
    waiting: VecDeque<String>,
    /// Projects whose last read failed, which was told.
    failed: BTreeSet<String>,
    /// Events that are about projects and not in one of them.
    notices: VecDeque<StreamEvent>,
    /// Projects that are not followed because there are too many.
    left_out: usize,
}

impl SeveralFeed {
    /// Starts to follow every wanted project.
    pub(crate) fn start(
        retake: Retake,
        start: &SeveralStart,
        choice: StreamChoice,
        is_wanted: ProjectPredicate,
        subscription: &StreamSubscription,
    ) -> Result<Self, ApiError> {
        let mut feed = Self {
            retake,
            is_wanted,
            choice,
            followers: BTreeMap::new(),
            waiting: VecDeque::new(),
            failed: BTreeSet::new(),
            notices: VecDeque::new(),
            left_out: 0,
        };
        let known = feed.wanted_projects()?;
        let ids: BTreeSet<_> = known.iter().map(|project| project.id.clone()).collect();
        // Before the places are read, so that no signal is missed in between.
        subscription.follow(ids.clone());
        for project in known {
            let (id, from) = (project.id.clone(), start.of(&project.id));
            if start.is_new(&id) {
                feed.notices.push_back(added_notice(&project));
            }
            feed.add_follower(project, from);
            if from == StreamStart::Now {
                feed.find_place(&id);
            }
        }
        if let SeveralStart::Cursor(cursor) = start {
            let gone = cursor.places.keys().filter(|id| !ids.contains(*id) && (feed.is_wanted)(id));
            let notices: Vec<_> = gone.map(|id| removed_notice(id)).collect();
            feed.notices.extend(notices);
        }
        Ok(feed)
    }

    /// The projects that are followed: of too many, the newest.
    fn wanted_projects(&mut self) -> Result<Vec<KnownProject>, ApiError> {
        let mut known = self.retake.projects()?;
        known.retain(|project| (self.is_wanted)(&project.id));
        known.sort_by_key(|project| std::cmp::Reverse(project.created_at));
        let left_out = known.len().saturating_sub(MAX_FOLLOWED_PROJECTS);
        if left_out > self.left_out {
            self.notices.push_back(notice(
                "projects_left_out",
                json!({ "type": "projects_left_out", "count": left_out }),
            ));
        }
        self.left_out = left_out;
        known.truncate(MAX_FOLLOWED_PROJECTS);
        Ok(known)
    }

    fn add_follower(&mut self, project: KnownProject, start: StreamStart) {
        let id = project.id.clone();
        let follower = EventFollower::new(self.retake.clone(), project, start, self.choice.clone());
        self.followers.insert(id.clone(), follower);
        self.enqueue(id);
    }

    fn enqueue(&mut self, project: String) {
        if self.followers.contains_key(&project) && !self.waiting.contains(&project) {
            self.waiting.push_back(project);
        }
    }

    /// Finds where a project's record ends now; there is nothing to read before a signal.
    fn find_place(&mut self, project: &str) {
        let Some(follower) = self.followers.get_mut(project) else { return };
        if follower.next_events().is_ok() {
            follower.close_reader();
            self.waiting.retain(|waiting| waiting != project);
        }
    }

    /// Follows projects that have come, and lets go of those that are gone.
    fn update_projects(&mut self, subscription: &StreamSubscription) -> Result<(), ApiError> {
        let known = self.wanted_projects()?;
        let ids: BTreeSet<_> = known.iter().map(|project| project.id.clone()).collect();
        subscription.follow(ids.clone());
        let gone: Vec<_> = self.followers.keys().filter(|id| !ids.contains(*id)).cloned().collect();
        for id in gone {
            self.followers.remove(&id);
            self.failed.remove(&id);
            self.waiting.retain(|waiting| *waiting != id);
            self.notices.push_back(removed_notice(&id));
        }
        for project in known {
            if let Some(follower) = self.followers.get_mut(&project.id) {
                follower.set_root(&project.root);
                continue;
            }
            self.notices.push_back(added_notice(&project));
            self.add_follower(project, StreamStart::After(0));
        }
        Ok(())
    }

    /// Reads the next page of the project whose turn it is.
    fn read_next(&mut self) -> Vec<FeedEvent> {
        let Some(id) = self.waiting.pop_front() else { return Vec::new() };
        let Some(follower) = self.followers.get_mut(&id) else { return Vec::new() };
        let read = follower.next_events();
        let has_more = follower.has_more();
        let events = match read {
            Ok(events) => {
                self.failed.remove(&id);
                if has_more {
                    self.waiting.push_back(id.clone());
                }
                events
            }
            // It is tried again at the project's next signal.
            Err(failure) => {
                let is_new = self.failed.insert(id.clone());
                let told = is_new.then(|| failure_notice(&id, &failure));
                return told.into_iter().map(|event| self.with_cursor(event)).collect();
            }
        };
        self.close_idle_readers();
        let mut cursor = self.cursor_places();
        let place = |event: StreamEvent| {
            cursor.places.insert(id.clone(), Some(event.seq));
            FeedEvent { event, cursor: cursor.to_string() }
        };
        events.into_iter().map(place).collect()
    }

    fn close_idle_readers(&mut self) {
        let open = self.followers.values().filter(|follower| follower.is_open()).count();
        let idle = self.followers.values_mut().filter(|follower| follower.is_open());
        let idle = idle.filter(|follower| !self.waiting.iter().any(|id| id == follower.id()));
        for follower in idle.take(open.saturating_sub(MAX_OPEN_RECORDS)) {
            follower.close_reader();
        }
    }

    fn cursor_places(&self) -> SeveralCursor {
        let place = |(id, follower): (&String, &EventFollower)| (id.clone(), follower.position());
        SeveralCursor { places: self.followers.iter().map(place).collect() }
    }

    fn with_cursor(&self, event: StreamEvent) -> FeedEvent {
        FeedEvent { event, cursor: self.cursor() }
    }
}

impl EventFeed for SeveralFeed {
    fn cursor(&self) -> String {
        self.cursor_places().to_string()
    }

    fn next_events(
        &mut self,
        news: &StreamNews,
        subscription: &StreamSubscription,
    ) -> Result<Vec<FeedEvent>, ApiError> {
        let is_new = |id: &String| !self.followers.contains_key(id) && (self.is_wanted)(id);
        if news.projects_changed || news.committed.iter().any(is_new) {
            self.update_projects(subscription)?;
        }
        for project in &news.committed {
            self.enqueue(project.clone());
        }
        if let Some(notice) = self.notices.pop_front() {
            return Ok(vec![self.with_cursor(notice)]);
        }
        Ok(self.read_next())
    }

    fn has_more(&self) -> bool {
        !self.waiting.is_empty() || !self.notices.is_empty()
    }

    fn filter(&self) -> &StreamFilter {
        &self.choice.filter
    }

    fn touched_hint(&self, file: &TouchedFile, at: Millis) -> Option<Value> {
        Some(touched_fields(self.followers.get(&file.project)?, file, at))
    }
}

fn notice(name: &'static str, data: Value) -> StreamEvent {
    StreamEvent { seq: 0, entries: vec![(name.into(), data)] }
}

fn added_notice(project: &KnownProject) -> StreamEvent {
    let data = json!({
        "type": "project_added", "project": project.id,
        "root": project.root.display().to_string(),
        "created_at": iso_8601(project.created_at),
    });
    notice("project_added", data)
}

fn removed_notice(project: &str) -> StreamEvent {
    notice("project_removed", json!({ "type": "project_removed", "project": project }))
}

fn failure_notice(project: &str, failure: &ApiError) -> StreamEvent {
    let mut data = json!({ "type": "failure", "project": project });
    if let (Value::Object(data), Ok(Value::Object(failure))) =
        (&mut data, serde_json::to_value(failure))
    {
        data.extend(failure);
    }
    notice("failure", data)
}
