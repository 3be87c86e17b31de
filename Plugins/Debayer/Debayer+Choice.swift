public import SprocketCore

extension StageChoice {
  /// Makes pictures of a Bayer sensor's mosaics.
  public static func debayer(_ choose: (inout Debayer.Settings) -> Void = { _ in }) -> StageChoice {
    StageChoice(Debayer.plugin, of: Debayer.self, choose)
  }
}
