// Declares lstat and strdup also under -std=c11.
#define _XOPEN_SOURCE 700

#include "fault_vfs.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// MARK: - Memory

// A test without memory cannot go on, and a fault injector that fails by itself would only confuse.
static void *need(void *memory)
{
    if (memory == NULL) {
        fputs("fault_vfs: out of memory\n", stderr);
        abort();
    }
    return memory;
}

// Room for one more element. Doubling keeps long recordings linear.
static void *grown(void *array, size_t count, size_t *capacity, size_t element)
{
    if (count < *capacity) return array;
    *capacity = *capacity == 0 ? 16 : *capacity * 2;
    return need(realloc(array, *capacity * element));
}

// The contents of a file.
struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

static void bytes_resize(struct bytes *bytes, size_t size)
{
    if (size > bytes->capacity) {
        bytes->capacity = size < 4096 ? 4096 : size * 2;
        bytes->data = need(realloc(bytes->data, bytes->capacity));
    }
    if (size > bytes->size) memset(bytes->data + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

static void bytes_write(struct bytes *bytes, size_t offset, const uint8_t *data, size_t length)
{
    if (length == 0) return;
    if (offset + length > bytes->size) bytes_resize(bytes, offset + length);
    memcpy(bytes->data + offset, data, length);
}

// MARK: - Controls

// File names are kept once each, so that events can share them and compare them by address.
struct name {
    struct name *next;
    char *text;
};

struct plan {
    bool armed;
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
    bool recording;
    struct name *names;
    struct fault_event *events;
    size_t event_count;
    size_t event_capacity;
    struct base base;
};

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fault_control *registry;

// The part of `path` below the control's directory, or null if it is elsewhere.
static const char *below(const struct fault_control *control, const char *path)
{
    if (strncmp(path, control->directory, control->directory_length) != 0) return NULL;
    if (path[control->directory_length] != '/') return NULL;
    return path + control->directory_length + 1;
}

// The control responsible for a path, with a reference that the caller releases.
static struct fault_control *control_retain_for(const char *path)
{
    if (path == NULL) return NULL;
    struct fault_control *found = NULL;
    pthread_mutex_lock(&registry_mutex);
    for (struct fault_control *each = registry; each != NULL; each = each->next) {
        if (below(each, path) == NULL) continue;
        if (found == NULL || each->directory_length > found->directory_length) found = each;
    }
    if (found != NULL) found->references++;
    pthread_mutex_unlock(&registry_mutex);
    return found;
}

static void events_free(struct fault_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)events[i].bytes);
    free(events);
}

static void base_free(struct base *base)
{
    for (size_t i = 0; i < base->count; i++) free(base->files[i].content.data);
    free(base->files);
}

static void control_free(struct fault_control *control)
{
    events_free(control->events, control->event_count);
    base_free(&control->base);
    while (control->names != NULL) {
        struct name *name = control->names;
        control->names = name->next;
        free(name->text);
        free(name);
    }
    pthread_mutex_destroy(&control->mutex);
    free(control->directory);
    free(control);
}

static void control_release(struct fault_control *control)
{
    if (control == NULL) return;
    pthread_mutex_lock(&registry_mutex);
    bool last = --control->references == 0;
    pthread_mutex_unlock(&registry_mutex);
    if (last) control_free(control);
}

fault_control *fault_control_create(const char *directory)
{
    if (directory == NULL || directory[0] != '/') return NULL;
    struct fault_control *control = need(calloc(1, sizeof *control));
    control->directory = need(strdup(directory));
    control->directory_length = strlen(directory);
    while (control->directory_length > 0 && control->directory[control->directory_length - 1] == '/') {
        control->directory[--control->directory_length] = '\0';
    }
    control->references = 1;
    pthread_mutex_init(&control->mutex, NULL);
    pthread_mutex_lock(&registry_mutex);
    control->next = registry;
    registry = control;
    pthread_mutex_unlock(&registry_mutex);
    return control;
}

void fault_control_destroy(fault_control *control)
{
    if (control == NULL) return;
    // Files still open keep the control alive; they must not go on failing after their test has ended.
    fault_disarm(control);
    fault_record(control, false);
    pthread_mutex_lock(&registry_mutex);
    struct fault_control **link = &registry;
    while (*link != NULL && *link != control) link = &(*link)->next;
    if (*link != NULL) *link = control->next;
    pthread_mutex_unlock(&registry_mutex);
    control_release(control);
}

