// Counts allocations of the whole process, including those of libraries, once counting has been started.
//
// Each loaded object has a table of the functions that it imports. Its entries for the C library's allocator
// are redirected to functions that count and then call the original, as heaptrack does when it attaches to a
// process. So a process that does not count pays nothing, whatever allocator it uses. Defining malloc here
// instead would replace it in every program that links this package. Objects that are loaded later are not
// counted.

#define _GNU_SOURCE
#include "calls.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_ulong calls;

unsigned long sprocket_call_count(void) { return atomic_load_explicit(&calls, memory_order_relaxed); }

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_memalign)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);

static void add(void) { atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); }

static void *counting_malloc(size_t size) {
  add();
  return next_malloc(size);
}

static void *counting_calloc(size_t items, size_t size) {
  add();
  return next_calloc(items, size);
}

static void *counting_realloc(void *old, size_t size) {
  add();
  return next_realloc(old, size);
}

static void *counting_aligned_alloc(size_t alignment, size_t size) {
  add();
  return next_aligned_alloc(alignment, size);
}

static void *counting_memalign(size_t alignment, size_t size) {
  add();
  return next_memalign(alignment, size);
}

static int counting_posix_memalign(void **out, size_t alignment, size_t size) {
  add();
  return next_posix_memalign(out, alignment, size);
}

static const struct function {
  const char *name;
  void **next;
  void *counting;
} functions[] = {
    {"malloc", (void **)&next_malloc, (void *)counting_malloc},
    {"calloc", (void **)&next_calloc, (void *)counting_calloc},
    {"realloc", (void **)&next_realloc, (void *)counting_realloc},
    {"aligned_alloc", (void **)&next_aligned_alloc, (void *)counting_aligned_alloc},
    {"memalign", (void **)&next_memalign, (void *)counting_memalign},
    {"posix_memalign", (void **)&next_posix_memalign, (void *)counting_posix_memalign},
};
enum { function_count = sizeof functions / sizeof functions[0] };

// Redirects one entry to `target`. The loader has made most of these entries read-only by now.
static int redirect(void **entry, void *target, uintptr_t sealed, uintptr_t sealed_end) {
  uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t page = (uintptr_t)entry & ~(size - 1);
  int is_sealed = (uintptr_t)entry >= sealed && (uintptr_t)entry < sealed_end;
  if (is_sealed && mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0) return 0;
  __atomic_store_n(entry, target, __ATOMIC_RELAXED);
  if (is_sealed) mprotect((void *)page, size, PROT_READ);
  return 1;
}

static int visit(struct dl_phdr_info *object, size_t size, void *found) {
  const ElfW(Dyn) *dynamic = NULL;
  uintptr_t sealed = 0, sealed_end = 0;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &object->dlpi_phdr[index];
    uintptr_t start = object->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)start;
    if (header->p_type == PT_GNU_RELRO) {
      sealed = start;
      sealed_end = start + header->p_memsz;
    }
  }
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  const ElfW(Rela) *tables[2] = {NULL, NULL};
  size_t bytes[2] = {0, 0};
  for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
    switch (dynamic->d_tag) {
    case DT_SYMTAB: symbols = (const ElfW(Sym) *)dynamic->d_un.d_ptr; break;
    case DT_STRTAB: names = (const char *)dynamic->d_un.d_ptr; break;
    case DT_JMPREL: tables[0] = (const ElfW(Rela) *)dynamic->d_un.d_ptr; break;
    case DT_PLTRELSZ: bytes[0] = dynamic->d_un.d_val; break;
    case DT_RELA: tables[1] = (const ElfW(Rela) *)dynamic->d_un.d_ptr; break;
    case DT_RELASZ: bytes[1] = dynamic->d_un.d_val; break;
    // Relocations without addends: not used on the processors that Sprocket supports.
    case DT_REL: return 0;
    default: break;
    }
  }
  // The kernel's own object (vDSO) imports nothing, and its addresses are relative.
  if (!symbols || !names || (uintptr_t)symbols < object->dlpi_addr) return 0;
  for (int table = 0; table < 2; table++) {
    size_t count = tables[table] ? bytes[table] / sizeof(ElfW(Rela)) : 0;
    for (size_t index = 0; index < count; index++) {
      const ElfW(Rela) *relocation = &tables[table][index];
      const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(relocation->r_info)];
      void **entry = (void **)(object->dlpi_addr + relocation->r_offset);
      for (int which = 0; which < function_count; which++) {
        // If the entry holds another address, it is not this function's entry.
        if (ELF64_R_SYM(relocation->r_info) == 0 || relocation->r_addend != 0) continue;
        if (strcmp(names + symbol->st_name, functions[which].name) != 0) continue;
        *(int *)found += redirect(entry, functions[which].counting, sealed, sealed_end);
      }
    }
  }
  return 0;
}

int sprocket_count_calls(void) {
  for (int which = 0; which < function_count; which++) {
    *functions[which].next = dlsym(RTLD_DEFAULT, functions[which].name);
    if (!*functions[which].next) return 0;
  }
  int found = 0;
  dl_iterate_phdr(visit, &found);
  return found;
}
