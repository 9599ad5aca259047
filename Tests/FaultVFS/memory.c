// The memory that the rest keeps: lists that grow, and the contents of files.
#include "fault_internals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *need(void *memory)
{
    if (memory == NULL) {
        fputs("fault_vfs: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *grown(void *array, size_t count, size_t *capacity, size_t element)
{
    if (count < *capacity) return array;
    *capacity = *capacity == 0 ? 16 : *capacity * 2;
    return need(realloc(array, *capacity * element));
}

void bytes_resize(struct bytes *bytes, size_t size)
{
    if (size > bytes->capacity) {
        bytes->capacity = size < 4096 ? 4096 : size * 2;
        bytes->data = need(realloc(bytes->data, bytes->capacity));
    }
    if (size > bytes->size) memset(bytes->data + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

void bytes_write(struct bytes *bytes, size_t offset, const uint8_t *data, size_t length)
{
    if (length == 0) return;
    if (offset + length > bytes->size) bytes_resize(bytes, offset + length);
    memcpy(bytes->data + offset, data, length);
}