// MARK: - Faults

static bool is_kind(enum fault_kind kind)
{
    return (int)kind >= 0 && (int)kind < FAULT_KIND_COUNT;
}

void fault_arm(fault_control *control, enum fault_kind kind, long nth, bool forever, int code, long partial)
{
    if (!is_kind(kind)) return;
    pthread_mutex_lock(&control->mutex);
    control->plans[kind] = (struct plan){
        .armed = nth >= 1 && code != SQLITE_OK,
        .forever = forever,
        .nth = nth,
        .code = code,
        .partial = partial,
    };
    control->calls[kind] = 0;
    control->fired = 0;
    pthread_mutex_unlock(&control->mutex);
}

void fault_disarm(fault_control *control)
{
    pthread_mutex_lock(&control->mutex);
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) control->plans[kind].armed = false;
    pthread_mutex_unlock(&control->mutex);
}

long fault_fired(fault_control *control)
{
    pthread_mutex_lock(&control->mutex);
    long fired = control->fired;
    pthread_mutex_unlock(&control->mutex);
    return fired;
}

long fault_calls(fault_control *control, enum fault_kind kind)
{
    if (!is_kind(kind)) return 0;
    pthread_mutex_lock(&control->mutex);
    long calls = control->calls[kind];
    pthread_mutex_unlock(&control->mutex);
    return calls;
}

// Counts a call. Returns the code it shall fail with, or SQLITE_OK if it shall be passed on.
static int check_partial(struct fault_control *control, enum fault_kind kind, long *partial)
{
    if (control == NULL) return SQLITE_OK;
    int code = SQLITE_OK;
    pthread_mutex_lock(&control->mutex);
    const struct plan *plan = &control->plans[kind];
    long call = ++control->calls[kind];
    if (plan->armed && (call == plan->nth || (plan->forever && call > plan->nth))) {
        code = plan->code;
        *partial = plan->partial;
        control->fired++;
    }
    pthread_mutex_unlock(&control->mutex);
    return code;
}

static int check(struct fault_control *control, enum fault_kind kind)
{
    long ignored = -1;
    return check_partial(control, kind, &ignored);
}

// MARK: - Recording

// Call with the control's mutex held.
static const char *name_shared(struct fault_control *control, const char *text)
{
    for (const struct name *name = control->names; name != NULL; name = name->next) {
        if (strcmp(name->text, text) == 0) return name->text;
    }
    struct name *name = need(malloc(sizeof *name));
    name->text = need(strdup(text));
    name->next = control->names;
    control->names = name;
    return name->text;
}

// The shared name under which a file is recorded. Null for files in directories below: two of them could have the
// same last component.
static const char *recorded_name(struct fault_control *control, const char *path)
{
    if (control == NULL) return NULL;
    const char *name = below(control, path);
    if (name == NULL || strchr(name, '/') != NULL) return NULL;
    pthread_mutex_lock(&control->mutex);
    name = name_shared(control, name);
    pthread_mutex_unlock(&control->mutex);
    return name;
}

static void record(struct fault_control *control, struct fault_event event)
{
    pthread_mutex_lock(&control->mutex);
    if (control->recording) {
        if (event.bytes != NULL) {
            uint8_t *copy = need(malloc((size_t)event.length));
            memcpy(copy, event.bytes, (size_t)event.length);
            event.bytes = copy;
        }
        control->events =
            grown(control->events, control->event_count, &control->event_capacity, sizeof event);
        control->events[control->event_count++] = event;
    }
    pthread_mutex_unlock(&control->mutex);
}

void fault_mark(fault_control *control, uint64_t marker)
{
    record(control, (struct fault_event){.kind = FAULT_EVENT_MARKER, .marker = marker});
}

long fault_event_count(fault_control *control)
{
    pthread_mutex_lock(&control->mutex);
    long count = (long)control->event_count;
    pthread_mutex_unlock(&control->mutex);
    return count;
}

struct fault_event fault_event_at(fault_control *control, long index)
{
    struct fault_event event = {.kind = FAULT_EVENT_NONE};
    pthread_mutex_lock(&control->mutex);
    if (index >= 0 && (size_t)index < control->event_count) event = control->events[index];
    pthread_mutex_unlock(&control->mutex);
    return event;
}

