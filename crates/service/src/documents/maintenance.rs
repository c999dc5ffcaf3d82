//! Garbage collection, retention forecast, and purge.

use retake_engine::model::Millis;
use retake_engine::{self as engine, DialogForecast, iso_8601};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathName, path_names};

/// How large the record is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Meter)]
pub struct MeterDocument {
    /// On disk.
    pub disk: u64,
    /// The contents of files.
    pub content: u64,
    /// What is known about them.
    pub records: u64,
}

impl From<&engine::DiskUsage> for MeterDocument {
    fn from(meter: &engine::DiskUsage) -> Self {
        Self { disk: meter.disk, content: meter.content, records: meter.records }
    }
}

/// What a collection removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Collected)]
pub struct CollectedDocument {
    /// False: it was done.
    pub dry_run: bool,
    /// Whether all of it was done.
    pub complete: bool,
    /// How much went.
    pub removed: RemovedDocument,
    /// The record before.
    pub before: MeterDocument,
    /// The record after.
    pub after: MeterDocument,
    /// Bytes above the limit that are protected.
    pub over_bytes: u64,
}

impl From<&engine::GcReport> for CollectedDocument {
    fn from(done: &engine::GcReport) -> Self {
        Self {
            dry_run: false,
            complete: done.complete,
            removed: (&done.removed).into(),
            before: (&done.before).into(),
            after: (&done.after).into(),
            over_bytes: done.over_bytes,
        }
    }
}

/// How much went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Removed)]
pub struct RemovedDocument {
    /// Dialogs.
    pub dialogs: u64,
    /// Changes.
    pub changes: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Work sessions.
    pub sessions: u64,
    /// Operations.
    pub operations: u64,
    /// Events.
    pub events: u64,
    /// Objects.
    pub objects: u64,
}

impl From<&engine::RemovedRecords> for RemovedDocument {
    fn from(removed: &engine::RemovedRecords) -> Self {
        Self {
            dialogs: removed.dialogs,
            changes: removed.changes,
            checkpoints: removed.checkpoints,
            sessions: removed.sessions,
            operations: removed.operations,
            events: removed.events,
            objects: removed.objects,
        }
    }
}

/// What a collection would remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Forecast)]
pub struct ForecastDocument {
    /// True: nothing was done.
    pub dry_run: bool,
    /// The dialogs that would go, now or later.
    pub dialogs: Vec<ForecastDialog>,
    /// Changes that would go now.
    pub changes: u64,
    /// Checkpoints that would go now.
    pub checkpoints: u64,
    /// Operations that would go now.
    pub operations: u64,
    /// Bytes of content that would go now.
    pub content_bytes: Option<u64>,
    /// Bytes above the limit that are protected.
    pub over_bytes: u64,
    /// The record now.
    pub before: MeterDocument,
}

impl ForecastDocument {
    /// What a collection would remove at this time.
    pub fn new(
        forecast: &engine::RetentionForecast,
        meter: &engine::DiskUsage,
        now: Millis,
    ) -> Self {
        Self {
            dry_run: true,
            dialogs: forecast.dialogs.iter().map(|one| ForecastDialog::new(one, now)).collect(),
            changes: forecast.changes,
            checkpoints: forecast.checkpoints,
            operations: forecast.operations,
            content_bytes: forecast.content_bytes,
            over_bytes: forecast.over_bytes,
            before: meter.into(),
        }
    }
}

/// A dialog that would go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForecastDialog {
    /// The dialog.
    pub id: String,
    /// When it last did anything.
    #[schema(format = DateTime)]
    pub last_activity: String,
    /// Why: a stable name.
    pub reason: String,
    /// Whether it would go now.
    pub now: bool,
    /// From when on it would go.
    #[schema(format = DateTime)]
    pub from: String,
    /// Whether it has work that nobody approved.
    pub unapproved: bool,
}

impl ForecastDialog {
    fn new(going: &DialogForecast, now: Millis) -> Self {
        Self {
            id: going.dialog.id.0.clone(),
            last_activity: iso_8601(going.dialog.last_at),
            reason: going.reason.as_str().to_owned(),
            now: going.from <= now,
            from: iso_8601(going.from),
            unapproved: going.unapproved,
        }
    }
}

/// What purging would remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PurgeForecast {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// The contents.
    pub contents: Vec<PurgedContentDocument>,
    /// The paths that have them.
    pub paths: Vec<PathName>,
    /// Those that have them now; the files themselves stay.
    pub current: Vec<PathName>,
    /// The changes that name them.
    pub changes: u64,
}

impl From<&engine::PurgeScope> for PurgeForecast {
    fn from(scope: &engine::PurgeScope) -> Self {
        let content = |(oid, size): &(_, u64)| content(oid, *size);
        Self {
            dry_run: true,
            contents: scope.contents.iter().map(content).collect(),
            paths: path_names(&scope.paths),
            current: path_names(&scope.current),
            changes: scope.changes,
        }
    }
}

fn content(oid: &engine::model::ObjectId, size: u64) -> PurgedContentDocument {
    PurgedContentDocument { oid: oid.to_string(), size }
}

/// A content that is purged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PurgedContent)]
pub struct PurgedContentDocument {
    /// Its id.
    pub oid: String,
    /// Its length in bytes.
    pub size: u64,
}

/// What purging removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Purged)]
pub struct PurgeDocument {
    /// What it was about.
    #[serde(flatten)]
    pub scope: PurgeForecast,
    /// Calls whose arguments were dropped.
    pub calls: u64,
    /// Messages that were dropped.
    pub events: u64,
    /// Checkpoints whose message quotes it, and cannot be changed.
    pub quoted_by_checkpoints: u64,
    /// Contents that stay in parts, because other content has the same parts.
    pub shared: u64,
    /// Whether no old bytes are left in the database's free space.
    pub complete: bool,
}

impl From<&engine::PurgeReport> for PurgeDocument {
    fn from(purge: &engine::PurgeReport) -> Self {
        Self {
            scope: PurgeForecast { dry_run: false, ..(&purge.scope).into() },
            calls: purge.calls,
            events: purge.events,
            quoted_by_checkpoints: purge.quoted_by_checkpoints,
            shared: purge.shared,
            complete: purge.is_complete,
        }
    }
}

/// What an export wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Exported)]
pub struct ExportedSnapshots {
    /// The folder.
    pub folder: String,
    /// Dialogs.
    pub dialogs: u64,
    /// Changes, counted once for each dialog that they belong to.
    pub changes: u64,
    /// Contents that were left out because files of that name usually hold secrets.
    pub masked: u64,
    /// Contents that were not captured, or are damaged.
    pub missing: u64,
}

impl ExportedSnapshots {
    /// What was written into this folder.
    pub fn new(folder: &std::path::Path, done: &engine::SnapshotCounts) -> Self {
        Self {
            folder: folder.to_string_lossy().into_owned(),
            dialogs: done.dialogs,
            changes: done.changes,
            masked: done.masked,
            missing: done.missing,
        }
    }
}
