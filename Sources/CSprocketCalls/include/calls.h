#pragma once

// Starts counting this process's allocations. Returns the number of redirected table entries; 0 if
// redirection is not possible, and then nothing is counted.
int sprocket_count_calls(void);

// Calls of malloc, calloc, realloc, aligned_alloc, memalign and posix_memalign since then, by all threads.
unsigned long sprocket_call_count(void);
