// Waiting where SQLite's merges have a gap.
#include "fault_internals.h"

#include <time.h>

void fault_hesitate(fault_control *control, unsigned microseconds)
{
    pthread_mutex_lock(&control->mutex);
    control->hesitation = microseconds;
    pthread_mutex_unlock(&control->mutex);
}

void hesitate(struct fault_control *control)
{
    if (control == NULL) return;
    pthread_mutex_lock(&control->mutex);
    unsigned most = control->hesitation;
    pthread_mutex_unlock(&control->mutex);
    if (most == 0) return;
    unsigned chance = 0;
    sqlite3_randomness(sizeof chance, &chance);
    struct timespec wait = {.tv_nsec = (long)(chance % most) * 1000};
    nanosleep(&wait, NULL);
}

static long milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int fault_merge_unlocked(const char *path, long milliseconds)
{
    long end = milliseconds_now() + milliseconds;
    sqlite3 *database = NULL;
    int code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, "fault");
    // A log is merged only by a connection that has read from it.
    if (code == SQLITE_OK) code = sqlite3_exec(database, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    while (code == SQLITE_OK && milliseconds_now() < end) {
        sqlite3_wal_checkpoint_v2(database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    sqlite3_close_v2(database);
    return code;
}
