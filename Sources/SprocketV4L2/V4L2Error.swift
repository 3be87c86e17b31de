internal import Glibc

/// Why a video device does not do what it was asked for.
public struct V4L2Error: Error, Equatable, Sendable {
  /// What a program can tell apart.
  public enum Code: Equatable, Sendable {
    case notFound
    case notPermitted
    /// Not a video device, or one that captures nothing by streaming; as an output, one that takes nothing.
    case notACamera
    /// Gives frames only when its media controller's pipeline was set up.
    case needsPipeline
    /// Another program has it.
    case busy
    /// Unplugged, or its driver is gone.
    case gone
    /// The device cannot do that, or not in the state that it is in.
    case refused
    /// The bus has no bandwidth left for it (`ENOSPC`).
    case noBandwidth
    case outOfMemory
    /// The hardware or its driver failed (`EIO` and all else).
    case failed
  }

  public let code: Code
  /// The request or C function that failed.
  public let operation: String
  /// 0 where no call failed.
  public let errno: Int32
  /// The device node.
  public let path: String
  /// Whether it was opened to capture, or to be written to.
  public let direction: V4L2Direction

  public init(
    _ code: Code, operation: String, errno: Int32 = 0, path: String,
    _ direction: V4L2Direction = .capture
  ) {
    self.code = code
    self.operation = operation
    self.errno = errno
    self.path = path
    self.direction = direction
  }

  /// The code is made of `errno`.
  init(operation: String, errno: Int32, path: String, _ direction: V4L2Direction = .capture) {
    let code: Code =
      switch errno {
      case ENOENT: .notFound
      case EACCES, EPERM: .notPermitted
      case ENODEV, ENXIO: .gone
      case ENOTDIR: .notFound
      case EISDIR: .notACamera
      case EBUSY: .busy
      case EINVAL, ENOTTY, ERANGE: .refused
      case ENOSPC: .noBandwidth
      case ENOMEM: .outOfMemory
      default: .failed
      }
    self.init(code, operation: operation, errno: errno, path: path, direction)
  }

  /// The system's words for ``errno``.
  ///
  /// The corresponding C function is `strerror`.
  public var reason: String {
    guard errno != 0, let text = unsafe strerror(errno) else { return "no error" }
    return unsafe String(cString: text)
  }
}

extension V4L2Error: CustomStringConvertible {
  /// A sentence that says what is wrong and what can be done.
  public var description: String { direction == .output ? ofOutput : ofCamera }

  private var ofOutput: String {
    switch code {
    case .notFound: "there is no device \(path); \(Self.loading)"
    case .notPermitted: ofCamera
    case .notACamera, .needsPipeline:
      "\(path) is no virtual camera: frames cannot be written to it; \(Self.loading)"
    case .busy:
      "another program writes to \(path), or too many have it open; close that, or use another device"
    case .gone: "\(path) is gone: its driver was unloaded; \(Self.loading)"
    case .refused:
      "\(path) refuses \(operation) (\(reason)); close the programs that have it open and try again"
    case .noBandwidth, .outOfMemory:
      "there is not enough memory for \(path) (\(operation)); use a smaller size"
    case .failed: "\(path) failed (\(reason), in \(operation)); load its driver anew"
    }
  }

  private static let loading =
    "load v4l2loopback with `sudo modprobe v4l2loopback exclusive_caps=1`, and give the device that it "
    + "makes; `v4l2-ctl --list-devices` lists them"

  private var ofCamera: String {
    switch code {
    case .notFound: "there is no device \(path); plug it in; `devices` lists what is there"
    case .notPermitted:
      "you may not use \(path): join the group video with `sudo usermod -aG video $USER`, then log "
        + "out and in again"
    case .notACamera: "\(path) captures no video; `devices` lists what does"
    case .needsPipeline:
      "\(path) belongs to a pipeline of a media controller, which Sprocket does not set up; let "
        + "libcamera do that and feed a v4l2loopback device"
    case .busy: "\(path) is in use by another program; close that"
    case .gone:
      "\(path) is gone: it was unplugged, or its driver stopped; plug it in and start again"
    case .refused: "\(path) refuses \(operation) (\(reason)); its driver cannot do that"
    case .noBandwidth:
      "the bus of \(path) has no bandwidth left (\(operation)); ask for a smaller size or a lower "
        + "rate, take MJPG, or plug it into another bus"
    case .outOfMemory:
      "there is not enough memory for \(path) (\(operation)); ask for fewer buffers"
    case .failed:
      "\(path) failed (\(reason), in \(operation)); unplug it and plug it in again"
    }
  }
}
