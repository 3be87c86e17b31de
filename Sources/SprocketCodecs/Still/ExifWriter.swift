internal import SprocketCore
internal import SprocketTIFF

/// Writes what is known of a frame as EXIF: into a JPEG's or PNG's segment, and into TIFF and DNG files.
/// `docs/stills.md` lists the fields.
///
/// Nothing is allocated per frame.
struct ExifWriter {
  /// A picture in the file's own structure: that of TIFF and DNG.
  struct Strip {
    /// 0 for the picture itself, 1 for a reduced one.
    var subfile: UInt32 = 0
    var width: Int
    var height: Int
    var bits: Int
    /// 1 or 3.
    var samples: Int
    var offset: Int
  }

  /// Where directories are linked.
  struct Links {
    var exif = 0
    /// For DNG.
    var subIFD = 0
  }

  private static let software = Array("Sprocket".utf8)
  /// Bytes that a structure takes, besides the device's name and what else the caller adds.
  static let room = 2048

  private let facts: StillFacts
  private var text = ASCIIText(capacity: 1024)
  /// `nil` where only a file's own time line is known: then no time is written. Runs over the same file make
  /// the same stills.
  private var captured: CalendarTime?

  /// Where the offset of the strip stands.
  private var stripPlace = 0

  init(_ facts: StillFacts) {
    self.facts = facts
    // What is made at the first use shall not be made at the first frame.
    _ = WallClock.shared
    _ = CalendarTime(nanoseconds: 0)
  }

  /// Says where the pixels of the picture are that `begin` described.
  func setStrip(_ offset: UInt32, _ tiff: inout TIFFWriter) { tiff.set(offset, at: stripPlace) }

  /// Begins a structure with its first directory, which the caller ends. `own` is what a camera's own EXIF
  /// says of itself, in `bytes`.
  mutating func begin(
    _ frame: borrowing FrameView, _ tiff: inout TIFFWriter, strip: Strip? = nil,
    hasSubIFD: Bool = false,
    own: TIFFHeader? = nil, in bytes: Span<UInt8> = Span()
  ) -> Links {
    captured = facts.origin.date(of: frame.record.captured).map { CalendarTime(nanoseconds: $0) }
    let link = tiff.begin()
    tiff.beginDirectory(room: 30, linkedAt: link)
    if let strip { addPicture(strip, &tiff) }
    if let make = own?.make { tiff.add(.make, text: bytes.extracting(make)) }
    if let model = own?.model {
      tiff.add(.model, text: bytes.extracting(model))
    } else if !facts.device.isEmpty {
      tiff.add(.model, text: facts.device.span)
    }
    if let strip { stripPlace = tiff.add(.stripOffsets, long: UInt32(strip.offset)) }
    let turned = facts.orientation == .upright ? own?.orientation : nil
    tiff.add(.orientation, short: UInt16(turned ?? facts.orientation.rawValue))
    if let strip { addStrip(strip, &tiff) }
    // Pixels have no size: 72 to the inch, as EXIF says for that.
    tiff.add(.xResolution, 72, over: 1)
    tiff.add(.yResolution, 72, over: 1)
    if strip != nil { tiff.add(.planarConfiguration, short: 1) }
    tiff.add(.resolutionUnit, short: 2)
    tiff.add(.software, text: Self.software.span)
    if let captured {
      text.removeAll()
      text.appendDate(captured)
      tiff.add(.dateTime, text: text.bytes.span)
    }
    var links = Links()
    if hasSubIFD { links.subIFD = tiff.add(.subIFDs, long: 0) }
    if strip == nil { tiff.add(.ycbcrPositioning, short: 1) }
    links.exif = tiff.add(.exifIFD, long: 0)
    return links
  }

  private func addPicture(_ strip: Strip, _ tiff: inout TIFFWriter) {
    tiff.add(.newSubfileType, long: strip.subfile)
    tiff.add(.imageWidth, long: UInt32(strip.width))
    tiff.add(.imageLength, long: UInt32(strip.height))
    if strip.samples == 3 {
      tiff.add(.bitsPerSample, shorts: strip.bits == 8 ? Self.eights : Self.sixteens)
    } else {
      tiff.add(.bitsPerSample, short: UInt16(strip.bits))
    }
    tiff.add(.compression, short: 1)
    // Black is zero; RGB.
    tiff.add(.photometricInterpretation, short: strip.samples == 3 ? 2 : 1)
  }

  private static let eights: [UInt16] = [8, 8, 8]
  private static let sixteens: [UInt16] = [16, 16, 16]

  private func addStrip(_ strip: Strip, _ tiff: inout TIFFWriter) {
    tiff.add(.samplesPerPixel, short: UInt16(strip.samples))
    tiff.add(.rowsPerStrip, long: UInt32(strip.height))
    let count = strip.width * strip.height * strip.samples * strip.bits / 8
    tiff.add(.stripByteCounts, long: UInt32(count))
  }

