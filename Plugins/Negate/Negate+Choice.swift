public import SprocketCore

extension StageChoice {
  /// Makes the negative of the picture.
  public static func negate() -> StageChoice { StageChoice(Negate.plugin) }
}
