public import SprocketCore
internal import SprocketFiles
import SprocketXXHash

/// `--checksum`: a digest per frame, made in parallel, and one for the run.
///
/// A frame's digest is XXH3-128, seed 0, of its final picture: plane by plane, luma first, row by
/// row without padding, exactly what `--pipe y4m` writes after `FRAME`. Where there is no picture
/// (a mosaic) it is of the planes that the source delivered, likewise without padding. The run's
/// digest is XXH3-128 of the digests of the delivered frames, 16 bytes each, big-endian, in the order
/// of delivery.
///
/// In Python: `frame = xxhash.xxh3_128(planes)`, `run = xxhash.xxh3_128(); run.update(frame.digest())`.
public final class ChecksumSink: Sink, RenamedSink {
  public internal(set) var name = "checksum"
  private let path: String?
  private let overwrite: Bool
  private var file: FileWriter?
  private var framesOfClosedFile: UInt64 = 0
  private var run = XXH3()

  /// `path`, if given, receives a line `<sequence> <digest>` per delivered frame.
  public init(path: String? = nil, overwrite: Bool = false) {
    self.path = path
    self.overwrite = overwrite
  }

  /// The digest of all frames delivered so far, 32 hexadecimal digits.
  public var runDigest: String {
    let digest = run.digest
    let digits = (0..<XXH3Digest.byteCount).flatMap { index in
      [hexadecimalDigit(digest[byte: index] >> 4), hexadecimalDigit(digest[byte: index] & 15)]
    }
    return String(decoding: digits, as: UTF8.self)
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    try setup.reads(setup.format.image == nil ? .encoded : .image)
    setup.packs(capacity: XXH3Digest.byteCount)
    if let path, file == nil {
      file = try FileWriter(path: path, purpose: "checksums", overwrite: overwrite)
    }
  }

  public func makePacker() -> (any Packer)? { ChecksumPacker() }

  /// Frames whose line is in the file; without a file, all.
  public var durableCount: UInt64 {
    path == nil ? .max : file?.keptFrames ?? framesOfClosedFile
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let digest = frame.packed
    run.update(digest)
    try file?.append(line: frame.record.sequence, digest)
  }

  public func finish() throws(RunError) { try file.close(keeping: &framesOfClosedFile) }
}

extension FileWriter {
  fileprivate mutating func append(line sequence: UInt64, _ digest: Span<UInt8>) throws(RunError) {
    try append(decimal: sequence)
    try append(UInt8(ascii: " "))
    for index in digest.indices {
      try append(hexadecimalDigit(digest[index] >> 4))
      try append(hexadecimalDigit(digest[index] & 15))
    }
    try append(UInt8(ascii: "\n"))
    endFrame()
  }
}

/// Digests one frame at a time.
final class ChecksumPacker: Packer {
  private var hash = XXH3()

  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    hash.reset()
    if frame.format.image == nil {
      for index in 0..<frame.format.pixelFormat.planeCount { update(frame.sourcePlane(index)) }
    } else {
      let image = frame.image
      for index in 0..<image.planeCount { update(image[plane: index]) }
    }
    let digest = hash.digest
    for index in 0..<XXH3Digest.byteCount { bytes[index] = digest[byte: index] }
    return XXH3Digest.byteCount
  }

  private func update(_ plane: borrowing Plane) {
    if let bytes = plane.contiguous {
      hash.update(bytes)
    } else {
      for y in 0..<plane.rows { hash.update(plane[row: y]) }
    }
  }
}

extension ChecksumSink {
  public static let kind = SinkKind(
    "checksum", "a digest of the run, and with a path a line per frame", argument: "path",
    isArgumentOptional: true, ChecksumSettings.self
  ) { (settings, request) throws(RunError) in
    request.naming(
      ChecksumSink(
        path: settings.path.isEmpty ? nil : settings.path.path, overwrite: request.overwrite))
  }
}

/// What a user may choose about checksums.
public struct ChecksumSettings: KindSettings {
  /// Name of a file with a line per frame; `-` is standard output. Empty: the digest of the run alone.
  public var path = OutputName()

  public init() {}

  public static var settings: [Setting<Self>] {
    [Setting("path", \.path, "of a file with a line per frame; - is standard output")]
  }
}
