// Comes between a program and the C library (LD_PRELOAD), for the fault campaign: faults, another time of day, and controls.
//
//   SHIM_UNDER=DIR           only files below this directory are touched
//   SHIM_FAULT=CALL,WHAT,N   the Nth CALL (write, read, sync, truncate, unlink, open) of the process, with "+" behind the number
//                            that and all later ones: kill (SIGKILL instead of the call), lost (reported as done, and not done),
//                            half (only half of it is written), or the number of an error
//   SHIM_FIRED=FILE          a byte is added here for each fault
//   SHIM_CLOCK=SECONDS       the wall clock is ahead by this; elapsed time is unchanged
//   SHIM_UNLOCKED=1          every lock on a file is granted to everybody
//   SHIM_TAPPED=FILE         bytes sent on sockets are also written to this file
//   SHIM_CREDULOUS=1         links look like their targets and like own files; no file gets mode 0600
//
// Only calls that go through the dynamic linker are seen: SQLite has to be a shared library, as it is on Linux.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    return found;
}

static struct {
    char under[512], call[16], what[16];
    long nth;
    bool forever, unlocked, credulous;
    long long ahead;
    const char *fired, *tapped;
} plan;
static atomic_long calls;

__attribute__((constructor)) static void read_plan(void)
{
    const char *text = getenv("SHIM_UNDER");
    snprintf(plan.under, sizeof plan.under, "%s", text == NULL ? "/nothing" : text);
    text = getenv("SHIM_FAULT");
    if (text != NULL && sscanf(text, "%15[^,],%15[^,],%ld", plan.call, plan.what, &plan.nth) == 3) {
        plan.forever = text[strlen(text) - 1] == '+';
    }
    plan.fired = getenv("SHIM_FIRED");
    plan.tapped = getenv("SHIM_TAPPED");
    plan.unlocked = getenv("SHIM_UNLOCKED") != NULL;
    plan.credulous = getenv("SHIM_CREDULOUS") != NULL;
    text = getenv("SHIM_CLOCK");
    plan.ahead = text == NULL ? 0 : atoll(text);
}

// Written without the calls that are replaced here.
static void note(const char *file, const void *bytes, size_t count)
{
    if (file == NULL) return;
    long descriptor = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    syscall(SYS_write, descriptor, bytes, count);
    syscall(SYS_close, descriptor);
}

static bool is_under(const char *path)
{
    size_t length = strlen(plan.under);
    return strncmp(path, plan.under, length) == 0 && path[length] == '/';
}

static bool is_file_under(int descriptor)
{
    char link[64], path[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return false;
    path[length] = '\0';
    return is_under(path);
}

// Whether this call is the one. Does not return when it is the one to die of.
static bool is_hit(const char *call)
{
    if (strcmp(plan.call, call) != 0) return false;
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (plan.forever ? number < plan.nth : number != plan.nth) return false;
    note(plan.fired, ".", 1);
    if (strcmp(plan.what, "kill") == 0) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = atoi(plan.what);
    return true;
}

static bool is_lost(void) { return strcmp(plan.what, "lost") == 0; }

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off64_t offset)
{
    bool hit = plan.nth > 0 && is_file_under(descriptor) && is_hit("write");
    if (hit && is_lost()) return (ssize_t)count;
    if (hit && strcmp(plan.what, "half") == 0) count = count > 1 ? count / 2 : count;
    else if (hit) return -1;
    return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset)
{
    return write_at(descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset)
{
    return write_at(descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset)
{
    if (plan.nth > 0 && is_file_under(descriptor) && is_hit("read")) return is_lost() ? 0 : -1;
    return syscall(SYS_pread64, descriptor, bytes, count, offset);
}

static int sync_of(int descriptor, long number)
{
    if (plan.nth > 0 && is_file_under(descriptor) && is_hit("sync")) return is_lost() ? 0 : -1;
    return (int)syscall(number, descriptor);
}

int fsync(int descriptor) { return sync_of(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_of(descriptor, SYS_fdatasync); }

int ftruncate64(int descriptor, off64_t size)
{
    if (plan.nth > 0 && is_file_under(descriptor) && is_hit("truncate")) return is_lost() ? 0 : -1;
    return (int)syscall(SYS_ftruncate, descriptor, size);
}

int ftruncate(int descriptor, off_t size) { return ftruncate64(descriptor, size); }

int unlink(const char *path)
{
    if (plan.nth > 0 && is_under(path) && is_hit("unlink")) return is_lost() ? 0 : -1;
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static int open_at(const char *path, int flags, mode_t mode)
{
    if (plan.nth > 0 && is_under(path) && is_hit("open")) return -1;
    if (plan.credulous && is_under(path)) {
        flags &= ~O_NOFOLLOW;
        mode = 0644;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define MODE_OF(flags, mode)                                              \
    mode_t mode = 0;                                                      \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                \
        va_list rest;                                                     \
        va_start(rest, flags);                                            \
        mode = va_arg(rest, mode_t);                                      \
        va_end(rest);                                                     \
    }

int open(const char *path, int flags, ...) { MODE_OF(flags, mode) return open_at(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags, mode) return open_at(path, flags | O_LARGEFILE, mode); }

int chmod(const char *path, mode_t mode)
{
    if (plan.credulous && is_under(path)) return 0;
    return (int)syscall(SYS_fchmodat, AT_FDCWD, path, mode);
}

int lstat64(const char *path, struct stat64 *status)
{
    if (!plan.credulous || !is_under(path)) return REAL(lstat64)(path, status);
    int result = stat64(path, status);
    status->st_uid = geteuid();
    return result;
}

int lstat(const char *path, struct stat *status) { return lstat64(path, (struct stat64 *)status); }

static int control(int descriptor, int command, void *argument)
{
    bool asks = command == F_GETLK || command == F_OFD_GETLK;
    bool takes = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
    if (plan.unlocked && (asks || takes) && is_file_under(descriptor)) {
        if (asks) ((struct flock *)argument)->l_type = F_UNLCK;
        return 0;
    }
    return (int)syscall(SYS_fcntl, descriptor, command, argument);
}

#define ARGUMENT_AFTER(command, argument)          \
    va_list rest;                                  \
    va_start(rest, command);                       \
    void *argument = va_arg(rest, void *);         \
    va_end(rest);

int fcntl(int descriptor, int command, ...) { ARGUMENT_AFTER(command, argument) return control(descriptor, command, argument); }
int fcntl64(int descriptor, int command, ...) { ARGUMENT_AFTER(command, argument) return control(descriptor, command, argument); }

// Time: https://man7.org/linux/man-pages/man2/clock_gettime.2.html. What measures durations is left alone.
int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += plan.ahead;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    int result = (int)syscall(SYS_gettimeofday, time, zone);
    if (result == 0) time->tv_sec += plan.ahead;
    return result;
}

time_t time(time_t *result)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

// Sockets: a copy of the sent bytes.
static void tap(int descriptor, const void *bytes, size_t count)
{
    struct stat status;
    if (plan.tapped != NULL && fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) note(plan.tapped, bytes, count);
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
    tap(descriptor, bytes, count);
    return syscall(SYS_write, descriptor, bytes, count);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    for (int i = 0; i < count; i++) tap(descriptor, parts[i].iov_base, parts[i].iov_len);
    return syscall(SYS_writev, descriptor, parts, count);
}
