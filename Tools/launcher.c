// `make install` puts this launcher before the program. It checks that the processor and the libraries
// suffice, then replaces itself by the program (execv). Without it an older processor ends the program by
// SIGILL, and a missing library is reported by its file name only.
//
// It finds the program from where it lies itself, so that both may be moved together, as in a Python wheel.
// Compiled with the program's -march=CPU; with -DPROGRAM='"PATH"', the program's path from the folder above
// the launcher's; and with
// -DLIBRARIES='"PATH"', the output of Tools/libraries: {"libyuv.so.0", "/lib/...", "libyuv0"}, and so on.
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Required processor, by the levels of the x86-64 psABI, section 3.1.1.
#if defined __AVX512VL__
#define LEVEL "x86-64-v4"
#define HAS "AVX-512"
#elif defined __AVX2__
#define LEVEL "x86-64-v3"
#define HAS "AVX2"
#elif defined __SSE4_2__
#define LEVEL "x86-64-v2"
#define HAS "SSE 4.2"
#endif

// The launcher itself must run on every x86-64 processor.
#ifdef LEVEL
#pragma clang attribute push(__attribute__((target("arch=x86-64"))), apply_to = function)
#endif

static const struct library {
  const char *name, *path, *package;
} libraries[] = {
#include LIBRARIES
};
enum { count = sizeof libraries / sizeof *libraries };

static char program[PATH_MAX + sizeof PROGRAM];

// Sets `program`; returns false where /proc is not there.
static bool findsProgram(void) {
  ssize_t length = readlink("/proc/self/exe", program, PATH_MAX - 1);
  if (length <= 0) return false;
  program[length] = '\0';
  for (int level = 0; level < 2; level++) {
    char *slash = strrchr(program, '/');
    if (slash == NULL) return false;
    *slash = '\0';
  }
  strcat(program, "/" PROGRAM);
  return true;
}

// With this variable set, the loader lists a program's libraries instead of running the program.
static FILE *listing(void) {
  int ends[2];
  if (pipe(ends) != 0) return NULL;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    execl(program, program, (char *)NULL);
    _exit(1);
  }
  close(ends[1]);
  if (child == -1) close(ends[0]);
  return child == -1 ? NULL : fdopen(ends[0], "r");
}

// Prints missing libraries and their Debian packages; returns false if none is missing.
static bool missesLibraries(const char *called) {
  FILE *lines = listing();
  if (lines == NULL) return false;
  char line[512], name[256], names[4096] = "", packages[4096] = "";
  while (fgets(line, sizeof line, lines) != NULL) {
    if (strstr(line, "=> not found") == NULL || sscanf(line, "%255s", name) != 1) continue;
    if (strlen(names) + sizeof name + 2 > sizeof names) break;
    if (*names != '\0') strcat(names, ", ");
    strcat(names, name);
    for (int place = 0; place < count; place++) {
      if (strcmp(libraries[place].name, name) != 0) continue;
      if (strlen(packages) + strlen(libraries[place].package) + 2 > sizeof packages) break;
      strcat(strcat(packages, " "), libraries[place].package);
    }
  }
  fclose(lines);
  while (wait(NULL) == -1 && errno == EINTR) {}
  if (*names == '\0') return false;
  fprintf(stderr, "%s: not installed here, and needed: %s", called, names);
  if (*packages != '\0') fprintf(stderr, "; install the Debian package: apt-get install%s", packages);
  fputc('\n', stderr);
  return true;
}

int main(int argumentCount, char **arguments) {
  const char *called = argumentCount > 0 ? arguments[0] : "sprocket";
  if (strrchr(called, '/') != NULL) called = strrchr(called, '/') + 1;
#ifdef LEVEL
  if (!__builtin_cpu_supports(LEVEL)) {
    fprintf(stderr,
            "%s: built for processors with " HAS " (" LEVEL "), which this one is not; "
            "`make install CPU=` builds it for all\n",
            called);
    return 1;
  }
#endif
  if (!findsProgram()) {
    fprintf(stderr, "%s: /proc/self/exe cannot be read: %s; mount /proc\n", called, strerror(errno));
    return 1;
  }
  // Fast check: if all libraries are at their installed paths, none is missing. Otherwise the loader may
  // still find them elsewhere.
  for (int place = 0; place < count; place++) {
    if (access(libraries[place].path, F_OK) == 0) continue;
    if (missesLibraries(called)) return 1;
    break;
  }
  execv(program, arguments);
  fprintf(stderr, "%s: %s cannot be run: %s; install it again\n", called, program, strerror(errno));
  return 1;
}

#ifdef LEVEL
#pragma clang attribute pop
#endif
