// Lets a disk fail. Preloaded, this makes one call fail among those that touch files below a folder, and
// writes down which calls there were. From the environment:
//
//   DISK_ERRORS_FOLDER  calls on this folder and what is in it count
//   DISK_ERRORS_CALL    what fails: open, write, sync, sync range, truncate, rename, link, mkdir, close
//   DISK_ERRORS_AT      which of these calls, from 1; 0 for none
//   DISK_ERRORS_HOW     an errno, or "short": a write takes half of what it is given
//   DISK_ERRORS_LASTS   if set, all calls after that one fail, too, of whichever kind
//   DISK_ERRORS_LOG     a file that gets a line for each call: what it is, a tab, and the path
//
// A sync that fails loses what was written since the last that did not, as Linux does: it marks the pages
// clean, and the next sync succeeds. Here the file is cut.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(type, name, ...)                                         \
  static type (*next)(__VA_ARGS__);                                   \
  if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static const char *folder, *failing;
static long failing_place;
static int code = EIO;
static int is_short, lasts, log_file = -1;
static long calls;
static int has_failed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Lengths that were synced, by inode.
static struct {
  ino_t file;
  off_t length;
} synced[256];
static int synced_count;

__attribute__((constructor)) static void begin(void) {
  folder = getenv("DISK_ERRORS_FOLDER");
  const char *at = getenv("DISK_ERRORS_AT"), *how = getenv("DISK_ERRORS_HOW");
  const char *log = getenv("DISK_ERRORS_LOG");
  failing = getenv("DISK_ERRORS_CALL");
  if (at) failing_place = atol(at);
  if (how && strcmp(how, "short") == 0) is_short = 1;
  else if (how) code = atoi(how);
  lasts = getenv("DISK_ERRORS_LASTS") != NULL;
  if (!log) return;
  int opened = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
  // Out of the way of standard descriptors.
  log_file = fcntl(opened, F_DUPFD_CLOEXEC, 100);
  syscall(SYS_close, opened);
}

// What the call on this thread is about, for the log.
static __thread char subject[PATH_MAX];

static int is_below(const char *path) {
  size_t length = folder ? strlen(folder) : 0;
  if (path != subject) snprintf(subject, sizeof subject, "%s", path);
  return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int has_descriptor(int descriptor) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  long count = syscall(SYS_readlinkat, AT_FDCWD, link, subject, sizeof subject - 1);
  if (count <= 0) return 0;
  subject[count] = 0;
  return is_below(subject);
}

static int has_name(int start, const char *name) {
  return name && (name[0] == '/' || start == AT_FDCWD ? is_below(name) : has_descriptor(start));
}

// Whether this call fails; `errno` says how, or is 0 where it is to be a short write.
static int fails(int is_ours, const char *name) {
  if (!is_ours) return 0;
  pthread_mutex_lock(&lock);
  if (failing && strcmp(name, failing) == 0) calls += 1;
  int is_due = !has_failed && failing_place > 0 && calls == failing_place;
  int is_failing = is_due || (has_failed && lasts);
  has_failed |= is_due;
  if (log_file >= 0) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%s\t%s\n", name, subject);
    syscall(SYS_write, log_file, line, (size_t)length);
  }
  pthread_mutex_unlock(&lock);
  if (!is_failing) return 0;
  errno = is_short ? 0 : code;
  return 1;
}

