// Two queues that one would use instead of the ring, measured as Sources/HandOff measures it.
//
//   queues hand-off mutex|counters LANES FRAMES RATE
//   queues throughput mutex|counters COUNT
//
// Prints one line of JSON.

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

static constexpr uint64_t depth = 64;
static constexpr uint64_t end = UINT64_MAX;

static int64_t nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}

// A queue of numbers under a mutex; who finds it empty or full sleeps.
class MutexQueue {
 public:
  void push(uint64_t value) {
    {
      std::unique_lock lock(mutex_);
      notFull_.wait(lock, [&] { return tail_ - head_ < depth; });
      values_[tail_++ % depth] = value;
    }
    notEmpty_.notify_one();
  }

  uint64_t pop() {
    uint64_t value;
    {
      std::unique_lock lock(mutex_);
      notEmpty_.wait(lock, [&] { return tail_ != head_; });
      value = values_[head_++ % depth];
    }
    notFull_.notify_one();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable notEmpty_, notFull_;
  uint64_t values_[depth];
  uint64_t head_ = 0, tail_ = 0;
};

// One producer, one consumer, a counter each, and each keeps a copy of the other's; who finds the
// ring empty or full spins.
class CountersRing {
 public:
  void push(uint64_t value) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    while (tail - knownHead_ == depth) {
      knownHead_ = head_.load(std::memory_order_acquire);
      if (tail - knownHead_ == depth) _mm_pause();
    }
    values_[tail % depth] = value;
    tail_.store(tail + 1, std::memory_order_release);
  }

  uint64_t pop() {
    uint64_t head = head_.load(std::memory_order_relaxed);
    while (head == knownTail_) {
      knownTail_ = tail_.load(std::memory_order_acquire);
      if (head == knownTail_) _mm_pause();
    }
    uint64_t value = values_[head % depth];
    head_.store(head + 1, std::memory_order_release);
    return value;
  }

 private:
  alignas(128) std::atomic<uint64_t> tail_{0};
  uint64_t knownHead_ = 0;
  alignas(128) std::atomic<uint64_t> head_{0};
  uint64_t knownTail_ = 0;
  alignas(128) uint64_t values_[depth];
};

// A source at a fixed rate, 0 for as fast as it goes; `publish` gets each frame's number.
template <class Publish>
static void paced(uint64_t frames, double rate, Publish publish) {
  int64_t start = nanoseconds(CLOCK_MONOTONIC) + 1'000'000;
  for (uint64_t number = 0; number < frames; ++number) {
    if (rate > 0) {
      int64_t due = start + int64_t(number * 1e9 / rate);
      timespec t = {due / 1'000'000'000, due % 1'000'000'000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
    }
    publish(number);
  }
}

// A source at `rate`, `lanes` threads that do nothing, a queue before each. The CPU is that of all
// threads, less what the source uses when nobody listens.
template <class Queue>
static void handOff(const char *name, int lanes, uint64_t frames, double rate) {
  int64_t idle = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  volatile uint64_t published = 0;
  std::vector<int64_t> sent(frames), took(frames);
  paced(frames, rate, [&](uint64_t number) {
    sent[number] = nanoseconds(CLOCK_MONOTONIC);
    published = number;
  });
  idle = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - idle;

  std::vector<std::unique_ptr<Queue>> queues;
  for (int lane = 0; lane < lanes; ++lane) queues.push_back(std::make_unique<Queue>());
  int64_t before = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  std::vector<std::thread> threads;
  for (int lane = 0; lane < lanes; ++lane) {
    threads.emplace_back([&, lane] {
      for (;;) {
        uint64_t number = queues[lane]->pop();
        if (lane + 1 < lanes) {
          queues[lane + 1]->push(number);
        } else if (number != end) {
          took[number] = nanoseconds(CLOCK_MONOTONIC) - sent[number];
        }
        if (number == end) return;
      }
    });
  }
  paced(frames, rate, [&](uint64_t number) {
    sent[number] = nanoseconds(CLOCK_MONOTONIC);
    queues[0]->push(number);
  });
  queues[0]->push(end);
  for (auto &thread : threads) thread.join();
  int64_t cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - before - idle;

  std::sort(took.begin(), took.end());
  printf(
      "{\"queue\": \"%s\", \"lanes\": %d, \"cpu_us\": %.3f, \"p50_us\": %.3f, \"p99_us\": %.3f}\n",
      name, lanes, cpu / 1e3 / frames / lanes, took[frames / 2] / 1e3, took[frames * 99 / 100] / 1e3);
}

template <class Queue>
static void throughput(const char *name, uint64_t count) {
  auto queue = std::make_unique<Queue>();
  uint64_t sum = 0;
  int64_t start = nanoseconds(CLOCK_MONOTONIC);
  std::thread consumer([&] {
    for (uint64_t number = 0; number < count; ++number) sum += queue->pop();
  });
  for (uint64_t number = 0; number < count; ++number) queue->push(number);
  consumer.join();
  double seconds = (nanoseconds(CLOCK_MONOTONIC) - start) / 1e9;
  if (sum != count * (count - 1) / 2) {
    fprintf(stderr, "%s lost numbers\n", name);
    exit(1);
  }
  printf("{\"queue\": \"%s\", \"per_second\": %.0f}\n", name, count / seconds);
}

int main(int argc, char **argv) {
  bool isMutex = argc > 2 && !strcmp(argv[2], "mutex");
  if (argc == 6 && !strcmp(argv[1], "hand-off")) {
    auto run = isMutex ? handOff<MutexQueue> : handOff<CountersRing>;
    run(argv[2], atoi(argv[3]), strtoull(argv[4], nullptr, 10), atof(argv[5]));
  } else if (argc == 4 && !strcmp(argv[1], "throughput")) {
    auto run = isMutex ? throughput<MutexQueue> : throughput<CountersRing>;
    run(argv[2], strtoull(argv[3], nullptr, 10));
  } else {
    fprintf(stderr, "usage: queues hand-off mutex|counters LANES FRAMES RATE\n");
    fprintf(stderr, "       queues throughput mutex|counters COUNT\n");
    return 2;
  }
}
