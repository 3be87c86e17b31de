internal import CSprocketV4L2
internal import Glibc

// Reading and writing controls, one by one and several at once.

/// A value for a control.
public struct V4L2ControlWrite: Hashable, Sendable {
  public var control: V4L2Control
  /// After it was written, what the driver made of it.
  public var value: Int64

  public init(_ control: V4L2Control, _ value: Int64) {
    self.control = control
    self.value = value
  }
}

/// Why a driver did not take several controls.
public struct V4L2BatchError: Error, Equatable, Sendable {
  public var error: V4L2Error
  /// The control that the driver stopped at; `nil` if it found out before it wrote any, and does not say
  /// which it is.
  public var index: Int?

  public init(_ error: V4L2Error, index: Int? = nil) {
    self.error = error
    self.index = index
  }

  /// Controls may have been written before the driver stopped. By the kernel's documentation of
  /// VIDIOC_S_EXT_CTRLS none has been if it names no control. Some drivers name none when the hardware fails.
  public var mayHaveWritten: Bool { index != nil || error.code == .failed || error.code == .gone }
}

extension V4L2Device {
  /// Reads a control.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_G_EXT_CTRLS`.
  public func value(of control: V4L2Control) throws(V4L2Error) -> Int64 {
    var one = [V4L2ControlWrite(control, 0)]
    do throws(V4L2BatchError) {
      try exchange(&one, 0..<1, SPROCKET_VIDIOC_G_EXT_CTRLS, "VIDIOC_G_EXT_CTRLS")
    } catch {
      throw error.error
    }
    return one[0].value
  }

  /// The text that a control holds; `nil` if it cannot be read.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_G_EXT_CTRLS`.
  public func words(of control: V4L2Control) -> String? {
    // The longest text of a control in the kernel has 255 bytes.
    guard control.kind == .text, (0...65_536).contains(control.maximum) else { return nil }
    var bytes = [CChar](repeating: 0, count: Int(control.maximum) + 1)
    let count = bytes.count
    let isRead = unsafe bytes.withUnsafeMutableBufferPointer { room in
      var one = unsafe v4l2_ext_control()
      unsafe one.id = control.id
      unsafe one.size = UInt32(count)
      unsafe one.string = room.baseAddress
      return unsafe withUnsafeMutablePointer(to: &one) { pointer in
        var all = unsafe v4l2_ext_controls()
        unsafe all.which = UInt32(V4L2_CTRL_WHICH_CUR_VAL)
        unsafe all.count = 1
        unsafe all.controls = unsafe pointer
        return unsafe request(SPROCKET_VIDIOC_G_EXT_CTRLS, &all)
      }
    }
    guard isRead else { return nil }
    return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Writes a control; returns what the driver made of the value.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_S_EXT_CTRLS`.
  public mutating func set(_ control: V4L2Control, to value: Int64) throws(V4L2Error) -> Int64 {
    var one = [V4L2ControlWrite(control, value)]
    do throws(V4L2BatchError) {
      try set(&one, 0..<1)
    } catch {
      throw error.error
    }
    return one[0].value
  }

  /// Writes the controls of a range in one call, in their order, and puts what the driver made of each into
  /// `writes`. A driver with the kernel's control framework, and uvcvideo, checks all before it writes any.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_S_EXT_CTRLS`.
  public mutating func set(
    _ writes: inout [V4L2ControlWrite], _ range: Range<Int>
  ) throws(V4L2BatchError) {
    try exchange(&writes, range, SPROCKET_VIDIOC_S_EXT_CTRLS, "VIDIOC_S_EXT_CTRLS")
  }

  /// Asks whether the controls of a range could be written, and writes none. Returns the one that the driver
  /// refuses, and why; `nil` if it refuses none, or cannot be asked.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_TRY_EXT_CTRLS`.
  public func refusal(
    of writes: [V4L2ControlWrite], _ range: Range<Int>
  ) -> (index: Int, error: V4L2Error)? {
    var tried = writes
    do throws(V4L2BatchError) {
      try exchange(&tried, range, SPROCKET_VIDIOC_TRY_EXT_CTRLS, "VIDIOC_TRY_EXT_CTRLS")
      return nil
    } catch {
      return error.index.map { ($0, error.error) }
    }
  }

  private func exchange(
    _ writes: inout [V4L2ControlWrite], _ range: Range<Int>, _ request: UInt, _ operation: String
  ) throws(V4L2BatchError) {
    let count = range.count
    guard count > 0 else { return }
    // On the stack, up to 51 controls.
    let failed = unsafe withUnsafeTemporaryAllocation(of: v4l2_ext_control.self, capacity: count) {
      room -> (number: Int32, index: Int)? in
      for place in 0..<count {
        let write = writes[range.lowerBound + place]
        var one = unsafe v4l2_ext_control()
        unsafe one.id = write.control.id
        if write.control.isWide {
          unsafe one.value64 = write.value
        } else {
          unsafe one.value = write.control.packed(write.value)
        }
        unsafe room.initializeElement(at: place, to: one)
      }
      var all = unsafe v4l2_ext_controls()
      unsafe all.which = UInt32(V4L2_CTRL_WHICH_CUR_VAL)
      unsafe all.count = UInt32(count)
      unsafe all.error_idx = UInt32(count)
      unsafe all.controls = room.baseAddress
      guard unsafe self.request(request, &all) else {
        let number = errno
        return (number, unsafe Int(all.error_idx))
      }
      for place in 0..<count {
        let control = writes[range.lowerBound + place].control
        let one = unsafe room[place]
        writes[range.lowerBound + place].value =
          control.isWide ? unsafe one.value64 : control.unpacked(unsafe one.value)
      }
      return nil
    }
    guard let failed else { return }
    let index = failed.index < count ? range.lowerBound + failed.index : nil
    let name = writes[index ?? range.lowerBound].control.name
    throw V4L2BatchError(
      V4L2Error(operation: "\(operation) of \(name)", errno: failed.number, path: path),
      index: index)
  }
}
