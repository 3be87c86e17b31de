internal import CSprocketV4L2

// Automatic controls and what they decide over: the kernel's "User Control Reference", "Camera Control
// Reference" and "Flash Control Reference".

extension V4L2Control {
  /// Controls, by their numbers, that this one decides over while it is automatic.
  public var subordinates: [UInt32] {
    switch id {
    case UInt32(V4L2_CID_AUTOGAIN): [UInt32(V4L2_CID_GAIN), UInt32(V4L2_CID_ANALOGUE_GAIN)]
    case UInt32(V4L2_CID_EXPOSURE_AUTO):
      [
        UInt32(V4L2_CID_EXPOSURE), UInt32(V4L2_CID_EXPOSURE_ABSOLUTE),
        UInt32(V4L2_CID_IRIS_ABSOLUTE), UInt32(V4L2_CID_IRIS_RELATIVE),
      ]
    case UInt32(V4L2_CID_AUTO_WHITE_BALANCE), UInt32(V4L2_CID_AUTO_N_PRESET_WHITE_BALANCE):
      [
        UInt32(V4L2_CID_WHITE_BALANCE_TEMPERATURE), UInt32(V4L2_CID_RED_BALANCE),
        UInt32(V4L2_CID_BLUE_BALANCE), UInt32(V4L2_CID_DO_WHITE_BALANCE),
      ]
    case UInt32(V4L2_CID_FOCUS_AUTO):
      [
        UInt32(V4L2_CID_FOCUS_ABSOLUTE), UInt32(V4L2_CID_FOCUS_RELATIVE),
        UInt32(V4L2_CID_AUTO_FOCUS_START),
      ]
    case UInt32(V4L2_CID_HUE_AUTO): [UInt32(V4L2_CID_HUE)]
    case UInt32(V4L2_CID_AUTOBRIGHTNESS): [UInt32(V4L2_CID_BRIGHTNESS)]
    case UInt32(V4L2_CID_CHROMA_AGC): [UInt32(V4L2_CID_CHROMA_GAIN)]
    case UInt32(V4L2_CID_ISO_SENSITIVITY_AUTO): [UInt32(V4L2_CID_ISO_SENSITIVITY)]
    case UInt32(V4L2_CID_FLASH_LED_MODE):
      [
        UInt32(V4L2_CID_FLASH_TORCH_INTENSITY), UInt32(V4L2_CID_FLASH_INTENSITY),
        UInt32(V4L2_CID_FLASH_STROBE),
      ]
    default: []
    }
  }

  /// Whether it leaves its subordinates to the user when it has that value. A flash is left to the user when
  /// its mode is not `none`.
  public func leavesToUser(_ value: Int64) -> Bool {
    switch id {
    case UInt32(V4L2_CID_EXPOSURE_AUTO):
      value == Int64(V4L2_EXPOSURE_MANUAL.rawValue)
        || value == Int64(V4L2_EXPOSURE_SHUTTER_PRIORITY.rawValue)
    case UInt32(V4L2_CID_FLASH_LED_MODE): value != Int64(V4L2_FLASH_LED_MODE_NONE.rawValue)
    default: value == 0
    }
  }
}