// MARK: - Open files

static sqlite3_vfs *wrapped_vfs;

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

static struct fault_file *fault_file(sqlite3_file *file)
{
    return (struct fault_file *)file;
}

static sqlite3_file *wrapped(sqlite3_file *file)
{
    return (sqlite3_file *)(void *)fault_file(file)->wrapped;
}

static void file_record(sqlite3_file *file, struct fault_event event)
{
    event.file = fault_file(file)->name;
    if (event.file != NULL) record(fault_file(file)->control, event);
}

static int file_close(sqlite3_file *file)
{
    int code = wrapped(file)->pMethods->xClose(wrapped(file));
    control_release(fault_file(file)->control);
    file->pMethods = NULL;
    return code;
}

static int file_read(sqlite3_file *file, void *buffer, int amount, sqlite3_int64 offset)
{
    int code = check(fault_file(file)->control, FAULT_READ);
    if (code == SQLITE_OK) return wrapped(file)->pMethods->xRead(wrapped(file), buffer, amount, offset);
    // SQLite relies on zeros after a short read, and nothing should depend on what stood in the buffer.
    memset(buffer, 0, (size_t)amount);
    return code;
}

static int write_through(sqlite3_file *file, const void *buffer, int amount, sqlite3_int64 offset)
{
    int code = wrapped(file)->pMethods->xWrite(wrapped(file), buffer, amount, offset);
    if (code == SQLITE_OK) {
        file_record(
            file,
            (struct fault_event){
                .kind = FAULT_EVENT_WRITE, .offset = offset, .length = amount, .bytes = buffer});
    }
    return code;
}

static int file_write(sqlite3_file *file, const void *buffer, int amount, sqlite3_int64 offset)
{
    long partial = -1;
    int code = check_partial(fault_file(file)->control, FAULT_WRITE, &partial);
    if (code == SQLITE_OK) return write_through(file, buffer, amount, offset);
    if (partial > 0) write_through(file, buffer, partial < amount ? (int)partial : amount, offset);
    return code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int code = check(fault_file(file)->control, FAULT_TRUNCATE);
    if (code != SQLITE_OK) return code;
    code = wrapped(file)->pMethods->xTruncate(wrapped(file), size);
    if (code == SQLITE_OK) {
        file_record(file, (struct fault_event){.kind = FAULT_EVENT_TRUNCATE, .length = size});
    }
    return code;
}

