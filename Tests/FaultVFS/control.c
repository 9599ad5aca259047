// The controls that exist, which of them a path belongs to, and how long each lives.
#include "fault_internals.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fault_control *registry;

const char *below(const struct fault_control *control, const char *path)
{
    if (strncmp(path, control->directory, control->directory_length) != 0) return NULL;
    if (path[control->directory_length] != '/') return NULL;
    return path + control->directory_length + 1;
}

struct fault_control *control_retain_for(const char *path)
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

void control_release(struct fault_control *control)
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
