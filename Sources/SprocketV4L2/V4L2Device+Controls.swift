internal import CSprocketV4L2
internal import Glibc

// Controls: what there is, and being told of changes.

extension V4L2Device {
  /// All controls in the driver's order, but those that are disabled, and numbers whose range is none.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_QUERY_EXT_CTRL` and `VIDIOC_QUERYMENU`.
  public func controls() -> [V4L2Control] {
    var controls: [V4L2Control] = []
    var group = ""
    var last: UInt32 = 0
    _ = Self.enumerate { _ -> Void? in
      var found = v4l2_query_ext_ctrl()
      found.id = last | UInt32(V4L2_CTRL_FLAG_NEXT_CTRL) | UInt32(V4L2_CTRL_FLAG_NEXT_COMPOUND)
      guard request(SPROCKET_VIDIOC_QUERY_EXT_CTRL, &found), found.id > last else { return nil }
      last = found.id
      if found.type == V4L2_CTRL_TYPE_CTRL_CLASS.rawValue {
        group = text(found.name)
      } else if found.flags & UInt32(V4L2_CTRL_FLAG_DISABLED) == 0,
        found.minimum <= found.maximum || isArray(found), let kind = kind(of: found)
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
    var control = V4L2Control(
      id: found.id, title: text(found.name), group: group, kind: kind, minimum: found.minimum,
      maximum: found.maximum, step: Int64(clamping: max(1, found.step)),
      defaultValue: found.default_value, flags: found.flags,
      isWide: found.type == V4L2_CTRL_TYPE_INTEGER64.rawValue)
    if kind == .array {
      let sizes = [found.dims.0, found.dims.1, found.dims.2, found.dims.3]
      control.dimensions = sizes.prefix(Int(min(found.nr_of_dims, 4))).map { Int($0) }
    }
    return control
  }

  /// Arrays and structures have no range.
  private func isArray(_ found: v4l2_query_ext_ctrl) -> Bool {
    found.nr_of_dims > 0
      || found.flags & UInt32(V4L2_CTRL_FLAG_HAS_PAYLOAD) != 0
        && found.type != V4L2_CTRL_TYPE_STRING.rawValue
  }

  private func kind(of found: v4l2_query_ext_ctrl) -> V4L2Control.Kind? {
    if isArray(found) { return .array }
    return switch v4l2_ctrl_type(found.type) {
    case V4L2_CTRL_TYPE_STRING: .text
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
    guard found.minimum >= 0, found.minimum <= found.maximum,
      found.maximum < Int64(UInt32.max)
    else { return [] }
    // Only a broken driver has a menu of hundreds.
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
          isValue: given.changes & UInt32(V4L2_EVENT_CTRL_CH_VALUE) != 0,
          nanoseconds: Int64(event.timestamp.tv_sec) &* 1_000_000_000
            &+ Int64(event.timestamp.tv_nsec)))
    }
  }
}
