internal import Glibc

extension Color.Transfer {
  /// Linear luminance, 0 to 1, of a luma signal, 0 to 1: the light that it stands for, relative to full
  /// scale.
  ///
  /// The inverses of the functions of ITU-T H.273 table 3 (values 13, 1, 8, 4, 5, 16 and 18), PQ as
  /// fractions of its 10,000 cd/m2. A source that says nothing is taken for BT.709, as V4L2 does
  /// (`V4L2_MAP_XFER_FUNC_DEFAULT`). Up to two calls of `pow`: make a table for pictures.
  public func luminance(ofSignal signal: Double) -> Double {
    switch self {
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
}
