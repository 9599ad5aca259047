// Starting and ending a recording. It begins with the files as they are then.
#include "fault_internals.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

char *path_in(const char *directory, const char *name)
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

void base_free(struct base *base)
{
    for (size_t i = 0; i < base->count; i++) free(base->files[i].content.data);
    free(base->files);
}
