internal import Sprocket

/// The summary of a run of several sources.
struct SummariesDocument: Encodable {
  /// By label.
  let sources: [String: SummaryDocument]
  let pairs: [PairsDocument]
}

/// How the frames of two sources were paired.
struct PairsDocument: Encodable {
  /// Time of the second source's frame less that of the first's.
  struct Offset: Encodable {
    let min, p1, p50, p99, max, mean: Double
  }

  let sources: [String]
  let pairs: UInt64
  /// Frames of each without a partner.
  let alone: [UInt64]
  /// `nil` without pairs.
  let offset: Offset?

  enum CodingKeys: String, CodingKey {
    case sources, pairs, alone
    case offset = "offset_us"
  }

  init(_ pairs: PairStatistics) {
    sources = pairs.sources
    self.pairs = pairs.pairs
    alone = pairs.alone
    offset =
      pairs.pairs == 0
      ? nil
      : Offset(
        min: pairs.least, p1: pairs.quantile(0.01), p50: pairs.quantile(0.5),
        p99: pairs.quantile(0.99), max: pairs.most, mean: pairs.mean)
  }
}
