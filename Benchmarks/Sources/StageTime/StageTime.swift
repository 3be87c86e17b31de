// What a stage's `process` takes, on one thread, beside Peers/ that time a function of OpenCV.
//
//   StageTime STAGE[:KEY=VALUE,...] LUMA WIDTH HEIGHT ROUNDS
//
// LUMA is a file of full-range 8-bit luma, WIDTH by HEIGHT, frame by frame. All frames are shown to
// the stage one after the other, ROUNDS times, after one round that is not timed.
//
// Prints one line of JSON: the median and the least time per frame.

import Glibc
import SprocketCommandLine
import SprocketCore

/// Why it cannot be measured; the text says what to do.
struct UsageError: Error {
  let text: String
}

@main
enum StageTime {
  static func main() {
    do {
      let words = Array(CommandLine.arguments.dropFirst())
      let numbers = words.dropFirst(2).compactMap { Int($0) }.filter { $0 > 0 }
      guard words.count == 5, numbers.count == 3 else {
        throw UsageError(text: "usage: StageTime STAGE[:KEY=VALUE,...] LUMA WIDTH HEIGHT ROUNDS")
      }
      let frames = try LumaFrames(path: words[1], width: numbers[0], height: numbers[1])
      let times = try time(try stage(words[0]), over: frames, rounds: numbers[2]).sorted()
      print(
        """
        {"stage": "\(words[0])", "frames": \(frames.count), \
        "p50_us": \(Double(times[times.count / 2]) / 1e3), "least_us": \(Double(times[0]) / 1e3)}
        """)
    } catch let error as UsageError {
      print(error.text)
      exit(2)
    } catch {
      print("\(error)")
      exit(1)
    }
  }

  /// The first stage of the plug-in that `text` names, with its settings.
  static func stage(_ text: String) throws -> any Stage {
    let parts = text.split(separator: ":", maxSplits: 1)
    guard let plugin = builtinStages.first(where: { $0.name == parts[0] }) else {
      let known = builtinStages.map(\.name).joined(separator: ", ")
      throw UsageError(text: "there is no stage `\(parts[0])`; there are: \(known)")
    }
    var values: [String: String] = [:]
    for pair in parts.dropFirst().flatMap({ $0.split(separator: ",") }) {
      let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
      guard sides.count == 2 else {
        throw UsageError(text: "\(pair) is no setting of \(plugin.name); write KEY=VALUE")
      }
      values[sides[0]] = sides[1]
    }
    return plugin.stages[0].make(try StageChoice(plugin, values).settings)
  }

  /// Nanoseconds of each call.
  static func time(_ stage: any Stage, over frames: LumaFrames, rounds: Int) throws -> [Int64] {
    var stage = stage
    var setup = StageSetup(
      format: frames.format, isLive: false, controls: nil, remaining: Remaining(), earlier: [:],
      ownSlot: LumaFrames.slot)
    _ = try stage.configure(&setup)
    guard setup.parts.isSubset(of: .luma(.full)), setup.writing == nil else {
      throw UsageError(text: "only stages that read nothing but full luma can be measured")
    }
    var times: [Int64] = []
    times.reserveCapacity(rounds * frames.count)
    for round in 0...rounds {
      for index in 0..<frames.count {
        let start = LumaFrames.now
        frames.show(index, to: &stage, parts: setup.parts)
        if round > 0 { times.append(LumaFrames.now - start) }
      }
    }
    return times
  }
}
