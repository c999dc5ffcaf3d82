//! The kinds of events in a project's journal.

use crate::text_enum::text_enum;

text_enum! {
    /// A kind of event in the journal: an agent's event, or what Retake found or did.
    JournalKind {
        /// A conversation began or was resumed.
        DialogStart = "dialog_start",
        /// The person sent a message.
        UserMessage = "user_message",
        /// An agent said something, or asked for tools.
        AssistantMessage = "assistant_message",
        /// The text of a message became known after the message.
        MessageCompleted = "message_completed",
        /// Messages were added to a history.
        HistoryAdded = "history_added",
        /// A conversation is shown otherwise from here on.
        ConversationView = "conversation_view",
        /// A tool is about to run.
        ToolBegin = "tool_begin",
        /// A tool has ended.
        ToolEnd = "tool_end",
        /// Calls are over without an end of their own.
        ToolsOver = "tools_over",
        /// A background task has ended.
        TaskEnd = "task_end",
        /// An agent has finished its answer.
        TurnEnd = "turn_end",
        /// A conversation is over.
        DialogEnd = "dialog_end",
        /// The person gave a conversation a title, or took it away.
        DialogTitled = "dialog_titled",
        /// A file was changed.
        FileChanged = "file_changed",
        /// The review status of a change was set.
        FileChangeStatus = "file_change_status",
        /// Git changed files.
        Git = "git",
        /// Files were recorded for the first time.
        Baseline = "baseline",
        /// A checkpoint was made.
        Checkpoint = "checkpoint",
        /// An operation of Retake began, ended or was recovered.
        Operation = "operation",
        /// A dialog's changes were approved.
        Approved = "approved",
        /// A work session was left by an operation.
        SessionAbandoned = "session_abandoned",
        /// Gaps were opened or closed.
        Gaps = "gaps",
        /// The rules that decide what is tracked have changed.
        RulesChanged = "rules_changed",
        /// An agent's event was lost.
        LostEvent = "lost_event",
        /// The record was brought up to date after nothing ran.
        Reconciled = "reconciled",
        /// Old records were removed, to keep within the limits.
        Collected = "collected",
        /// Content was purged.
        Purged = "purged",
        /// Files in an agent's context are stale.
        StaleContext = "stale_context",
        /// A file's place in an agent's context was reported by another program.
        ContextTracked = "context_tracked",
        /// An agent's context was imported from another program's record.
        ContextImported = "context_imported",
        /// The person saw hunks, or took that back.
        HunksReviewed = "hunks_reviewed",
        /// The person has seen everything up to here.
        ReviewSeen = "review_seen",
        /// A rejection was queued, carried out, dropped or cancelled.
        RejectionQueue = "rejection_queue",
        /// A comment on lines was made, sent, answered, resolved or removed.
        ReviewComment = "review_comment",
        /// An agent was told of comments and rejections.
        FeedbackHeard = "feedback_heard",
        /// A kind that this program does not know: a newer one wrote it, or the row is damaged.
        Unknown = "unknown",
    }
}
