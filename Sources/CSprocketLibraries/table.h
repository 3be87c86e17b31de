#pragma once
// The table of functions of libraries that are loaded when something first needs them. Shims of such
// libraries include it; SprocketLibraries fills it.

#include <stddef.h>

struct sprocket_function {
  // Place of its library among those that the wrapper loads.
  int library;
  const char *name;
};

#define SPROCKET_POINTER(library, name) __typeof__(name) *_Nonnull name;
#define SPROCKET_ENTRY(library, name) {library, #name},

// Makes of a list of functions `struct TABLE`, with a pointer to each, and the function TABLE_entry(), which
// gives the list's entries by their number, and one without a name behind the last.
#define SPROCKET_TABLE(TABLE, LIST)                                                        \
  struct TABLE {                                                                           \
    LIST(SPROCKET_POINTER)                                                                 \
  };                                                                                       \
  static inline struct sprocket_function TABLE##_entry(int index) {                        \
    static const struct sprocket_function entries[] = {LIST(SPROCKET_ENTRY){0, NULL}};     \
    const int end = sizeof entries / sizeof *entries - 1;                                  \
    return entries[index < end ? index : end];                                             \
  }
