-- 0 → 1: the first schema, on a server. The tables are those of the SQLite store; a list's version, its holdings and the
-- end of its journal are columns of its record, which every commit locks. Plain SQL, so that a pooler in transaction mode and
-- servers that only speak the protocol can run it. Texts from an origin are bytes, because a text of PostgreSQL holds no NUL.
-- A seal is the checksum of its row. A row with a wrong seal is not used. Times are milliseconds since 1970, UTC, by the
-- server's clock.

CREATE TABLE migration (
    version    bigint PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row with a random number that identifies this store and never changes. The channel of notices is named after it.
CREATE TABLE store (
    id    bigint PRIMARY KEY CHECK (id = 1),
    stamp bigint NOT NULL
);

CREATE SEQUENCE query_id;
-- The number behind a lease's token. A crash or a failover can give a number again, so a random part follows it in the token.
CREATE SEQUENCE lease_token;

-- One list at an origin. A commit locks this row; commits of different lists do not wait for each other.
CREATE TABLE query (
    id                bigint PRIMARY KEY,
    scope             bytea NOT NULL,
    key               bytea NOT NULL,
    name_hash         bigint NOT NULL, -- of id, scope and key: shows whether a damaged record still has the right name
    generation        bigint NOT NULL,
    revision          bigint NOT NULL,
    total_kind        text NOT NULL CHECK (total_kind IN ('exact', 'estimate', 'unknown')),
    total             bigint CHECK ((total IS NULL) = (total_kind = 'unknown')),
    list_end          bigint,
    created_at        bigint NOT NULL,
    validated_at      bigint,
    invalidated_at    bigint, -- stale since then, whatever its age; NULL once page one has been fetched again
    fresh_for         bigint CHECK (fresh_for >= 0), -- milliseconds, as stated by the origin; NULL if it states none
    allows_duplicates boolean NOT NULL,
    paging            bytea NOT NULL,
    source            bytea NOT NULL, -- the paging description for the next requests, and the check of the credential; never a secret
    sweep_position    bigint,
    sweep_cursor      bytea,
    sweep_started_at  bigint,
    pinned            boolean NOT NULL,
    origin_window     bigint, -- the origin returns no items from this position on, although its total is larger; NULL if unknown
    last_audit_at     bigint, -- the end of the last sweep or round of the recheck; NULL before the first
    unproven          boolean NOT NULL, -- whether the last run had a reason to expect more items than the origin returned
    counter           bigint NOT NULL, -- the version of the content, with the stamp
    stamp             bigint NOT NULL, -- random, because a crash or a failover can give a counter again, with other content
    journal_bytes     bigint NOT NULL, -- the sum of the costs of the list's journal entries
    holdings          bytea, -- the held positions and the numbers of pages in this version; NULL if they must be read from the pages
    next_body         bigint NOT NULL, -- the number of the next body of this list
    seal              bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- An entry of a b-tree holds 2,704 bytes, and a URL can be longer.
CREATE UNIQUE INDEX query_name ON query (sha256(int4send(octet_length(scope)) || scope || key));

-- One page without its items. A shift rewrites these rows and no bodies. Positions may collide half way of a shift, so that
-- the key is checked at the end of a statement.
CREATE TABLE page (
    query          bigint NOT NULL,
    start          bigint NOT NULL CHECK (start >= 0),
    count          bigint NOT NULL CHECK (count >= 0),
    body           bigint NOT NULL,
    checksum       bigint NOT NULL, -- of the body's layout and its items' hashes; stored here, so that no other body can replace it unnoticed
    bytes          bigint NOT NULL, -- of the body, so that sizes are known without reading bodies
    generation     bigint NOT NULL,
    revision       bigint NOT NULL,
    verified       boolean NOT NULL, -- the evidence for the seam before the first item; false: inferred
    evidence_at    bigint NOT NULL,
    seams          bytea, -- inferred seams inside the page: 4 bytes for the index of the item behind, 8 bytes for the time
    fetched_at     bigint NOT NULL,
    validated_at   bigint NOT NULL,
    fingerprint    bigint NOT NULL,
    cursor_in      bytea,
    cursor_out     bytea,
    request        bytea, -- the exact request of the validator; NULL if there is no validator
    entity_tag     bytea,
    last_modified  bytea,
    covers_total   boolean NOT NULL,
    validator_hash bigint NOT NULL, -- of the four columns above; 0 without a validator
    -- The checksum of the row, XOR the start, the revision and the hash of the validator: a shift renews it in SQL.
    seal           bigint NOT NULL,
    CONSTRAINT page_place PRIMARY KEY (query, start) DEFERRABLE INITIALLY IMMEDIATE
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX page_body ON page (query, body);

-- The items of a page: the hashes of their ids, XOR a number of the query, and of their bytes; the layout has the end of each
-- item, its id and the type of the id; the payload has all items in order.
CREATE TABLE body (
    query    bigint NOT NULL,
    id       bigint NOT NULL,
    keys     bigint[] NOT NULL,
    contents bigint[] NOT NULL,
    layout   bytea NOT NULL,
    payload  bytea NOT NULL,
    seal     bigint NOT NULL, -- of the hashes; the page has the checksum of the items
    PRIMARY KEY (query, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX body_keys ON body USING gin (keys) WITH (fastupdate = off);

-- The time of a page's last read, written later with other changes, so that a read does not write. Without a row the time of the
-- fetch counts.
CREATE TABLE access (
    query   bigint NOT NULL,
    body    bigint NOT NULL,
    used_at bigint NOT NULL,
    PRIMARY KEY (query, body)
) WITH (fillfactor = 70);

-- The fetch record of a page: its attempts, its failure and its next attempt. It moves with the positions.
CREATE TABLE ledger (
    query             bigint NOT NULL,
    start             bigint NOT NULL CHECK (start >= 0),
    state             text NOT NULL CHECK (state IN ('pending', 'in_flight', 'ok', 'failed_retryable', 'failed_permanent')),
    attempts          bigint NOT NULL,
    first_failure_at  bigint,
    last_attempt_at   bigint,
    next_attempt_at   bigint,
    error_class       bytea,
    error_retryable   boolean,
    http_status       bigint,
    error_message     bytea,
    retry_after_until bigint,
    lease_token       bigint, -- the token of the grant; NULL, as the next four, unless the page is in flight
    lease_process     text,   -- the name of the process in `owner`
    lease_name        bytea,  -- the name of the owner within the process
    lease_until       bigint, -- in no index: a renewal rewrites no index
    lease_boot        text,   -- the clock from which the end counts
    CONSTRAINT ledger_place PRIMARY KEY (query, start) DEFERRABLE INITIALLY IMMEDIATE
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX ledger_due ON ledger (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX ledger_failing ON ledger (query, start) WHERE state IN ('failed_retryable', 'failed_permanent');
CREATE INDEX ledger_lease ON ledger (lease_token) WHERE lease_token IS NOT NULL;

-- A process that takes leases. It is alive until `alive_until`, which it renews; the leases of a dead one are void.
CREATE TABLE owner (
    name        text PRIMARY KEY,
    alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- One row for each version of a list, written by the commit that made it. The record of the list names the newest.
CREATE TABLE journal (
    query   bigint NOT NULL,
    counter bigint NOT NULL,
    stamp   bigint NOT NULL,
    at      bigint NOT NULL,
    cost    bigint NOT NULL, -- the approximate bytes of this entry
    changes bytea NOT NULL, -- inserted, deleted, moved and edited items, with the previous bytes; empty if no item changed
    seal    bigint NOT NULL,
    PRIMARY KEY (query, counter)
);

-- The cost of a list's runs so far, and the work that they saved. For statistics; no decision reads it.
CREATE TABLE tally (
    query           bigint PRIMARY KEY,
    began_at        bigint NOT NULL,
    runs            bigint NOT NULL,
    requests        bigint NOT NULL,
    pages_fetched   bigint NOT NULL,
    pages_unchanged bigint NOT NULL,
    pages_kept      bigint NOT NULL,
    bytes_received  bigint NOT NULL,
    -- The list's version before the last counted run that changed an item, for `pagecache diff`; 0 where there is none.
    since_counter   bigint NOT NULL,
    since_stamp     bigint NOT NULL
);
