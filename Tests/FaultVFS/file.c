// The methods of an open file: count, fail or pass on, record.
#include "fault_internals.h"

#include <string.h>

void file_record(sqlite3_file *file, struct fault_event event)
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
    if (exceeds_log_limit(fault_file(file), offset + amount)) return SQLITE_FULL;
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
    if (offset == 0 && memory == NULL) hesitate(fault_file(file)->control);
    return wrapped(file)->pMethods->xUnfetch(wrapped(file), offset, memory);
}

// SQLite decides by version and by null methods what a file can do, so the shim must not promise more than the wrapped
// file: some of the unix VFS have version 3 but no shared memory.
sqlite3_io_methods methods_like(const sqlite3_io_methods *original)
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
