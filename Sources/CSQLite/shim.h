// The only include of sqlite3.h in the package. Two things that C offers and Swift cannot import live here:
// the variadic sqlite3_db_config and the destructor constants, which are casts. And two whose layout only C promises, because SQLite
// takes their beginnings for its own.

#ifndef PAGECACHE_CSQLITE_SHIM_H
#define PAGECACHE_CSQLITE_SHIM_H

#include <sqlite3.h>

/// Sets a Boolean option of a connection (https://www.sqlite.org/c3ref/c_dbconfig_defensive.html).
static inline int pagecache_db_config(sqlite3 *db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}

/// "The bytes outlive the call that steps the statement": nothing is copied.
static inline sqlite3_destructor_type pagecache_static(void) { return SQLITE_STATIC; }

/// "The bytes are gone when bind returns": SQLite takes a copy.
static inline sqlite3_destructor_type pagecache_transient(void) { return SQLITE_TRANSIENT; }

/// A VFS on top of another one (https://www.sqlite.org/vfs.html#vfs_shims).
typedef struct pagecache_vfs {
    sqlite3_vfs base;
    sqlite3_vfs *below;
} pagecache_vfs;

/// An open file of such a VFS. SQLite gives the memory, in which the file of the VFS below lies behind it.
typedef struct pagecache_file {
    sqlite3_file base;
    sqlite3_file *below;
    /// Of a database in WAL mode its log, of a log its database.
    struct pagecache_file *partner;
    /// Of a log.
    void *gatherer;
} pagecache_file;

#endif
