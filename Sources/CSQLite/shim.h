// The only include of sqlite3.h in the package. Two things that C offers and Swift cannot import live here:
// the variadic sqlite3_db_config and the destructor constants, which are casts.

#ifndef PAGECACHE_CSQLITE_SHIM_H
#define PAGECACHE_CSQLITE_SHIM_H

#include <sqlite3.h>

/// Sets a Boolean option of a connection (https://www.sqlite.org/c3ref/c_dbconfig_defensive.html).
static inline int pagecache_db_config(sqlite3 *db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}

/// For bytes that stay valid until the statement was stepped and reset: SQLite copies nothing.
static inline sqlite3_destructor_type pagecache_static(void) { return SQLITE_STATIC; }

/// For bytes that may be gone when the call that binds them returns: SQLite copies them.
static inline sqlite3_destructor_type pagecache_transient(void) { return SQLITE_TRANSIENT; }

#endif
