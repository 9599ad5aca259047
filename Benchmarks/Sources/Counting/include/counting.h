#ifndef COUNTING_H
#define COUNTING_H

#include <stdint.h>

/// Counts what this process asks of its allocator: malloc, calloc, realloc, posix_memalign and aligned_alloc, of all threads.
/// For programs that measure, and nothing else: linking this replaces those functions.
///
/// Works with glibc, whose own functions can still be called by another name; elsewhere `counting_works` is 0, and nothing is
/// replaced or counted.
extern const int counting_works;

/// How often memory was asked for since the process began. A realloc counts once, whether it moves or not.
uint64_t counting_allocations(void);

/// Calls `body` with `context`. This name is what a profiler is told to look at:
/// `valgrind --tool=callgrind --toggle-collect=counting_region`.
void counting_region(void (*body)(void *context), void *context);

#endif
