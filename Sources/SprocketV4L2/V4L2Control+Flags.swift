internal import CSprocketV4L2

// What a control's flags and its number say.

extension V4L2Control {
  /// Another control decides over this one, as automatic exposure does.
  public var isInactive: Bool { Self.isInactive(flags) }
  /// The hardware changes it by itself.
  public var isVolatile: Bool { has(UInt32(V4L2_CTRL_FLAG_VOLATILE)) }
  public var isReadOnly: Bool { Self.isReadOnly(flags) }
  public static func isReadOnly(_ flags: UInt32) -> Bool {
    flags & UInt32(V4L2_CTRL_FLAG_READ_ONLY) != 0
  }
  /// A program can write it: it is a number, and not read-only.
  public var isSettable: Bool { isNumber && !isReadOnly }
  /// Another program or the stream holds it; it cannot be written meanwhile.
  public static func isGrabbed(_ flags: UInt32) -> Bool {
    flags & UInt32(V4L2_CTRL_FLAG_GRABBED) != 0
  }
  /// Writing it does something each time, also with the value that it has.
  public var isExecuted: Bool { has(UInt32(V4L2_CTRL_FLAG_EXECUTE_ON_WRITE)) }
  /// It has no value to be read.
  public var isWriteOnly: Bool { has(UInt32(V4L2_CTRL_FLAG_WRITE_ONLY)) }

  /// Whether a control with these flags has the value that it was last set to: neither the hardware nor
  /// another control changes it.
  public static func staysAsWritten(_ flags: UInt32) -> Bool {
    flags & UInt32(V4L2_CTRL_FLAG_INACTIVE | V4L2_CTRL_FLAG_VOLATILE) == 0
  }

  /// Whether another control decides over one with these flags.
  public static func isInactive(_ flags: UInt32) -> Bool {
    flags & UInt32(V4L2_CTRL_FLAG_INACTIVE) != 0
  }

  /// Its flags by the words that `v4l2-ctl` has for them.
  public var flagNames: [String] {
    let known: [(Int32, String)] = [
      (V4L2_CTRL_FLAG_GRABBED, "grabbed"), (V4L2_CTRL_FLAG_READ_ONLY, "read-only"),
      (V4L2_CTRL_FLAG_UPDATE, "update"), (V4L2_CTRL_FLAG_INACTIVE, "inactive"),
      (V4L2_CTRL_FLAG_SLIDER, "slider"), (V4L2_CTRL_FLAG_WRITE_ONLY, "write-only"),
      (V4L2_CTRL_FLAG_VOLATILE, "volatile"), (V4L2_CTRL_FLAG_HAS_PAYLOAD, "has-payload"),
      (V4L2_CTRL_FLAG_EXECUTE_ON_WRITE, "execute-on-write"),
      (V4L2_CTRL_FLAG_MODIFY_LAYOUT, "modify-layout"),
      // V4L2_CTRL_FLAG_DYNAMIC_ARRAY: of Linux 6.1, and not in older headers.
      (0x800, "dynamic-array"),
    ]
    return known.filter { has(UInt32(bitPattern: $0.0)) }.map(\.1)
  }

  private func has(_ flag: UInt32) -> Bool { flags & flag != 0 }

  /// A value in the 32 bits that it is exchanged in; the bits of a bitmask have no sign.
  func packed(_ value: Int64) -> Int32 {
    kind == .bitmask ? Int32(bitPattern: UInt32(clamping: value)) : Int32(clamping: value)
  }

  func unpacked(_ value: Int32) -> Int64 {
    kind == .bitmask ? Int64(UInt32(bitPattern: value)) : Int64(value)
  }

  /// What the lights are called, and the modes of a sensor that merges exposures.
  public static let flashMode = UInt32(V4L2_CID_FLASH_LED_MODE)
  public static let flashStrobe = UInt32(V4L2_CID_FLASH_STROBE)
  public static let wideDynamicRange = UInt32(V4L2_CID_WIDE_DYNAMIC_RANGE)
  /// V4L2_CID_HDR_SENSOR_MODE, V4L2_CID_CAMERA_CLASS_BASE + 36: of Linux 6.3, and not in older headers.
  public static let hdrSensorMode = UInt32(V4L2_CID_CAMERA_CLASS_BASE) + 36
  /// Values of ``flashMode``.
  public static let flashModeFlash = Int64(V4L2_FLASH_LED_MODE_FLASH.rawValue)
  public static let flashModeTorch = Int64(V4L2_FLASH_LED_MODE_TORCH.rawValue)

  /// What exposure and lens are called.
  public static let exposureAbsolute = UInt32(V4L2_CID_EXPOSURE_ABSOLUTE)
  /// Both controls that drivers have for the time of exposure.
  public static let exposures = [exposureAbsolute, UInt32(V4L2_CID_EXPOSURE)]
  public static let gain = UInt32(V4L2_CID_GAIN)
  public static let analogueGain = UInt32(V4L2_CID_ANALOGUE_GAIN)
  public static let focusAbsolute = UInt32(V4L2_CID_FOCUS_ABSOLUTE)
  /// Whether automatic exposure may lower the frame rate.
  public static let exposurePriority = UInt32(V4L2_CID_EXPOSURE_AUTO_PRIORITY)
  /// Where the camera looks: 0 to the front, 1 to the back, 2 is external.
  public static let cameraOrientation = UInt32(V4L2_CID_CAMERA_ORIENTATION)
}
