#ifndef SQLITE_LIMIT_H
#define SQLITE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/// The lowest cost of a page store on SQLite: plain C that opens a store file with the same settings and the same schema
/// as the library and executes the same SQL.
///
/// Benchmarks print the times of the library as ratios to these. The limit leaves out the library's own work: seals are
/// constants of the same size, observers are not notified, no index of items is kept, and rows are not checked.
///
/// One thread at a time may use a limit. Functions return 0, or else a SQLite result code (extended), and then
/// `limit_error` says more; the transaction has been rolled back.

#ifdef __clang__
#pragma clang assume_nonnull begin
#define LIMIT_NULLABLE _Nullable
#else
#define LIMIT_NULLABLE
#endif

/// An open store: a connection that writes, and one that reads, as our store has.
typedef struct limit limit;

/// How a store is opened.
typedef struct limit_options {
    /// Not 0: a body's checksum is computed by every commit, from its layout and the bytes of each item, and again and compared by
    /// every read, as our store does. 0: the checksum given to `limit_commit_page` is stored, and never looked at.
    int with_checksum;
} limit_options;

/// Opens the store file at `path`; creates it if it is missing.
///
/// `schema_path` names the SQL script that makes the tables (`Migrations/v0001_pages.sql`); it runs if the file has no
/// tables yet. Returns null on failure; `limit_error` with null then says why.
limit *LIMIT_NULLABLE limit_open(const char *path, const char *schema_path, limit_options options);

/// Closes the store. Statements and connections are gone afterwards; the write-ahead log is merged into the file.
void limit_close(limit *LIMIT_NULLABLE store);

/// The text of the last failure. For null: the reason why the last `limit_open` of this thread failed. Valid until the next call.
const char *limit_error(limit *LIMIT_NULLABLE store);

// MARK: - Writing, one transaction each

/// The number of the list with this key, made if it is new. Negative: a SQLite result code, negated.
int64_t limit_register(limit *store, const char *key);

/// Stores a page where nothing is held, and notes in the ledger that it arrived.
///
/// `hashes` are 16 bytes per item, of which the first 8 are what `limit_locate` looks for. `SQLITE_CONSTRAINT` if a
/// page already holds one of the positions, `SQLITE_NOTFOUND` if there is no such list.
int limit_commit_page(
    limit *store, int64_t query, int64_t offset, int64_t count, const void *layout, size_t layout_size,
    const void *payload, size_t payload_size, const void *hashes, size_t hashes_size, uint64_t checksum,
    uint64_t fingerprint, int64_t now);

/// Stores a page in the place of the one that starts at `offset`: what was there goes, body and hashes with it.
/// Everything as for `limit_commit_page`; `SQLITE_NOTFOUND` if no page starts there.
int limit_replace_page(
    limit *store, int64_t query, int64_t offset, int64_t count, const void *layout, size_t layout_size,
    const void *payload, size_t payload_size, const void *hashes, size_t hashes_size, uint64_t checksum,
    uint64_t fingerprint, int64_t now);

/// The page at `offset` was fetched again and is what it was: only its age moves.
///
/// Give every call another `now`: SQLite writes nothing where a row would stay as it is, and no refresh is like that.
int limit_confirm(limit *store, int64_t query, int64_t offset, int64_t now);

/// Notes in the ledger that the page at `offset` could not be fetched, and is to be tried again half a minute later.
int limit_ledger(limit *store, int64_t query, int64_t offset, int64_t now);

/// Puts the page at `offset` in flight until `expiry`, unless it is in flight already.
/// `taken` receives 1 if it was put in flight by this call, else 0.
int limit_claim(limit *store, int64_t query, int64_t offset, int64_t now, int64_t expiry, int *LIMIT_NULLABLE taken);

/// Moves the pages and the ledger from position `from` on by `distance`, and gives the list and these pages `revision`.
/// Into a negative distance nothing may lie: positions `from + distance ..< from` must be empty.
int limit_shift(limit *store, int64_t query, int64_t from, int64_t distance, int64_t revision);

// MARK: - Removing, one or several transactions each

/// Removes a list and all it holds, overwrites it, gives the space back, and empties the log.
int limit_purge(limit *store, int64_t query);

/// Looks at every page of the store, as one must who chooses what to evict, then removes the pages at these offsets, in
/// transactions of 256, and gives the space back.
int limit_evict(limit *store, int64_t query, const int64_t *offsets, size_t count);

// MARK: - Reading, one transaction each

/// The number of the list with this key; 0 if there is none. Negative: a SQLite result code, negated.
int64_t limit_find(limit *store, const char *key);

/// A page that was read. Set it to zeros before its first use; it may then be used for any number of reads, and keeps
/// the memory of the largest.
typedef struct limit_page {
    int64_t offset;
    int64_t count;
    int64_t generation;
    int64_t revision;
    int64_t validated_at;
    /// Where the items end and what their ids are. Like `payload`, valid until the next read into this page.
    const void *LIMIT_NULLABLE layout;
    size_t layout_size;
    /// The items.
    const void *LIMIT_NULLABLE payload;
    size_t payload_size;
    /// The memory both lie in. Leave it alone.
    void *LIMIT_NULLABLE buffer;
    size_t capacity;
} limit_page;

/// Gives the memory of a page back, and sets it to zeros.
void limit_page_free(limit_page *page);

/// Reads the page that starts at `offset`, copied so that it outlives the transaction. `SQLITE_NOTFOUND` if none does,
/// `SQLITE_CORRUPT` if checksums are on and this one does not hold.
int limit_read_page(limit *store, int64_t query, int64_t offset, limit_page *out);

/// Reads the pages that hold positions in `from ..< end`, whole, one after the other: `count` is of all their items, `offset`
/// the first one's; `layout` is null, and `payload` has each page's layout before its items. The read and the comparison are those
/// of `limit_read_page`; `SQLITE_NOTFOUND` if there is no such page.
int limit_read_range(limit *store, int64_t query, int64_t from, int64_t end, limit_page *out);

/// Looks for the items with these identity keys in the list's current generation.
/// - `keys`: ascending, `count` of them, each once.
/// - `positions`: receives the first position of each key, or -1.
int limit_locate(limit *store, int64_t query, const uint64_t *keys, size_t count, int64_t *positions);

/// Reads what is due at `now`, at most `most` entries of all lists. `found` receives how many there were.
int limit_due(limit *store, int64_t now, int64_t most, int64_t *LIMIT_NULLABLE found);

#ifdef __clang__
#pragma clang assume_nonnull end
#endif

#endif
