// Replaying events: what of every file is safe on the disk, and what is still pending.
#include "fault_internals.h"

#include <stdlib.h>
#include <string.h>

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

bool changes_directory(const struct fault_event *event)
{
    return event->kind == FAULT_EVENT_CREATED || event->kind == FAULT_EVENT_DELETE;
}

void apply(struct image_file *file, const struct fault_event *event)
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

void image_replay(struct image *image, size_t index)
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

static void image_add_base(struct image *image, const struct base *base)
{
    for (size_t i = 0; i < base->count; i++) {
        struct image_file *file = image_file(image, base->files[i].name);
        file->exists = file->visible = true;
        bytes_write(&file->content, 0, base->files[i].content.data, base->files[i].content.size);
    }
}

// The list of events is copied, as it moves when it grows. What the events point to stays where it is.
struct image image_begin(struct fault_control *control, long prefix)
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

void image_free(struct image *image)
{
    for (size_t i = 0; i < image->count; i++) {
        free(image->files[i].content.data);
        free(image->files[i].pending);
    }
    free(image->files);
    free(image->events);
}
