/// A control of a device: its name, kind, range and state.
public struct V4L2Control: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    case integer
    case boolean
    /// One of a list: of texts, or of numbers.
    case menu([V4L2MenuItem])
    case bitmask
    /// Does something when it is written; has no value.
    case button
    /// A text; minimum and maximum are lengths.
    case text
    /// Several values, or a structure.
    case array
  }

  /// `V4L2_CID_*`.
  public var id: UInt32
  /// The driver's words, as in `Exposure Time, Absolute`.
  public var title: String
  /// The heading that it stands under, as in `Camera Controls`.
  public var group: String
  public var kind: Kind
  public var minimum: Int64
  public var maximum: Int64
  public var step: Int64
  public var defaultValue: Int64
  /// `V4L2_CTRL_FLAG_*`.
  public var flags: UInt32
  /// Its value has 64 bits, whatever its range (`V4L2_CTRL_TYPE_INTEGER64`).
  public var isWide: Bool
  /// Elements of an array in each of its dimensions; empty for all other kinds.
  public var dimensions: [Int] = []

  public init(
    id: UInt32, title: String, group: String = "", kind: Kind, minimum: Int64, maximum: Int64,
    step: Int64 = 1, defaultValue: Int64 = 0, flags: UInt32 = 0, isWide: Bool = false
  ) {
    self.id = id
    self.title = title
    self.group = group
    self.kind = kind
    self.minimum = minimum
    self.maximum = maximum
    self.step = step
    self.defaultValue = defaultValue
    self.flags = flags
    self.isWide = isWide
  }

  /// It holds one number, or is a button.
  public var isNumber: Bool { kind != .text && kind != .array }

  /// The title as `v4l2-ctl` spells it on the command line: letters and digits in lower case, all else
  /// between them one underscore, as in `exposure_time_absolute`.
  public var name: String { Self.name(of: title) }

  public static func name(of title: String) -> String {
    var name = ""
    var isBetween = false
    for byte in title.utf8 {
      let character = Unicode.Scalar(byte)
      guard byte < 0x80, character.properties.isAlphabetic || (0x30...0x39).contains(byte) else {
        isBetween = !name.isEmpty
        continue
      }
      if isBetween { name.append("_") }
      isBetween = false
      name.append(Character(Unicode.Scalar((0x41...0x5A).contains(byte) ? byte + 32 : byte)))
    }
    return name
  }
}

/// What a menu offers.
public struct V4L2MenuItem: Hashable, Sendable {
  /// What the control is set to; they need not be consecutive.
  public var index: Int64
  /// The driver's words, or the number that it stands for.
  public var text: String

  public init(index: Int64, text: String) {
    self.index = index
    self.text = text
  }
}

/// A driver's word that a control changed.
public struct V4L2ControlChange: Hashable, Sendable {
  public var id: UInt32
  public var value: Int64
  /// `V4L2_CTRL_FLAG_*`.
  public var flags: UInt32
  /// The value changed, not the flags or the range alone.
  public var isValue = true
  /// When, on CLOCK_MONOTONIC.
  public var nanoseconds: Int64

  public init(
    id: UInt32, value: Int64, flags: UInt32, isValue: Bool = true, nanoseconds: Int64
  ) {
    self.id = id
    self.value = value
    self.flags = flags
    self.isValue = isValue
    self.nanoseconds = nanoseconds
  }
}

/// What a driver tells of without being asked.
public enum V4L2Event: Sendable, Hashable {
  case control(V4L2ControlChange)
  /// What comes in at the input has changed: its signal, or its resolution.
  case source
}
