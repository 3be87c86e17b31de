public import SprocketCore

extension AudioChoice {
  /// Makes sound louder or softer.
  public static func gain(_ choose: (inout Gain.Settings) -> Void = { _ in }) -> AudioChoice {
    AudioChoice(Gain.plugin, of: Gain.self, choose)
  }
}
