// Makes a disk slow. Preloaded, this delays calls that sync or write files. From the environment:
//
//   SLOW_DISK_EVERY  one call in so many is delayed
//   SLOW_DISK_SYNC   milliseconds of a sync
//   SLOW_DISK_WRITE  milliseconds of a write to a regular file

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define NEXT(type, name, ...)                                         \
  static type (*next)(__VA_ARGS__);                                   \
  if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static long every = 1, sync_time, write_time;
static atomic_long syncs, writes;

__attribute__((constructor)) static void begin(void) {
  const char *text;
  if ((text = getenv("SLOW_DISK_EVERY"))) every = atol(text);
  if ((text = getenv("SLOW_DISK_SYNC"))) sync_time = atol(text);
  if ((text = getenv("SLOW_DISK_WRITE"))) write_time = atol(text);
}

static void delay(atomic_long *calls, long milliseconds) {
  if (milliseconds == 0 || atomic_fetch_add(calls, 1) % every != every - 1) return;
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static int is_file(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

int fsync(int descriptor) {
  NEXT(int, "fsync", int);
  delay(&syncs, sync_time);
  return next(descriptor);
}

int fdatasync(int descriptor) {
  NEXT(int, "fdatasync", int);
  delay(&syncs, sync_time);
  return next(descriptor);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  NEXT(ssize_t, "write", int, const void *, size_t);
  if (is_file(descriptor)) delay(&writes, write_time);
  return next(descriptor, bytes, count);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t);
  delay(&writes, write_time);
  return next(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  NEXT(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  delay(&writes, write_time);
  return next(descriptor, bytes, count, offset);
}
