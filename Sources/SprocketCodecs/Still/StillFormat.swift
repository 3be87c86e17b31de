/// The file formats of stills, by the endings of their names.
public enum StillFormat: String, Sendable, CaseIterable {
  case jpeg = ".jpg"
  case png = ".png"
  case tiff = ".tif"
  case dng = ".dng"

  /// The format of a file's name, in any case; `nil` for other endings. `.jpeg` and `.tiff` are known, too.
  public init?(ending name: String) {
    let endings: [(String, StillFormat)] = [
      (".jpg", .jpeg), (".jpeg", .jpeg), (".png", .png), (".tif", .tiff), (".tiff", .tiff),
      (".dng", .dng),
    ]
    let name = name.lowercased()
    guard let found = endings.first(where: { name.hasSuffix($0.0) }) else { return nil }
    self = found.1
  }
}

/// A sensor's levels and white balance, for DNG. Names and units are those of the stage `debayer`.
public struct MosaicLevels: Sendable, Hashable {
  /// Red and blue are multiplied by these for white balance.
  public var red: Double
  public var blue: Double
  /// The sensor's level of black, as a fraction of full scale.
  public var black: Double

  public init(red: Double = 1, blue: Double = 1, black: Double = 0) {
    (self.red, self.blue, self.black) = (red, blue, black)
  }
}
