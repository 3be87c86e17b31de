/* Decodes the luma of JPEG files, in two threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <turbojpeg.h>

static char **paths;
static int count, next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int take(void) {
  pthread_mutex_lock(&lock);
  int index = next++;
  pthread_mutex_unlock(&lock);
  return index;
}

static void *work(void *unused) {
  (void)unused;
  tjhandle decoder = tjInitDecompress();
  unsigned char *bytes = NULL, *luma = NULL;
  for (int index; (index = take()) < count;) {
    FILE *file = fopen(paths[index], "rb");
    if (!file) exit(1);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    bytes = realloc(bytes, size);
    if (fread(bytes, 1, size, file) != (size_t)size) exit(1);
    fclose(file);
    int width, height, sampling, colors;
    if (tjDecompressHeader3(decoder, bytes, size, &width, &height, &sampling, &colors) < 0) exit(1);
    luma = realloc(luma, (size_t)width * height);
    if (tjDecompress2(decoder, bytes, size, luma, width, 0, height, TJPF_GRAY, 0) < 0) exit(1);
  }
  tjDestroy(decoder);
  return NULL;
}

int main(int argc, char **argv) {
  (count = argc - 1), (paths = argv + 1);
  pthread_t other;
  if (pthread_create(&other, NULL, work, NULL)) return 1;
  work(NULL);
  pthread_join(other, NULL);
  return 0;
}
