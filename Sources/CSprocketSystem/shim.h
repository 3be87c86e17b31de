#pragma once
// What Linux offers and Swift cannot import, each with its reason.

#include <errno.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

// futex(2) has no C library function, and syscall() is variadic, which Swift does not import.
// Waits while *word == expected, for at most `nanoseconds`. Returns 0 or -errno.
static inline int sprocket_futex_wait(const void *word, uint32_t expected, int64_t nanoseconds) {
  struct timespec limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  long r = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &limit, (void *)0, 0);
  return r < 0 ? -errno : 0;
}

// Wakes all who wait on `word`.
static inline void sprocket_futex_wake(const void *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, (void *)0, (void *)0, 0);
}

// Whether the module that imports this is compiled for AVX2; a macro that the compiler defines for C alone.
static inline int sprocket_is_built_for_avx2(void) {
#ifdef __AVX2__
  return 1;
#else
  return 0;
#endif
}

// Whether this processor has AVX2; a compiler builtin, which Swift does not import.
static inline int sprocket_has_avx2(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return 0;
#endif
}

// Tells the core that it is in a waiting loop; a compiler builtin, which Swift does not import.
static inline void sprocket_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// snprintf is variadic. Writes `value` with `digits` significant digits; returns the length.
static inline int sprocket_format_double(char *out, size_t size, int digits, double value) {
  return snprintf(out, size, "%.*g", digits, value);
}

// prctl is variadic. Names the calling thread; the kernel keeps 15 bytes.
static inline void sprocket_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// gettid is a GNU extension. The number by which the kernel knows the calling thread.
static inline int32_t sprocket_thread_id(void) { return (int32_t)syscall(SYS_gettid); }

// cpu_set_t's macros are not imported. Binds the calling thread, and those that it starts from now on, to
// some of the cores 0 to 1023. Returns 0 or -errno.
static inline int sprocket_pin(const int *cores, int count) {
  unsigned long mask[1024 / (8 * sizeof(unsigned long))] = {0};
  for (int i = 0; i < count; i++) {
    if (cores[i] < 0 || cores[i] >= 1024) return -EINVAL;
    mask[cores[i] / (8 * sizeof(unsigned long))] |= 1UL << (cores[i] % (8 * sizeof(unsigned long)));
  }
  return syscall(SYS_sched_setaffinity, 0, sizeof mask, mask) < 0 ? -errno : 0;
}

// perf_event_open(2) has no C library function. Counts an event of the calling thread and of the threads that
// it starts from now on, outside of the kernel. Returns a descriptor or -errno.
static inline int sprocket_open_counter(uint32_t type, uint64_t config) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  long r = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  return r < 0 ? -errno : (int)r;
}

// Reads a counter: its value, and for how long it was wanted and counted. Returns 0 or -errno.
static inline int sprocket_read_counter(int descriptor, uint64_t values[3]) {
  ssize_t size = read(descriptor, values, 3 * sizeof *values);
  return size < 0 ? -errno : size == 3 * sizeof *values ? 0 : -EIO;
}

// prctl is variadic. No memory of this process is put into huge pages, whoever asks for it.
static inline void sprocket_refuse_huge_pages(void) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

// Swift's Glibc leaves out <malloc.h>. Gives all threads to come one heap instead of 64 MB of address
// space each.
static inline void sprocket_share_heap(void) { mallopt(M_ARENA_MAX, 1); }

// renameat2 is a GNU extension, which Swift's Glibc leaves out. Renames unless `to` exists. Returns 0
// or -errno.
static inline int sprocket_rename_new(int folder, const char *from, const char *to) {
  long r = syscall(SYS_renameat2, folder, from, folder, to, RENAME_NOREPLACE);
  return r < 0 ? -errno : 0;
}

// Swift's Glibc leaves out extended attributes. Gives `to` the access control list of the file `name`, or
// none if that has none. Returns 0 or -errno.
static inline int sprocket_copy_acl(const char *name, int to) {
  static const char attribute[] = "system.posix_acl_access";
  char list[4096];
  ssize_t size = lgetxattr(name, attribute, list, sizeof list);
  if (size < 0 && errno != ENODATA && errno != ENOTSUP) return -errno;
  if (size > 0) return fsetxattr(to, attribute, list, (size_t)size, 0) < 0 ? -errno : 0;
  // What the folder gives to new files.
  return fremovexattr(to, attribute) < 0 && errno != ENODATA && errno != ENOTSUP ? -errno : 0;
}

// sync_file_range is a GNU extension too. Lets the kernel begin to write a file out; waits for nothing.
// Returns 0 or -errno.
static inline int sprocket_begin_sync(int descriptor) {
  long r = syscall(SYS_sync_file_range, descriptor, 0LL, 0LL, 2 /* SYNC_FILE_RANGE_WRITE */);
  return r < 0 ? -errno : 0;
}

// Waits until a part of a file is written out, its size in the folder left aside. Returns 0 or -errno.
static inline int sprocket_wait_sync(int descriptor, int64_t offset, int64_t count) {
  long r = syscall(SYS_sync_file_range, descriptor, offset, count, 7 /* SYNC_FILE_RANGE_WRITE_AND_WAIT */);
  return r < 0 ? -errno : 0;
}

// memfd_create is a GNU extension, and fcntl is variadic. Memory of `size` bytes that is there (a full
// system is an error now, not a signal later), in a file whose size cannot change, and that nobody can map
// writable or write to who has not mapped it so before `sprocket_seal_memory`. Returns a descriptor or
// -errno.
static inline int sprocket_make_memory(const char *name, int64_t size) {
  int descriptor = (int)syscall(SYS_memfd_create, name, 3u /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
  if (descriptor < 0) return -errno;
  if (syscall(SYS_fallocate, descriptor, 0, 0LL, size) < 0) {
    int error = errno;
    close(descriptor);
    return -error;
  }
  return descriptor;
}

// F_ADD_SEALS of F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_FUTURE_WRITE. Returns 0 or -errno.
static inline int sprocket_seal_memory(int descriptor) {
  long r = syscall(SYS_fcntl, descriptor, 1033 /* F_ADD_SEALS */, 0x1 | 0x2 | 0x4 | 0x10);
  return r < 0 ? -errno : 0;
}

// CMSG_* are macros. Sends one packet and a descriptor (-1 for none) without waiting. Returns 0 or -errno.
static inline int sprocket_send_packet(int to, const void *bytes, size_t count, int descriptor) {
  struct iovec part = {(void *)(uintptr_t)bytes, count};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  return sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

// ioctl is variadic. Bytes that the other end of a Unix socket has not received.
static inline int sprocket_unreceived(int descriptor) {
  int count = 0;
  return ioctl(descriptor, TIOCOUTQ, &count) < 0 ? 0 : count;
}

// accept4 is a GNU extension. Returns a descriptor or -errno.
static inline int sprocket_accept(int listener, int flags) {
  long r = syscall(SYS_accept4, listener, (void *)0, (void *)0, flags);
  return r < 0 ? -errno : (int)r;
}
