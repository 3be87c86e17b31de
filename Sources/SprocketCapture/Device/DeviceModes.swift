public import Sprocket

/// Where the camera focuses. A point of interest is part of the mode: 0/0 is top left, 1/1 bottom right. It
/// needs the session's stages `focus` and `autofocus`, which then decide in place of the camera.
public enum FocusMode: Sendable, Hashable {
  /// Stays as it is, or goes to a position: 0 is nearest, 1 furthest.
  case locked(lensPosition: Double? = nil)
  /// Searches once, then stays.
  case autoOnce(at: Point? = nil)
  case continuous(at: Point? = nil)
}

/// What decides over the exposure. A point of interest is part of the mode. It needs the session's stages
/// `meter` and `autoexposure`, which then decide in place of the camera.
public enum ExposureMode: Sendable, Hashable {
  /// Stays as it is.
  case locked
  /// Until it is right, then stays.
  case autoOnce(at: Point? = nil)
  case continuous(at: Point? = nil)
  /// What is `nil` stays as it is. A gain of 1 is the sensor's base: the lowest ISO number.
  case custom(duration: Duration? = nil, gain: Double? = nil)
}

/// Who sets the white balance.
public enum WhiteBalanceMode: Sendable, Hashable {
  /// Stays as it is, or has a colour temperature in kelvins.
  case locked(kelvins: Double? = nil)
  /// Gains of red and blue over green, by the camera's own controls (`red_balance`, `blue_balance`): 1 is
  /// what the camera begins with, which drivers count linearly. More of both is a tint towards magenta, less
  /// of both one towards green; the ratio of the two is the colour temperature.
  case gains(red: Double, blue: Double)
  /// Measures once, then stays.
  case autoOnce
  case continuous
}

/// Whether the lamp is lit, and how brightly.
public enum TorchMode: Sendable, Hashable {
  case off
  /// 0 to 1; `nil` for the lamp's own brightness.
  case on(level: Double? = nil)
}
