#pragma once
// ALSA's library, and what of it Swift cannot import, each with its reason.

#include <alsa/asoundlib.h>
#include <stdint.h>

// The handler is variadic. The library writes on standard error where it has none, and that is ours: what
// fails comes back as a number, too. Called before anything else of the library.
static void sprocket_alsa_ignore(const char *file, int line, const char *function, int error,
                                 const char *format, ...) {}
static inline void sprocket_alsa_be_quiet(void) { snd_lib_error_set_handler(sprocket_alsa_ignore); }

// With optimisation, Swift 6.3.1 does not see the members of timespec in every file.
static inline int64_t sprocket_alsa_time(const snd_pcm_status_t *status) {
  snd_htimestamp_t time;
  snd_pcm_status_get_htstamp(status, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
