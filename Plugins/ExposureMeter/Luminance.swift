import Glibc
import SprocketCore

/// Linear luminance, 0 to 1, of a luma `signal`, 0 to 1.
///
/// The inverses of the functions of ITU-T H.273 table 3 (values 13, 1, 8, 4, 5, 16 and 18), PQ as
/// fractions of its 10,000 cd/m2. A source that says nothing is taken for BT.709, as V4L2 does
/// (`V4L2_MAP_XFER_FUNC_DEFAULT`).
func linearLuminance(_ signal: Double, _ transfer: Color.Transfer) -> Double {
  switch transfer {
  case .linear: return signal
  case .srgb: return signal <= 0.04045 ? signal / 12.92 : pow((signal + 0.055) / 1.055, 2.4)
  case .bt709, .unspecified:
    return signal < 0.081 ? signal / 4.5 : pow((signal + 0.099) / 1.099, 1 / 0.45)
  case .gamma22: return pow(signal, 2.2)
  case .gamma28: return pow(signal, 2.8)
  case .pq:
    let (m1, m2) = (2610.0 / 16384, 2523.0 / 4096 * 128)
    let (c1, c2, c3) = (3424.0 / 4096, 2413.0 / 4096 * 32, 2392.0 / 4096 * 32)
    let root = pow(signal, 1 / m2)
    return pow(max(root - c1, 0) / (c2 - c3 * root), 1 / m1)
  case .hlg:
    let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)
    return signal <= 0.5 ? signal * signal / 3 : (exp((signal - c) / a) + b) / 12
  }
}

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
    luminance = (0..<256).map { linearLuminance(max(Double($0), 0.5) / 255, transfer) }
    logLuminance = luminance.map(log2)
    switch transfer {
    case .hlg: white = linearLuminance(0.38, transfer) / 0.18
    case .pq: white = 26.0 / 10_000 / 0.18
    default: white = 1
    }
  }
}
