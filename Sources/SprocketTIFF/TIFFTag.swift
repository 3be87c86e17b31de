/// Numbers of fields in TIFF, EXIF and DNG files.
///
/// Source: TIFF 6.0, EXIF 2.32 (CIPA DC-008-2019), DNG 1.4.
public struct TIFFTag: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }
  private init(_ value: UInt16) { rawValue = value }

  // TIFF.
  public static let newSubfileType = TIFFTag(254)
  public static let imageWidth = TIFFTag(256)
  public static let imageLength = TIFFTag(257)
  public static let bitsPerSample = TIFFTag(258)
  public static let compression = TIFFTag(259)
  public static let fillOrder = TIFFTag(266)
  public static let photometricInterpretation = TIFFTag(262)
  public static let imageDescription = TIFFTag(270)
  public static let make = TIFFTag(271)
  public static let model = TIFFTag(272)
  public static let stripOffsets = TIFFTag(273)
  public static let orientation = TIFFTag(274)
  public static let samplesPerPixel = TIFFTag(277)
  public static let rowsPerStrip = TIFFTag(278)
  public static let stripByteCounts = TIFFTag(279)
  public static let xResolution = TIFFTag(282)
  public static let yResolution = TIFFTag(283)
  public static let planarConfiguration = TIFFTag(284)
  public static let resolutionUnit = TIFFTag(296)
  public static let software = TIFFTag(305)
  public static let dateTime = TIFFTag(306)
  public static let artist = TIFFTag(315)
  public static let tileOffsets = TIFFTag(324)
  public static let subIFDs = TIFFTag(330)
  public static let jpegOffset = TIFFTag(513)
  public static let jpegByteCount = TIFFTag(514)
  public static let ycbcrPositioning = TIFFTag(531)
  public static let referenceBlackWhite = TIFFTag(532)
  public static let copyright = TIFFTag(33432)
  public static let exifIFD = TIFFTag(34665)
  public static let gpsIFD = TIFFTag(34853)
  /// Windows' own, in UTF-16.
  public static let windowsComment = TIFFTag(40092)

  // TIFF/EP, which DNG takes over.
  public static let cfaRepeatPatternDim = TIFFTag(33421)
  public static let cfaPattern = TIFFTag(33422)

  // EXIF.
  public static let exposureTime = TIFFTag(33434)
  public static let photographicSensitivity = TIFFTag(34855)
  public static let exifVersion = TIFFTag(36864)
  public static let dateTimeOriginal = TIFFTag(36867)
  public static let dateTimeDigitized = TIFFTag(36868)
  public static let offsetTime = TIFFTag(36880)
  public static let offsetTimeOriginal = TIFFTag(36881)
  public static let offsetTimeDigitized = TIFFTag(36882)
  public static let componentsConfiguration = TIFFTag(37121)
  public static let exposureBiasValue = TIFFTag(37380)
  public static let userComment = TIFFTag(37510)
  public static let subSecTime = TIFFTag(37520)
  public static let subSecTimeOriginal = TIFFTag(37521)
  public static let subSecTimeDigitized = TIFFTag(37522)
  public static let flashpixVersion = TIFFTag(40960)
  public static let colorSpace = TIFFTag(40961)
  public static let pixelXDimension = TIFFTag(40962)
  public static let pixelYDimension = TIFFTag(40963)
  public static let exposureMode = TIFFTag(41986)

  // DNG.
  public static let dngVersion = TIFFTag(50706)
  public static let dngBackwardVersion = TIFFTag(50707)
  public static let uniqueCameraModel = TIFFTag(50708)
  public static let cfaPlaneColor = TIFFTag(50710)
  public static let cfaLayout = TIFFTag(50711)
  public static let linearizationTable = TIFFTag(50712)
  public static let blackLevel = TIFFTag(50714)
  public static let whiteLevel = TIFFTag(50717)
  public static let colorMatrix1 = TIFFTag(50721)
  public static let asShotNeutral = TIFFTag(50728)
  public static let calibrationIlluminant1 = TIFFTag(50778)
}

/// How a field's values are stored; numbers are TIFF's.
public enum TIFFType: UInt16, Sendable {
  case byte = 1
  case ascii = 2
  case short = 3
  case long = 4
  case rational = 5
  case undefined = 7
  case signedRational = 10

  /// Bytes of a value.
  public var size: Int {
    switch self {
    case .byte, .ascii, .undefined: 1
    case .short: 2
    case .long: 4
    case .rational, .signedRational: 8
    }
  }
}
