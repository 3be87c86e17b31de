// Counts a thread's allocations, in whichever program links it: by standing in front of the C library's,
// or by the hook of a sanitizer, which has an allocator of its own.

#define _GNU_SOURCE

#include "allocations.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>

static __thread long count;

long sprocket_allocation_count(void) { return count; }

static int take_count(struct dl_phdr_info *info, size_t size, void *found) {
  *(unsigned long long *)found = info->dlpi_adds;
  return 1;
}

unsigned long long sprocket_library_count(void) {
  unsigned long long found = 0;
  dl_iterate_phdr(take_count, &found);
  return found;
}

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
int __sanitizer_install_malloc_and_free_hooks(
    void (*allocated)(const volatile void *, size_t), void (*freed)(const volatile void *));

static void allocated(const volatile void *memory, size_t size) { count += 1; }
static void freed(const volatile void *memory) {}

__attribute__((constructor)) static void install(void) {
  __sanitizer_install_malloc_and_free_hooks(allocated, freed);
}
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t items, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  count += 1;
  return __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
  count += 1;
  return __libc_calloc(items, size);
}

void *realloc(void *old, size_t size) {
  count += 1;
  return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count += 1;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  count += 1;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
#endif
