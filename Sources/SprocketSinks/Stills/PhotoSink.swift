public import SprocketCodecs
public import SprocketCore

/// A photograph in memory, as a file of its format.
public struct PhotoFile: Sendable {
  /// The path of the recording's request: what the caller calls it.
  public let key: String
  public let record: FrameRecord
  public let origin: FrameOrigin
  public let format: StillFormat
  /// In pixels.
  public let width: Int
  public let height: Int
  public let bytes: [UInt8]
}

/// Photographs on demand, as files in memory, for a closure.
///
/// A recording (`Engine.ask`) is a number of photographs; its path is no file's name, but handed on to the
/// closure with each of them. What the files hold stands in `docs/stills.md`. Costs one allocation and one
/// copy for each photograph, and nothing while none is asked for.
public final class PhotoSink: Recorder {
  public let name: String
  private let format: StillFormat
  private let quality: Int
  private let hasThumbnail: Bool
  private let mosaic: MosaicLevels
  private let turn: OrientationSetting?
  private let onSize: @Sendable (_ width: Int, _ height: Int) -> Void
  private let onPhoto: @Sendable (PhotoFile) -> Void
  private var content: StillContent?
  private var size = (width: 0, height: 0)
  private var completer = JPEGCompleter()
  private var held = HeldStill()
  private var batch: PhotoBatch?
  public private(set) var notes: [String] = []

  public var isOnDemand: Bool { true }
  public let preRoll: PreRoll?
  /// Always true: each photograph is a file of its own.
  public var fitsFile: Bool { true }

  /// `quality` is 1 to 100, for JPEGs that are encoded. `preRoll`: requests may choose one of the frames that
  /// it keeps. `onSize` is called before a run's first photograph,
  /// and when their size changes; `onPhoto` on the sink's thread.
  public init(
    _ name: String, format: StillFormat = .jpeg, quality: Int = 90, hasThumbnail: Bool = true,
    mosaic: MosaicLevels = MosaicLevels(), turn: OrientationSetting? = nil,
    preRoll: PreRoll? = nil,
    onSize: @escaping @Sendable (_ width: Int, _ height: Int) -> Void = { _, _ in },
    onPhoto: @escaping @Sendable (PhotoFile) -> Void
  ) {
    contract(1...100 ~= quality, "asks for a JPEG quality of \(quality); it is 1 to 100")
    self.name = name
    self.format = format
    self.quality = quality
    self.hasThumbnail = hasThumbnail
    self.mosaic = mosaic
    self.turn = turn
    self.preRoll = preRoll?.forChoices
    (self.onSize, self.onPhoto) = (onSize, onPhoto)
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    content = try StillContent(format, of: name, mosaic: mosaic, turn: turn, &setup) { text in
      if !notes.contains(text) { notes.append(text) }
    }
    let shown = format == .dng ? setup.source.format : setup.format
    size = (shown.width, shown.height)
    onSize(shown.width, shown.height)
  }

  public func makePacker() throws(RunError) -> (any Packer)? {
    try content?.makePacker(quality: quality, hasThumbnail: hasThumbnail)
  }

  public func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile {
    PhotoBatch(order.path ?? "")
  }

  public func begin(_ file: any RecordingFile) throws(RunError) {
    guard let file = file as? PhotoBatch else {
      contractBroken("begins stills that its `prepare` did not make; begin what it returned")
    }
    batch = file
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    var bytes: [UInt8] = []
    try content?.withPieces(of: frame, &completer) { first, second, third in
      bytes.reserveCapacity(first.count + second.count + third.count)
      bytes.append(all: first)
      bytes.append(all: second)
      bytes.append(all: third)
    }
    hand(bytes, frame.record)
  }

  public func withHeldBytes(of frame: borrowing PackedFrame, _ body: (Span<UInt8>) -> Void) {
    content?.hold(frame, in: &held, &completer)
    let bytes = held.bytes
    body(bytes.span)
  }

  public func write(held bytes: Span<UInt8>, _ record: FrameRecord) throws(RunError) {
    var copy: [UInt8] = []
    copy.append(all: bytes.extracting(0..<bytes.count - HeldStill.stepBytes))
    hand(copy, record)
  }

  private func hand(_ bytes: [UInt8], _ record: FrameRecord) {
    guard let batch else { return }
    batch.byteCount += UInt64(bytes.count)
    batch.durableCount += 1
    onPhoto(
      PhotoFile(
        key: batch.path, record: record, origin: content?.origin ?? .unknown, format: format,
        width: size.width,
        height: size.height, bytes: bytes))
  }

  public func end(before next: Timestamp?) { batch = nil }
}

/// The photographs of one recording: there is nothing to complete.
private final class PhotoBatch: RecordingFile {
  let path: String
  var byteCount: UInt64 = 0
  var durableCount: UInt64 = 0
  var freeByteCount: UInt64? { nil }

  init(_ key: String) { path = key }

  func finish() throws(RunError) {}
  func abandon() {}
}

extension [UInt8] {
  mutating func append(all bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }
}
