#include "counting.h"

#include <stdlib.h>

void __attribute__((noinline)) counting_region(void (*body)(void *context), void *context)
{
    body(context);
    // Not a jump: the function has to be there until the work is done.
    __asm__ volatile("" ::: "memory");
}

#ifdef __GLIBC__

#include <errno.h>

const int counting_works = 1;

static uint64_t allocations;

static inline void count(void)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
}

uint64_t counting_allocations(void)
{
    return __atomic_load_n(&allocations, __ATOMIC_RELAXED);
}

// https://www.gnu.org/software/libc/manual/html_node/Replacing-malloc.html. `free` stays glibc's: what comes from these is
// glibc's own memory.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size)
{
    count();
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    count();
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

#else

const int counting_works = 0;

uint64_t counting_allocations(void)
{
    return 0;
}

#endif
