// Functions of a glibc that is later than what the Python wheel needs: Tools/wheel.py puts a library of these
// into the wheel, for those of its libraries that use them. Compiled into a shared library.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>

// A function of glibc 2.36, with which libexpat salts its tables. It has no way to report a failure, so that
// it ends the program instead.
void arc4random_buf(void *bytes, size_t count) {
  for (char *next = bytes; count > 0;) {
    ssize_t got = getrandom(next, count, 0);
    if (got < 0 && errno != EINTR) abort();
    if (got < 0) continue;
    next += got;
    count -= (size_t)got;
  }
}
