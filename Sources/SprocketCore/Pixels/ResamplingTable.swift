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
  public private(set) var taps = 0
  /// Samples that are made.
  public private(set) var count = 0
  /// By sample, the first source sample that it is made of.
  private(set) var starts: [Int32] = []
  /// `taps` for each sample.
  private(set) var weights: [Float] = []
  /// The source samples that are read.
  private(set) var span = 0..<0
  /// Whether the samples are those of `span`, as they are.
  private(set) var isCopy = false
  /// Samples that a faster loop can make; `nil` where there are none.
  private(set) var periods: ResamplingPeriods?

  /// Sample `i` lies at `first + i step` of the source, where whole numbers are the middles of samples.
  /// `sourceCount`, `count` and `step` are above 0. Costs a few nanoseconds for each weight.
  public init(
    _ filter: ResamplingFilter, sourceCount: Int, count: Int, first: Double, step: Double
  ) {
    contract(
      sourceCount > 0 && count > 0 && step > 0 && step.isFinite && first.isFinite,
      "makes a table of \(count) samples from \(sourceCount), at \(first) and steps of \(step); both "
        + "numbers and the step are above 0")
    make(filter, sourceCount: sourceCount, count: count, first: first, step: step)
  }

  /// Makes it another table, as `init` does. Allocates nothing where no more samples and taps are wanted than
  /// before, and nobody else has a copy of this one.
  package mutating func make(
    _ filter: ResamplingFilter, sourceCount: Int, count: Int, first: Double, step: Double
  ) {
    let kernel = Kernel(filter, step: step)
    taps = min(kernel.taps, sourceCount)
    self.count = count
    starts.removeAll(keepingCapacity: true)
    weights.removeAll(keepingCapacity: true)
    for _ in 0..<taps * count { weights.append(0) }
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
    let origin = copied(0)
    isCopy = (0..<count).allSatisfy { index in
      copied(index).map { $0 - index } == origin && origin != nil
    }
    span =
      isCopy
      ? (origin ?? 0)..<(origin ?? 0) + count
      : Int(starts.min() ?? 0)..<Int(starts.max() ?? 0) + taps
    periods =
      taps == 2 && !isCopy ? ResamplingPeriods(step: step, starts: starts, weights: weights) : nil
  }
}

extension ResamplingTable {
  /// The source sample that a sample is, as it is; `nil` for a sum. At the end of the source it is not the
  /// first of the taps.
  private func copied(_ index: Int) -> Int? {
    for tap in 0..<taps where weights[index * taps + tap] == 1 { return Int(starts[index]) + tap }
    return nil
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
    // No arrays, which would be made anew.
    let isKnown =
      width == 1
      ? stride == 2 || stride == 3 || stride == 4 || stride == 6 : stride == 1 || stride == 3
    guard isKnown else { return nil }
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
