#pragma once

// Number of memory requests that the calling thread has made so far: malloc, calloc, realloc and the aligned
// functions. A program that links this target counts in all of its threads.
long sprocket_allocation_count(void);
