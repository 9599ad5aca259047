-- 0 → 1: the first schema. Small rows that are written often (page, ledger) are stored apart from large rows that are written
-- rarely (body). A seal is the checksum of its row. A row with a wrong seal is not used.

CREATE TABLE migration (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- One row with a random number that identifies this store and never changes. It forms the last bytes of the table's only page, so
-- that it has a fixed place in the file and can be read without SQLite.
CREATE TABLE store (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    seal  INTEGER NOT NULL,
    stamp INTEGER NOT NULL
) STRICT;

-- One list at an origin. Times are milliseconds since 1970, UTC.
CREATE TABLE query (
    id                INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused, so that a plan for a purged query applies to no other query
    scope             TEXT NOT NULL,
    key               TEXT NOT NULL,
    name_hash         INTEGER NOT NULL, -- of id, scope and key: shows whether a damaged record still has the right name
    generation        INTEGER NOT NULL,
    revision          INTEGER NOT NULL,
    total_kind        TEXT NOT NULL CHECK (total_kind IN ('exact', 'estimate', 'unknown')),
    total             INTEGER CHECK ((total IS NULL) = (total_kind = 'unknown')),
    list_end          INTEGER,
    created_at        INTEGER NOT NULL,
    validated_at      INTEGER,
    invalidated_at    INTEGER, -- stale since then, whatever its age; NULL once page one has been fetched again
    fresh_for         INTEGER CHECK (fresh_for >= 0), -- milliseconds, as stated by the origin; NULL if it states none
    allows_duplicates INTEGER NOT NULL,
    paging            TEXT NOT NULL,
    source            TEXT NOT NULL, -- the paging description for the next requests, and the check of the credential; never a secret
    sweep_position    INTEGER,
    sweep_cursor      TEXT,
    sweep_started_at  INTEGER,
    pinned            INTEGER NOT NULL,
    origin_window     INTEGER, -- the origin returns no items from this position on, although its total is larger; NULL if unknown
    last_audit_at     INTEGER, -- the end of the last sweep or round of the recheck; NULL before the first
    unproven          INTEGER NOT NULL, -- whether the last run had a reason to expect more items than the origin returned
    seal              INTEGER NOT NULL,
    UNIQUE (scope, key, name_hash) -- one record for each name; with the hash the index alone binds a name to its id
) STRICT;

-- One page without its items. A shift rewrites these rows and no bodies.
CREATE TABLE page (
    query         INTEGER NOT NULL,
    offset        INTEGER NOT NULL CHECK (offset >= 0),
    count         INTEGER NOT NULL CHECK (count >= 0),
    body          INTEGER NOT NULL,
    checksum      INTEGER NOT NULL, -- of the body's layout and its items' hashes; stored here, so that no other body can replace it unnoticed
    bytes         INTEGER NOT NULL, -- of the body, so that sizes are known without reading bodies
    generation    INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    evidence      TEXT NOT NULL CHECK (evidence IN ('verified', 'inferred')),
    evidence_at   INTEGER NOT NULL,
    seams         BLOB, -- inferred seams inside the page: 4 bytes for the index of the item behind, 8 bytes for the time
    fetched_at    INTEGER NOT NULL,
    validated_at  INTEGER NOT NULL,
    fingerprint   INTEGER NOT NULL,
    cursor_in     TEXT,
    cursor_out    TEXT,
    request       TEXT, -- the exact request of the validator; NULL if there is no validator
    entity_tag    TEXT,
    last_modified TEXT,
    covers_total  INTEGER NOT NULL,
    seal          INTEGER NOT NULL,
    PRIMARY KEY (query, offset)
) STRICT, WITHOUT ROWID;

-- The items of a page. The layout has the end of each item, its id and the type of the id. The payload has all items in order.
CREATE TABLE body (
    id      INTEGER PRIMARY KEY,
    layout  BLOB NOT NULL,
    payload BLOB NOT NULL
) STRICT;

-- 16 bytes for each item of a page: the hash of its id and type, or of its JSON if it has no id; then the hash of its bytes.
-- Items are found by a scan of these rows, without decoding.
CREATE TABLE identity (
    query  INTEGER NOT NULL,
    body   INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    seal   INTEGER NOT NULL,
    PRIMARY KEY (query, body)
) STRICT, WITHOUT ROWID;

-- The time of a page's last read, written later with other changes, so that a read does not write. Without a row the time of the
-- fetch counts.
CREATE TABLE access (
    body    INTEGER PRIMARY KEY,
    used_at INTEGER NOT NULL
) STRICT;

-- The fetch record of a page: its attempts, its failure and its next attempt. It survives restarts and moves with the positions.
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
    lease_token       INTEGER, -- the token of the grant; NULL, as the next three, unless the page is in flight
    lease_owner       TEXT,
    lease_until       INTEGER, -- milliseconds of uptime
    lease_boot        TEXT,    -- the id of the machine's start from which the uptime counts
    PRIMARY KEY (query, offset)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_due ON ledger (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX ledger_failing ON ledger (query, offset) WHERE state IN ('failed_retryable', 'failed_permanent');

-- One row for each version of a list. The newest row is the list's version. The commit that it records writes it.
CREATE TABLE journal (
    query   INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    stamp   INTEGER NOT NULL, -- random, because a counter can be repeated with other content
    at      INTEGER NOT NULL,
    cost    INTEGER NOT NULL, -- the approximate bytes of this entry
    kept    INTEGER NOT NULL, -- the sum of the costs of the list's entries when this one was written
    changes BLOB NOT NULL, -- inserted, deleted, moved and edited items, with the previous bytes; empty if no item changed
    holdings BLOB, -- the held positions and the numbers of pages in this version; NULL if they must be read from the pages
    seal    INTEGER NOT NULL,
    PRIMARY KEY (query, counter)
) STRICT, WITHOUT ROWID;

-- Numbers that are never issued twice. 'lease' is the number behind the last token that a session has reserved (Decisions/0009).
CREATE TABLE counter (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The cost of a list's runs so far, and the work that they saved. For statistics; no decision reads it.
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

-- Tasks that one process could not finish and the next one does. 'empty_log': the log may contain the bytes of a purge.
CREATE TABLE upkeep (
    task TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
