internal import Synchronization

/// The encoder of a camera that gives H.264 or HEVC: each frame is a picture, and has the packet of which the
/// picture was decoded (`FrameView.packet`).
public struct PacketStream: Sendable, Hashable {
  /// `.h264` or `.hevc`.
  public var format: PixelFormat
  /// Parameter sets that decoders and files need, each with its start code (ITU-T H.264 and H.265, Annex B).
  public var parameterSets: [UInt8]

  public init(_ format: PixelFormat, parameterSets: [UInt8]) {
    self.format = format
    self.parameterSets = parameterSets
  }
}

/// Asks a source of packets for a key frame, from any thread. A source whose camera has no such control gives
/// the next one when it comes.
public final class KeyFrameRequest: Sendable {
  private let isAsked = Atomic<Bool>(false)

  public init() {}

  public func ask() { isAsked.store(true, ordering: .relaxed) }

  /// Whether it was asked since the last call. The source calls this.
  public func take() -> Bool { isAsked.exchange(false, ordering: .relaxed) }
}
