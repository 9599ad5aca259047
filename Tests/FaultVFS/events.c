// The record of what happened to files.
#include "fault_internals.h"

#include <stdlib.h>
#include <string.h>

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

const char *recorded_name(struct fault_control *control, const char *path)
{
    if (control == NULL) return NULL;
    const char *name = below(control, path);
    if (name == NULL || strchr(name, '/') != NULL) return NULL;
    pthread_mutex_lock(&control->mutex);
    name = name_shared(control, name);
    pthread_mutex_unlock(&control->mutex);
    return name;
}

void record(struct fault_control *control, struct fault_event event)
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

void events_free(struct fault_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)events[i].bytes);
    free(events);
}
