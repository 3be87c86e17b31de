internal import CSprocketLibAV
internal import SprocketPixels

// Units and types are those of libavutil's mastering_display_metadata.h.

extension HDRMetadata {
  /// Types of a stream's side data that a copy keeps.
  static let sideData = [
    AV_PKT_DATA_MASTERING_DISPLAY_METADATA, AV_PKT_DATA_CONTENT_LIGHT_LEVEL,
  ]

  /// What a container says; `nil` where it says nothing.
  ///
  /// The corresponding C function is `av_stream_get_side_data`.
  init?(_ stream: UnsafeMutablePointer<AVStream>) {
    var (displaySize, lightSize) = (0, 0)
    let display = unsafe libav.av_stream_get_side_data(
      stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, &displaySize)
    let light = unsafe libav.av_stream_get_side_data(
      stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, &lightSize)
    unsafe self.init(
      display: display.map { UnsafeRawPointer($0) }, displaySize,
      light: light.map { UnsafeRawPointer($0) }, lightSize)
  }

  /// What a decoded frame says.
  ///
  /// The corresponding C function is `av_frame_get_side_data`.
  init?(_ frame: UnsafeMutablePointer<AVFrame>) {
    let display = unsafe libav.av_frame_get_side_data(
      frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA)
    let light = unsafe libav.av_frame_get_side_data(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL)
    unsafe self.init(
      display: display.map { unsafe UnsafeRawPointer($0.pointee.data) },
      display.map { unsafe Int($0.pointee.size) } ?? 0,
      light: light.map { unsafe UnsafeRawPointer($0.pointee.data) },
      light.map { unsafe Int($0.pointee.size) } ?? 0)
  }

  private init?(
    display: UnsafeRawPointer?, _ displaySize: Int, light: UnsafeRawPointer?, _ lightSize: Int
  ) {
    var (foundDisplay, foundLight): (Display?, Light?) = (nil, nil)
    if let display = unsafe display, displaySize >= MemoryLayout<AVMasteringDisplayMetadata>.size {
      foundDisplay = Display(unsafe display.loadUnaligned(as: AVMasteringDisplayMetadata.self))
    }
    if let light = unsafe light, lightSize >= MemoryLayout<AVContentLightMetadata>.size {
      let level = unsafe light.loadUnaligned(as: AVContentLightMetadata.self)
      foundLight = Light(
        pixel: UInt16(clamping: level.MaxCLL), picture: UInt16(clamping: level.MaxFALL))
    }
    guard foundDisplay != nil || foundLight != nil else { return nil }
    self.init(display: foundDisplay, light: foundLight)
  }

  /// Writes it into a stream, for its container; false where there is no memory.
  ///
  /// The corresponding C function is `av_stream_new_side_data`.
  func fill(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    if let display {
      guard
        unsafe Self.add(display.libraryValue, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, stream)
      else { return false }
    }
    guard let light else { return true }
    let level = AVContentLightMetadata(MaxCLL: UInt32(light.pixel), MaxFALL: UInt32(light.picture))
    return unsafe Self.add(level, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, stream)
  }

  private static func add<Value: BitwiseCopyable>(
    _ value: Value, _ type: AVPacketSideDataType, _ stream: UnsafeMutablePointer<AVStream>
  ) -> Bool {
    guard
      let data = unsafe libav.av_stream_new_side_data(stream, type, MemoryLayout<Value>.size)
    else { return false }
    unsafe UnsafeMutableRawPointer(data).storeBytes(of: value, as: Value.self)
    return true
  }

  /// The settings of an encoder that writes it into the pictures, by the encoder's own names; empty for one
  /// that cannot.
  func settings(of encoder: String) -> [String] {
    let names: (display: String, light: String)? =
      switch encoder {
      case "libx264": ("mastering-display", "cll")
      case "libx265": ("master-display", "max-cll")
      case "libsvtav1": ("mastering-display", "content-light")
      default: nil
      }
    guard let names else { return [] }
    // SVT-AV1 takes fractions, the others units.
    let isFraction = encoder == "libsvtav1"
    func point(_ name: String, _ value: SIMD2<UInt16>) -> String {
      isFraction
        ? "\(name)(\(Double(value.x) / 50_000),\(Double(value.y) / 50_000))"
        : "\(name)(\(value.x),\(value.y))"
    }
    let display = display.map { display in
      let light =
        isFraction
        ? "L(\(Double(display.brightest) / 10_000),\(Double(display.darkest) / 10_000))"
        : "L(\(display.brightest),\(display.darkest))"
      return names.display + "=" + point("G", display.green) + point("B", display.blue)
        + point("R", display.red) + point("WP", display.white) + light
    }
    return [display, light.map { "\(names.light)=\($0.pixel),\($0.picture)" }].compactMap { $0 }
  }
}

extension HDRMetadata.Display {
  /// `nil` where a part is not said: encoders write all or nothing.
  fileprivate init?(_ value: AVMasteringDisplayMetadata) {
    guard value.has_primaries != 0, value.has_luminance != 0 else { return nil }
    func units(_ ratio: AVRational, per whole: Double) -> Double {
      ratio.den > 0 ? max(0, Double(ratio.num) / Double(ratio.den) * whole).rounded() : 0
    }
    func point(_ pair: (AVRational, AVRational)) -> SIMD2<UInt16> {
      SIMD2(
        UInt16(min(units(pair.0, per: 50_000), 65_535)),
        UInt16(min(units(pair.1, per: 50_000), 65_535)))
    }
    let colors = value.display_primaries
    self.init(
      red: point(colors.0), green: point(colors.1), blue: point(colors.2),
      white: point(value.white_point),
      brightest: UInt32(min(units(value.max_luminance, per: 10_000), 4e9)),
      darkest: UInt32(min(units(value.min_luminance, per: 10_000), 4e9)))
  }

  fileprivate var libraryValue: AVMasteringDisplayMetadata {
    func point(_ value: SIMD2<UInt16>) -> (AVRational, AVRational) {
      (AVRational(num: Int32(value.x), den: 50_000), AVRational(num: Int32(value.y), den: 50_000))
    }
    func light(_ value: UInt32) -> AVRational {
      AVRational(num: Int32(clamping: value), den: 10_000)
    }
    return AVMasteringDisplayMetadata(
      display_primaries: (point(red), point(green), point(blue)), white_point: point(white),
      min_luminance: light(darkest), max_luminance: light(brightest), has_primaries: 1,
      has_luminance: 1)
  }
}