static int file_sync(sqlite3_file *file, int flags)
{
    struct fault_file *self = fault_file(file);
    int code = check(self->control, FAULT_SYNC);
    if (code != SQLITE_OK) return code;
    // A write that another thread makes during the sync may miss it, although its event comes first.
    long before = self->name != NULL ? fault_event_count(self->control) : 0;
    code = wrapped(file)->pMethods->xSync(wrapped(file), flags);
    if (code != SQLITE_OK) return code;
    file_record(
        file,
        (struct fault_event){
            .kind = FAULT_EVENT_SYNC, .offset = before, .length = self->directory_sync_due ? 1 : 0});
    self->directory_sync_due = false;
    return code;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    int code = check(fault_file(file)->control, FAULT_FILE_SIZE);
    return code != SQLITE_OK ? code : wrapped(file)->pMethods->xFileSize(wrapped(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
    int code = check(fault_file(file)->control, FAULT_LOCK);
    return code != SQLITE_OK ? code : wrapped(file)->pMethods->xLock(wrapped(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return wrapped(file)->pMethods->xUnlock(wrapped(file), level);
}

static int file_check_reserved_lock(sqlite3_file *file, int *result)
{
    return wrapped(file)->pMethods->xCheckReservedLock(wrapped(file), result);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
    int code = wrapped(file)->pMethods->xFileControl(wrapped(file), operation, argument);
    if (operation == SQLITE_FCNTL_VFSNAME && code == SQLITE_OK) {
        char **name = argument;
        *name = sqlite3_mprintf("fault/%z", *name);
    }
    return code;
}

static int file_sector_size(sqlite3_file *file)
{
    return wrapped(file)->pMethods->xSectorSize(wrapped(file));
}

static int file_device_characteristics(sqlite3_file *file)
{
    // A batch of atomic writes would take effect in a file control, where it is not recorded.
    return wrapped(file)->pMethods->xDeviceCharacteristics(wrapped(file)) & ~SQLITE_IOCAP_BATCH_ATOMIC;
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **memory)
{
    int code = check(fault_file(file)->control, FAULT_SHM_MAP);
    if (code == SQLITE_OK) {
        return wrapped(file)->pMethods->xShmMap(wrapped(file), region, size, extend, memory);
    }
    *memory = NULL;
    return code;
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    int code = flags & SQLITE_SHM_LOCK ? check(fault_file(file)->control, FAULT_SHM_LOCK) : SQLITE_OK;
    return code != SQLITE_OK ? code : wrapped(file)->pMethods->xShmLock(wrapped(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    wrapped(file)->pMethods->xShmBarrier(wrapped(file));
}

static int file_shm_unmap(sqlite3_file *file, int delete_it)
{
    return wrapped(file)->pMethods->xShmUnmap(wrapped(file), delete_it);
}

static int file_fetch(sqlite3_file *file, sqlite3_int64 offset, int amount, void **memory)
{
    return wrapped(file)->pMethods->xFetch(wrapped(file), offset, amount, memory);
}

static int file_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *memory)
{
    return wrapped(file)->pMethods->xUnfetch(wrapped(file), offset, memory);
}

// SQLite decides by version and by null methods what a file can do, so the shim must not promise more than the wrapped
// file: some of the unix VFS have version 3 but no shared memory.
static sqlite3_io_methods methods_like(const sqlite3_io_methods *original)
{
    sqlite3_io_methods methods = {
        .iVersion = original->iVersion < 3 ? original->iVersion : 3,
        .xClose = file_close,
        .xRead = file_read,
        .xWrite = file_write,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_unlock,
        .xCheckReservedLock = file_check_reserved_lock,
        .xFileControl = file_control,
        .xSectorSize = file_sector_size,
        .xDeviceCharacteristics = file_device_characteristics,
    };
    if (methods.iVersion >= 2 && original->xShmMap != NULL) {
        methods.xShmMap = file_shm_map;
        methods.xShmLock = file_shm_lock;
        methods.xShmBarrier = file_shm_barrier;
        methods.xShmUnmap = file_shm_unmap;
    }
    if (methods.iVersion >= 3 && original->xFetch != NULL) {
        methods.xFetch = file_fetch;
        methods.xUnfetch = file_unfetch;
    }
    return methods;
}

// MARK: - VFS

static const int journal_types = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;

// Not the VFS's xAccess, which takes an empty file for absent.
static bool path_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static int open_wrapped(sqlite3_file *file, const char *path, int flags, int *out_flags)
{
    wrapped(file)->pMethods = NULL;
    int code = wrapped_vfs->xOpen(wrapped_vfs, path, wrapped(file), flags, out_flags);
    // A VFS may want to be closed although it failed. SQLite will not ask this one to, as it has no methods yet.
    if (code != SQLITE_OK && wrapped(file)->pMethods != NULL) {
        wrapped(file)->pMethods->xClose(wrapped(file));
    }
    return code;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags)
{
    (void)vfs;
    file->pMethods = NULL;
    struct fault_control *control = control_retain_for(path);
    int code = check(control, FAULT_OPEN);
    bool existed = control == NULL || path_exists(path);
    if (code == SQLITE_OK) code = open_wrapped(file, path, flags, out_flags);
    if (code != SQLITE_OK) {
        control_release(control);
        return code;
    }
    struct fault_file *self = fault_file(file);
    self->methods = methods_like(wrapped(file)->pMethods);
    self->control = control;
    self->name = flags & (SQLITE_OPEN_MAIN_DB | journal_types) ? recorded_name(control, path) : NULL;
    self->directory_sync_due = flags & SQLITE_OPEN_CREATE && flags & journal_types;
    file->pMethods = &self->methods;
    if (!existed) file_record(file, (struct fault_event){.kind = FAULT_EVENT_CREATED});
    return SQLITE_OK;
}

static int delete_controlled(struct fault_control *control, const char *path, int sync_directory)
{
    int code = check(control, FAULT_DELETE);
    if (code != SQLITE_OK) return code;
    code = wrapped_vfs->xDelete(wrapped_vfs, path, sync_directory);
    const char *name = recorded_name(control, path);
    if (code == SQLITE_OK && name != NULL) {
        record(
            control,
            (struct fault_event){
                .kind = FAULT_EVENT_DELETE, .file = name, .length = sync_directory ? 1 : 0});
    }
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_directory)
{
    (void)vfs;
    struct fault_control *control = control_retain_for(path);
    int code = delete_controlled(control, path, sync_directory);
    control_release(control);
    return code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result)
{
    (void)vfs;
    struct fault_control *control = control_retain_for(path);
    int code = check(control, FAULT_ACCESS);
    control_release(control);
    return code != SQLITE_OK ? code : wrapped_vfs->xAccess(wrapped_vfs, path, flags, result);
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *path, int size, char *result)
{
    (void)vfs;
    return wrapped_vfs->xFullPathname(wrapped_vfs, path, size, result);
}

static void *vfs_dl_open(sqlite3_vfs *vfs, const char *path)
{
    (void)vfs;
    return wrapped_vfs->xDlOpen(wrapped_vfs, path);
}

static void vfs_dl_error(sqlite3_vfs *vfs, int size, char *message)
{
    (void)vfs;
    wrapped_vfs->xDlError(wrapped_vfs, size, message);
}

static void (*vfs_dl_symbol(sqlite3_vfs *vfs, void *library, const char *symbol))(void)
{
    (void)vfs;
    return wrapped_vfs->xDlSym(wrapped_vfs, library, symbol);
}

static void vfs_dl_close(sqlite3_vfs *vfs, void *library)
{
    (void)vfs;
    wrapped_vfs->xDlClose(wrapped_vfs, library);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *result)
{
    (void)vfs;
    return wrapped_vfs->xRandomness(wrapped_vfs, size, result);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return wrapped_vfs->xSleep(wrapped_vfs, microseconds);
}

static int vfs_current_time(sqlite3_vfs *vfs, double *result)
{
    (void)vfs;
    return wrapped_vfs->xCurrentTime(wrapped_vfs, result);
}

static int vfs_get_last_error(sqlite3_vfs *vfs, int size, char *message)
{
    (void)vfs;
    return wrapped_vfs->xGetLastError(wrapped_vfs, size, message);
}

static int vfs_current_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *result)
{
    (void)vfs;
    return wrapped_vfs->xCurrentTimeInt64(wrapped_vfs, result);
}

static int vfs_set_system_call(sqlite3_vfs *vfs, const char *name, sqlite3_syscall_ptr call)
{
    (void)vfs;
    return wrapped_vfs->xSetSystemCall(wrapped_vfs, name, call);
}

static sqlite3_syscall_ptr vfs_get_system_call(sqlite3_vfs *vfs, const char *name)
{
    (void)vfs;
    return wrapped_vfs->xGetSystemCall(wrapped_vfs, name);
}

static const char *vfs_next_system_call(sqlite3_vfs *vfs, const char *name)
{
    (void)vfs;
    return wrapped_vfs->xNextSystemCall(wrapped_vfs, name);
}

static sqlite3_vfs fault_vfs = {
    .zName = "fault",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_pathname,
    .xDlOpen = vfs_dl_open,
    .xDlError = vfs_dl_error,
    .xDlSym = vfs_dl_symbol,
    .xDlClose = vfs_dl_close,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_current_time,
    .xGetLastError = vfs_get_last_error,
    .xCurrentTimeInt64 = vfs_current_time_int64,
    .xSetSystemCall = vfs_set_system_call,
    .xGetSystemCall = vfs_get_system_call,
    .xNextSystemCall = vfs_next_system_call,
};

static int registration = SQLITE_ERROR;

static void register_once(void)
{
    wrapped_vfs = sqlite3_vfs_find(NULL);
    if (wrapped_vfs == NULL) return;
    // SQLite calls only the methods of the version named here, so those that the wrapped VFS lacks stay unused.
    fault_vfs.iVersion = wrapped_vfs->iVersion < 3 ? wrapped_vfs->iVersion : 3;
    fault_vfs.szOsFile = (int)sizeof(struct fault_file) + wrapped_vfs->szOsFile;
    fault_vfs.mxPathname = wrapped_vfs->mxPathname;
    registration = sqlite3_vfs_register(&fault_vfs, 0);
}

int fault_vfs_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
    return registration;
}

// MARK: - The files before recording

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static char *path_in(const char *directory, const char *name)
{
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = need(malloc(size));
    snprintf(path, size, "%s/%s", directory, name);
    return path;
}

static int read_open_file(sqlite3_file *file, struct bytes *content)
{
    sqlite3_int64 size = 0;
    int code = file->pMethods->xFileSize(file, &size);
    if (code != SQLITE_OK) return code;
    bytes_resize(content, (size_t)size);
    const size_t step = 1 << 20;
    for (size_t at = 0; at < content->size && code == SQLITE_OK; at += step) {
        size_t amount = content->size - at < step ? content->size - at : step;
        code = file->pMethods->xRead(file, content->data + at, (int)amount, (sqlite3_int64)at);
    }
    return code;
}

// Through the wrapped VFS and as a database, not with open(2): closing any descriptor of a file drops all POSIX locks
// that the process holds on it, and a connection may have the file open. The VFS knows and keeps the descriptor.
static int read_file(const char *path, struct bytes *content)
{
    const char *name = sqlite3_create_filename(path, "", "", 0, NULL);
    sqlite3_file *file = need(calloc(1, (size_t)wrapped_vfs->szOsFile));
    need((void *)(uintptr_t)name);
    int code = wrapped_vfs->xOpen(wrapped_vfs, name, file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, NULL);
    if (code == SQLITE_OK) code = read_open_file(file, content);
    if (file->pMethods != NULL) file->pMethods->xClose(file);
    free(file);
    sqlite3_free_filename((char *)(uintptr_t)name);
    return code;
}

static int base_add(struct base *base, struct fault_control *control, const char *name)
{
    char *path = path_in(control->directory, name);
    struct stat info;
    int code = SQLITE_OK;
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode) && !ends_with(name, "-shm")) {
        struct base_file file = {.name = recorded_name(control, path)};
        code = read_file(path, &file.content);
        base->files = grown(base->files, base->count, &base->capacity, sizeof file);
        base->files[base->count++] = file;
    }
    free(path);
    return code;
}

static int base_read(struct base *base, struct fault_control *control)
{
    int code = fault_vfs_register();
    if (code != SQLITE_OK) return code;
    DIR *directory = opendir(control->directory_length > 0 ? control->directory : "/");
    if (directory == NULL) return SQLITE_CANTOPEN;
    for (struct dirent *entry; code == SQLITE_OK && (entry = readdir(directory)) != NULL;) {
        code = base_add(base, control, entry->d_name);
    }
    closedir(directory);
    return code;
}

// Replaces base and events at once, and frees the old ones outside the mutex.
static void recording_replace(struct fault_control *control, struct base base, bool on)
{
    pthread_mutex_lock(&control->mutex);
    struct base old_base = control->base;
    struct fault_event *old_events = control->events;
    size_t old_count = control->event_count;
    control->base = base;
    control->events = NULL;
    control->event_count = control->event_capacity = 0;
    control->recording = on;
    pthread_mutex_unlock(&control->mutex);
    base_free(&old_base);
    events_free(old_events, old_count);
}

int fault_record(fault_control *control, bool on)
{
    if (!on) {
        pthread_mutex_lock(&control->mutex);
        control->recording = false;
        pthread_mutex_unlock(&control->mutex);
        return SQLITE_OK;
    }
    struct base base = {0};
    int code = base_read(&base, control);
    if (code != SQLITE_OK) {
        base_free(&base);
        base = (struct base){0};
    }
    recording_replace(control, base, code == SQLITE_OK);
    return code;
}

int fault_clear_events(fault_control *control)
{
    pthread_mutex_lock(&control->mutex);
    bool recording = control->recording;
    pthread_mutex_unlock(&control->mutex);
    if (recording) return fault_record(control, true);
    recording_replace(control, (struct base){0}, false);
    return SQLITE_OK;
}

// MARK: - Chance

// splitmix64: small, and the same numbers on every platform.
static uint64_t random_next(uint64_t *state)
{
    uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static size_t random_below(uint64_t *state, size_t limit)
{
    return (size_t)(random_next(state) % limit);
}

// A generator for each file, so that an image does not depend on the order in which the files came up.
static uint64_t random_for(const char *name, uint64_t seed, size_t prefix)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    uint64_t state = seed;
    state = random_next(&state) ^ hash;
    return random_next(&state) + prefix;
}

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

static struct image_file *image_file(struct image *image, const char *name)
{
    for (size_t i = 0; i < image->count; i++) {
        if (image->files[i].name == name) return &image->files[i];
    }
    image->files = grown(image->files, image->count, &image->capacity, sizeof *image->files);
    struct image_file *file = &image->files[image->count++];
    *file = (struct image_file){.name = name};
    return file;
}

static bool changes_directory(const struct fault_event *event)
{
    return event->kind == FAULT_EVENT_CREATED || event->kind == FAULT_EVENT_DELETE;
}

static void apply(struct image_file *file, const struct fault_event *event)
{
    if (changes_directory(event)) {
        file->exists = event->kind == FAULT_EVENT_CREATED;
        bytes_resize(&file->content, 0);
        return;
    }
    // Someone may still hold a file open that was deleted, and write to it.
    if (!file->exists) return;
    if (event->kind == FAULT_EVENT_WRITE) {
        bytes_write(&file->content, (size_t)event->offset, event->bytes, (size_t)event->length);
    } else {
        bytes_resize(&file->content, (size_t)event->length);
    }
}

// Only a random subset of the sectors of a write reaches the disk.
static void apply_torn(struct image_file *file, const struct fault_event *event, uint64_t *random)
{
    const size_t sector = 512;
    size_t at = (size_t)event->offset, end = at + (size_t)event->length;
    while (file->exists && at < end) {
        size_t next = (at / sector + 1) * sector < end ? (at / sector + 1) * sector : end;
        if (random_below(random, 2) == 0) {
            bytes_write(&file->content, at, event->bytes + (at - (size_t)event->offset), next - at);
        }
        at = next;
    }
}

static void pending_add(struct image_file *file, size_t index)
{
    file->pending =
        grown(file->pending, file->pending_count, &file->pending_capacity, sizeof *file->pending);
    file->pending[file->pending_count++] = index;
}

static void pending_drop(struct image_file *file, size_t count)
{
    if (count == 0) return;
    file->pending_count -= count;
    memmove(file->pending, file->pending + count, file->pending_count * sizeof *file->pending);
}

// Everything done to the file before event number `limit` is safe.
static void settle_file(const struct image *image, struct image_file *file, size_t limit)
{
    size_t count = 0;
    while (count < file->pending_count && file->pending[count] < limit) {
        apply(file, &image->events[file->pending[count++]]);
    }
    pending_drop(file, count);
}

// Files created and deleted before event number `limit` are safely so. What was written into them is not.
static void settle_directory(struct image *image, size_t limit)
{
    for (size_t i = 0; i < image->count; i++) {
        struct image_file *file = &image->files[i];
        size_t count = 0;
        for (size_t at = 0; at < file->pending_count && file->pending[at] < limit; at++) {
            if (changes_directory(&image->events[file->pending[at]])) count = at + 1;
        }
        if (count > 0) apply(file, &image->events[file->pending[count - 1]]);
        pending_drop(file, count);
    }
}

static void image_replay(struct image *image, size_t index)
{
    const struct fault_event *event = &image->events[index];
    if (event->file == NULL) return;
    struct image_file *file = image_file(image, event->file);
    if (event->kind == FAULT_EVENT_SYNC) {
        if (event->length != 0) settle_directory(image, (size_t)event->offset);
        settle_file(image, file, (size_t)event->offset);
        return;
    }
    // Of two threads that open a new file at once, both may report that they created it.
    if (event->kind == FAULT_EVENT_CREATED && file->visible) return;
    pending_add(file, index);
    if (changes_directory(event)) file->visible = event->kind == FAULT_EVENT_CREATED;
    if (event->kind == FAULT_EVENT_DELETE && event->length != 0) settle_directory(image, index + 1);
}

static void keep_prefix(const struct image *image, struct image_file *file, size_t count)
{
    for (size_t at = 0; at < count; at++) apply(file, &image->events[file->pending[at]]);
}

static size_t directory_changes(const struct image *image, const struct image_file *file)
{
    size_t count = 0;
    for (size_t at = 0; at < file->pending_count; at++) {
        count += changes_directory(&image->events[file->pending[at]]);
    }
    return count;
}

// Directory changes keep their order, as in the journal of a file system. Writes matter only if they went to the file
// that then has the name.
static void keep_subset(const struct image *image, struct image_file *file, uint64_t *random, bool tear)
{
    size_t changes = random_below(random, directory_changes(image, file) + 1);
    // Between nearly nothing and nearly all: with an even chance for each write, long runs would never survive.
    size_t share = 1 + random_below(random, 15);
    for (size_t at = 0, seen = 0; at < file->pending_count; at++) {
        const struct fault_event *event = &image->events[file->pending[at]];
        if (changes_directory(event)) {
            if (seen++ == changes) return;
            apply(file, event);
        } else if (seen == changes && random_below(random, 16) < share) {
            bool torn = tear && event->kind == FAULT_EVENT_WRITE && random_below(random, 3) == 0;
            if (torn) apply_torn(file, event, random);
            else apply(file, event);
        }
    }
}

static void lose_power(const struct image *image, struct image_file *file, uint64_t seed, int mode)
{
    uint64_t random = random_for(file->name, seed, image->event_count);
    switch (mode) {
    case FAULT_IMAGE_ALL:
        keep_prefix(image, file, file->pending_count);
        break;
    case FAULT_IMAGE_PREFIX:
        keep_prefix(image, file, random_below(&random, file->pending_count + 1));
        break;
    default:
        keep_subset(image, file, &random, mode == FAULT_IMAGE_TORN);
        break;
    }
}

static int write_file(const char *directory, const struct image_file *file)
{
    char *path = path_in(directory, file->name);
    FILE *stream = fopen(path, "wb");
    free(path);
    if (stream == NULL) return errno;
    errno = 0;
    size_t size = file->content.size;
    bool failed = size > 0 && fwrite(file->content.data, 1, size, stream) != size;
    failed = fclose(stream) != 0 || failed;
    return !failed ? 0 : errno != 0 ? errno : EIO;
}

// What an earlier image or a connection to it left behind, a WAL file say, would become part of this image.
static int make_empty_directory(const char *path)
{
    if (mkdir(path, 0777) == 0) return 0;
    if (errno != EEXIST) return errno;
    DIR *directory = opendir(path);
    if (directory == NULL) return errno;
    bool empty = true;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) empty = false;
    }
    closedir(directory);
    return empty ? 0 : ENOTEMPTY;
}

