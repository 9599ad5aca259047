-- 0 → 1: the first schema. Small, often written rows (page, ledger) lie apart from the big, rarely written ones (body).
-- A seal is a checksum of the row it stands in: a row whose seal does not hold is not believed.

CREATE TABLE migration (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- One row: a random number that tells this store from every other one, and never changes. Being the last bytes of the table's only
-- page, it is found at one place in the file, and can be read there without SQLite.
CREATE TABLE store (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    seal  INTEGER NOT NULL,
    stamp INTEGER NOT NULL
) STRICT;

-- One list at an origin. Times are milliseconds since 1970, UTC.
CREATE TABLE query (
    id                INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: a purged query's plans cannot hit another
    scope             TEXT NOT NULL,
    key               TEXT NOT NULL,
    name_hash         INTEGER NOT NULL, -- of id, scope and key: tells whether a record that is not whole still has its name
    generation        INTEGER NOT NULL,
    revision          INTEGER NOT NULL,
    total_kind        TEXT NOT NULL CHECK (total_kind IN ('exact', 'estimate', 'unknown')),
    total             INTEGER CHECK ((total IS NULL) = (total_kind = 'unknown')),
    list_end          INTEGER,
    created_at        INTEGER NOT NULL,
    validated_at      INTEGER,
    invalidated_at    INTEGER, -- stale since then, whatever its age; NULL once page one has been had
    fresh_for         INTEGER CHECK (fresh_for >= 0), -- milliseconds, as the origin says; NULL: it does not
    allows_duplicates INTEGER NOT NULL,
    paging            TEXT NOT NULL,
    source            TEXT NOT NULL, -- how to ask again: what was detected, the check of the credential; never a secret
    sweep_position    INTEGER,
    sweep_cursor      TEXT,
    sweep_started_at  INTEGER,
    pinned            INTEGER NOT NULL,
    origin_window     INTEGER, -- the origin gives nothing from this position on, though it counts more; NULL: none is known
    seal              INTEGER NOT NULL,
    UNIQUE (scope, key, name_hash) -- one record for each name; the hash is here so that the index alone binds a name to its id
) STRICT;

-- One page without its items. A shift rewrites these rows and leaves the bodies alone.
CREATE TABLE page (
    query         INTEGER NOT NULL,
    offset        INTEGER NOT NULL CHECK (offset >= 0),
    count         INTEGER NOT NULL CHECK (count >= 0),
    body          INTEGER NOT NULL,
    checksum      INTEGER NOT NULL, -- of the body's layout and its items' hashes: here and not there, so that no other body can take its place
    bytes         INTEGER NOT NULL, -- of the body, so that sizes are known without reading bodies
    generation    INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    evidence      TEXT NOT NULL CHECK (evidence IN ('verified', 'inferred')),
    evidence_at   INTEGER NOT NULL,
    seams         BLOB, -- items inside that only by inference follow the one before: 4 bytes index, 8 bytes since when
    fetched_at    INTEGER NOT NULL,
    validated_at  INTEGER NOT NULL,
    fingerprint   INTEGER NOT NULL,
    cursor_in     TEXT,
    cursor_out    TEXT,
    request       TEXT, -- the exact request that the validator belongs to; NULL: no validator
    entity_tag    TEXT,
    last_modified TEXT,
    covers_total  INTEGER NOT NULL,
    seal          INTEGER NOT NULL,
    PRIMARY KEY (query, offset)
) STRICT, WITHOUT ROWID;

-- The items of a page: where each ends, what its id is and of which type, and the payloads one behind the other.
CREATE TABLE body (
    id      INTEGER PRIMARY KEY,
    layout  BLOB NOT NULL,
    payload BLOB NOT NULL
) STRICT;

-- Per page, 16 bytes an item: hash of the id and its type, or of an item without id as JSON; hash of the bytes. Scanned to find items, never decoded.
CREATE TABLE identity (
    query  INTEGER NOT NULL,
    body   INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    seal   INTEGER NOT NULL,
    PRIMARY KEY (query, body)
) STRICT, WITHOUT ROWID;

-- When a page was last read; written now and then, so that reading does not write. Without a row: when it was fetched.
CREATE TABLE access (
    body    INTEGER PRIMARY KEY,
    used_at INTEGER NOT NULL
) STRICT;

-- What was tried for a page, and when it is tried next. Outlives failures and restarts; moves with the positions.
CREATE TABLE ledger (
    query             INTEGER NOT NULL,
    offset            INTEGER NOT NULL CHECK (offset >= 0),
    state             TEXT NOT NULL CHECK (state IN ('pending', 'in_flight', 'ok', 'failed_retryable', 'failed_permanent')),
    attempts          INTEGER NOT NULL,
    first_failure_at  INTEGER,
    last_attempt_at   INTEGER,
    next_attempt_at   INTEGER,
    error_class       TEXT,
    error_retryable   INTEGER,
    http_status       INTEGER,
    error_message     TEXT,
    retry_after_until INTEGER,
    lease_token       INTEGER, -- of the grant; with the three below while the page is in flight, else NULL
    lease_owner       TEXT,
    lease_until       INTEGER, -- milliseconds of uptime
    lease_boot        TEXT,    -- the start of the machine that the uptime counts from
    PRIMARY KEY (query, offset)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_due ON ledger (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX ledger_failing ON ledger (query, offset) WHERE state IN ('failed_retryable', 'failed_permanent');

-- One row for each version of a list: the newest one is the list's version. Written by the commit that it records.
CREATE TABLE journal (
    query   INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    stamp   INTEGER NOT NULL, -- random: a counter may come again, with other content
    at      INTEGER NOT NULL,
    cost    INTEGER NOT NULL, -- about the bytes of this entry
    kept    INTEGER NOT NULL, -- the sum of the costs of the list's entries when this one was written
    changes BLOB NOT NULL, -- inserted, deleted, moved, edited items, with the bytes of what is gone; empty: no item changed
    holdings BLOB, -- of the list in this version: numbers of pages, and the held runs; NULL: only its pages tell
    seal    INTEGER NOT NULL,
    PRIMARY KEY (query, counter)
) STRICT, WITHOUT ROWID;

-- Numbers that are never given twice: 'lease' is behind the last token that a session has reserved (Decisions/0009).
CREATE TABLE counter (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What bringing a list up to date has cost so far, and what it could leave alone. For people; nothing is decided by it.
CREATE TABLE tally (
    query           INTEGER PRIMARY KEY,
    began_at        INTEGER NOT NULL,
    runs            INTEGER NOT NULL,
    requests        INTEGER NOT NULL,
    pages_fetched   INTEGER NOT NULL,
    pages_unchanged INTEGER NOT NULL,
    pages_kept      INTEGER NOT NULL,
    bytes_received  INTEGER NOT NULL,
    -- The list's version before the last counted run that changed an item, for `pagecache diff`; 0 where there is none.
    since_counter   INTEGER NOT NULL,
    since_stamp     INTEGER NOT NULL
) STRICT;

-- What a process could not finish, and the next one does: 'empty_log' after a purge whose bytes may still be in the log.
CREATE TABLE upkeep (
    task TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
