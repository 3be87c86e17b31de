public import ArgumentParser
public import Sprocket

/// `1280x720`.
struct FrameSize: ExpressibleByArgument {
  let width: Int
  let height: Int

  init?(argument: String) {
    let parts = argument.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1], width > 0, height > 0
    else { return nil }
    self.width = width
    self.height = height
  }
}

/// `10s`, `500ms`.
struct TimeSpan: ExpressibleByArgument {
  let duration: Duration

  init?(argument: String) {
    // A bare number might be meant as seconds or as milliseconds.
    guard let last = argument.last, last.isLetter,
      let duration = Duration(settingText: argument)
    else { return nil }
    self.duration = duration
  }
}

extension FrameRate: ExpressibleByArgument {
  /// `30`, `29.97` or `30000/1001`.
  public init?(argument: String) {
    let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 2, let frames = Int32(parts[0]), let seconds = Int32(parts[1]), frames > 0,
      seconds > 0
    {
      self.init(frames: frames, seconds: seconds)
    } else if parts.count == 1, let value = Double(argument), value > 0, value <= 1e6 {
      self.init(framesPerSecond: value)
    } else {
      return nil
    }
  }
}

extension WaitStrategy: ExpressibleByArgument {}
extension PipeSink.Layout: ExpressibleByArgument {}
