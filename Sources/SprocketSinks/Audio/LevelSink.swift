public import SprocketCore
internal import SprocketFiles

/// `--levels`: JSON Lines, one line per block of sound.
///
/// - `sample`: number of the block's first sample, missing ones counted; `count`: samples in the block.
/// - `missing`: samples that were lost just before it.
/// - `time_ns`: when the first sample was heard, on the clock of the pictures' `captured_ns`; `null` in the
///   first second of a device, whose clock is being measured.
/// - `peak_dbfs`, `rms_dbfs`: a number per channel. 0 is full scale; a full-scale sine has an RMS of -3.01.
///   Silence is -200.
///
/// Of a live source each line is written at once.
public final class LevelSink: AudioSink {
  public let name = "levels"
  private let path: String
  private let overwrite: Bool
  private var file: FileWriter?
  private var isLive = false
  private var channels = 0

  /// An existing file is refused unless `overwrite` is set.
  public init(path: String, overwrite: Bool = false) {
    self.path = path
    self.overwrite = overwrite
  }

  public func configure(_ sound: AudioDescription) throws(RunError) {
    (isLive, channels) = (sound.isLive, sound.format.channels)
    file = try FileWriter(path: path, purpose: "levels", overwrite: overwrite)
  }

  public func run(_ tap: any AudioTap) throws(RunError) {
    var (end, missing) = (tap.before.produced, tap.before.missing)
    while true {
      switch tap.next(timeout: 1_000_000_000) {
      case .nothing: continue
      case .end:
        try file?.complete()
        file = nil
        return
      case .block:
        let record = tap.withBlock { record, _ in record }
        let line = tap.line(ofSegment: record.line.segment) ?? record.line
        tap.release()
        let lost = record.missing - missing
        tap.count(lost, as: .missing)
        tap.count(record.first - end - lost, as: .behind)
        (end, missing) = (record.end, record.missing)
        do throws(RunError) {
          try append(record, line, lost: lost)
        } catch {
          tap.count(UInt64(record.count), as: .failed)
          throw error
        }
        tap.count(UInt64(record.count), as: .delivered)
      }
    }
  }

  private func append(_ record: AudioRecord, _ line: AudioLine, lost: UInt64) throws(RunError) {
    try file?.append("{\"sample\":")
    try file?.append(decimal: record.first)
    try file?.append(",\"count\":")
    try file?.append(decimal: UInt64(record.count))
    try file?.append(",\"missing\":")
    try file?.append(decimal: lost)
    try file?.append(",\"time_ns\":")
    if line.isPlaced {
      try file?.append(decimal: line.time(of: record.first))
    } else {
      try file?.append("null")
    }
    try append(",\"peak_dbfs\":[", record.levels.peakDecibels)
    try append(",\"rms_dbfs\":[", record.levels.rmsDecibels)
    try file?.append("}\n")
    if isLive { try file?.flush() }
  }

  private func append(
    _ key: StaticString, _ decibels: (Int) -> Double
  ) throws(RunError) {
    try file?.append(key)
    for channel in 0..<channels {
      if channel > 0 { try file?.append(",") }
      try file?.append(hundredths: Int64((decibels(channel) * 100).rounded()))
    }
    try file?.append("]")
  }
}

extension FileWriter {
  /// A number of hundredths, with two decimals.
  fileprivate mutating func append(hundredths number: Int64) throws(RunError) {
    if number < 0 { try append("-") }
    let size = number.magnitude
    try append(decimal: size / 100)
    try append(".")
    if size % 100 < 10 { try append("0") }
    try append(decimal: size % 100)
  }
}
