internal import CSprocketV4L2

// What is connected to an input: HDMI grabbers and TV cards deliver a picture of their own, or the last
// one, where nothing comes in.

extension V4L2Device {
  /// Whether a signal comes in that frames can be made of; `nil` where the driver does not tell.
  ///
  /// Cost: of a grabber behind a slow bus some milliseconds.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_G_INPUT` and `VIDIOC_ENUMINPUT`.
  public func hasSignal() -> Bool? {
    var number: Int32 = 0
    guard request(SPROCKET_VIDIOC_G_INPUT, &number) else { return nil }
    var input = v4l2_input()
    input.index = UInt32(bitPattern: number)
    guard request(SPROCKET_VIDIOC_ENUMINPUT, &input) else { return nil }
    return input.status & Self.withoutSignal == 0
  }

  /// Nothing is connected, it is off, or the receiver cannot lock on to it (linux/videodev2.h).
  private static let withoutSignal =
    UInt32(V4L2_IN_ST_NO_POWER) | UInt32(V4L2_IN_ST_NO_SIGNAL) | UInt32(V4L2_IN_ST_NO_SYNC)
    | UInt32(V4L2_IN_ST_NO_CARRIER) | UInt32(V4L2_IN_ST_NO_H_LOCK) | UInt32(V4L2_IN_ST_NO_V_LOCK)

  /// Asks to be told when what comes in changes. False where the driver does not tell.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_SUBSCRIBE_EVENT`.
  public mutating func subscribeToSource() -> Bool {
    var wanted = v4l2_event_subscription()
    wanted.type = UInt32(V4L2_EVENT_SOURCE_CHANGE)
    return request(SPROCKET_VIDIOC_SUBSCRIBE_EVENT, &wanted)
  }
}

// DV timings: the resolution and rate of what comes in at an HDMI input.

extension V4L2Device {
  /// Whether the input receives other timings than those that the device is set to; false where it has none,
  /// or no signal.
  ///
  /// Cost: of a grabber behind a slow bus up to a second.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_QUERY_DV_TIMINGS` and `VIDIOC_G_DV_TIMINGS`.
  public func hasOtherTimings() -> Bool { sprocket_v4l2_other_timings(fd, 0) == 1 }

  /// Sets the device to the timings that the input receives, if they are others. A driver takes no others
  /// while somebody has buffers of it.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_S_DV_TIMINGS`.
  public mutating func adoptTimings() { _ = sprocket_v4l2_other_timings(fd, 1) }
}
