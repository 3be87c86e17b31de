import SprocketCodecs
import SprocketCore
import SprocketSources
import TestSupport

/// A whole file, as the engine would see it.
struct Played {
  struct Frame {
    var announced: ArrivedFrame
    var format: FrameFormat
    var byteCount: Int
  }

  var description: SourceDescription
  var frames: [Frame] = []
  /// Index of the first frame of each epoch but the first.
  var epochs: [Int] = []

  /// Plays `path`; `look` gets each frame that is not corrupt, as it lies in its slot.
  init(
    _ path: String, _ settings: FileSettings = FileSettings(), limit: Int = .max,
    look: (Int, FrameFormat, TestSlot) throws -> Void = { _, _, _ in }
  ) throws {
    let source = FileSource(path: path, settings)
    description = try source.open()
    defer { source.close() }
    var format = description.format
    while frames.count < limit {
      switch try source.next(timeout: 1_000_000_000) {
      case .nothing: continue
      case .end: return
      case .epoch(let new, let reason):
        precondition(reason == .formatChange)
        format = new.format
        epochs.append(frames.count)
      case .frame(let frame):
        let slot = TestSlot()
        let count = slot.take(source, format)
        frames.append(Frame(announced: frame, format: format, byteCount: count))
        if !frame.isCorrupt { try look(frames.count - 1, format, slot) }
        slot.giveBack(to: source)
      }
    }
  }

  var times: [Int64] { frames.map(\.announced.captured.nanoseconds) }
  var corrupt: [Int] { frames.indices.filter { frames[$0].announced.isCorrupt } }
}

/// Full luma of a frame as the unpacker makes it.
func unpackedLuma(_ slot: TestSlot, _ format: FrameFormat) -> [[UInt8]]? {
  let unpacker = FrameUnpacker()
  let plan = unpacker.prepare(format: format, parts: .luma(.full))
  slot.addMemory(format, parts: .luma(.full), plan)
  return slot.unpack(with: unpacker) ? slot.lumaRows(.full) : nil
}
