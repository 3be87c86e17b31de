internal import CSprocketLibAV

/// Why a media file cannot be read.
public struct MediaError: Error, Equatable, Sendable {
  /// What a program can tell apart.
  public enum Code: Equatable, Sendable {
    case notFound
    case notPermitted
    case isDirectory
    case emptyFile
    /// Not a file of any known kind.
    case notMedia
    /// A movie whose index was never written: the recording was cut off.
    case unfinished
    /// A file without moving or still pictures.
    case noVideo
    /// No decoder for the video in it.
    case unsupportedCodec
    /// The file cannot be read any further.
    case readFailed
    case outOfMemory
  }

  public let code: Code
  /// The C function that failed.
  public let operation: String
  /// What it returned: a negative errno, or one of libavutil's own numbers; 0 if it did not fail.
  public let status: Int32
  public let path: String

  /// The library's words for ``status``.
  ///
  /// The corresponding C function is `av_strerror`.
  public var reason: String {
    var text = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
    let count = text.count
    _ = unsafe text.withUnsafeMutableBufferPointer { buffer in
      unsafe av_strerror(status, buffer.baseAddress, count)
    }
    return String(
      decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

extension MediaError: CustomStringConvertible {
  /// A sentence that says what is wrong and what can be done.
  public var description: String {
    switch code {
    case .notFound: "There is no file \(path); check the spelling."
    case .notPermitted:
      "You may not read \(path); change its permissions, or run as a user who may."
    case .isDirectory: "\(path) is a folder; name a file in it."
    case .emptyFile: "\(path) is empty; record or copy it anew."
    case .notMedia:
      "\(path) is not a movie or picture that can be read (\(reason)); try to play it with ffplay."
    case .unfinished:
      "\(path) has no index: its recording or copying was cut off; copy it anew, or record with "
        + "fragments."
    case .noVideo: "\(path) has no video; name a file that has."
    case .unsupportedCodec:
      "\(path) has video that this system's libavcodec cannot decode (\(reason)); convert it to "
        + "H.264 or Motion-JPEG."
    case .readFailed:
      "\(path) cannot be read any further (\(reason), in \(operation)); the file is damaged or its "
        + "disk is failing."
    case .outOfMemory: "There is not enough memory to read \(path); close other programs."
    }
  }
}
