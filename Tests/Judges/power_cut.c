/* What a disk has when the power fails: for LD_PRELOAD. Only what was synced is there.

   DISK names a folder. Of each file that was synced it gets a copy, called by the file's inode, as it was at
   that time; of each folder that was synced, a list of the names in it with their inodes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Puts a finished copy in its place. */
static void replace(const char *temporary, unsigned long inode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%lu", getenv("DISK"), inode);
  if (rename(temporary, path) < 0) abort();
}

static void keep_file(int from, unsigned long inode, off_t size) {
  char temporary[4096], own[64], buffer[1 << 16];
  snprintf(temporary, sizeof temporary, "%s/new", getenv("DISK"));
  snprintf(own, sizeof own, "/proc/self/fd/%d", from);
  int in = open(own, O_RDONLY), out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (in < 0 || out < 0) abort();
  for (off_t at = 0; at < size;) {
    ssize_t count = pread(in, buffer, sizeof buffer, at);
    if (count <= 0 || write(out, buffer, count) != count) abort();
    at += count;
  }
  close(in);
  close(out);
  replace(temporary, inode);
}

static void keep_folder(int from, unsigned long inode) {
  char temporary[4096], own[64];
  snprintf(temporary, sizeof temporary, "%s/new", getenv("DISK"));
  snprintf(own, sizeof own, "/proc/self/fd/%d", from);
  DIR *folder = opendir(own);
  FILE *out = fopen(temporary, "w");
  if (!folder || !out) abort();
  for (struct dirent *entry; (entry = readdir(folder));)
    if (entry->d_type == DT_REG) fprintf(out, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
  fclose(out);
  closedir(folder);
  replace(temporary, inode);
}

static int synced(const char *name, int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  int result = real(file);
  int code = errno;
  struct stat status;
  if (result == 0 && getenv("DISK") && fstat(file, &status) == 0) {
    pthread_mutex_lock(&lock);
    if (S_ISREG(status.st_mode)) keep_file(file, status.st_ino, status.st_size);
    if (S_ISDIR(status.st_mode)) keep_folder(file, status.st_ino);
    pthread_mutex_unlock(&lock);
  }
  errno = code;
  return result;
}

int fsync(int file) { return synced("fsync", file); }
int fdatasync(int file) { return synced("fdatasync", file); }
