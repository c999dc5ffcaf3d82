//! Requests that wait for the project's lock share a full scan.
//!
//! A scan that began after a request arrived has seen all that the request needs: the state before
//! a call began, what a call did before it ended. So sixteen calls at once cost one walk. Each full
//! scan has a number, which is in the stamp file from its begin and in the store with its commit.
//!
//! Invariant: a request is served only by a scan whose number was not in the file when the request
//! arrived. A file that cannot be read serves no request. With a watcher nothing is shared: there a
//! scan costs what has changed.

use std::path::Path;

use retake_store::{Batch, StoreError};

use crate::project::Project;
use crate::scan::state;
use crate::submission::ScanTicket;

impl Project {
    /// Returns the scan number at the arrival of a request; `None` if it needs a scan of its own.
    pub(crate) fn scan_ticket(&self) -> Option<ScanTicket> {
        if self.hints.is_some() {
            return None;
        }
        read_scan_number(&self.stamp_file()).map(ScanTicket)
    }
}

/// Reads the number of the last scan that began from the stamp file, if it has one.
pub(crate) fn read_scan_number(stamp: &Path) -> Option<u64> {
    std::fs::read_to_string(stamp).ok()?.parse().ok()
}

impl ScanTicket {
    /// Returns true if a full scan was begun and committed since the request arrived.
    pub(crate) fn is_served(self, batch: &Batch<'_>) -> Result<bool, StoreError> {
        Ok(state::load_last_scan_number(batch)? > self.0)
    }
}

#[cfg(test)]
mod tests {
    use retake_model::{Event, EventKind, Millis};

    use super::*;
    use crate::retake::{InitOptions, Retake};
    use crate::submission::Submission;

    fn begin(number: Millis) -> Submission {
        let (call, tool) = (Some(format!("s{number}").as_str().into()), "Bash".to_owned());
        let input = serde_json::json!({ "command": "make" });
        let event = Event::new("d1", EventKind::ToolBegin { call, tool, input });
        Submission::new(format!("k{number}"), event, number)
    }

    #[test]
    fn calls_that_waited_for_the_lock_share_one_walk() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("project");
        std::fs::DirBuilder::new().create(&root).unwrap();
        let retake = Retake::new(temp.path().join("home"));
        let initialised = retake.init(&root, InitOptions::default(), 1, &mut |_, _| {}).unwrap();
        let project = initialised.project;
        let scans = || state::load_last_scan_number(project.store()).unwrap();
        let record = |number, arrival| {
            let lock = retake_store::FileLock::acquire(project.folder(), std::time::Duration::ZERO);
            let results = project.record_locked(&[begin(number)], arrival);
            drop(lock);
            assert!(results.iter().all(|result| result.as_ref().is_ok_and(|it| it.seq.is_some())));
        };
        // All of them have arrived before the first of them looks.
        let arrivals: Vec<_> = (2..18).map(|number| (number, project.scan_ticket())).collect();
        let (first, others) = arrivals.split_first().unwrap();
        record(first.0, first.1);
        let before = scans();
        for (number, arrival) in others {
            record(*number, *arrival);
        }
        assert_eq!(scans(), before, "it served all of them");
        record(18, project.scan_ticket());
        assert_eq!(scans(), before + 1, "one that comes later has a scan of its own");
        record(19, None);
        assert_eq!(scans(), before + 2, "and so has one without a ticket");
    }
}
