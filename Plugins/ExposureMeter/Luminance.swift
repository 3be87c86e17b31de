import Glibc
import SprocketCore

/// Linear luminance, 0 to 1, of a luma `signal`, 0 to 1.
///
/// The inverses of the functions of ITU-T H.273 table 3 (values 13, 1, 8, 4, 5, 16 and 18), PQ as
/// fractions of its 10,000 cd/m2. A source that says nothing is taken for BT.709, as V4L2 does
/// (`V4L2_MAP_XFER_FUNC_DEFAULT`).
func luminance(_ signal: Double, _ transfer: Color.Transfer) -> Double {
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

/// log2 of linear luminance by level, in EV below full scale.
///
/// Level 0 has no logarithm. It stands for all that rounds to it, so it counts as level 1/2.
func logLuminances(of transfer: Color.Transfer) -> [Double] {
  (0..<256).map { log2(luminance(max(Double($0), 0.5) / 255, transfer)) }
}
