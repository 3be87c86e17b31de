internal import SprocketCore

extension SinkSetup {
  /// How many frames of `format` may wait for a disk: half a second of them, what it may take to wake
  /// up, to sync or to write out what has gathered. At least 4, where the rate is low or unknown, and
  /// not more than 60, nor than about 128 MB of slots hold.
  func diskBacklog(of format: FrameFormat) -> Int {
    let most = 128_000_000 / max(1, format.slotBytes)
    let half = min(60, (format.rate.framesPerSecond / 2).rounded(.up))
    return max(4, min(Int(half), most))
  }
}

extension FrameFormat {
  /// Roughly: the unpacked picture, or what the source delivers. An encoded frame that cannot be
  /// unpacked has a byte per pixel at most.
  fileprivate var slotBytes: Int {
    let bytes = (image ?? pixelFormat).byteCount(width: width, height: height)
    return bytes > 0 ? bytes : width * height
  }
}
