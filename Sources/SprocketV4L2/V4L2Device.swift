internal import CSprocketV4L2
internal import Glibc

/// An open video device.
///
/// One thread uses it. Every request goes through libv4l2's `v4l2_ioctl`. Unless conversion is asked
/// for, libv4l2 is never told of the device (`v4l2_fd_open`), so that it hands each request to the
/// kernel as it is: it emulates no format, requeues no frame, adds no control and loads no plug-in.
/// With conversion, frames that it cannot convert are requeued by it and never seen; they show as a gap
/// in the sequence.
@safe
public struct V4L2Device: ~Copyable {
  let fd: Int32
  /// The node.
  public let path: String
  /// Whether frames are taken from it, or written to it.
  public let direction: V4L2Direction
  public let capabilities: V4L2Capabilities
  /// libv4l2 converts formats.
  public let converts: Bool
  var buffers: [V4L2Buffer] = []
  /// Pieces of memory that a frame lies in, 1 to 3.
  var pieceCount = 1
  /// Memory that outlives the device, because somebody may still read it.
  var isMemoryLeftMapped = false
  /// Of an output: which buffers the driver has.
  var outputs = V4L2Outputs()

  /// Opens a device that captures; `converts` lets libv4l2 emulate formats that it does not have.
  ///
  /// The corresponding C functions are `open`, `v4l2_ioctl` with `VIDIOC_QUERYCAP` and `v4l2_fd_open`.
  public init(path: String, converts: Bool = false) throws(V4L2Error) {
    direction = .capture
    (fd, capabilities) = try Self.open(path, converts: converts, .capture)
    self.path = path
    self.converts = converts
  }

  /// Opens a device that frames are written to, such as v4l2loopback. Throws `.busy` while another program
  /// writes to it: where the driver tells, and where that program opened it by this function.
  ///
  /// The corresponding C functions are `open`, `v4l2_ioctl` with `VIDIOC_QUERYCAP`, and `flock`.
  public init(output path: String) throws(V4L2Error) {
    direction = .output
    (fd, capabilities) = try Self.open(path, converts: false, .output)
    self.path = path
    converts = false
  }

  /// The kernel's number of video devices (`VIDEO_MAJOR`, Documentation/admin-guide/devices.txt).
  private static let videoMajor: dev_t = 81

  private static func open(
    _ path: String, converts: Bool, _ direction: V4L2Direction
  ) throws(V4L2Error) -> (Int32, V4L2Capabilities) {
    // No other device is opened: some act when they are, as watchdogs do.
    var status = stat()
    if unsafe stat(path, &status) == 0,
      status.st_mode & S_IFMT != S_IFCHR || (status.st_rdev >> 8) & 0xFFF != videoMajor
    {
      throw V4L2Error(.notACamera, operation: "stat", path: path, direction)
    }
    let fd = unsafe Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard fd >= 0 else {
      throw V4L2Error(operation: "open", errno: errno, path: path, direction)
    }
    do throws(V4L2Error) {
      let capabilities = try V4L2Capabilities(fd: fd, path: path, direction)
      if direction == .output { try claim(fd, path, capabilities) }
      if converts {
        sprocket_v4l2_be_quiet()
        guard v4l2_fd_open(fd, 0) == fd else {
          throw V4L2Error(operation: "v4l2_fd_open", errno: errno, path: path)
        }
      }
      return (fd, capabilities)
    } catch {
      close(fd)
      throw error
    }
  }

  /// The corresponding C functions are `v4l2_munmap` and `v4l2_close`.
  deinit {
    for piece in buffers.flatMap(\.pieces) where piece.descriptor >= 0 { close(piece.descriptor) }
    if !isMemoryLeftMapped {
      for piece in buffers.flatMap(\.pieces) {
        unsafe v4l2_munmap(piece.memory.baseAddress, piece.memory.count)
      }
    }
    v4l2_close(fd)
  }

  /// One request; false, and errno, when the device refuses.
  ///
  /// The corresponding C function is `v4l2_ioctl`.
  func request<Argument>(_ request: UInt, _ argument: inout Argument) -> Bool {
    Self.request(fd, request, &argument)
  }

