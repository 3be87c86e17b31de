#pragma once

// How often the calling thread has asked for memory since it began: malloc, calloc, realloc and
// the aligned ones. Always 0 under a sanitizer, which brings an allocator of its own.
long sprocket_allocation_count(void);
