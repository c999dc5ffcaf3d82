//! Which fields of each document name files.

use std::path::Path;

use super::path::absolute_path;
use super::status::{RuleChangeDocument, TakenBackRow};
use super::{
    AgentWork, BlameDocument, BlamedChange, ChangeDocument, ChangeList, ChangedFile,
    CheckpointTreePage, CommentList, ContextDocument, ContextEntryDocument, DialogWork,
    DiffFileEntry, DiffFilesPage, DiffList, FileDiffDocument, GapDocument, IgnoredPath,
    InterruptedDocument, LocatePaths, MarkedFiles, OperationOutcome, PlannedFileDocument,
    RecoverableOperation, RejectionQueue, ShownCall, ShownChange, StaleFileDocument,
    StatusDocument, StatusRowDocument, TreeEntryDocument, UncoveredPath,
};

macro_rules! locate_fields {
    ($($document:ty: $($field:ident),+;)*) => {
        $(
            impl LocatePaths for $document {
                fn locate(&mut self, root: &Path) {
                    $(self.$field.locate(root);)+
                }
            }
        )*
    };
}

locate_fields! {
    AgentWork: files;
    BlameDocument: path, changes;
    BlamedChange: change;
    ChangeList: changes;
    ChangedFile: path;
    CheckpointTreePage: entries;
    CommentList: comments;
    ContextDocument: files_in_context;
    ContextEntryDocument: path, stale;
    DialogWork: agents;
    DiffFileEntry: path;
    DiffFilesPage: files;
    DiffList: files;
    FileDiffDocument: path;
    GapDocument: path;
    IgnoredPath: path;
    InterruptedDocument: written, missing;
    MarkedFiles: untracked;
    OperationOutcome: files, not_covered;
    PlannedFileDocument: path;
    RecoverableOperation: interrupted;
    RejectionQueue: entries;
    RuleChangeDocument: path, hides;
    ShownCall: changes;
    ShownChange: change, diff;
    StaleFileDocument: path, moved_to;
    StatusDocument: dialogs, taken_back_by_git, gaps, rule_changes, nested_repositories, ignored,
        interrupted;
    StatusRowDocument: path;
    TakenBackRow: row;
    TreeEntryDocument: path;
    UncoveredPath: path;
}

impl LocatePaths for ChangeDocument {
    fn locate(&mut self, root: &Path) {
        self.file_path = Some(absolute_path(root, &self.path));
    }
}
