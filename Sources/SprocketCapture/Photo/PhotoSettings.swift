public import Sprocket
internal import Synchronization

/// The file format of a photograph: `.jpeg`, `.png`, `.tiff`, or `.dng`, the Bayer mosaic of the sensor.
public typealias PhotoFormat = StillFormat

extension StillFormat {
  public var isRaw: Bool { self == .dng }
}

/// One exposure of a bracket.
public enum BracketStep: Sendable, Hashable {
  /// So many stops more light than the camera's present exposure, by a longer or shorter one. -10 to 10.
  case bias(Double)
  /// A time, and a gain if it is to change.
  case exposure(Duration, gain: Double? = nil)
}

/// Which frame a photograph is. Times are of `Timestamp.Clock.monotonic`, and as far in the past as the
/// output's pre-roll is long.
public enum PhotoMoment: Sendable, Hashable {
  /// The first frame that was exposed after the asking.
  case next
  /// The frame captured nearest to a time; of two the earlier one.
  case nearest(Timestamp)
  /// The first frame captured at a time or after it.
  case atOrAfter(Timestamp)
  /// The last frame captured at a time or before it.
  case atOrBefore(Timestamp)

  /// The time, and the rule by which a frame is chosen; `nil` for the next one.
  var choice: (time: Timestamp, rule: FrameChoice.Rule)? {
    switch self {
    case .next: nil
    case .nearest(let time): (time, .nearest)
    case .atOrAfter(let time): (time, .atOrAfter)
    case .atOrBefore(let time): (time, .atOrBefore)
    }
  }
}

/// How one capture is to be made. Consumed by `PhotoOutput.capture`: the same settings cannot be used twice.
public struct PhotoSettings: ~Copyable, Sendable {
  /// Whether the flash fires; `auto`: if the scene is dark.
  public enum FlashMode: Sendable, Hashable { case off, on, auto }

  /// The same in no other settings of this process.
  public let uniqueID: Int64
  /// Each gives a photograph of its own. What the output was not made for is refused.
  public var formats: [PhotoFormat]
  /// One photograph for each step and format. Empty for a single exposure.
  public var bracket: [BracketStep] = []
  public var flashMode = FlashMode.off
  /// Which frame the photograph is. Other moments than `next` are for outputs that were made with a pre-roll,
  /// and taken without a bracket.
  public var moment = PhotoMoment.next
  /// Path of a short movie around the photograph, with the moments before it; `nil` for none. For outputs
  /// that were made with `liveMovies`.
  public var livePhotoMoviePath: String?
  /// Metadata that the photographs get in EXIF: title, make, model, software, artist, copyright, comment and
  /// location. A field that is set replaces what Sprocket or the camera writes; an empty field changes
  /// nothing. The movie of a live photo gets them, too. EXIF has no `tags`. Costs a copy of each file.
  public var metadata = MovieMetadata()

  private static let count = Atomic<Int64>(0)

  public init(_ formats: PhotoFormat...) {
    self.formats = formats.isEmpty ? [.jpeg] : formats
    uniqueID = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// The same settings for another capture, with an identity of their own.
  public borrowing func copy() -> PhotoSettings {
    var copy = PhotoSettings()
    copy.formats = formats
    copy.bracket = bracket
    copy.flashMode = flashMode
    copy.moment = moment
    copy.livePhotoMoviePath = livePhotoMoviePath
    copy.metadata = metadata
    return copy
  }
}

/// What settings came to: known before the first callback.
public struct ResolvedPhotoSettings: Sendable, Hashable {
  public let uniqueID: Int64
  /// In pixels, of the first format's photographs.
  public let size: CameraSize
  public let formats: [PhotoFormat]
  /// How many photographs there will be: formats times steps of the bracket.
  public let expectedPhotoCount: Int
  public let bracketCount: Int
  public let isFlashEnabled: Bool
  public let livePhotoMoviePath: String?
}

/// A photograph, or why there is none.
public struct CapturedPhoto: Sendable {
  public let resolved: ResolvedPhotoSettings
  public let format: PhotoFormat
  /// From 1 to `expectedPhotoCount`, in the order in which they come.
  public let photoCount: Int
  /// The step of the bracket; `nil` without one.
  public let bracketStep: BracketStep?
  /// `nil` where all went well.
  public let error: CaptureError?
  /// The file; empty if there is an error.
  public let fileData: [UInt8]
  /// The frame's number, time and the camera's settings; `nil` if there is an error.
  public let record: FrameRecord?
  let origin: FrameOrigin

  /// A small JPEG of a JPEG, from its EXIF; `nil` where there is none.
  public var thumbnail: [UInt8]? {
    format == .jpeg ? CameraStill.thumbnail(in: fileData) : nil
  }

  /// The photograph's pixels, decoded from its JPEG: as they lie in the file, which the file's EXIF says how
  /// to turn.
  ///
  /// Throws if there is no photograph, and for one of another format: ask for a JPEG beside it. Costs
  /// what decoding costs.
  public func pixels(
    _ content: FrameCopy.Content = .bgra
  ) throws(CaptureError) -> FrameCopy {
    if let error { throw error }
    guard format == .jpeg, let record, let header = EncodedFrame(checking: fileData.span) else {
      throw CaptureError(
        .settingsRefused,
        "the pixels of a \(format.rawValue) photograph are not decoded here; ask for a JPEG beside it"
      )
    }
    do throws(RunError) {
      var copy = try FrameCopy(
        fileData, pixels: .mjpeg, width: header.width, height: header.height, at: record.captured)
      copy.setRecord(record, origin)
      return try copy.converted(to: content)
    } catch {
      throw CaptureError(error)
    }
  }

  /// Writes the file, under its name when it is complete. Throws if there is no photograph, if the file
  /// exists and `overwrite` is false, and if the disk fails.
  public func write(to path: String, overwrite: Bool = false) throws(CaptureError) {
    if let error { throw error }
    do throws(RunError) {
      var file = try FileWriter(path: path, purpose: "a photograph", overwrite: overwrite)
      try file.append(fileData)
      try file.complete()
    } catch {
      throw CaptureError(error, .fileRefused)
    }
  }
}
