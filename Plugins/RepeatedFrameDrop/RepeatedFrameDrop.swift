public import SprocketCore

/// Drops frames that repeat the frame before: equal bytes, or equal pixels.
///
/// Two stages: the first compares the source's own bytes and runs before unpacking, so that a repeated JPEG
/// is never decoded; the second compares pixels.
public enum RepeatedFrameDrop {
  public static let plugin = Plugin(
    "repeatdrop", "drops frames that are equal to the frame before",
    stages: [
      StageKind("bytes", RepeatedByteStage.self), StageKind("pixels", RepeatedPixelStage.self),
    ])

  /// What is compared.
  public enum Comparison: String, SettingValue, CaseIterable {
    /// The source's bytes where it has compressed frames or mosaics, then the pixels.
    case all
    /// The source's bytes alone, so that no frame is unpacked for this.
    case bytes
  }

  /// What a user may choose.
  public struct Settings: KindSettings {
    /// While frames repeat, the first in each such period passes, 1 ms to 1 h.
    public var every = Duration.seconds(1)
    public var compare = Comparison.all

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting(
          "every", \.every, range: .milliseconds(1) ... .seconds(3600),
          "while frames repeat, the first in each such period passes"
        ).live,
        Setting(
          "compare", \.compare,
          "all: the source's bytes, then pixels; bytes: only those, nothing is unpacked for it"),
      ]
    }
  }
}

extension StageChoice {
  /// Drops frames that are equal to the frame before.
  public static func repeatDrop(
    _ choose: (inout RepeatedFrameDrop.Settings) -> Void = { _ in }
  ) -> StageChoice {
    StageChoice(RepeatedFrameDrop.plugin, of: RepeatedByteStage.self, choose)
  }
}
