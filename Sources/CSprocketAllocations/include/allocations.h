#pragma once

// Number of memory requests that the calling thread has made so far: malloc, calloc, realloc and the aligned
// functions. A program that links this target counts in all of its threads.
long sprocket_allocation_count(void);

// Number of libraries that the process has loaded so far, at its start or later. When one is loaded, the
// loader and Swift's run-time library may afterwards allocate on any thread.
unsigned long long sprocket_library_count(void);
