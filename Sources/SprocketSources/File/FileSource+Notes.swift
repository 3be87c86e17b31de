internal import SprocketCodecs
internal import SprocketCore
internal import SprocketLibAV

// What a user should know of a file.

extension FileSource {
  func description(_ format: FrameFormat, count: Int? = nil) -> SourceDescription {
    var description = SourceDescription(
      name: path == "-" ? "standard input" : path, format: format, isLive: isReal,
      clock: isReal ? .monotonic : .media,
      capacity: 0, frameCount: count)
    description.tags = tags
    description.ownOrigin = FrameOrigin(camera: camera, date: date)
    description.hdr = hdr
    description.leadIn = leadIn
    description.isAskedByNumber = asked != nil
    return description
  }

  /// Name of the camera that the film was recorded with, as the film has it; empty for none.
  private var camera: String {
    let names: Set = ["model", "com.apple.quicktime.model"]
    return tags.first { names.contains($0.key.lowercased()) }?.value ?? ""
  }

  func note(_ info: MediaInfo) {
    if settings.stream < 0, info.streams.count > 1 {
      let numbers = info.streams.map(String.init).joined(separator: ", ")
      streamNote =
        "\(path) has pictures in the streams \(numbers); \(info.streamIndex) is taken, stream=N chooses"
    }
    if info.color.chromaSite == .other {
      streamNote =
        (streamNote.map { $0 + "; " } ?? "")
        + "the chroma of \(path) lies where Sprocket has no word for it, and is taken as beside the left luma"
    }
    if !info.hasTimes, settings.rate == nil, !isReal {
      timeNotes = [
        "\(path) has no times: \(FrameRate(info.frameRate).settingText) frames/s are assumed; give the rate"
      ]
    }
  }

  /// Returns the note about a file that lacks so many bytes at its end; none for a complete one.
  static func cut(_ path: String, _ missingByteCount: Int64) -> [String] {
    missingByteCount > 0
      ? ["\(path) is cut off: \(missingByteCount) bytes are missing at its end"] : []
  }

  /// Returns the note about pictures that are not opaque.
  static func transparency(_ path: String) -> String {
    "\(path) is transparent in places, which only rgba and dumps keep"
  }

  /// Returns the note about pictures that may not be opaque.
  static func possibleTransparency(_ path: String) -> String {
    "frames of \(path) have alpha, which only rgba and dumps keep"
  }

  public var notes: [String] {
    if let pictures { return pictures.notes }
    var notes: [String] = []
    if hasSound, !isSoundTaken {
      notes.append("the sound of \(path) is left out: only its pictures are taken")
    }
    if let streamNote { notes.append(streamNote) }
    if hasTransparency { notes.append(Self.transparency(path)) }
    notes += timeNotes + (reader?.timeNotes ?? clockNotes)
    notes += Self.cut(path, missingByteCount)
    if hasOddAngle {
      notes.append(
        "\(path) says that its pictures are turned by an angle that is no quarter of a turn; they are "
          + "taken as they lie")
    }
    return notes
  }

  /// Notes the date that the film has for its first picture, which is at `time` on its clock, nanoseconds.
  func noteDate(ofTime time: Int64) {
    let begun = tags["creation_time"].flatMap { seconds($0) } ?? 0
    // Clocks that were never set say 1970, or 1904.
    date = begun > 0 ? (begun * 1_000_000_000).clampedDifference(time) : nil
  }

  /// The date is that of the first frame that is played; `time` is how much later that is than the file's
  /// first, nanoseconds. A date that is not written as FFmpeg does is left as it is.
  func moveDate(by time: Int64) {
    guard time >= 1_000_000_000, let text = tags["creation_time"], let date = seconds(text) else {
      return
    }
    var moved = ASCIIText(capacity: 32)
    let seconds = date + time / 1_000_000_000
    moved.appendISODate(CalendarTime(nanoseconds: seconds * 1_000_000_000, inUTC: true))
    tags["creation_time"] = String(decoding: moved.bytes, as: UTF8.self)
  }
}

/// Seconds since 1970 of "2024-05-06T07:08:09.000000Z"; `nil` for other texts. Days are counted from March
/// on, so that the leap day is a year's last (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
private func seconds(_ text: String) -> Int64? {
  let numbers = text.split { !$0.isNumber }.prefix(6).compactMap { Int64($0) }
  guard numbers.count == 6, text.hasSuffix("Z"), 1970...2200 ~= numbers[0], 1...12 ~= numbers[1],
    1...31 ~= numbers[2], numbers[3...5].allSatisfy({ 0...60 ~= $0 })
  else { return nil }
  let year = numbers[1] > 2 ? numbers[0] : numbers[0] - 1
  let month = (numbers[1] + 9) % 12
  let days =
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + numbers[2] - 1
    - 719_468
  return ((days * 24 + numbers[3]) * 60 + numbers[4]) * 60 + numbers[5]
}
