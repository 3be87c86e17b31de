public import SprocketCore

/// Turns a picture into its negative: 255 minus each sample, in every plane.
public struct Negate: Stage {
  public static let plugin = Plugin("negate", "the negative of a picture", Negate.self)

  public static var order: Order { .any }

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.inPlace, depth: .any)
    return setup.format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    var picture = frame.edit()
    let format = picture.format
    for plane in 0..<picture.planeCount {
      for y in 0..<picture.rows(plane: plane) {
        if format.isDeep {
          var row = picture.row16(y, plane: plane)
          negate(&row, white: UInt16((1 << format.bitsPerSample) - 1))
        } else {
          var row = picture.row(y, plane: plane)
          negate(&row)
        }
      }
    }
    return .keep
  }
}

/// 255 - sample. The two bytes of a 16-bit sample may be taken one by one: nothing is carried.
func negate(_ row: inout MutableSpan<UInt8>) {
  for x in 0..<row.count { row[x] = 255 &- row[x] }
}

/// `white` - sample; a sample above `white` wraps.
func negate(_ row: inout MutableSpan<UInt16>, white: UInt16) {
  for x in 0..<row.count { row[x] = white &- row[x] }
}
