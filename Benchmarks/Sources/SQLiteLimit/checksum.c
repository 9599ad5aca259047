// The checksum of a body, as our store takes it, by the library that the hashes come from (https://github.com/Cyan4973/xxHash).
#define XXH_INLINE_ALL
#include "limit_internals.h"

#include <xxhash.h>

// Seven bits a byte, lowest first (LEB128).
static size_t number(const uint8_t **at, const uint8_t *end)
{
    size_t value = 0;
    for (int shift = 0; *at < end && shift < 63; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    return value;
}

static uint64_t mixed(uint64_t value, uint64_t word)
{
    value = (value ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 32;
}

uint64_t body_checksum(const void *layout, size_t layout_size, const void *payload, size_t payload_size)
{
    if (layout_size == 0) return 0;
    const uint8_t *at = layout, *end = at + layout_size, *item = payload, *last = item + payload_size;
    uint64_t value = mixed(4 * UINT64_C(0x9E3779B97F4A7C15), XXH64(layout, layout_size, layout_size));
    at += 1;
    for (size_t items = number(&at, end); items > 0; items--) {
        size_t size = number(&at, end), id = number(&at, end);
        if (size > (size_t)(last - item) || id > (size_t)(end - at) + 1) return 0;
        if (id > 0) at += id - 1;
        value = mixed(value, XXH3_64bits(item, size));
        item += size;
    }
    return value;
}
