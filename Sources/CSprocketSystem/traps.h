#pragma once
// A handler of signals that says what a thread ran when it ended the program. In C, since a handler may call
// async-signal-safe functions alone, and Swift promises that of no code of its own.

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// What a thread runs. That thread alone writes it; others, and a handler, may read it at any time.
struct sprocket_running {
  // Texts that end with a zero, such as "stage `focus`", and how many they are.
  const char *const *names;
  uint64_t count;
  // What is counted: "frame" or "block".
  const char *unit;
  // The source of the run among several; empty if it has no name.
  const char *source;
  // Which of the names, and the number; UINT64_MAX where there is none.
  uint64_t index;
  uint64_t number;
};

static inline void sprocket_running_enter(struct sprocket_running *running, uint64_t index,
                                          uint64_t number) {
  __atomic_store_n(&running->index, index, __ATOMIC_RELAXED);
  __atomic_store_n(&running->number, number, __ATOMIC_RELAXED);
}

static inline uint64_t sprocket_running_index(const struct sprocket_running *running) {
  return __atomic_load_n(&running->index, __ATOMIC_RELAXED);
}

static inline uint64_t sprocket_running_number(const struct sprocket_running *running) {
  return __atomic_load_n(&running->number, __ATOMIC_RELAXED);
}

// The signals by which code ends its program. SIGABRT comes from the C library, which finds its heap damaged.
enum { sprocket_trap_signals = 6 };

static inline int sprocket_trap_signal(int place) {
  const int all[sprocket_trap_signals] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
  return all[place];
}

// State of the handler, one for each Swift file that calls these functions: one file does.
struct sprocket_traps {
  pthread_key_t key;
  struct sigaction before[sprocket_trap_signals];
  // The thread whose end was told, or 0.
  int teller;
};

static inline struct sprocket_traps *sprocket_traps(void) {
  static struct sprocket_traps traps;
  return &traps;
}

static inline int sprocket_thread(void) { return (int)syscall(SYS_gettid); }

// Whether this thread is the first to tell how the program ends. Any other waits for a second, so that the
// first can say it, and gets 0.
static inline int sprocket_may_tell(void) {
  int none = 0, mine = sprocket_thread();
  if (__atomic_compare_exchange_n(&sprocket_traps()->teller, &none, mine, 0, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED))
    return 1;
  if (none != mine) poll((struct pollfd *)0, 0, 1000);
  return 0;
}

// A line of text; what finds no room is left out.
struct sprocket_line {
  char bytes[1024];
  size_t count;
};

static inline void sprocket_add(struct sprocket_line *line, const char *text) {
  while (*text && line->count < sizeof line->bytes) line->bytes[line->count++] = *text++;
}

static inline void sprocket_add_number(struct sprocket_line *line, uint64_t number) {
  char digits[21];
  int place = 20;
  digits[place] = 0;
  do digits[--place] = (char)('0' + number % 10);
  while (number /= 10);
  sprocket_add(line, digits + place);
}

// Whether an address lies so near to the end of the stack that using it up has ended the thread.
static inline int sprocket_is_stack(const void *address, const void *context) {
  const ucontext_t *at = (const ucontext_t *)context;
#if defined(__x86_64__)
  uintptr_t stack = (uintptr_t)at->uc_mcontext.gregs[15 /* REG_RSP */];
#elif defined(__aarch64__)
  uintptr_t stack = (uintptr_t)at->uc_mcontext.sp;
#else
  uintptr_t stack = 0;
#endif
  // Bytes: the largest frame of a function for which this is known.
  const uintptr_t near = 1 << 20;
  uintptr_t place = (uintptr_t)address;
  return stack != 0 && (place > stack ? place - stack : stack - place) < near;
}

// The signal's name and what it means.
static inline const char *sprocket_trap_text(int number, const siginfo_t *info, const void *context) {
  switch (number) {
  case SIGILL:
  case SIGTRAP:
    return number == SIGILL
               ? "SIGILL: an index out of range, an overflow, an unwrapped nil or a broken precondition; a "
                 "debug build says which"
               : "SIGTRAP: an index out of range, an overflow, an unwrapped nil or a broken precondition; a "
                 "debug build says which";
  case SIGSEGV:
    return sprocket_is_stack(info->si_addr, context)
               ? "SIGSEGV: its stack is used up, as by a function that calls itself without end"
               : "SIGSEGV: memory that is not there was read or written";
  case SIGBUS: return "SIGBUS: memory without a file behind it, or at an odd address, was read or written";
  case SIGFPE: return "SIGFPE: a division by zero, or an overflow of one";
  default: return "SIGABRT: a library found an error of its caller, such as a damaged heap";
  }
}

