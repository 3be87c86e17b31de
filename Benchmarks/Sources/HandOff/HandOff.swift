// How much it costs to hand a frame over, beside Peers/queues.cpp.
//
//   HandOff hand-off ring|engine park|spin LANES FRAMES RATE
//   HandOff throughput COUNT
//
// RATE is in frames per second; 0 is as fast as it goes.
//
// Prints one line of JSON.

import Glibc
import SprocketEngine

@main
enum HandOff {
  static func main() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    let numbers = words.compactMap(Double.init)
    if words.count == 6, words[0] == "hand-off", let waiting = WaitStrategy(rawValue: words[2]),
      numbers.count == 3
    {
      let (lanes, frames, rate) = (Int(numbers[0]), Int(numbers[1]), numbers[2])
      let result =
        words[1] == "engine"
        ? try EngineHandOff(waiting: waiting, lanes: lanes).measure(frames: frames, rate: rate)
        : RingHandOff(parks: waiting == .park, lanes: lanes).measure(frames: frames, rate: rate)
      print(
        """
        {"queue": "\(words[1])", "lanes": \(lanes), "cpu_us": \(result.cpu), \
        "p50_us": \(result.percentile(50)), "p99_us": \(result.percentile(99)), \
        "lost": \(result.lost)}
        """)
    } else if words.count == 2, words[0] == "throughput", numbers.count == 1 {
      let perSecond = RingHandOff(parks: false, lanes: 1).throughput(count: Int(numbers[0]))
      print("{\"queue\": \"ring\", \"per_second\": \(perSecond)}")
    } else {
      print("usage: HandOff hand-off ring|engine park|spin LANES FRAMES RATE")
      print("       HandOff throughput COUNT")
      exit(2)
    }
  }
}
