// Opening a store and closing it.
#include "limit_internals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char open_message[256];

const char *limit_error(limit *store)
{
    return store != NULL ? store->message : open_message;
}

// The settings of StoreOpening.harden.
static int harden(sqlite3 *handle)
{
    sqlite3_busy_timeout(handle, 5000);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 256 << 20);
    return sqlite3_exec(handle, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL, NULL);
}

static int open_connection(struct connection *connection, const char *path, int flags)
{
    flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite3_open_v2(path, &connection->handle, flags, NULL);
    return code == SQLITE_OK ? harden(connection->handle) : code;
}

static int schema_version(sqlite3 *handle, int *version)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(handle, "PRAGMA user_version", -1, &statement, NULL);
    if (code != SQLITE_OK) return code;
    if (sqlite3_step(statement) == SQLITE_ROW) *version = sqlite3_column_int(statement, 0);
    return sqlite3_finalize(statement);
}

// The whole text of a file, to be freed; null if it cannot be read.
static char *file_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *text = NULL;
    size_t size = 0, room = 0, part = 1;
    while (part > 0) {
        room += 16384;
        char *larger = realloc(text, room + 1);
        if (larger == NULL) break;
        text = larger;
        part = fread(text + size, 1, room - size, file);
        size += part;
    }
    int is_whole = part == 0 && !ferror(file);
    fclose(file);
    if (!is_whole) {
        free(text);
        return NULL;
    }
    text[size] = 0;
    return text;
}

static int create_tables(sqlite3 *handle, const char *schema_path)
{
    char *schema = file_text(schema_path);
    if (schema == NULL) return SQLITE_CANTOPEN;
    int code = sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(handle, schema, NULL, NULL, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(handle, "PRAGMA user_version = 1; COMMIT", NULL, NULL, NULL);
    free(schema);
    return code;
}

static int open_writer(struct connection *writer, const char *path, const char *schema_path)
{
    int code = open_connection(writer, path, SQLITE_OPEN_CREATE);
    int version = 0;
    if (code == SQLITE_OK) code = schema_version(writer->handle, &version);
    // Has an effect only in a file that is still blank, and must come before it is anything else.
    if (code == SQLITE_OK && version == 0) {
        code = sqlite3_exec(
            writer->handle, "BEGIN; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = 0x70676361; COMMIT", NULL,
            NULL, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_exec(
            writer->handle,
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST;"
            "PRAGMA journal_size_limit = 16777216; PRAGMA temp_store = MEMORY",
            NULL, NULL, NULL);
    }
    if (code == SQLITE_OK && version == 0) code = create_tables(writer->handle, schema_path);
    return code;
}

static int open_reader(struct connection *reader, const char *path)
{
    int code = open_connection(reader, path, 0);
    return code == SQLITE_OK ? sqlite3_exec(reader->handle, "PRAGMA query_only = ON", NULL, NULL, NULL) : code;
}

limit *limit_open(const char *path, const char *schema_path, limit_options options)
{
    limit *store = calloc(1, sizeof *store);
    if (store == NULL) {
        snprintf(open_message, sizeof open_message, "no memory");
        return NULL;
    }
    store->with_checksum = options.with_checksum;
    int code = open_writer(&store->writer, path, schema_path);
    if (code != SQLITE_OK) failed(store, &store->writer, code);
    if (code == SQLITE_OK) {
        code = open_reader(&store->reader, path);
        if (code != SQLITE_OK) failed(store, &store->reader, code);
    }
    if (code == SQLITE_OK) return store;
    memcpy(open_message, store->message, sizeof open_message);
    limit_close(store);
    return NULL;
}

static void close_connection(struct connection *connection)
{
    for (int i = 0; i < SQL_COUNT; i++) sqlite3_finalize(connection->statements[i]);
    sqlite3_close(connection->handle);
}

void limit_close(limit *store)
{
    if (store == NULL) return;
    // The writer goes last: only the last connection merges the log, and one that may not write cannot.
    close_connection(&store->reader);
    close_connection(&store->writer);
    free(store->hits);
    free(store);
}
