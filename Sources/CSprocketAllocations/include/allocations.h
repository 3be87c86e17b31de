#pragma once

// How often the calling thread has asked for memory since it began: malloc, calloc, realloc and the aligned
// ones. A program that links this counts in all of its threads.
long sprocket_allocation_count(void);
