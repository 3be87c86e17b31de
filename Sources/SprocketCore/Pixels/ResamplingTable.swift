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
  /// Pairs of new samples that a faster loop can make, where the source is doubled: all pairs have the same
  /// weights, and each begins one source sample after the pair before. Pairs at the ends are left out.
  let pairs: Range<Int>

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
    let from = Int(starts.min() ?? 0)
    isCopy = (0..<count).allSatisfy { index in
      starts[index] == starts[0] + Int32(index) && weights[index * taps] == 1
    }
    span = from..<Int(starts.max() ?? 0) + (isCopy ? 1 : taps)
    pairs = taps == 2 && step == 0.5 ? Self.pairs(starts, weights) : 0..<0
  }

  private static func pairs(_ starts: [Int32], _ weights: [Float]) -> Range<Int> {
    let first = 2
    var end = first
    while 2 * end + 1 < starts.count,
      (2 * end...2 * end + 1).allSatisfy({ index in
        let pattern = 2 * first + index % 2
        return starts[index] == starts[pattern] + Int32(end - first)
          && weights[2 * index] == weights[2 * pattern]
          && weights[2 * index + 1] == weights[2 * pattern + 1]
      })
    { end += 1 }
    return first..<end
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
