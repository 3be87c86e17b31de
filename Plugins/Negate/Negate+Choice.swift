public import SprocketCore

extension StageChoice {
  /// Makes the negative of the picture.
  public static func negate(_ choose: (inout Negate) -> Void = { _ in }) -> StageChoice {
    StageChoice(Negate.plugin, of: Negate.self, choose)
  }
}
