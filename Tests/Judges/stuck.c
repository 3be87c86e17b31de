// Preloaded: reading the file that STUCK_FILE names sleeps for ever once STUCK_AFTER bytes of it have been
// read (0 by default), as on a network file system whose server is gone. Signals do not end that, SIGKILL
// does. Once it sleeps, a line with the number of the thread is added to the file that STUCK_WITNESS
// names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static const char *path, *witness;
static long limit;
static _Atomic(long) done;

__attribute__((constructor)) static void begin(void) {
  real_read = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  real_pread = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  path = getenv("STUCK_FILE");
  witness = getenv("STUCK_WITNESS");
  const char *after = getenv("STUCK_AFTER");
  limit = after ? atol(after) : 0;
}

// By device and inode, so that it does not matter by which name it was opened.
static int is_ours(int descriptor) {
  struct stat wanted, given;
  return path && fstat(descriptor, &given) == 0 && stat(path, &wanted) == 0 &&
         given.st_dev == wanted.st_dev && given.st_ino == wanted.st_ino;
}

static void sleep_for_ever(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  if (witness) {
    int file = open(witness, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    dprintf(file, "%ld\n", syscall(SYS_gettid));
    close(file);
  }
  for (;;) pause();
}

static ssize_t count(int descriptor, ssize_t result) {
  if (result > 0 && is_ours(descriptor)) done += result;
  return result;
}

ssize_t read(int descriptor, void *buffer, size_t size) {
  if (is_ours(descriptor) && done >= limit) sleep_for_ever();
  return count(descriptor, real_read(descriptor, buffer, size));
}

ssize_t pread(int descriptor, void *buffer, size_t size, off_t offset) {
  if (is_ours(descriptor) && done >= limit) sleep_for_ever();
  return count(descriptor, real_pread(descriptor, buffer, size, offset));
}

ssize_t pread64(int descriptor, void *buffer, size_t size, off_t offset) {
  return pread(descriptor, buffer, size, offset);
}
