internal import Glibc

/// How samples between samples are made.
public enum ResamplingFilter: String, SettingValue, CaseIterable, BitwiseCopyable {
  /// The two nearest samples, by distance: OpenCV's `INTER_LINEAR`. A picture made smaller than half shows
  /// moiré, since it reads two samples of each row and column however many there are.
  case bilinear
  /// The mean of the area that a sample covers: OpenCV's `INTER_AREA`. Where a picture is made larger,
  /// `bilinear`.
  case area
  /// Lanczos' kernel of three lobes, stretched where a picture is made smaller: Pillow's `LANCZOS`.
  case lanczos
}

/// Weights for resizing a row or a column: each new sample is a weighted sum of `taps` neighbouring source
/// samples. The weights add up to 1. Positions beyond the source's ends take its first or last sample.
public struct ResamplingTable: Sendable {
  /// Weights of each sample.
  public let taps: Int
  /// Samples that are made.
  public let count: Int
  /// By sample, the first source sample that it is made of.
  let starts: [Int32]
  /// `taps` for each sample.
  let weights: [Float]
  /// The source samples that are read.
  let span: Range<Int>
  /// Whether the samples are those of `span`, as they are.
  let isCopy: Bool
  /// Samples that a faster loop can make; `nil` where there are none.
  let periods: ResamplingPeriods?

  /// Sample `i` lies at `first + i step` of the source, where whole numbers are the middles of samples.
  /// `sourceCount`, `count` and `step` are above 0. Costs a few nanoseconds for each weight.
  public init(
    _ filter: ResamplingFilter, sourceCount: Int, count: Int, first: Double, step: Double
  ) {
    contract(
      sourceCount > 0 && count > 0 && step > 0 && step.isFinite && first.isFinite,
      "makes a table of \(count) samples from \(sourceCount), at \(first) and steps of \(step); both "
        + "numbers and the step are above 0")
    let kernel = Kernel(filter, step: step)
    let taps = min(kernel.taps, sourceCount)
    var starts: [Int32] = []
    var weights = [Float](repeating: 0, count: taps * count)
    for index in 0..<count {
      // Positions beyond a thousand pictures are all the nearest sample; the sum stays within an Int.
      let reach = 1000 * Double(sourceCount)
      let position = min(max(first + Double(index) * step, -reach), reach)
      let begin = kernel.firstSample(at: position)
      let start = min(max(begin, 0), sourceCount - taps)
      starts.append(Int32(start))
      var total = 0.0
      for tap in 0..<kernel.taps { total += kernel.weight(of: begin + tap, at: position) }
      for tap in 0..<kernel.taps {
        let sample = min(max(begin + tap, 0), sourceCount - 1)
        let place = min(max(sample - start, 0), taps - 1)
        weights[index * taps + place] += Float(kernel.weight(of: begin + tap, at: position) / total)
      }
    }
    self.taps = taps
    self.count = count
    self.starts = starts
    self.weights = weights
    // At the end of the source, the sample that is copied is not the first of the taps.
    let copied = (0..<count).compactMap { index in
      (0..<taps).first { weights[index * taps + $0] == 1 }.map { Int(starts[index]) + $0 }
    }
    isCopy = copied.count == count && (0..<count).allSatisfy { copied[$0] == copied[0] + $0 }
    span =
      isCopy
      ? copied[0]..<copied[0] + count : Int(starts.min() ?? 0)..<Int(starts.max() ?? 0) + taps
    periods =
      taps == 2 && !isCopy ? ResamplingPeriods(step: step, starts: starts, weights: weights) : nil
  }
}

/// Describes samples that a loop without index tables can make: each has two taps, and the weights repeat
/// every `width` samples (a period). Each period begins `step` source samples after the previous one. The
/// samples at the ends are not included, because the source's edges give them other weights.
struct ResamplingPeriods: Sendable {
  /// Samples of a period: 1 or 2.
  let width: Int
  /// Source samples of a period: 1, 2, 3, 4 or 6.
  let step: Int
  /// The new samples: whole periods.
  let samples: Range<Int>
  /// The first source sample of each sample of the first period.
  let starts: (Int, Int)
  /// Weights of each sample of a period.
  let first: (near: Float, far: Float)
  let second: (near: Float, far: Float)

  /// `nil` for steps that have no loop of their own, and where fewer than two periods would be made.
  fileprivate init?(step: Double, starts: [Int32], weights: [Float]) {
    let doubled = step * 2
    guard doubled == doubled.rounded(), doubled >= 1, doubled <= 12 else { return nil }
    let width = Int(doubled) % 2 == 0 ? 1 : 2
    let stride = Int(doubled) * width / 2
    guard width == 1 ? [2, 3, 4, 6].contains(stride) : [1, 3].contains(stride) else { return nil }
    // The first samples may be made of the source's edge.
    let from = 4
    var end = from
    func isLike(_ index: Int) -> Bool {
      let pattern = from + (index - from) % width
      return starts[index] == starts[pattern] + Int32((index - from) / width * stride)
        && weights[2 * index] == weights[2 * pattern]
        && weights[2 * index + 1] == weights[2 * pattern + 1]
    }
    while end + width <= starts.count, (end..<end + width).allSatisfy(isLike) { end += width }
    guard end - from >= 2 * width else { return nil }
    (self.width, self.step, samples) = (width, stride, from..<end)
    let second = from + width - 1
    self.starts = (Int(starts[from]), Int(starts[second]))
    first = (weights[2 * from], weights[2 * from + 1])
    self.second = (weights[2 * second], weights[2 * second + 1])
  }
}

/// A filter for one step between samples.
private struct Kernel {
  let filter: ResamplingFilter
  /// Source samples that a sample covers, 1 or more.
  let stretch: Double
  let taps: Int

  init(_ filter: ResamplingFilter, step: Double) {
    stretch = max(step, 1)
    self.filter = filter == .area && step <= 1 ? .bilinear : filter
    switch self.filter {
    case .bilinear: taps = 2
    case .area: taps = Int(stretch.rounded(.up)) + 1
    case .lanczos: taps = 2 * Int((Self.lobes * stretch).rounded(.up)) + 1
    }
  }

  private static let lobes = 3.0

  func firstSample(at position: Double) -> Int {
    switch filter {
    case .bilinear: Int(position.rounded(.down))
    case .area: Int((position + 0.5 - stretch / 2).rounded(.down))
    case .lanczos: Int((position - Self.lobes * stretch).rounded(.up))
    }
  }

  /// Not normalised.
  func weight(of sample: Int, at position: Double) -> Double {
    switch filter {
    case .bilinear: return max(1 - abs(Double(sample) - position), 0)
    case .area:
      let (left, right) = (position - stretch / 2, position + stretch / 2)
      return max(min(Double(sample) + 0.5, right) - max(Double(sample) - 0.5, left), 0)
    case .lanczos:
      let distance = (Double(sample) - position) / stretch
      guard distance != 0 else { return 1 }
      guard abs(distance) < Self.lobes else { return 0 }
      let angle = .pi * distance
      return Self.lobes * sin(angle) * sin(angle / Self.lobes) / (angle * angle)
    }
  }
}
