// How much it costs to hand a frame over, beside Peers/queues.cpp.
//
//   HandOff hand-off park|spin LANES FRAMES RATE
//   HandOff throughput COUNT
//
// Prints one line of JSON.

import Glibc

@main
enum HandOff {
  static func main() {
    let words = CommandLine.arguments.dropFirst()
    let numbers = words.compactMap(Double.init)
    switch (words.first, words.dropFirst().first.flatMap(Waiting.init), numbers.count) {
    case ("hand-off", let waiting?, 3):
      let ring = RingHandOff(waiting: waiting, lanes: Int(numbers[0]))
      let result = ring.measure(frames: Int(numbers[1]), rate: numbers[2])
      print(
        """
        {"queue": "ring", "lanes": \(ring.lanes), "cpu_us": \(result.cpu), \
        "p50_us": \(result.percentile(50)), "p99_us": \(result.percentile(99))}
        """)
    case ("throughput", nil, 1):
      let ring = RingHandOff(waiting: .spin, lanes: 1)
      print("{\"queue\": \"ring\", \"per_second\": \(ring.throughput(count: Int(numbers[0])))}")
    default:
      print("usage: HandOff hand-off park|spin LANES FRAMES RATE, or HandOff throughput COUNT")
      exit(2)
    }
  }
}
