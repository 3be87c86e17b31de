// Reads the frames of `sprocket run --share NAME`, as docs/share.md describes them. Prints of each frame its
// number, the time of its capture, how many were missed before it, and its mean level. Build it with
//   cc -O2 -Wall -Wextra -Werror -o reader reader.c -lm && ./reader NAME [every]
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ENDED = 2, LONGEST = 1 << 18 };

struct layout {
  uint64_t memory_bytes, slots, slots_at, slot_bytes, frames_at, frame_stride, payload_at, payload_bytes;
  uint64_t batch;
  char type[8];
};

static void fail(const char *what) {
  fprintf(stderr, "reader: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
  exit(1);
}

// The text behind `"key":`. Quotation marks within the texts of the layout are escaped.
static const char *value(const char *json, const char *key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char *found = strstr(json, quoted);
  if (found == NULL) fail(json);
  return found + strlen(quoted);
}

static uint64_t whole(const char *json, const char *key) { return strtoull(value(json, key), NULL, 10); }

static struct layout parse(const char *json) {
  struct layout l = {whole(json, "memory_bytes"), whole(json, "slots"), whole(json, "slots_at"),
                     whole(json, "slot_bytes"), whole(json, "frames_at"), whole(json, "frame_stride"),
                     whole(json, "payload_at"), whole(json, "payload_bytes"), whole(json, "batch"), ""};
  sscanf(value(json, "type"), "\"%7[a-z0-9]", l.type);
  return l;
}

static double half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}

static double mean(const uint8_t *pixels, const struct layout *l) {
  size_t width = strcmp(l->type, "u8") == 0 ? 1 : strcmp(l->type, "f32") == 0 ? 4 : 2;
  double sum = 0;
  for (size_t at = 0; at + width <= l->payload_bytes; at += width) {
    uint32_t bits = 0;
    float number;
    memcpy(&bits, pixels + at, width);
    if (strcmp(l->type, "bf16") == 0) bits <<= 16;  // The upper half of a float.
    memcpy(&number, &bits, sizeof number);
    sum += width == 1 ? bits : strcmp(l->type, "f16") == 0 ? half(bits) : number;
  }
  return sum / (l->payload_bytes / width);
}

static int attempt(const char *folder, const char *rest, const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int room = sizeof address.sun_path;
  if (snprintf(address.sun_path, room, "%s%s%s", folder, rest, name) >= room) return errno = ENAMETOOLONG, -1;
  int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) return connection;
  return close(connection), -1;
}

static int dial(const char *name) {
  const char *session = getenv("XDG_RUNTIME_DIR");
  char user[32];
  snprintf(user, sizeof user, "-%u/", (unsigned)geteuid());
  if (strchr(name, '/')) return attempt("", "", name);
  int connection = session && *session == '/' ? attempt(session, "/sprocket/", name) : -1;
  return connection < 0 ? attempt("/tmp/sprocket", user, name) : connection;
}

// A packet, and the descriptor that came with it or -1. Returns the packet's size, 0 at the end.
static ssize_t receive(int connection, char *packet, int *descriptor) {
  union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control;
  struct iovec part = {packet, LONGEST};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (size < 0 && errno == ECONNRESET) return receive(connection, packet, descriptor);  // Packets remain.
  struct cmsghdr *header = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  *descriptor = -1;
  if (header && header->cmsg_type == SCM_RIGHTS) memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
  return size;
}

int main(int count, char **arguments) {
  if (count < 2) fail("give the name of a share, and `every` for every frame");
  int every = count > 2 && strcmp(arguments[2], "every") == 0;
  int connection = dial(arguments[1]), descriptor;
  if (connection < 0) fail(arguments[1]);
  uint64_t hello[2] = {0, every}, answer[2], seen = 0, missed = 0, before = 0;
  memcpy(hello, "SPRKRDR1", 8), memcpy(answer, "SPRKACK1", 8);
  send(connection, hello, sizeof hello, MSG_NOSIGNAL);
  static char packet[LONGEST + 1];
  struct layout l = {0};
  const uint8_t *memory = NULL;
  struct { uint32_t slot, frames; uint64_t ticket, shared, zero; } notice;
  for (ssize_t size; (size = receive(connection, packet, &descriptor)) > 0;) {
    packet[size] = '\0', errno = 0;
    if (size != sizeof notice) {
      if (descriptor < 0) fail(packet);  // {"error": "..."}
      if (memory) munmap((void *)memory, l.memory_bytes);
      else before = whole(packet, "shared");
      l = parse(packet);
      memory = mmap(NULL, l.memory_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
      if (memory == MAP_FAILED) fail("cannot map the memory");
      close(descriptor);
      continue;
    }
    memcpy(&notice, packet, sizeof notice);
    // Of the latest frames only the newest is of interest.
    char next;
    if (!every && recv(connection, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && next != '{') continue;
    if (memory == NULL || notice.slot >= l.slots || notice.frames > l.batch) fail("a notice is wrong");
    const uint8_t *slot = memory + l.slots_at + notice.slot * l.slot_bytes;
    const _Atomic uint64_t *tickets = (const _Atomic uint64_t *)slot;
    for (uint32_t k = 0; k < notice.frames; k++) {
      uint64_t place = notice.shared - notice.frames + k, number, written = atomic_load(&tickets[1]);
      int64_t captured;
      const uint8_t *header = slot + l.frames_at + k * l.frame_stride;
      memcpy(&number, header + 24, sizeof number), memcpy(&captured, header + 48, sizeof captured);
      double level = mean(slot + l.payload_at + k * l.payload_bytes, &l);
      atomic_thread_fence(memory_order_acquire);
      if (written != notice.ticket || atomic_load(&tickets[0]) != notice.ticket) continue;  // Overtaken.
      printf("%" PRIu64 " %" PRId64 " %" PRIu64 " %.6f\n", number, captured, place - before, level);
      missed += place - before, seen++, before = place + 1;
    }
    if (every) answer[1] = notice.ticket, send(connection, answer, sizeof answer, MSG_NOSIGNAL);
  }
  uint64_t state = 0, shared = before;
  if (memory) memcpy(&shared, memory + 64, sizeof shared), memcpy(&state, memory + 72, sizeof state);
  printf("seen %" PRIu64 " missed %" PRIu64 "\n", seen, missed + shared - before);
  errno = 0;
  if (state != ENDED) fail("the share ended before its run did");
  return 0;
}
