// What it takes to make a tensor of a picture, on one thread, beside Peers/opencv_tensor.py.
//
//   TensorTime I420 WIDTH HEIGHT ROUNDS [KEY=VALUE...]
//
// I420 is a file of one or more pictures of full-range 4:2:0, WIDTH by HEIGHT. Each is packed, ROUNDS
// times, after one round that is not timed.
//
// Prints one line of JSON: the median time per tensor, and the median time in which a picture is read and a
// tensor is written once, by the C library.

import Glibc
import Sprocket

/// Why it cannot be measured; the text says what to do.
struct UsageError: Error {
  let text: String
}

@main
enum TensorTime {
  static func main() {
    do {
      let words = Array(CommandLine.arguments.dropFirst())
      let numbers = words.dropFirst().prefix(3).compactMap { Int($0) }.filter { $0 > 0 }
      guard words.count >= 4, numbers.count == 3 else {
        throw UsageError(text: "usage: TensorTime I420 WIDTH HEIGHT ROUNDS [KEY=VALUE...]")
      }
      var settings = TensorSettings()
      for word in words.dropFirst(4) { try set(word, of: &settings) }
      let pictures = try Pictures(
        path: words[0], width: numbers[0], height: numbers[1], settings)
      var packing: [Int64] = []
      var touching: [Int64] = []
      for round in 0...numbers[2] {
        for index in 0..<pictures.count {
          let start = Pictures.now
          pictures.pack(index)
          let middle = Pictures.now
          pictures.touch(index)
          guard round > 0 else { continue }
          packing.append(middle - start)
          touching.append(Pictures.now - middle)
        }
      }
      packing.sort()
      touching.sort()
      print(
        """
        {"tensors": \(packing.count), "p50_us": \(Double(packing[packing.count / 2]) / 1e3), \
        "touch_p50_us": \(Double(touching[touching.count / 2]) / 1e3)}
        """)
    } catch let error as UsageError {
      print(error.text)
      exit(2)
    } catch {
      print("\(error)")
      exit(1)
    }
  }

  static func set(_ pair: String, of settings: inout TensorSettings) throws {
    let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
    guard sides.count == 2,
      let setting = TensorSettings.settings.first(where: { $0.name == sides[0] })
    else { throw UsageError(text: "\(pair) is no setting of a tensor; write KEY=VALUE") }
    try setting.apply(sides[1], to: &settings)
  }
}
