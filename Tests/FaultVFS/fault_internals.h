#ifndef FAULT_INTERNALS_H
#define FAULT_INTERNALS_H

// What the files of the fault injector share.

// Declares lstat and strdup also under -std=c11; before any other header.
#define _XOPEN_SOURCE 700

#include "fault_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>

// The names below are short, and for these files only: no library of the process shall find them.
#pragma GCC visibility push(hidden)

// MARK: - Memory

// A test without memory cannot go on, and a fault injector that fails by itself would only confuse.
void *need(void *memory);

// Room for one more element. Doubling keeps long recordings linear.
void *grown(void *array, size_t count, size_t *capacity, size_t element);

// The contents of a file.
struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

void bytes_resize(struct bytes *bytes, size_t size);
void bytes_write(struct bytes *bytes, size_t offset, const uint8_t *data, size_t length);

// MARK: - Controls

// File names are kept once each, so that events can share them and compare them by address.
struct name {
    struct name *next;
    char *text;
};

struct plan {
    bool armed;
    bool deadly;
    bool forever;
    long nth;
    int code;
    long partial;
};

// A file that was there when recording started.
struct base_file {
    const char *name;
    struct bytes content;
};

struct base {
    struct base_file *files;
    size_t count;
    size_t capacity;
};

struct fault_control {
    // Guarded by `registry_mutex`. The owner holds one reference, every open file another.
    struct fault_control *next;
    int references;

    char *directory;
    size_t directory_length;

    // Guards all that follows. Never held during a call of the wrapped VFS, which may block.
    pthread_mutex_t mutex;
    struct plan plans[FAULT_KIND_COUNT];
    long calls[FAULT_KIND_COUNT];
    long fired;
    unsigned hesitation;
    int64_t log_limit;
    bool recording;
    struct name *names;
    struct fault_event *events;
    size_t event_count;
    size_t event_capacity;
    struct base base;
};

// The part of `path` below the control's directory, or null if it is elsewhere.
const char *below(const struct fault_control *control, const char *path);

// The control responsible for a path, with a reference that the caller releases.
struct fault_control *control_retain_for(const char *path);
void control_release(struct fault_control *control);

// MARK: - Faults

// Counts a call. Returns the code it shall fail with, or SQLITE_OK if it shall be passed on.
int check_partial(struct fault_control *control, enum fault_kind kind, long *partial);
int check(struct fault_control *control, enum fault_kind kind);

void hesitate(struct fault_control *control);

// MARK: - Recording

// The shared name under which a file is recorded. Null for files in directories below: two of them could have the
// same last component.
const char *recorded_name(struct fault_control *control, const char *path);
void record(struct fault_control *control, struct fault_event event);

void events_free(struct fault_event *events, size_t count);
void base_free(struct base *base);
char *path_in(const char *directory, const char *name);

// MARK: - Open files

extern sqlite3_vfs *wrapped_vfs;

struct fault_file {
    // SQLite sees only this part, so it comes first.
    sqlite3_file base;
    // A copy for each file, because which methods exist depends on the wrapped file.
    sqlite3_io_methods methods;
    struct fault_control *control;
    // Null if the file is not recorded.
    const char *name;
    // The unix VFS syncs the directory with the first sync of a journal or WAL file that it may have created.
    bool directory_sync_due;
    // SQLite promises an alignment of eight bytes, not that of max_align_t.
    _Alignas(sqlite3_int64) unsigned char wrapped[];
};

static inline struct fault_file *fault_file(sqlite3_file *file)
{
    return (struct fault_file *)file;
}

static inline sqlite3_file *wrapped(sqlite3_file *file)
{
    return (sqlite3_file *)(void *)fault_file(file)->wrapped;
}

void file_record(sqlite3_file *file, struct fault_event event);

// Whether a write up to `end` would make a write-ahead log longer than its limit.
bool exceeds_log_limit(struct fault_file *file, sqlite3_int64 end);

sqlite3_io_methods methods_like(const sqlite3_io_methods *original);

// MARK: - Images

// A file on the disk, and what has been done to it that is not yet safe there.
struct image_file {
    const char *name;
    bool exists;
    struct bytes content;
    // What the running process sees, which a power loss may take back.
    bool visible;
    // Indices of events, in order.
    size_t *pending;
    size_t pending_count;
    size_t pending_capacity;
};

struct image {
    struct fault_event *events;
    size_t event_count;
    struct image_file *files;
    size_t count;
    size_t capacity;
};

struct image image_begin(struct fault_control *control, long prefix);
void image_replay(struct image *image, size_t index);
void image_free(struct image *image);

bool changes_directory(const struct fault_event *event);
void apply(struct image_file *file, const struct fault_event *event);

#pragma GCC visibility pop

#endif
