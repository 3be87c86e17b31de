/// Where the camera focuses.
public enum FocusMode: Sendable, Hashable {
  /// Stays as it is, or goes to a position: 0 is nearest, 1 furthest.
  case locked(lensPosition: Double? = nil)
  /// Searches once, then stays.
  case autoOnce
  case continuous
}

/// What decides over the exposure.
public enum ExposureMode: Sendable, Hashable {
  /// Stays as it is.
  case locked
  case continuous
  /// What is `nil` stays as it is. A gain of 1 is the sensor's base: the lowest ISO number.
  case custom(duration: Duration? = nil, gain: Double? = nil)
}

public enum WhiteBalanceMode: Sendable, Hashable {
  /// Stays as it is, or has a colour temperature in kelvins.
  case locked(kelvins: Double? = nil)
  /// Measures once, then stays.
  case autoOnce
  case continuous
}

public enum TorchMode: Sendable, Hashable {
  case off
  /// 0 to 1; `nil` for the lamp's own brightness.
  case on(level: Double? = nil)
}
