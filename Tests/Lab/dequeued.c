// Preloaded: writes down every buffer that v4l2_ioctl takes from a driver, as it came, one line each
// into the file that DEQUEUED names, for each device the file DEQUEUED.video0 and so on where DEQUEUED_EACH
// is set: sequence, flags, bytes used, index, seconds, microseconds. A line `stream` says that the driver
// began to stream.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 1024
static FILE *all;
// By descriptor, since it began to stream.
static FILE *files[MOST];
static int (*real)(int, unsigned long, ...);

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("DEQUEUED");
  real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "v4l2_ioctl");
  all = path && !getenv("DEQUEUED_EACH") ? fopen(path, "w") : NULL;
  // A line is out at once: whoever is killed has it all the same.
  if (all) setvbuf(all, NULL, _IOLBF, 0);
}

static FILE *own(int descriptor) {
  char link[64], device[256], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t count = readlink(link, device, sizeof device - 1);
  if (count < 0 || descriptor >= MOST) return NULL;
  device[count] = 0;
  const char *name = strrchr(device, '/');
  snprintf(path, sizeof path, "%s.%s", getenv("DEQUEUED"), name ? name + 1 : device);
  FILE *file = fopen(path, "a");
  if (file) setvbuf(file, NULL, _IOLBF, 0);
  return files[descriptor] = file;
}

int v4l2_ioctl(int descriptor, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  int result = real(descriptor, request, argument);
  FILE *file = all;
  if (getenv("DEQUEUED_EACH") && descriptor < MOST)
    file = result == 0 && request == VIDIOC_STREAMON ? own(descriptor) : files[descriptor];
  if (result == 0 && request == VIDIOC_STREAMON && file) fputs("stream\n", file);
  if (result == 0 && request == VIDIOC_DQBUF && file) {
    const struct v4l2_buffer *buffer = argument;
    unsigned used = buffer->bytesused;
    if (V4L2_TYPE_IS_MULTIPLANAR(buffer->type)) {
      used = 0;
      for (unsigned plane = 0; plane < buffer->length; plane++)
        used += buffer->m.planes[plane].bytesused;
    }
    fprintf(file, "%u %u %u %u %lld %lld\n", buffer->sequence, buffer->flags, used, buffer->index,
            (long long)buffer->timestamp.tv_sec, (long long)buffer->timestamp.tv_usec);
  }
  return result;
}