static void image_add_base(struct image *image, const struct base *base)
{
    for (size_t i = 0; i < base->count; i++) {
        struct image_file *file = image_file(image, base->files[i].name);
        file->exists = file->visible = true;
        bytes_write(&file->content, 0, base->files[i].content.data, base->files[i].content.size);
    }
}

// The list of events is copied, as it moves when it grows. What the events point to stays where it is.
static struct image image_begin(struct fault_control *control, long prefix)
{
    struct image image = {0};
    pthread_mutex_lock(&control->mutex);
    size_t wanted = prefix < 0 ? 0 : (size_t)prefix;
    image.event_count = wanted < control->event_count ? wanted : control->event_count;
    image.events = need(malloc((image.event_count + 1) * sizeof *image.events));
    if (image.event_count > 0) {
        memcpy(image.events, control->events, image.event_count * sizeof *image.events);
    }
    image_add_base(&image, &control->base);
    pthread_mutex_unlock(&control->mutex);
    return image;
}

static void image_free(struct image *image)
{
    for (size_t i = 0; i < image->count; i++) {
        free(image->files[i].content.data);
        free(image->files[i].pending);
    }
    free(image->files);
    free(image->events);
}

int fault_write_image(fault_control *control, long prefix, uint64_t seed, int mode, const char *directory)
{
    if (mode < FAULT_IMAGE_ALL || mode > FAULT_IMAGE_PREFIX) return EINVAL;
    int error = make_empty_directory(directory);
    if (error != 0) return error;
    struct image image = image_begin(control, prefix);
    for (size_t index = 0; index < image.event_count; index++) image_replay(&image, index);
    for (size_t i = 0; i < image.count && error == 0; i++) {
        lose_power(&image, &image.files[i], seed, mode);
        if (image.files[i].exists) error = write_file(directory, &image.files[i]);
    }
    image_free(&image);
    return error;
}
