// A rig for sound beside pictures, of the kernel's own loopbacks.
//
// `rig feed SECONDS PPM SOUND CAMERA...` plays: every camera gets 25 pictures a second of the monotonic
// clock, bright for two pictures each second; the sound device gets a beep each second of the monotonic
// clock, though its card's clock is PPM too fast. So flash and beep keep their distance, whatever the card's
// clock.
//
// `rig watch SECONDS SOUND CAMERA SAMPLES` is a witness: it writes the samples that it reads into a file, and
// says `picture TIME MEAN` for each picture, and `sound SAMPLE TIME` for what the card's status said: at that
// time it had captured so many samples. Times are nanoseconds of the monotonic clock.

#define _GNU_SOURCE
#include <alsa/asoundlib.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

enum { WIDTH = 64, HEIGHT = 48, RATE = 48000, PICTURES = 25, BYTES = WIDTH * HEIGHT * 2 };

static double duration;

static void need(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "rig: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static snd_pcm_t *open_sound(const char *name, snd_pcm_stream_t stream, int channels) {
  snd_pcm_t *pcm;
  int error = snd_pcm_open(&pcm, name, stream, 0);
  if (error < 0) fprintf(stderr, "rig: %s: %s\n", name, snd_strerror(error)), exit(1);
  snd_pcm_hw_params_t *hardware;
  snd_pcm_hw_params_alloca(&hardware);
  snd_pcm_hw_params_any(pcm, hardware);
  snd_pcm_uframes_t period = 1024, buffer = 96000;
  if (snd_pcm_hw_params_set_access(pcm, hardware, SND_PCM_ACCESS_RW_INTERLEAVED) < 0 ||
      snd_pcm_hw_params_set_format(pcm, hardware, SND_PCM_FORMAT_S16_LE) < 0 ||
      snd_pcm_hw_params_set_channels(pcm, hardware, channels) < 0 ||
      snd_pcm_hw_params_set_rate(pcm, hardware, RATE, 0) < 0 ||
      snd_pcm_hw_params_set_period_size_near(pcm, hardware, &period, 0) < 0 ||
      snd_pcm_hw_params_set_buffer_size_near(pcm, hardware, &buffer) < 0 ||
      snd_pcm_hw_params(pcm, hardware) < 0)
    fprintf(stderr, "rig: %s does not take 48 kHz, s16, %d channels\n", name, channels), exit(1);
  snd_pcm_sw_params_t *software;
  snd_pcm_sw_params_alloca(&software);
  snd_pcm_sw_params_current(pcm, software);
  snd_pcm_sw_params_set_tstamp_mode(pcm, software, SND_PCM_TSTAMP_ENABLE);
  snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_MONOTONIC);
  if (stream == SND_PCM_STREAM_PLAYBACK) snd_pcm_sw_params_set_start_threshold(pcm, software, 48000);
  need(snd_pcm_sw_params(pcm, software) >= 0, name);
  return pcm;
}

// MARK: The player

static double ppm;
static const char *sound;

static void *play(void *unused) {
  snd_pcm_t *pcm = open_sound(sound, SND_PCM_STREAM_PLAYBACK, 4);
  double second = RATE * (1 + ppm * 1e-6);
  static int16_t block[1024 * 4];
  int64_t last = (int64_t)(duration * second);
  for (int64_t start = 0; start < last; start += 1024) {
    for (int64_t index = 0; index < 1024; index++) {
      // Samples since the latest beep began.
      double place = fmod((double)(start + index), second);
      double value = place < RATE / 20 ? 16000 * sin(place * 2 * M_PI * 1000 / RATE) : 0;
      for (int channel = 0; channel < 4; channel++) block[4 * index + channel] = (int16_t)lrint(value);
    }
    int written = snd_pcm_writei(pcm, block, 1024);
    if (written != 1024) fprintf(stderr, "rig: played %d of 1024 samples\n", written), exit(1);
  }
  return unused;
}

static int open_output(const char *name) {
  int file = open(name, O_RDWR);
  need(file >= 0, name);
  struct v4l2_format format = {.type = V4L2_BUF_TYPE_VIDEO_OUTPUT};
  format.fmt.pix.width = WIDTH, format.fmt.pix.height = HEIGHT;
  format.fmt.pix.pixelformat = V4L2_PIX_FMT_YUYV, format.fmt.pix.field = V4L2_FIELD_NONE;
  format.fmt.pix.sizeimage = BYTES, format.fmt.pix.bytesperline = WIDTH * 2;
  need(ioctl(file, VIDIOC_S_FMT, &format) == 0, name);
  struct v4l2_streamparm rate = {.type = V4L2_BUF_TYPE_VIDEO_OUTPUT};
  rate.parm.output.timeperframe = (struct v4l2_fract){1, PICTURES};
  ioctl(file, VIDIOC_S_PARM, &rate);
  return file;
}

