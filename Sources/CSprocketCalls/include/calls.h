#pragma once

// Begins to count this process's allocations. Returns how many references were redirected; 0 where that is
// not possible, and nothing is counted.
int sprocket_count_calls(void);

// Calls of malloc, calloc, realloc, aligned_alloc, memalign and posix_memalign since then, of all threads.
unsigned long sprocket_call_count(void);
