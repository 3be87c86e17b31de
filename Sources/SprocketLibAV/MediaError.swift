internal import CSprocketLibAV
internal import Glibc

/// Why a media file cannot be read.
public struct MediaError: Error, Equatable, Sendable {
  /// What a program can tell apart.
  public enum Code: Equatable, Sendable {
    case notFound
    case notPermitted
    case isDirectory
    /// A pipe, a socket or a device.
    case notAFile
    case emptyFile
    /// Not a file of any known kind.
    case notMedia
    /// A movie whose index was never written: the recording was cut off.
    case unfinished
    /// A movie that cannot be read from a pipe, since its index lies at its end.
    case needsSeeking
    /// A file without moving or still pictures.
    case noVideo
    /// Its packets do not say when their pictures are shown.
    case untimed
    /// The stream of that number has no pictures; those of the other numbers have.
    case noVideoThere(Int, known: [Int])
    /// A file without sound.
    case noSound
    /// The stream of that number has no sound; those of the other numbers have.
    case noSoundThere(Int, known: [Int])
    /// Its sound cannot be decoded, not a single sample.
    case noSamples
    /// No decoder for the sound in it.
    case unsupportedSound
    /// From a place on its sound has another rate or other channels.
    case changedSound(seconds: Int)
    /// A container that is not read, by libavformat's name: playlists, and what has no video.
    case otherContainer(String)
    /// A picture of a kind that is not read, by its name.
    case unreadPicture(String)
    /// Its pictures have more pixels than are taken.
    case tooLarge(width: Int, height: Int)
    /// No decoder for the video in it.
    case unsupportedCodec
    /// A stream is encrypted, from its start or from a place on.
    case encrypted(stream: Int)
    /// The file cannot be read any further.
    case readFailed
    /// It tells of more frames than it has bytes.
    case tooManyFrames
    case outOfMemory
    /// libavformat or another of its libraries is not installed here; a sentence says which.
    case library(String)
    /// Somebody asked to stop; nothing is wrong.
    case interrupted
  }

  public let code: Code
  /// Whether this machine is at fault, and not the file.
  public var isOfMachine: Bool {
    switch code {
    case .outOfMemory, .library: true
    default: false
    }
  }
  /// The C function that failed.
  public let operation: String
  /// What it returned: a negative errno, or one of libavutil's own numbers; 0 if it did not fail.
  public let status: Int32
  public let path: String

  /// The library's words for ``status``.
  public var reason: String { libraryText(status) }
  /// ``reason`` in brackets; empty if no function failed.
  private var inBrackets: String { status == 0 ? "" : " (\(reason))" }
}

/// The library's words for a status. They need the library; a file whose `open` fails is reported without.
///
/// The corresponding C function is `av_strerror`.
func libraryText(_ status: Int32) -> String {
  guard LibAV.missing == nil else { return unsafe String(cString: strerror(abs(status))) }
  var text = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
  let count = text.count
  _ = unsafe text.withUnsafeMutableBufferPointer { buffer in
    unsafe libav.av_strerror(status, buffer.baseAddress, count)
  }
  return String(
    decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

extension MediaError: CustomStringConvertible {
  /// A sentence that says what is wrong and what can be done.
  public var description: String {
    switch code {
    case .notFound where path.contains("://"):
      "\(path) is an address in a network, and Sprocket reads files of this machine alone; download "
        + "it first."
    case .notFound: "There is no file \(path); check the spelling."
    case .notPermitted: "You may not read \(path); change its rights, or run as a user who may."
    case .isDirectory: "\(path) is a folder without pictures; name a file in it."
    case .notAFile where path == FileInput.standardInputText:
      "\(path) is a terminal or a device; pipe a stream into it, or give a file's name."
    case .notMedia where status == -ETIMEDOUT:
      "\(path) gave nothing for a minute; look at the program that writes to it."
    case .notAFile:
      "\(path) is a pipe or a device, and a video is read from a file alone; copy it into one."
    case .emptyFile: "\(path) is empty; record or copy it anew."
    case .notMedia:
      "\(path) is not a movie or picture that can be read\(inBrackets); try to play it with ffplay."
    case .unfinished:
      "\(path) has no index: its recording or copying was cut off; copy it anew, or record fragments."
    case .needsSeeking:
      "\(path) is a movie that cannot be read from a pipe, for example because its index lies at its end: "
        + "give the file's name, or pipe MKV or MPEG-TS."
    case .otherContainer(let name) where InputFormats.playlists.contains(name):
      "\(path) is of the kind \(name), which Sprocket does not open: playlists and lists of files are "
        + "not followed; name a file that has the video in it, such as MOV, MP4, MKV or AVI."
    case .otherContainer(let name):
      "\(path) is of the kind \(name), which Sprocket does not read; convert it, for example with ffmpeg."
    case .encrypted(let stream):
      "\(path) is encrypted in stream \(stream), which nothing here can undo; decrypt it first."
    case .unreadPicture(let kind):
      "\(path) is a picture in \(kind), which Sprocket does not read; save it as JPEG, PNG or TIFF."
    case .tooLarge(let width, let height):
      "\(path) has pictures of \(width)x\(height), more than the \(MediaLimits.pixels) pixels that "
        + "Sprocket takes; scale it down."
    case .noVideo: "\(path) has no video; name a file that has."
    case .untimed: "\(path) does not say when its pictures are shown; make a movie of it first."
    case .noVideoThere(let stream, let known): Self.another(stream, "video", known, path)
    case .noSound: "\(path) has no sound; name a file that has."
    case .noSoundThere(let stream, let known): Self.another(stream, "sound", known, path)
    case .noSamples:
      "\(path) has sound of which nothing can be decoded: it is damaged or empty; copy it anew."
    case .unsupportedSound:
      "\(path) has sound that libavcodec here cannot decode\(inBrackets); convert it to WAV or FLAC."
    case .changedSound(let seconds):
      "\(path) has sound of another rate or with other channels from \(seconds) s on; convert it first, for "
        + "example with ffmpeg."
    case .unsupportedCodec:
      "\(path) has video that this system's libavcodec cannot decode\(inBrackets); convert it to "
        + "H.264 or Motion-JPEG."
    case .readFailed:
      "\(path) cannot be read any further (\(reason), in \(operation)); the file is damaged or its "
        + "disk is failing."
    case .tooManyFrames:
      "\(path) goes on after more frames than a file of its size can have: it is damaged; copy it anew."
    case .library(let missing): "\(path) cannot be opened: \(missing)."
    case .interrupted: "Reading \(path) was ended before its time."
    case .outOfMemory:
      "There is not enough memory to read \(path); close other programs, or raise the limit (ulimit -v)."
    }
  }

  private static func another(_ stream: Int, _ what: String, _ known: [Int], _ path: String)
    -> String
  {
    "\(path) has no \(what) in stream \(stream); give one of "
      + "\(known.map(String.init).joined(separator: ", "))."
  }
}
