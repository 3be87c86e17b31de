// Preloaded: calls of the function that HUNG_CALL names, about a file or folder in HUNG_FOLDER, sleep for
// ever once the file HUNG_SWITCH exists, as on a network file system whose server is gone. Signals do not
// end that, SIGKILL does. The first one adds the file HUNG_WITNESS.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

static int is_ours(const char *path) {
  const char *folder = getenv("HUNG_FOLDER");
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static void check(const char *call, const char *path) {
  const char *wanted = getenv("HUNG_CALL");
  const char *on = getenv("HUNG_SWITCH"), *witness = getenv("HUNG_WITNESS");
  if (!wanted || !on || !witness || strcmp(wanted, call) || !is_ours(path)) return;
  if (access(on, F_OK)) return;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  close(REAL("open", int (*)(const char *, int, ...))(witness, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  for (;;) pause();
}

static void check_open(const char *call, int descriptor) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count <= 0) return;
  path[count] = 0;
  check(call, path);
}

static mode_t mode_of(int flags, va_list list) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

#define OPENS(name)                                             \
  int name(const char *path, int flags, ...) {                  \
    va_list list;                                               \
    va_start(list, flags);                                      \
    mode_t mode = mode_of(flags, list);                         \
    va_end(list);                                               \
    check("open", path);                                        \
    return REAL(#name, int (*)(const char *, int, ...))(path, flags, mode); \
  }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                          \
  int name(int folder, const char *path, int flags, ...) {      \
    va_list list;                                               \
    va_start(list, flags);                                      \
    mode_t mode = mode_of(flags, list);                         \
    va_end(list);                                               \
    check("open", path);                                        \
    return REAL(#name, int (*)(int, const char *, int, ...))(folder, path, flags, mode); \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

#define ASKS_SPACE(name, type)                                  \
  int name(const char *path, struct type *found) {              \
    check("statvfs", path);                                     \
    return REAL(#name, int (*)(const char *, struct type *))(path, found); \
  }                                                             \
  int f##name(int descriptor, struct type *found) {             \
    check_open("statvfs", descriptor);                          \
    return REAL("f" #name, int (*)(int, struct type *))(descriptor, found); \
  }
ASKS_SPACE(statvfs, statvfs)
ASKS_SPACE(statvfs64, statvfs64)

int unlink(const char *path) {
  check("unlink", path);
  return REAL("unlink", int (*)(const char *))(path);
}
int remove(const char *path) {
  check("unlink", path);
  return REAL("remove", int (*)(const char *))(path);
}
int unlinkat(int folder, const char *path, int flags) {
  check("unlink", path);
  return REAL("unlinkat", int (*)(int, const char *, int))(folder, path, flags);
}
int renameat(int old, const char *from, int new, const char *to) {
  check("rename", to);
  return REAL("renameat", int (*)(int, const char *, int, const char *))(old, from, new, to);
}
// The program has no other name for renameat2.
long syscall(long number, ...) {
  long given[6];
  va_list list;
  va_start(list, number);
  for (int index = 0; index < 6; index++) given[index] = va_arg(list, long);
  va_end(list);
  if (number == SYS_renameat2) check("rename", (const char *)given[3]);
  return REAL("syscall", long (*)(long, ...))(number, given[0], given[1], given[2], given[3], given[4],
                                              given[5]);
}
ssize_t write(int descriptor, const void *bytes, size_t count) {
  check_open("write", descriptor);
  return REAL("write", ssize_t (*)(int, const void *, size_t))(descriptor, bytes, count);
}
#define WRITES_AT(name)                                                            \
  ssize_t name(int descriptor, const void *bytes, size_t count, off_t offset) {    \
    check_open("write", descriptor);                                               \
    return REAL(#name, ssize_t (*)(int, const void *, size_t, off_t))(             \
        descriptor, bytes, count, offset);                                         \
  }
WRITES_AT(pwrite)
WRITES_AT(pwrite64)
int fsync(int descriptor) {
  check_open("fsync", descriptor);
  return REAL("fsync", int (*)(int))(descriptor);
}
