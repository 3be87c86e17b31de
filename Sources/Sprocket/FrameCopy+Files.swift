public import SprocketCodecs
public import SprocketCore
internal import SprocketFiles
internal import SprocketSinks

// Copies as files.
extension FrameCopy {
  /// The picture as a file in memory, with EXIF: `.jpeg`, `.png`, `.tiff`, or `.dng` of a copy that is a
  /// sensor's mosaic. What files hold stands in `docs/stills.md`; a copy that is a JPEG is not encoded anew.
  ///
  /// `quality` is 1 to 100, of a JPEG that is encoded; another one stops the program. Throws where such
  /// a file cannot hold such a picture. Costs what encoding costs.
  public func file(
    _ format: StillFormat, quality: Int = 90, hasThumbnail: Bool = true
  ) throws(RunError) -> [UInt8] {
    let file = Locked<[UInt8]>([])
    let sink = PhotoSink("copy", format: format, quality: quality, hasThumbnail: hasThumbnail) {
      photo in file.withLock { $0 = photo.bytes }
    }
    let batch = try sink.prepare(RecordingOrder(index: 1))
    try sink.begin(batch)
    try LoneFrame.pass(bytes.span, pictureFormat, record, sensorMap, origin, to: sink)
    sink.end(before: nil)
    return file.withLock { $0 }
  }

  /// Writes the picture as a file, by the ending of its name: `.jpg`, `.png`, `.tif` or `.dng`; it has its
  /// name when it is complete.
  ///
  /// Throws if the ending is another one, if the file exists and `overwrite` is false, and if the disk fails.
  public func write(
    to path: String, quality: Int = 90, overwrite: Bool = false
  ) throws(RunError) {
    guard let format = StillFormat(ending: path) else {
      throw RunError(
        .usage,
        "cannot write a still to \(path): the ending says what kind of file it is; give .jpg, .png, "
          + ".tif or .dng")
    }
    let contents = try file(format, quality: quality)
    var file = try FileWriter(path: path, purpose: "a still", overwrite: overwrite)
    try file.append(contents)
    try file.complete()
  }
}