static int sync_result(int descriptor, int is_failing, int result) {
  struct stat status;
  int saved = errno;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    pthread_mutex_lock(&lock);
    int place = 0;
    while (place < synced_count && synced[place].file != status.st_ino) place += 1;
    if (is_failing && saved != EINTR) {
      syscall(SYS_ftruncate, descriptor, place < synced_count ? synced[place].length : 0);
    } else if (!is_failing && result == 0 && place < 256) {
      synced[place].file = status.st_ino;
      synced[place].length = status.st_size;
      if (place == synced_count) synced_count += 1;
    }
    pthread_mutex_unlock(&lock);
  }
  errno = saved;
  return result;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  NEXT(ssize_t, "write", int, const void *, size_t);
  if (fails(has_descriptor(descriptor), "write")) {
    if (errno) return -1;
    count = (count + 1) / 2;
  }
  return next(descriptor, bytes, count);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t);
  if (fails(has_descriptor(descriptor), "write")) {
    if (errno) return -1;
    count = (count + 1) / 2;
  }
  return next(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  NEXT(ssize_t, "writev", int, const struct iovec *, int);
  if (fails(has_descriptor(descriptor), "write")) {
    if (errno) return -1;
    return write(descriptor, parts[0].iov_base, (parts[0].iov_len + 1) / 2);
  }
  return next(descriptor, parts, count);
}

int fsync(int descriptor) {
  NEXT(int, "fsync", int);
  if (fails(has_descriptor(descriptor), "sync") && errno) return sync_result(descriptor, 1, -1);
  return sync_result(descriptor, 0, next(descriptor));
}

int fdatasync(int descriptor) {
  NEXT(int, "fdatasync", int);
  if (fails(has_descriptor(descriptor), "sync") && errno) return sync_result(descriptor, 1, -1);
  return sync_result(descriptor, 0, next(descriptor));
}

int ftruncate(int descriptor, off_t length) {
  NEXT(int, "ftruncate", int, off_t);
  return fails(has_descriptor(descriptor), "truncate") && errno ? -1 : next(descriptor, length);
}

int ftruncate64(int descriptor, off_t length) { return ftruncate(descriptor, length); }

// An error of closing comes when the descriptor is closed.
int close(int descriptor) {
  NEXT(int, "close", int);
  int is_failing = fails(has_descriptor(descriptor), "close") && errno;
  int saved = errno, result = next(descriptor);
  if (!is_failing) return result;
  errno = saved;
  return -1;
}

int openat(int start, const char *name, int flags, ...) {
  NEXT(int, "openat", int, const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return fails(has_name(start, name), "open") && errno ? -1 : next(start, name, flags, mode);
}

int openat64(int start, const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return openat(start, name, flags, mode);
}

int open(const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return openat(AT_FDCWD, name, flags, mode);
}

int open64(const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return openat(AT_FDCWD, name, flags, mode);
}

int renameat(int from, const char *name, int to, const char *other) {
  NEXT(int, "renameat", int, const char *, int, const char *);
  return fails(has_name(from, name), "rename") && errno ? -1 : next(from, name, to, other);
}

int rename(const char *name, const char *other) { return renameat(AT_FDCWD, name, AT_FDCWD, other); }

int linkat(int from, const char *name, int to, const char *other, int flags) {
  NEXT(int, "linkat", int, const char *, int, const char *, int);
  return fails(has_name(from, name), "link") && errno ? -1 : next(from, name, to, other, flags);
}

int mkdir(const char *name, mode_t mode) {
  NEXT(int, "mkdir", const char *, mode_t);
  return fails(has_name(AT_FDCWD, name), "mkdir") && errno ? -1 : next(name, mode);
}

// renameat2 and sync_file_range come this way.
long syscall(long number, ...) {
  NEXT(long, "syscall", long, ...);
  long part[6];
  va_list rest;
  va_start(rest, number);
  for (int index = 0; index < 6; index += 1) part[index] = va_arg(rest, long);
  va_end(rest);
  int is_failing = 0;
  if (number == SYS_renameat2) {
    is_failing = fails(has_name((int)part[0], (const char *)part[1]), "rename") && errno;
  } else if (number == SYS_sync_file_range) {
    is_failing = fails(has_descriptor((int)part[0]), "sync range") && errno;
    if (is_failing) sync_result((int)part[0], 1, -1);
  }
  return is_failing ? -1 : next(number, part[0], part[1], part[2], part[3], part[4], part[5]);
}
