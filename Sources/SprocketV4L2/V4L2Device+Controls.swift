internal import CSprocketV4L2
internal import Glibc

// Controls: what there is, reading, writing, and being told of changes.

extension V4L2Control {
  /// Another control decides over this one, as automatic exposure does.
  public var isInactive: Bool { Self.isInactive(flags) }
  /// The hardware changes it by itself.
  public var isVolatile: Bool { has(UInt32(V4L2_CTRL_FLAG_VOLATILE)) }
  public var isReadOnly: Bool { has(UInt32(V4L2_CTRL_FLAG_READ_ONLY)) }
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

  private func has(_ flag: UInt32) -> Bool { flags & flag != 0 }

  /// A value in the 32 bits that it is exchanged in; the bits of a bitmask have no sign.
  func packed(_ value: Int64) -> Int32 {
    kind == .bitmask ? Int32(bitPattern: UInt32(clamping: value)) : Int32(clamping: value)
  }

  func unpacked(_ value: Int32) -> Int64 {
    kind == .bitmask ? Int64(UInt32(bitPattern: value)) : Int64(value)
  }

  /// What exposure and lens are called.
  public static let exposureAbsolute = UInt32(V4L2_CID_EXPOSURE_ABSOLUTE)
  public static let gain = UInt32(V4L2_CID_GAIN)
  public static let analogueGain = UInt32(V4L2_CID_ANALOGUE_GAIN)
  public static let focusAbsolute = UInt32(V4L2_CID_FOCUS_ABSOLUTE)
  /// Whether automatic exposure may lower the frame rate.
  public static let exposurePriority = UInt32(V4L2_CID_EXPOSURE_AUTO_PRIORITY)
  /// Where the camera looks: 0 to the front, 1 to the back, 2 is external.
  public static let cameraOrientation = UInt32(V4L2_CID_CAMERA_ORIENTATION)
}

extension V4L2Device {
  /// The controls that hold one number, in the driver's order; not those that hold a text or an array,
  /// or are disabled, or whose range is none.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_QUERY_EXT_CTRL` and `VIDIOC_QUERYMENU`.
  public func controls() -> [V4L2Control] {
    var controls: [V4L2Control] = []
    var group = ""
    var last: UInt32 = 0
    _ = Self.enumerate { _ -> Void? in
      var found = v4l2_query_ext_ctrl()
      found.id = last | UInt32(V4L2_CTRL_FLAG_NEXT_CTRL)
      guard request(SPROCKET_VIDIOC_QUERY_EXT_CTRL, &found), found.id > last else { return nil }
      last = found.id
      if found.type == V4L2_CTRL_TYPE_CTRL_CLASS.rawValue {
        group = text(found.name)
      } else if found.flags & UInt32(V4L2_CTRL_FLAG_DISABLED) == 0,
        found.minimum <= found.maximum, let kind = kind(of: found)
      {
        controls.append(control(found, kind, group))
      }
      return ()
    }
    return controls
  }

  private func control(_ found: v4l2_query_ext_ctrl, _ kind: V4L2Control.Kind, _ group: String)
    -> V4L2Control
  {
    V4L2Control(
      id: found.id, title: text(found.name), group: group, kind: kind, minimum: found.minimum,
      maximum: found.maximum, step: Int64(clamping: max(1, found.step)),
      defaultValue: found.default_value, flags: found.flags,
      isWide: found.type == V4L2_CTRL_TYPE_INTEGER64.rawValue)
  }

  private func kind(of found: v4l2_query_ext_ctrl) -> V4L2Control.Kind? {
    switch v4l2_ctrl_type(found.type) {
    case V4L2_CTRL_TYPE_INTEGER, V4L2_CTRL_TYPE_INTEGER64: .integer
    case V4L2_CTRL_TYPE_BOOLEAN: .boolean
    case V4L2_CTRL_TYPE_MENU: .menu(items(of: found, areNumbers: false))
    case V4L2_CTRL_TYPE_INTEGER_MENU: .menu(items(of: found, areNumbers: true))
    case V4L2_CTRL_TYPE_BITMASK: .bitmask
    case V4L2_CTRL_TYPE_BUTTON: .button
    default: nil
    }
  }

