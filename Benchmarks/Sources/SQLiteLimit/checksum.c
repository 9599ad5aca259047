// XXH64, after https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md, for machines whose numbers lie in
// memory with the lowest byte first.
#include "limit_internals.h"

static const uint64_t prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F, prime3 = 0x165667B19E3779F9,
                      prime4 = 0x85EBCA77C2B2AE63, prime5 = 0x27D4EB2F165667C5;

static inline uint64_t rotated(uint64_t value, int count)
{
    return value << count | value >> (64 - count);
}

static inline uint64_t mixed(uint64_t lane, uint64_t word)
{
    return rotated(lane + word * prime2, 31) * prime1;
}

// The lanes' common value after all whole stripes of 32 bytes; `bytes` moves behind them.
static uint64_t stripes(const uint8_t **bytes, const uint8_t *end, uint64_t seed)
{
    uint64_t a = seed + prime1 + prime2, b = seed + prime2, c = seed, d = seed - prime1;
    const uint8_t *at = *bytes;
    for (; end - at >= 32; at += 32) {
        a = mixed(a, word64(at));
        b = mixed(b, word64(at + 8));
        c = mixed(c, word64(at + 16));
        d = mixed(d, word64(at + 24));
    }
    *bytes = at;
    uint64_t hash = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18);
    hash = (hash ^ mixed(0, a)) * prime1 + prime4;
    hash = (hash ^ mixed(0, b)) * prime1 + prime4;
    hash = (hash ^ mixed(0, c)) * prime1 + prime4;
    return (hash ^ mixed(0, d)) * prime1 + prime4;
}

static uint64_t rest(uint64_t hash, const uint8_t *at, const uint8_t *end)
{
    for (; end - at >= 8; at += 8) hash = rotated(hash ^ mixed(0, word64(at)), 27) * prime1 + prime4;
    if (end - at >= 4) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        hash = rotated(hash ^ word * prime1, 23) * prime2 + prime3;
        at += 4;
    }
    for (; at < end; at++) hash = rotated(hash ^ *at * prime5, 11) * prime1;
    return hash;
}

uint64_t limit_xxh64(const void *bytes, size_t size, uint64_t seed)
{
    if (size == 0) bytes = "";
    const uint8_t *at = bytes, *end = at + size;
    uint64_t hash = size >= 32 ? stripes(&at, end, seed) : seed + prime5;
    hash = rest(hash + size, at, end);
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
}

uint64_t body_checksum(const void *layout, size_t layout_size, const void *payload, size_t payload_size)
{
    return limit_xxh64(payload, payload_size, limit_xxh64(layout, layout_size, 0));
}
