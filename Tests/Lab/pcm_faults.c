// Preloaded: makes a microphone stop at its 10th and its 20th wait, as ALSA tells of a driver's stop
// (PCM_FAULT=EPIPE, or STOP for one that says nothing) or of a machine that slept (ESTRPIPE). It stays asleep
// for three questions.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct _snd_pcm snd_pcm_t;

static int waits, questions = 4;

int snd_pcm_wait(snd_pcm_t *pcm, int timeout) {
  int (*wait)(snd_pcm_t *, int) = dlsym(RTLD_NEXT, "snd_pcm_wait");
  if (questions <= 3) return -ESTRPIPE;
  if (++waits != 10 && waits != 20) return wait(pcm, timeout);
  int (*drop)(snd_pcm_t *) = dlsym(RTLD_NEXT, "snd_pcm_drop");
  drop(pcm);
  if (!strcmp(getenv("PCM_FAULT"), "EPIPE")) return -EPIPE;
  if (!strcmp(getenv("PCM_FAULT"), "STOP")) return wait(pcm, timeout);
  questions = 0;
  return -ESTRPIPE;
}

int snd_pcm_resume(snd_pcm_t *pcm) { return ++questions <= 3 ? -EAGAIN : -ENOSYS; }