static void feed(int count, char **cameras) {
  int files[4];
  static uint8_t picture[BYTES];
  need(count <= 4, "four cameras at most");
  for (int index = 0; index < count; index++) files[index] = open_output(cameras[index]);
  pthread_t thread;
  pthread_create(&thread, NULL, play, NULL);
  int64_t start = now();
  for (int64_t number = 0; number < duration * PICTURES; number++) {
    int64_t due = start + number * 1000000000LL / PICTURES;
    struct timespec time = {due / 1000000000, due % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    uint8_t luma = number % PICTURES < 2 ? 230 : 20;
    for (int index = 0; index < BYTES; index++) picture[index] = index % 2 ? 128 : luma;
    for (int index = 0; index < count; index++)
      need(write(files[index], picture, BYTES) == BYTES, cameras[index]);
  }
  pthread_join(thread, NULL);
}

// MARK: The witness

static const char *samples;

static void *listen(void *unused) {
  snd_pcm_t *pcm = open_sound(sound, SND_PCM_STREAM_CAPTURE, 2);
  FILE *file = fopen(samples, "wb");
  need(file != NULL, samples);
  static int16_t block[2 * 32768];
  snd_pcm_status_t *status;
  snd_pcm_status_alloca(&status);
  int64_t taken = 0, end = now() + (int64_t)(duration * 1e9);
  snd_pcm_start(pcm);
  while (now() < end) {
    snd_pcm_wait(pcm, 1000);
    need(snd_pcm_status(pcm, status) >= 0, "status");
    snd_pcm_sframes_t there = snd_pcm_status_get_avail(status);
    snd_htimestamp_t time;
    snd_pcm_status_get_htstamp(status, &time);
    printf("sound %lld %lld\n", (long long)(taken + there), time.tv_sec * 1000000000LL + time.tv_nsec);
    if (there > 32768) there = 32768;
    int count = there > 0 ? snd_pcm_readi(pcm, block, there) : 0;
    if (count < 0) fprintf(stderr, "rig: the witness lost sound: %s\n", snd_strerror(count)), exit(1);
    fwrite(block, 4, count, file);
    taken += count;
  }
  fclose(file);
  return unused;
}

static void watch(const char *camera) {
  int file = open(camera, O_RDWR);
  need(file >= 0, camera);
  struct v4l2_requestbuffers buffers = {
      .count = 8, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
  need(ioctl(file, VIDIOC_REQBUFS, &buffers) == 0, camera);
  uint8_t *memory[8];
  for (unsigned index = 0; index < buffers.count && index < 8; index++) {
    struct v4l2_buffer buffer = {.index = index, .type = buffers.type, .memory = buffers.memory};
    need(ioctl(file, VIDIOC_QUERYBUF, &buffer) == 0, "VIDIOC_QUERYBUF");
    memory[index] = mmap(NULL, buffer.length, PROT_READ, MAP_SHARED, file, buffer.m.offset);
    need(memory[index] != MAP_FAILED && ioctl(file, VIDIOC_QBUF, &buffer) == 0, "VIDIOC_QBUF");
  }
  int type = buffers.type;
  need(ioctl(file, VIDIOC_STREAMON, &type) == 0, "VIDIOC_STREAMON");
  pthread_t thread;
  pthread_create(&thread, NULL, listen, NULL);
  int64_t end = now() + (int64_t)(duration * 1e9);
  while (now() < end) {
    struct pollfd ready = {.fd = file, .events = POLLIN};
    if (poll(&ready, 1, 1000) <= 0) continue;
    struct v4l2_buffer buffer = {.type = buffers.type, .memory = buffers.memory};
    need(ioctl(file, VIDIOC_DQBUF, &buffer) == 0, "VIDIOC_DQBUF");
    printf("picture %lld %d\n", buffer.timestamp.tv_sec * 1000000000LL + buffer.timestamp.tv_usec * 1000LL,
           memory[buffer.index][0]);
    need(ioctl(file, VIDIOC_QBUF, &buffer) == 0, "VIDIOC_QBUF");
  }
  pthread_join(thread, NULL);
}

int main(int count, char **words) {
  need(count >= 6, "rig feed SECONDS PPM SOUND CAMERA..., or rig watch SECONDS SOUND CAMERA SAMPLES");
  duration = atof(words[2]);
  if (strcmp(words[1], "feed") == 0) {
    ppm = atof(words[3]), sound = words[4];
    feed(count - 5, words + 5);
  } else {
    sound = words[3], samples = words[5];
    watch(words[4]);
  }
  return 0;
}
