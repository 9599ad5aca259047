// The methods of the VFS itself, and its registration.
#include "fault_internals.h"

#include <sys/stat.h>

sqlite3_vfs *wrapped_vfs;

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
