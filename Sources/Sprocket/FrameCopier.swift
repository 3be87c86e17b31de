internal import SprocketCodecs
package import SprocketCore

/// Copies the frames that a sink gets: declares what is read of each, and has it packed where the engine does
/// not have such pixels. Lanes pack, so that the sink's thread copies bytes and does nothing else.
package struct FrameCopier: Sendable {
  package let content: FrameCopy.Content
  private var plan: TensorPlan?

  package init(_ content: FrameCopy.Content) { self.content = content }

  /// Throws where the frames have no such pixels.
  package mutating func configure(_ setup: inout SinkSetup) throws(RunError) {
    plan = nil
    guard let settings = content.packing else { return try setup.reads(content.parts) }
    let made = try TensorPlan(settings, for: setup.format, untouched: setup.untouchedSource)
    try setup.reads(made.parts)
    setup.packs(capacity: made.byteCount, packerBytes: TensorPacker.workingBytes(made))
    plan = made
  }

  package func makePacker() -> (any Packer)? { plan.map { TensorPacker($0) } }
}

/// Takes one copy.
final class CopySink: Sink {
  let name = "copy"
  private var copier: FrameCopier
  private(set) var copy: FrameCopy?

  init(_ content: FrameCopy.Content) { copier = FrameCopier(content) }

  func configure(_ setup: inout SinkSetup) throws(RunError) { try copier.configure(&setup) }

  func makePacker() throws(RunError) -> (any Packer)? { copier.makePacker() }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    copy = FrameCopy(frame, copier.content)
  }
}

extension FrameCopy.Content {
  /// How a packer makes the pixels; `nil` where the engine has them.
  var packing: TensorSettings? {
    var settings = TensorSettings()
    switch self {
    case .bgra: settings.layout = .bgr
    case .rgb: settings.layout = .rgb
    case .image, .luma, .encoded, .nv12: return nil
    }
    settings.isExact = true
    return settings
  }
}
