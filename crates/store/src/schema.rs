//! The database schema and its migrations.
//!
//! Migrations are append-only: never edit one that was released, add another.
//! The number of applied ones is SQLite's `user_version`.

use rusqlite::Connection;

use crate::StoreError;

/// The newest schema that this program knows.
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// All migrations, oldest first.
const MIGRATIONS: &[&str] = &[V1, V2, V3, V4, V5, V6, V7, V8, V9, V10, V11, V12, V13, V14, V15];

const V1: &str = "
CREATE TABLE meta(
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE object(
    id       INTEGER PRIMARY KEY,
    oid      BLOB    NOT NULL UNIQUE,
    kind     INTEGER NOT NULL,
    encoding INTEGER NOT NULL,
    size     INTEGER NOT NULL,
    data     BLOB    NOT NULL
);

CREATE TABLE manifest(
    path BLOB PRIMARY KEY,
    kind INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    oid  BLOB
) WITHOUT ROWID;

CREATE TABLE dialog(
    id         TEXT PRIMARY KEY,
    kind       TEXT,
    title      TEXT,
    started_at INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    last_seq   INTEGER NOT NULL,
    ended_at   INTEGER,
    turns      INTEGER NOT NULL DEFAULT 0,
    turn_open  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE agent(
    dialog TEXT NOT NULL,
    id     TEXT NOT NULL,
    kind   TEXT,
    parent TEXT,
    PRIMARY KEY(dialog, id)
) WITHOUT ROWID;

CREATE TABLE call(
    id            INTEGER PRIMARY KEY,
    dialog        TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    call          TEXT    NOT NULL,
    tool          TEXT    NOT NULL,
    cwd           TEXT,
    input         BLOB,
    command       TEXT,
    message_index INTEGER,
    turn          INTEGER NOT NULL,
    begin_seq     INTEGER NOT NULL,
    begin_at      INTEGER NOT NULL,
    end_seq       INTEGER,
    end_at        INTEGER,
    ok            INTEGER,
    state         INTEGER NOT NULL,
    afterlife     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX call_by_name ON call(dialog, call);
CREATE INDEX call_alive ON call(dialog) WHERE state = 0 OR afterlife > 0;
CREATE INDEX call_with_input ON call(dialog) WHERE input IS NOT NULL;

CREATE TABLE change(
    seq         INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    actor       TEXT    NOT NULL,
    confidence  TEXT    NOT NULL,
    dialog      TEXT,
    agent       TEXT,
    call        INTEGER REFERENCES call(id),
    turn        INTEGER,
    path        BLOB    NOT NULL,
    old_path    BLOB,
    change_type TEXT    NOT NULL,
    operation   TEXT    NOT NULL,
    before_kind INTEGER NOT NULL,
    before_mode INTEGER,
    before_size INTEGER,
    before_oid  BLOB,
    after_kind  INTEGER NOT NULL,
    after_mode  INTEGER,
    after_size  INTEGER,
    after_oid   BLOB,
    added       INTEGER,
    removed     INTEGER,
    hunks       BLOB,
    status      TEXT    NOT NULL,
    joins       INTEGER REFERENCES change(seq)
);
CREATE INDEX change_by_path ON change(path, seq);
CREATE INDEX change_by_old_path ON change(old_path, seq) WHERE old_path IS NOT NULL;
CREATE INDEX change_by_dialog ON change(dialog, agent, seq) WHERE dialog IS NOT NULL;

CREATE TABLE candidate(
    change INTEGER NOT NULL REFERENCES change(seq),
    call   INTEGER NOT NULL REFERENCES call(id),
    PRIMARY KEY(change, call)
) WITHOUT ROWID;

CREATE TABLE event(
    seq    INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    dialog TEXT,
    agent  TEXT,
    call   TEXT,
    change INTEGER UNIQUE REFERENCES change(seq),
    body   TEXT    NOT NULL
);

CREATE TABLE gap(
    path   BLOB    NOT NULL,
    reason TEXT    NOT NULL,
    detail TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY(path, reason)
) WITHOUT ROWID;

CREATE TABLE spool_taken(
    id TEXT PRIMARY KEY
) WITHOUT ROWID;
";

/// Checkpoints, work sessions and operations.
const V2: &str = "
ALTER TABLE change ADD COLUMN approved INTEGER;
ALTER TABLE change ADD COLUMN operation_seq INTEGER;
CREATE INDEX change_by_operation ON change(operation_seq) WHERE operation_seq IS NOT NULL;
CREATE INDEX change_pending ON change(dialog, agent, path, seq)
    WHERE status = 'pending' AND actor = 'agent';
CREATE INDEX change_in_effect ON change(dialog, turn, seq)
    WHERE actor = 'agent' AND status IN ('pending', 'accepted');
CREATE INDEX manifest_unknown ON manifest(path) WHERE oid IS NULL;
CREATE INDEX event_messages ON event(dialog, seq) WHERE kind = 'user_message';

CREATE TABLE hunk(
    change INTEGER NOT NULL REFERENCES change(seq),
    number INTEGER NOT NULL,
    status TEXT    NOT NULL,
    PRIMARY KEY(change, number)
) WITHOUT ROWID;

CREATE TABLE folder_tree(
    path BLOB PRIMARY KEY,
    oid  BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE checkpoint(
    seq      INTEGER PRIMARY KEY,
    oid      BLOB    NOT NULL UNIQUE,
    tree     BLOB    NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    message  TEXT    NOT NULL,
    dialog   TEXT,
    session  INTEGER,
    files    INTEGER NOT NULL,
    unstable INTEGER NOT NULL
);
CREATE INDEX checkpoint_by_dialog ON checkpoint(dialog, seq);

CREATE TABLE work_session(
    dialog          TEXT    NOT NULL,
    number          INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    opened_at       INTEGER NOT NULL,
    closed_at       INTEGER,
    base            BLOB    NOT NULL,
    tip             BLOB    NOT NULL,
    approved_commit BLOB,
    message         TEXT,
    PRIMARY KEY(dialog, number)
) WITHOUT ROWID;

CREATE TABLE shared_approval(
    change INTEGER NOT NULL REFERENCES change(seq),
    dialog TEXT    NOT NULL,
    PRIMARY KEY(change, dialog)
) WITHOUT ROWID;

CREATE TABLE operation(
    seq       INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    kind      TEXT    NOT NULL,
    title     TEXT    NOT NULL,
    dialog    TEXT,
    state     TEXT    NOT NULL,
    safety    BLOB    NOT NULL,
    undone_by INTEGER REFERENCES operation(seq),
    left_out  INTEGER NOT NULL,
    untidy    INTEGER NOT NULL DEFAULT 0,
    sequel    TEXT    NOT NULL
);
CREATE INDEX operation_running ON operation(seq) WHERE state = 'running';
CREATE INDEX operation_untidy ON operation(seq) WHERE untidy = 1;

CREATE TABLE undoes(
    operation INTEGER NOT NULL REFERENCES operation(seq),
    undone    INTEGER NOT NULL REFERENCES operation(seq),
    PRIMARY KEY(operation, undone)
) WITHOUT ROWID;

CREATE TABLE mark(
    operation  INTEGER NOT NULL REFERENCES operation(seq),
    change     INTEGER NOT NULL REFERENCES change(seq),
    part       INTEGER NOT NULL,
    old_status TEXT    NOT NULL,
    new_status TEXT    NOT NULL,
    set_it     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(operation, change)
) WITHOUT ROWID;
CREATE INDEX mark_by_change ON mark(change);

CREATE TABLE step(
    operation INTEGER NOT NULL REFERENCES operation(seq),
    number    INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    path      BLOB    NOT NULL,
    temp      BLOB    NOT NULL,
    now_kind  INTEGER NOT NULL,
    now_mode  INTEGER,
    now_size  INTEGER,
    now_oid   BLOB,
    then_kind INTEGER NOT NULL,
    then_mode INTEGER,
    then_size INTEGER,
    then_oid  BLOB,
    PRIMARY KEY(operation, number)
) WITHOUT ROWID;
";

/// Purged contents: refused from now on, and missing on purpose.
const V3: &str = "
CREATE TABLE purged(
    oid  BLOB PRIMARY KEY,
    size INTEGER NOT NULL,
    at   INTEGER NOT NULL
) WITHOUT ROWID;
";

/// Background tasks by their names, and how far each agent's own transcript was read.
const V4: &str = "
ALTER TABLE call ADD COLUMN task TEXT;
ALTER TABLE spool_taken ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX spool_taken_by_time ON spool_taken(at);

CREATE INDEX event_said ON event(dialog, seq) WHERE kind = 'assistant_message';

CREATE TABLE transcript(
    dialog TEXT NOT NULL,
    agent  TEXT NOT NULL,
    cursor TEXT NOT NULL,
    PRIMARY KEY(dialog, agent)
) WITHOUT ROWID;
";

/// Files that each agent has read, and notices to it about later changes of them.
const V5: &str = "
CREATE TABLE sight(
    id     INTEGER PRIMARY KEY,
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    dialog TEXT    NOT NULL,
    agent  TEXT    NOT NULL,
    path   BLOB    NOT NULL,
    source TEXT    NOT NULL,
    kind   INTEGER NOT NULL,
    mode   INTEGER,
    size   INTEGER,
    oid    BLOB,
    lines  TEXT,
    dates  TEXT
);
CREATE INDEX sight_by_agent ON sight(dialog, agent, path, seq);
CREATE INDEX sight_by_path ON sight(path, dialog, agent);

CREATE TABLE told(
    dialog   TEXT    NOT NULL,
    agent    TEXT    NOT NULL,
    path     BLOB    NOT NULL,
    reaction TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    change   INTEGER NOT NULL,
    oid      BLOB    NOT NULL,
    PRIMARY KEY(dialog, agent, path, reaction)
) WITHOUT ROWID;
";

/// Both histories of each conversation, their views, and how far the model's was read.
const V6: &str = "
CREATE TABLE message(
    id            INTEGER PRIMARY KEY,
    seq           INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    dialog        TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    history       TEXT    NOT NULL,
    place         INTEGER NOT NULL,
    number        INTEGER,
    role          TEXT,
    ts            INTEGER,
    is_summary    INTEGER NOT NULL,
    message_index INTEGER,
    digest        BLOB    NOT NULL,
    body          BLOB    NOT NULL
);
CREATE INDEX message_by_thread ON message(dialog, agent, history, id);
CREATE INDEX message_by_seq ON message(seq);

CREATE TABLE conversation_view(
    id        INTEGER PRIMARY KEY,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    dialog    TEXT    NOT NULL,
    agent     TEXT    NOT NULL,
    history   TEXT    NOT NULL,
    why       TEXT    NOT NULL,
    places    TEXT    NOT NULL,
    open_from INTEGER NOT NULL,
    operation INTEGER
);
CREATE INDEX view_by_thread ON conversation_view(dialog, agent, history, id);
CREATE INDEX view_by_operation ON conversation_view(operation) WHERE operation NOT NULL;

CREATE TABLE history_cursor(
    dialog TEXT NOT NULL,
    agent  TEXT NOT NULL,
    cursor TEXT NOT NULL,
    PRIMARY KEY(dialog, agent)
) WITHOUT ROWID;
";

/// Content in packs.
const V7: &str = "
CREATE TABLE pack(
    name     TEXT PRIMARY KEY,
    borrowed INTEGER NOT NULL
) WITHOUT ROWID;
";

/// Indexes, so that no query scans a long record: what undo skips, the changes of a dialog by
/// `seq`, of a turn, and those that several agents may have made; and counts.
const V8: &str = "
DROP INDEX change_by_dialog;
DROP INDEX change_in_effect;
DROP INDEX change_pending;
CREATE INDEX change_by_dialog ON change(dialog, seq) WHERE dialog IS NOT NULL;
CREATE INDEX change_by_turn ON change(dialog, turn, seq) WHERE dialog IS NOT NULL;
CREATE INDEX change_in_effect ON change(seq, dialog, turn)
    WHERE actor = 'agent' AND status IN ('pending', 'accepted');
CREATE INDEX change_pending ON change(dialog, agent, path, seq, added, removed)
    WHERE status = 'pending' AND actor = 'agent';
CREATE INDEX change_shared ON change(seq) WHERE actor = 'agent' AND agent IS NULL;
CREATE INDEX change_by_joins ON change(joins) WHERE joins IS NOT NULL;
CREATE INDEX undoes_by_undone ON undoes(undone);
CREATE INDEX operation_by_undone_by ON operation(undone_by) WHERE undone_by IS NOT NULL;

INSERT INTO meta(key, value)
    SELECT 'changes', unhex(printf('%016x', count(*))) FROM change;
";

/// Caches: stats since the stat cache was written, counts, and names that have changed in
/// folders whose trees are cached.
const V9: &str = "
CREATE TABLE moved(
    folder BLOB NOT NULL,
    name   BLOB NOT NULL,
    PRIMARY KEY(folder, name)
) WITHOUT ROWID;

CREATE TABLE touched(
    path  BLOB PRIMARY KEY,
    kind  INTEGER NOT NULL,
    mode  INTEGER NOT NULL,
    size  INTEGER NOT NULL,
    mtime INTEGER NOT NULL,
    ctime INTEGER NOT NULL,
    inode INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE tally(
    files   INTEGER NOT NULL,
    unknown INTEGER NOT NULL
);
INSERT INTO tally SELECT count(*), count(*) - count(oid) FROM manifest;
";

/// Who said each event and asked for each operation, and the process of the agent of each call.
const V10: &str = "
CREATE TABLE caller(
    id   INTEGER PRIMARY KEY,
    text TEXT    NOT NULL UNIQUE
);
ALTER TABLE event ADD COLUMN caller INTEGER;
ALTER TABLE operation ADD COLUMN caller INTEGER;
ALTER TABLE call ADD COLUMN process TEXT;
";

/// Titles that the person gave to dialogs, beside the agents' own.
const V11: &str = "
CREATE TABLE dialog_title(
    dialog TEXT PRIMARY KEY,
    title  TEXT
) WITHOUT ROWID;
";

/// The changes of a call in their order: their names have a number among them (DM-3).
const V12: &str = "
CREATE INDEX change_by_call ON change(call, seq) WHERE call IS NOT NULL AND actor = 'agent';
";

/// What is shown of each call: its model, its arguments in short and its exit code; and indexes
/// for the calls of a turn, the changes of a call and the ends of turns.
const V13: &str = "
ALTER TABLE call ADD COLUMN model TEXT;
ALTER TABLE call ADD COLUMN arguments BLOB;
ALTER TABLE call ADD COLUMN exit_code INTEGER;
CREATE INDEX call_by_turn ON call(dialog, turn, id);
CREATE INDEX candidate_by_call ON candidate(call, change);
CREATE INDEX event_turn_ends ON event(dialog, seq) WHERE kind = 'turn_end';
";

/// The number of each dialog in its project: `claude-2` is dialog 2. Numbers are not given twice.
const V14: &str = "
ALTER TABLE dialog ADD COLUMN number INTEGER;
UPDATE dialog SET number = counted.number FROM (
    SELECT id, row_number() OVER (ORDER BY started_at, id) AS number FROM dialog
) AS counted WHERE counted.id = dialog.id;
CREATE INDEX dialog_by_number ON dialog(number);
";

/// Review: lines that the person has seen, rejections with their reasons and what they took out,
/// rejections that wait for the end of a turn, and comments.
const V15: &str = "
CREATE TABLE reviewed_line(
    path BLOB    NOT NULL,
    key  INTEGER NOT NULL,
    seq  INTEGER NOT NULL,
    PRIMARY KEY(path, key)
) WITHOUT ROWID;

CREATE TABLE rejection(
    operation INTEGER PRIMARY KEY REFERENCES operation(seq),
    reason    TEXT
);

CREATE TABLE taken_part(
    operation INTEGER NOT NULL REFERENCES operation(seq),
    path      BLOB    NOT NULL,
    change    INTEGER NOT NULL REFERENCES change(seq),
    PRIMARY KEY(operation, path, change)
) WITHOUT ROWID;
CREATE INDEX taken_part_by_change ON taken_part(change);
CREATE INDEX taken_part_by_path ON taken_part(path);

CREATE TABLE rejected_run(
    operation INTEGER NOT NULL REFERENCES operation(seq),
    path      BLOB    NOT NULL,
    digest    INTEGER NOT NULL,
    first     INTEGER NOT NULL,
    lines     INTEGER NOT NULL,
    PRIMARY KEY(operation, path, digest)
) WITHOUT ROWID;
CREATE INDEX rejected_run_by_path ON rejected_run(path);

CREATE TABLE added_again(
    change    INTEGER NOT NULL REFERENCES change(seq),
    operation INTEGER NOT NULL REFERENCES operation(seq),
    heard     INTEGER,
    PRIMARY KEY(change, operation)
) WITHOUT ROWID;
CREATE INDEX added_again_unheard ON added_again(change) WHERE heard IS NULL;

CREATE TABLE rejection_notice(
    operation INTEGER NOT NULL REFERENCES operation(seq),
    dialog    TEXT    NOT NULL,
    heard     INTEGER,
    PRIMARY KEY(operation, dialog)
) WITHOUT ROWID;
CREATE INDEX rejection_notice_unheard ON rejection_notice(dialog) WHERE heard IS NULL;

CREATE TABLE queued_rejection(
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    path      BLOB    NOT NULL,
    hunk      TEXT    NOT NULL,
    request   TEXT    NOT NULL,
    reason    TEXT,
    dialogs   TEXT    NOT NULL,
    caller    INTEGER,
    state     TEXT    NOT NULL,
    outcome   TEXT,
    operation INTEGER
);
CREATE INDEX queued_rejection_waiting ON queued_rejection(id) WHERE state = 'waiting';

CREATE TABLE review_comment(
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          INTEGER NOT NULL,
    path        BLOB,
    dialog      TEXT,
    kind        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    answer      TEXT,
    anchor      TEXT    NOT NULL,
    batch       INTEGER,
    heard       INTEGER,
    caller      INTEGER
);
CREATE INDEX review_comment_by_path ON review_comment(path);
CREATE INDEX review_comment_unheard ON review_comment(dialog) WHERE heard IS NULL;
";

/// The schema of an open database.
pub(crate) fn version(db: &Connection) -> Result<u32, StoreError> {
    Ok(db.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Migrates the database to [`SCHEMA_VERSION`] in one transaction; returns whether it was at
/// another version.
pub(crate) fn migrate(db: &mut Connection) -> Result<bool, StoreError> {
    let found = version(db)?;
    if found >= SCHEMA_VERSION {
        return Ok(false);
    }
    retake_seam::statement("migrate")?;
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have migrated it in the meantime.
    let found = version(&tx)?;
    for sql in MIGRATIONS.iter().skip(found as usize) {
        tx.execute_batch(sql)?;
    }
    tx.pragma_update(None, "user_version", SCHEMA_VERSION.max(found))?;
    retake_seam::statement("commit migration")?;
    tx.commit()?;
    Ok(true)
}
