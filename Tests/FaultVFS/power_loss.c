// Which of the pending events survive a power loss, and the files as they are then.
#include "fault_internals.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
