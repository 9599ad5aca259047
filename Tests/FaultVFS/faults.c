// Which call fails, and with what.
#include "fault_internals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

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

void fault_arm_death(fault_control *control, enum fault_kind kind, long nth)
{
    if (!is_kind(kind)) return;
    pthread_mutex_lock(&control->mutex);
    control->plans[kind] = (struct plan){.armed = nth >= 1, .deadly = true, .nth = nth};
    control->calls[kind] = 0;
    pthread_mutex_unlock(&control->mutex);
}

void fault_disarm(fault_control *control)
{
    pthread_mutex_lock(&control->mutex);
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) control->plans[kind].armed = false;
    pthread_mutex_unlock(&control->mutex);
}

void fault_limit_log(fault_control *control, int64_t bytes)
{
    pthread_mutex_lock(&control->mutex);
    control->log_limit = bytes;
    pthread_mutex_unlock(&control->mutex);
}

bool exceeds_log_limit(struct fault_file *file, sqlite3_int64 end)
{
    size_t length = file->name != NULL ? strlen(file->name) : 0;
    if (length < 4 || strcmp(file->name + length - 4, "-wal") != 0) return false;
    pthread_mutex_lock(&file->control->mutex);
    int64_t limit = file->control->log_limit;
    pthread_mutex_unlock(&file->control->mutex);
    return limit > 0 && end > limit;
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

int check_partial(struct fault_control *control, enum fault_kind kind, long *partial)
{
    if (control == NULL) return SQLITE_OK;
    int code = SQLITE_OK;
    pthread_mutex_lock(&control->mutex);
    const struct plan *plan = &control->plans[kind];
    long call = ++control->calls[kind];
    if (plan->armed && (call == plan->nth || (plan->forever && call > plan->nth))) {
        if (plan->deadly) kill(getpid(), SIGKILL);
        code = plan->code;
        *partial = plan->partial;
        control->fired++;
    }
    pthread_mutex_unlock(&control->mutex);
    return code;
}

int check(struct fault_control *control, enum fault_kind kind)
{
    long ignored = -1;
    return check_partial(control, kind, &ignored);
}
