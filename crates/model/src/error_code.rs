//! Stable codes of errors, one list for every crate and surface (terminal, JSON, socket, HTTP).

use crate::text_enum::text_enum;

text_enum! {
    /// The stable name of an error, for programs.
    ErrorCode {
        // Projects and the record.
        /// The folder is in no project.
        NotAProject = "not_a_project",
        /// The folder or pattern covers more than one project should.
        TooBroad = "too_broad",
        /// The folder is inside of a `.git`.
        GitDirectory = "git_directory",
        /// A folder cannot be read or written.
        Folder = "folder",
        /// Another folder stands at the project's path.
        Replaced = "replaced",
        /// The project's folder, or the receiver of an answer, is gone.
        Gone = "gone",
        /// The record or a file may not be written.
        ReadOnly = "read_only",
        /// Another process holds the lock.
        Locked = "locked",
        /// The settings cannot be used.
        Settings = "settings",
        /// The record cannot be read or written.
        Store = "store",
        /// A newer version wrote the record.
        NewerSchema = "newer_schema",
        /// The record is damaged.
        Damaged = "damaged",
        /// The record would lie on a network file system.
        NetworkFileSystem = "network_file_system",
        /// The disk is full.
        NoSpace = "no_space",
        /// The path is outside of the project.
        OutsideProject = "outside_project",
        /// The path is inside of the project.
        InProject = "in_project",
        /// No folder is known for the record.
        NoHome = "no_home",
        // Records that a request names.
        /// There is no such project.
        UnknownProject = "unknown_project",
        /// There is no such dialog.
        UnknownDialog = "unknown_dialog",
        /// Several dialogs match.
        AmbiguousDialog = "ambiguous_dialog",
        /// The request must name a dialog.
        NeedsDialog = "needs_dialog",
        /// The dialog has no such agent.
        UnknownAgent = "unknown_agent",
        /// The dialog has no such work session.
        UnknownSession = "unknown_session",
        /// There is no such tool call.
        UnknownCall = "unknown_call",
        /// There is no such message.
        UnknownMessage = "unknown_message",
        /// There is no such turn.
        UnknownTurn = "unknown_turn",
        /// Retake was not told the message.
        NoMessage = "no_message",
        /// There is no such change.
        UnknownChange = "unknown_change",
        /// There is no such file change.
        UnknownRecord = "unknown_record",
        /// The change has no such hunk.
        UnknownHunk = "unknown_hunk",
        /// Hunks changed, or were decided on, since they were shown.
        StaleHunk = "stale_hunk",
        /// One of several equal hunks is named without the digest of its file.
        NeedsDigest = "needs_digest",
        /// There are no such lines.
        UnknownLines = "unknown_lines",
        /// There is no such comment.
        UnknownComment = "unknown_comment",
        /// The comment is in another state.
        CommentState = "comment_state",
        /// No such rejection waits.
        NotQueued = "not_queued",
        /// The change has no hunks.
        NoHunks = "no_hunks",
        /// The record does not know the path.
        UnknownPath = "unknown_path",
        /// The file is not on record.
        UnknownFile = "unknown_file",
        /// There is no such operation.
        UnknownOperation = "unknown_operation",
        /// There is no such edit.
        UnknownEdit = "unknown_edit",
        /// There is no such checkpoint.
        UnknownCheckpoint = "unknown_checkpoint",
        /// Several checkpoints match.
        AmbiguousCheckpoint = "ambiguous_checkpoint",
        /// The message has no checkpoint.
        NoCheckpoint = "no_checkpoint",
        /// The dialog has no checkpoints.
        NoCheckpoints = "no_checkpoints",
        /// The record holds nothing of it.
        NothingOnRecord = "nothing_on_record",
        /// The content was not captured.
        NotCaptured = "not_captured",
        /// The content was purged.
        Purged = "purged",
        /// The file usually holds secrets, which are not given to this caller.
        Secret = "secret",
        /// The file did not exist.
        DidNotExist = "did_not_exist",
        /// The file is not tracked.
        NotTracked = "not_tracked",
        // Operations.
        /// The change is approved.
        Approved = "approved",
        /// The change is decided.
        Decided = "decided",
        /// The change is not an agent's.
        NotAnAgents = "not_an_agents",
        /// An interrupted operation comes first.
        Unfinished = "unfinished",
        /// No operation was interrupted.
        NothingInterrupted = "nothing_interrupted",
        /// There is nothing to do.
        NothingToDo = "nothing_to_do",
        /// A person must confirm it.
        NeedsYes = "needs_yes",
        /// The person declined.
        Declined = "declined",
        /// The plan is no longer the one that was shown.
        PlanChanged = "plan_changed",
        /// Only a part could be done.
        Partial = "partial",
        /// It was cancelled, and nothing was written.
        Cancelled = "cancelled",
        /// Files are being written, so it cannot be cancelled.
        TooLate = "too_late",
        /// The operation has ended.
        NotRunning = "not_running",
        // Conversations and summaries.
        /// The conversation differs from the recorded one.
        Diverges = "diverges",
        /// The conversation went on meanwhile.
        Moved = "moved",
        /// Nothing of the conversation is hidden.
        NothingHidden = "nothing_hidden",
        /// The file is no conversation that Retake reads.
        UnreadableHistory = "unreadable_history",
        /// There is no conversation to import.
        NoHistory = "no_history",
        /// An older history was not migrated.
        NotMigrated = "not_migrated",
        /// No usable summary was made.
        Summary = "summary",
        /// The settings of summaries cannot be used.
        SummarySettings = "summary_settings",
        // Events and hooks.
        /// The line is no event.
        BadEvent = "bad_event",
        /// The payload is none of a hook.
        BadPayload = "bad_payload",
        /// The line is too long.
        TooLong = "too_long",
        /// The agent's transcript cannot be read.
        Transcript = "transcript",
        /// The transcript's cursor cannot be read.
        Cursor = "cursor",
        /// The metadata of the context cannot be used.
        BadMetadata = "bad_metadata",
        // HTTP.
        /// The text is no JSON.
        BadJson = "bad_json",
        /// The body cannot be used.
        BadBody = "bad_body",
        /// The query cannot be used.
        BadQuery = "bad_query",
        /// The path cannot be used.
        BadPath = "bad_path",
        /// A value cannot be used.
        BadValue = "bad_value",
        /// The cursor is of an earlier state.
        StaleCursor = "stale_cursor",
        /// The range lies outside of the content.
        BadRange = "bad_range",
        /// There are no such events.
        BadKind = "bad_kind",
        /// The event id cannot be used.
        BadEventId = "bad_event_id",
        /// The body came too slowly.
        SlowBody = "slow_body",
        /// The first request of a connection came too slowly.
        SlowRequest = "slow_request",
        /// It is too large.
        TooLarge = "too_large",
        /// The token is missing or wrong.
        Unauthorized = "unauthorized",
        /// Agents may not do it.
        HumanOnly = "human_only",
        /// The agent's token is for another project.
        OtherProject = "other_project",
        /// The caller is bound to another dialog.
        OtherDialog = "other_dialog",
        /// The agent's token is bound to no dialog.
        UnboundToken = "unbound_token",
        /// There is no such token or login.
        UnknownToken = "unknown_token",
        /// Too many tokens were handed out.
        TooManyTokens = "too_many_tokens",
        /// The Host header is foreign.
        ForeignHost = "foreign_host",
        /// The Origin header is foreign.
        ForeignOrigin = "foreign_origin",
        /// The one-time code is wrong.
        WrongCode = "wrong_code",
        /// Too many wrong codes were sent.
        TooManyCodes = "too_many_codes",
        /// There is no such route.
        NotFound = "not_found",
        /// The route has no such method.
        WrongMethod = "wrong_method",
        /// Too many event streams are open.
        TooManyStreams = "too_many_streams",
        /// The port cannot be used.
        NoPort = "no_port",
        /// The address is not of this machine alone.
        NotLoopback = "not_loopback",
        /// The system gives no random bytes.
        NoRandom = "no_random",
        /// The files of the running daemon cannot be written.
        RunFiles = "run_files",
        // The daemon.
        /// Too much is requested at once.
        Busy = "busy",
        /// The daemon shuts down.
        Stopping = "stopping",
        /// Retake failed; its log says how.
        Internal = "internal",
        /// An answer cannot be sent.
        Wire = "wire",
        /// The daemon cannot run.
        Daemon = "daemon",
        /// A daemon runs already.
        DaemonRuns = "daemon_runs",
        /// The daemon is newer than this program.
        DaemonNewer = "daemon_newer",
        /// The daemon does not end.
        DaemonHung = "daemon_hung",
        /// The daemon stopped answering.
        DaemonLost = "daemon_lost",
        /// No daemon runs.
        NoDaemon = "no_daemon",
        /// The daemon does not serve HTTP.
        NoHttp = "no_http",
        // Files that commands read and write.
        /// A file cannot be written.
        NotWritten = "not_written",
        /// The file exists.
        Exists = "exists",
        /// The folder is not empty.
        NotEmpty = "not_empty",
        /// The path is no file.
        NotAFile = "not_a_file",
        /// It is no regular file.
        NoFile = "no_file",
        /// The file has no such line.
        NoSuchLine = "no_such_line",
        /// The content is binary.
        Binary = "binary",
        /// git failed.
        Git = "git",
        /// git is not installed.
        GitMissing = "git_missing",
        /// An error without a code of its own.
        Error = "error",
        // Setup of agents.
        /// No agent was found.
        NoAgents = "no_agents",
        /// The program's own path cannot be used.
        NoProgram = "no_program",
        /// It is no UTF-8 text.
        NotText = "not_text",
        /// The file is no JSON.
        NotJson = "not_json",
        /// The file has another shape than expected.
        WrongShape = "wrong_shape",
        /// The file is not Retake's.
        ForeignFile = "foreign_file",
        /// The file was edited since Retake wrote it.
        EditedFile = "edited_file",
        /// The file refers to itself without end.
        Endless = "endless",
        /// The file changes all the time.
        KeepsChanging = "keeps_changing",
        /// A link leads out of the project.
        Outside = "outside",
        /// Both levels of settings are one file.
        SameFile = "same_file",
        /// The file has further names.
        HardLinks = "hard_links",
        /// The file belongs to another user.
        NotOwner = "not_owner",
    }
}
