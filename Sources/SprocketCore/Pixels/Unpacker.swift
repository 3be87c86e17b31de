/// Makes pixels of what a source delivered. One instance per worker; it allocates nothing per
/// frame.
public protocol Unpacker: AnyObject {
  /// What `configure` would say. Allocates nothing that grows with the frame's size: it is asked before
  /// the run's memory is checked.
  func plan(format: FrameFormat, parts: FrameParts) -> UnpackPlan
  /// Prepares for frames of `format`. Says which parts of a frame will lie in the source's own
  /// memory, so that no memory is needed for them.
  func configure(format: FrameFormat, parts: FrameParts) throws(RunError) -> UnpackPlan
  /// Fills version 0 of the frame: `parts` of what `configure` was told. False when the source's
  /// bytes are damaged: the frame is `corrupt`.
  func unpack(_ slot: UnsafeMutablePointer<FrameStorage>) -> Bool
  /// Fills the luma of `version` from its image, after a stage wrote that.
  func deriveLuma(
    _ slot: UnsafeMutablePointer<FrameStorage>, version: VersionIndex, format: FrameFormat,
    parts: FrameParts)
}

/// What unpacking does with a frame's memory.
public struct UnpackPlan: Sendable {
  /// The image is the source's own memory: no copy, and read only.
  public var borrowsImage: Bool
  /// Full luma is plane 0 of the image: no copy.
  public var borrowsLuma: Bool
  /// What the unpacker allocates for itself in `configure` and grows with the frame's size.
  public var workingBytes: Int

  public init(borrowsImage: Bool, borrowsLuma: Bool, workingBytes: Int = 0) {
    self.borrowsImage = borrowsImage
    self.borrowsLuma = borrowsLuma
    self.workingBytes = workingBytes
  }
}
