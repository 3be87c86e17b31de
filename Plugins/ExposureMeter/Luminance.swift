import Glibc
import SprocketCore

/// What the levels of luma are as light, relative to full scale.
struct LuminanceScale {
  /// By level; full scale is 1.
  let luminance: [Double]
  /// log2 of it, by level.
  let logLuminance: [Double]
  /// What a target is a fraction of: full scale, but less where a transfer function keeps room for
  /// highlights. There 18 % of it is where ITU-R BT.2408, table 1, puts an 18 % grey card: at 38 %
  /// of HLG's signal and at 26 cd/m2 of PQ.
  let white: Double

  /// Level 0 has no logarithm. It stands for all that rounds to it, so it counts as level 1/2.
  init(of transfer: Color.Transfer) {
    luminance = (0..<256).map { transfer.luminance(ofSignal: max(Double($0), 0.5) / 255) }
    logLuminance = luminance.map(log2)
    switch transfer {
    case .hlg: white = transfer.luminance(ofSignal: 0.38) / 0.18
    case .pq: white = 26.0 / 10_000 / 0.18
    default: white = 1
    }
  }
}
