/// Where the samples that sixteen lanes are made from begin: a linear function of the step along the
/// pass and of the sixteen across it, with 32 bits behind its point.
struct LaneSteps {
  /// Fractional bits of a position. Larger: more exact, until 64 bits overflow.
  private static let bits = 32
  private static let phaseShift = bits - LanczosWeights.phaseBits

  private var start = 0
  private var step = 0
  private var sixteen = 0
  private var window = 0
  private var size = 0

  init() {}

  /// Of `size` samples; `across` is the slope that `weights` were made for.
  init(_ start: Double, along step: Double, across: Double, _ weights: LaneWeights, size: Int) {
    func fixed(_ value: Double) -> Int { Int((value * Double(1 << Self.bits)).rounded()) }
    let half = 1 << (Self.phaseShift - 1)
    self.start = fixed(start) + half + weights.lowest << Self.phaseShift
    self.step = fixed(step)
    sixteen = fixed(16 * across)
    window = weights.window
    self.size = size
  }

  /// The first sample of the window, and the phase of its lowest lane. Beyond the source, where all
  /// samples are as its edge, it stays.
  @inline(__always)
  func place(_ index: Int, _ block: Int) -> (sample: Int, phase: Int) {
    let position = start &+ step &* index &+ sixteen &* block
    let sample = position &>> Self.bits &- LanczosWeights.before
    let phase = (position &>> Self.phaseShift) & (LanczosWeights.phases &- 1)
    return (min(max(sample, 0 &- window), size), phase)
  }

  func sample(_ index: Int, _ block: Int) -> Int { place(index, block).sample }
}