  /// Writes the directory of EXIF's own fields.
  mutating func addExif(
    _ frame: borrowing FrameView, _ tiff: inout TIFFWriter, linkedAt link: Int, _ kind: StillFormat
  ) {
    let state = frame.record.inForce
    let bracket = frame.report(BracketReport.self).flatMap { $0.step > 0 ? $0 : nil }
    tiff.beginDirectory(room: 22, linkedAt: link)
    if state.exposureMicroseconds > 0, state.exposureMicroseconds < 4e9 {
      tiff.add(
        .exposureTime, UInt32(state.exposureMicroseconds.rounded()), over: 1_000_000)
    }
    if state.gain > 0 {
      tiff.add(
        .photographicSensitivity, short: UInt16(min(max((state.gain * 100).rounded(), 1), 65_535)))
    }
    addVersion(.exifVersion, "0232", &tiff)
    addTimes(&tiff)
    if kind == .jpeg {
      text.removeAll()
      text.append(facts.isGrey ? "\u{1}\u{0}\u{0}\u{0}" : "\u{1}\u{2}\u{3}\u{0}")
      tiff.add(.componentsConfiguration, bytes: text.bytes.span)
    }
    if let bracket, bracket.asked.isFinite {
      tiff.add(.exposureBiasValue, bracket.asked)
    }
    writeComment(frame, bracket)
    tiff.add(.userComment, bytes: text.bytes.span)
    addSubSeconds(&tiff)
    addVersion(.flashpixVersion, "0100", &tiff)
    // sRGB, or not calibrated.
    tiff.add(.colorSpace, short: facts.isSRGB ? 1 : 65_535)
    if kind == .jpeg || kind == .png {
      tiff.add(.pixelXDimension, long: UInt32(facts.width))
      tiff.add(.pixelYDimension, long: UInt32(facts.height))
    }
    // 2 is a bracket.
    if bracket?.asked.isFinite == true { tiff.add(.exposureMode, short: 2) }
    tiff.endDirectory()
  }

  private mutating func addVersion(
    _ tag: TIFFTag, _ version: StaticString, _ tiff: inout TIFFWriter
  ) {
    text.removeAll()
    text.append(version)
    tiff.add(tag, bytes: text.bytes.span)
  }

  private mutating func addTimes(_ tiff: inout TIFFWriter) {
    guard let captured else { return }
    text.removeAll()
    text.appendDate(captured)
    tiff.add(.dateTimeOriginal, text: text.bytes.span)
    tiff.add(.dateTimeDigitized, text: text.bytes.span)
    text.removeAll()
    text.appendOffset(captured)
    tiff.add(.offsetTime, text: text.bytes.span)
    tiff.add(.offsetTimeOriginal, text: text.bytes.span)
    tiff.add(.offsetTimeDigitized, text: text.bytes.span)
  }

  private mutating func addSubSeconds(_ tiff: inout TIFFWriter) {
    guard let captured else { return }
    text.removeAll()
    text.append(UInt64(captured.nanosecond / 1000), digits: 6)
    tiff.add(.subSecTime, text: text.bytes.span)
    tiff.add(.subSecTimeOriginal, text: text.bytes.span)
    tiff.add(.subSecTimeDigitized, text: text.bytes.span)
  }

  /// What EXIF has no field for, as JSON.
  private mutating func writeComment(_ frame: borrowing FrameView, _ bracket: BracketReport?) {
    let record = frame.record
    text.removeAll()
    // EXIF's name of the characters, 8 bytes.
    text.append("ASCII\u{0}\u{0}\u{0}")
    text.append("{\"frame\":")
    text.append(record.number)
    text.append(",\"sequence\":")
    text.append(record.sequence)
    text.append(",\"epoch\":")
    text.append(UInt64(record.epoch))
    text.append(",\"captured_s\":")
    text.append(Double(record.captured.nanoseconds) / 1e9)
    add(",\"gain\":", Double(record.inForce.gain))
    add(",\"lens_position\":", Double(record.inForce.lensPosition))
    if let exposure = frame.report(ExposureReport.self) {
      add(",\"metered_ev\":", exposure.logLuminance)
      add(",\"metered_offset_ev\":", exposure.offset)
    }
    if let focus = frame.report(FocusReport.self) { add(",\"focus_score\":", focus.score) }
    if let bracket {
      text.append(",\"bracket_step\":")
      text.append(UInt64(bracket.step))
      text.append(",\"bracket_steps\":")
      text.append(UInt64(bracket.steps))
      add(",\"bracket_ev\":", bracket.asked)
      add(",\"bracket_measured_ev\":", bracket.measured)
      add(",\"bracket_value\":", bracket.value)
      text.append(",\"bracket_verified\":\"")
      switch bracket.verified {
      case .picture: text.append("picture")
      case .answer: text.append("answer")
      case .none: text.append("none")
      }
      text.append("\"")
    }
    text.append("}")
  }

  private mutating func add(_ name: StaticString, _ value: Double) {
    guard value.isFinite else { return }
    text.append(name)
    text.append(value)
  }
}

/// What is the same for all stills of an epoch.
struct StillFacts: Sendable {
  let origin: FrameOrigin
  /// The camera's name; empty for none.
  let device: [UInt8]
  let width: Int
  let height: Int
  /// What has it, in place of the format.
  private let turn: OrientationSetting?
  private let formatOrientation: Orientation
  var orientation: Orientation { turn?.value ?? formatOrientation }
  let isGrey: Bool
  let isSRGB: Bool

  init(_ origin: FrameOrigin, _ format: FrameFormat, turn: OrientationSetting? = nil) {
    self.turn = turn
    self.origin = origin
    // EXIF's texts are ASCII; 255 characters hold any device's name.
    device = origin.camera.unicodeScalars.prefix(255).map {
      32..<127 ~= $0.value ? UInt8($0.value) : UInt8(ascii: "?")
    }
    (width, height) = (format.width, format.height)
    formatOrientation = format.presentation.orientation
    isGrey = format.image?.isGrey ?? false
    let color = format.color
    isSRGB = color.transfer == .srgb || format.pixelFormat.isEncoded
  }
}