// Waits 0.2 s at most for a standard error that takes nothing.
static inline void sprocket_tell_trap(int number, const siginfo_t *info, const void *context) {
  struct sprocket_line line;
  line.count = 0;
  const struct sprocket_running *running =
      (const struct sprocket_running *)pthread_getspecific(sprocket_traps()->key);
  char thread[16] = {0};
  prctl(PR_GET_NAME, thread, 0, 0, 0);
  if (running && sprocket_running_index(running) < running->count) {
    sprocket_add(&line, running->names[sprocket_running_index(running)]);
    if (sprocket_running_number(running) != UINT64_MAX) {
      sprocket_add(&line, ", ");
      sprocket_add(&line, running->unit);
      sprocket_add(&line, " ");
      sprocket_add_number(&line, sprocket_running_number(running));
    }
  } else {
    sprocket_add(&line, "a thread that runs no stage");
  }
  sprocket_add(&line, ": ends the program by ");
  sprocket_add(&line, sprocket_trap_text(number, info, context));
  sprocket_add(&line, " (thread `");
  sprocket_add(&line, thread);
  if (running && running->source[0]) {
    sprocket_add(&line, "`, source `");
    sprocket_add(&line, running->source);
  }
  sprocket_add(&line, "`)\n");
  struct pollfd request = {STDERR_FILENO, POLLOUT, 0};
  if (poll(&request, 1, 200) != 1 || !(request.revents & POLLOUT)) return;
  ssize_t written = write(STDERR_FILENO, line.bytes, line.count);
  (void)written;
}

// Tells what ran, and gives the signal to whoever had it before: most often the kernel, which ends the
// program and may keep its memory in a file. Where the processor raised the signal, the instruction is run
// again for that, so that all find it as it was.
static inline void sprocket_on_trap(int number, siginfo_t *info, void *context) {
  int error = errno;
  int isOwn = info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
  if (isOwn && sprocket_may_tell()) sprocket_tell_trap(number, info, context);
  for (int place = 0; place < sprocket_trap_signals; place++) {
    if (sprocket_trap_signal(place) == number) sigaction(number, &sprocket_traps()->before[place], 0);
  }
  // After a trap of a debugger the next instruction would run.
  if (info->si_code <= 0 || number == SIGTRAP) syscall(SYS_tgkill, getpid(), sprocket_thread(), number);
  errno = error;
}

// Takes the signals, except those that are ignored. `key`: of each thread's `sprocket_running`.
static inline void sprocket_report_traps(pthread_key_t key) {
  sprocket_traps()->key = key;
  for (int place = 0; place < sprocket_trap_signals; place++) {
    int number = sprocket_trap_signal(place);
    struct sigaction *before = &sprocket_traps()->before[place];
    if (sigaction(number, 0, before) != 0) continue;
    if (!(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN) continue;
    if ((before->sa_flags & SA_SIGINFO) && before->sa_sigaction == sprocket_on_trap) continue;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = sprocket_on_trap;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, 0);
  }
}

// Runs `body` on a thread that just began, with a stack for handlers of signals: the upper end of its own
// stack, so that one is there when the lower end is used up. A thread that has one keeps it.
static inline void sprocket_with_signal_stack(void (*body)(void *), void *argument) {
  // Bytes. Larger: handlers may need more, such as that of Swift's own report. Pages that are not used cost
  // nothing.
  char memory[65536] __attribute__((aligned(16)));
  stack_t before, mine;
  memset(&mine, 0, sizeof mine);
  mine.ss_sp = memory;
  mine.ss_size = sizeof memory;
  int isSet = sigaltstack(0, &before) == 0 && (before.ss_flags & SS_DISABLE) &&
              sigaltstack(&mine, 0) == 0;
  body(argument);
  if (!isSet) return;
  mine.ss_flags = SS_DISABLE;
  sigaltstack(&mine, 0);
}