  /// A request that has to work.
  func demand<Argument>(_ request: UInt, _ argument: inout Argument, _ operation: String)
    throws(V4L2Error)
  {
    guard self.request(request, &argument) else { throw failure(operation) }
  }

  /// The error that errno stands for.
  func failure(_ operation: String) -> V4L2Error {
    V4L2Error(operation: operation, errno: errno, path: path, direction)
  }

  static func request<Argument>(_ fd: Int32, _ request: UInt, _ argument: inout Argument) -> Bool {
    while true {
      let result = unsafe withUnsafeMutablePointer(to: &argument) { pointer in
        unsafe sprocket_v4l2_ioctl(fd, request, pointer)
      }
      if result >= 0 { return true }
      if errno != EINTR { return false }
    }
  }

  /// Single- or multi-planar: what buffers and formats are addressed by.
  var bufferType: UInt32 {
    switch direction {
    case .output: V4L2_BUF_TYPE_VIDEO_OUTPUT.rawValue
    case .capture:
      isMultiplanar
        ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE.rawValue : V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    }
  }

  /// An output is written to by the single-planar interface alone.
  var isMultiplanar: Bool { direction == .capture && capabilities.isMultiplanar }
}

/// Which way frames go.
public enum V4L2Direction: Sendable {
  /// From the device to this program.
  case capture
  /// From this program to the device.
  case output
}

/// What a device says of itself.
public struct V4L2Capabilities: Hashable, Sendable {
  public let card: String
  public let driver: String
  public let bus: String
  /// What this node can do, `V4L2_CAP_*`.
  let flags: UInt32

  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_QUERYCAP`.
  init(fd: Int32, path: String, _ direction: V4L2Direction) throws(V4L2Error) {
    var found = v4l2_capability()
    guard V4L2Device.request(fd, SPROCKET_VIDIOC_QUERYCAP, &found) else {
      throw V4L2Error(
        errno == ENOTTY || errno == EINVAL ? .notACamera : .gone, operation: "VIDIOC_QUERYCAP",
        errno: errno, path: path, direction)
    }
    card = text(found.card)
    driver = text(found.driver)
    bus = text(found.bus_info)
    let ofDevice = found.capabilities
    flags = ofDevice & UInt32(V4L2_CAP_DEVICE_CAPS) != 0 ? found.device_caps : ofDevice
  }

  /// Frames can be had, by streaming. False for a metadata node beside a camera.
  public var isCamera: Bool {
    has(V4L2_CAP_STREAMING) && (has(V4L2_CAP_VIDEO_CAPTURE) || has(V4L2_CAP_VIDEO_CAPTURE_MPLANE))
      && !has(V4L2_CAP_VIDEO_M2M)
  }

  /// Frames can be written to it, by streaming and by the single-planar interface.
  public var isOutput: Bool {
    has(V4L2_CAP_STREAMING) && has(V4L2_CAP_VIDEO_OUTPUT) && !has(V4L2_CAP_VIDEO_M2M)
  }

  /// What is written to it can be captured from it.
  public var isLoopback: Bool { driver == "v4l2 loopback" }

  /// It is one end of a pipeline that somebody has to set up through its media controller, sensor and
  /// all, before frames come.
  public var needsPipeline: Bool { has(V4L2_CAP_IO_MC) }

  /// Frames can be had by the multi-planar interface alone.
  public var isMultiplanar: Bool {
    has(V4L2_CAP_VIDEO_CAPTURE_MPLANE) && !has(V4L2_CAP_VIDEO_CAPTURE)
  }

  private func has(_ flag: Int32) -> Bool { flags & UInt32(bitPattern: flag) != 0 }
  private func has(_ flag: UInt32) -> Bool { flags & flag != 0 }
}

/// The text in a fixed array of C characters, as far as its zero.
func text<Characters>(_ characters: Characters) -> String {
  unsafe withUnsafeBytes(of: characters) { bytes in
    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }
}