  private func items(of found: v4l2_query_ext_ctrl, areNumbers: Bool) -> [V4L2MenuItem] {
    guard found.minimum >= 0, found.maximum < Int64(UInt32.max) else { return [] }
    // A menu of hundreds is one of a broken driver.
    let last = min(found.maximum, found.minimum + 255)
    return (found.minimum...last).compactMap { index in
      var item = v4l2_querymenu()
      item.id = found.id
      item.index = UInt32(clamping: index)
      guard request(SPROCKET_VIDIOC_QUERYMENU, &item) else { return nil }
      return V4L2MenuItem(index: index, text: areNumbers ? "\(item.value)" : text(item.name))
    }
  }

  /// A control's flags as they are now; `nil` when it cannot be asked.
  public func flags(of id: UInt32) -> UInt32? {
    var found = v4l2_query_ext_ctrl()
    found.id = id
    return request(SPROCKET_VIDIOC_QUERY_EXT_CTRL, &found) ? found.flags : nil
  }

  /// Reads a control.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_G_EXT_CTRLS`.
  public func value(of control: V4L2Control) throws(V4L2Error) -> Int64 {
    try exchange(control, 0, SPROCKET_VIDIOC_G_EXT_CTRLS, "VIDIOC_G_EXT_CTRLS")
  }

  /// Writes a control; returns what the driver made of the value.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_S_EXT_CTRLS`.
  public mutating func set(_ control: V4L2Control, to value: Int64) throws(V4L2Error) -> Int64 {
    try exchange(control, value, SPROCKET_VIDIOC_S_EXT_CTRLS, "VIDIOC_S_EXT_CTRLS")
  }

  private func exchange(
    _ control: V4L2Control, _ value: Int64, _ request: UInt, _ operation: String
  ) throws(V4L2Error) -> Int64 {
    var one = unsafe v4l2_ext_control()
    unsafe one.id = control.id
    if control.isWide {
      unsafe one.value64 = value
    } else {
      unsafe one.value = control.packed(value)
    }
    var all = unsafe v4l2_ext_controls()
    unsafe all.which = UInt32(V4L2_CTRL_WHICH_CUR_VAL)
    unsafe all.count = 1
    unsafe try withUnsafeMutablePointer(to: &one) { (pointer) throws(V4L2Error) in
      unsafe all.controls = unsafe pointer
      unsafe try demand(request, &all, "\(operation) of \(control.name)")
    }
    return unsafe control.isWide ? one.value64 : control.unpacked(one.value)
  }

  /// Asks to be told when a control changes, by whomever. False where the driver does not tell.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_SUBSCRIBE_EVENT`.
  public mutating func subscribe(to id: UInt32) -> Bool {
    var wanted = v4l2_event_subscription()
    wanted.type = UInt32(V4L2_EVENT_CTRL)
    wanted.id = id
    return request(SPROCKET_VIDIOC_SUBSCRIBE_EVENT, &wanted)
  }

  /// The oldest event that the driver has told of and nobody has taken.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_DQEVENT`.
  public mutating func nextEvent() -> V4L2Event? {
    while true {
      var event = v4l2_event()
      guard request(SPROCKET_VIDIOC_DQEVENT, &event) else { return nil }
      if event.type == UInt32(V4L2_EVENT_SOURCE_CHANGE) { return .source }
      guard event.type == UInt32(V4L2_EVENT_CTRL) else { continue }
      let given = unsafe event.u.ctrl
      let isWide = given.type == V4L2_CTRL_TYPE_INTEGER64.rawValue
      return .control(
        V4L2ControlChange(
          id: event.id, value: isWide ? given.value64 : Int64(given.value), flags: given.flags,
          nanoseconds: Int64(event.timestamp.tv_sec) &* 1_000_000_000
            &+ Int64(event.timestamp.tv_nsec)))
    }
  }
}
