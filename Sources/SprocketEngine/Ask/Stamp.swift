internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// A change at a sink, with the frame from which on it holds. The source's thread writes stamps, a sink's
/// thread applies them.
///
/// Keeps of the contract of requests:
/// - A3: a stamp has a frame's number, a position in the ring, and the epoch of that position. The source
///   produced all frames below that number, and published all positions below that position, before it wrote
///   the stamp.
struct Stamp {
  enum Kind: UInt8 {
    /// A recording begins.
    case begin = 1
    /// It goes on in a file that was asked for.
    case next
    /// It ends.
    case end
    /// Only admission changes: recordings that count frames have enough of them, or lost some.
    case change
    /// The recording cannot begin, because another one is under way.
    case refuse
    /// It takes no frames up to `resume`.
    case pause
    case resume
  }

  /// A step that a gate took.
  struct Step: Hashable {
    var kind: Kind
    /// Recording of the step; `nil` for `next` and `change`.
    var recording: RecordingID?
    /// File that was made for a request `next`; `nil` for other kinds. It makes sure that each of two waiting
    /// requests gets its own file.
    var file: FileID?
    /// Whether frames are admitted from here on.
    var isAdmitting: Bool
  }

  var step: Step
  var number: UInt64
  var position: UInt64
  var epoch: UInt32

  var words: InlineArray<4, UInt64> {
    let flags = UInt64(step.kind.rawValue) | (step.isAdmitting ? 1 << 8 : 0)
    let subject = step.recording?.number ?? step.file?.number ?? 0
    return [number, position, subject, flags | UInt64(epoch) << 16]
  }

  init(_ step: Step, number: UInt64, position: UInt64, epoch: UInt32) {
    self.step = step
    self.number = number
    self.position = position
    self.epoch = epoch
  }

  init?(_ words: InlineArray<4, UInt64>) {
    guard let kind = Kind(rawValue: UInt8(truncatingIfNeeded: words[3])) else { return nil }
    let (subject, isAdmitting) = (words[2], words[3] & 1 << 8 != 0)
    let isFile = kind == .next
    self.init(
      Step(
        kind: kind, recording: subject == 0 || isFile ? nil : RecordingID(subject),
        file: isFile ? FileID(number: subject) : nil, isAdmitting: isAdmitting),
      number: words[0], position: words[1], epoch: UInt32(truncatingIfNeeded: words[3] >> 16))
  }
}

/// State that the source's thread and the thread of an on-demand sink share.
final class StampedOutput: Sendable {
  /// Number of stamps that are kept. The source overwrites no stamp that the sink has not read: requests wait
  /// in the port instead. Larger: more requests are accepted while a sink's `write` is blocked.
  static let depth = 1024

  /// The source's stamps, in order.
  let stamps = EventLog(depth: depth)
  /// Number of stamps that the sink has read.
  let read = Atomic<UInt64>(0)
  /// Number of frames that were admitted to recordings that count frames, and lost. It only grows, and may
  /// include frames that were not admitted.
  let returned = Atomic<UInt64>(0)
  /// Frames and bytes of the file under way, and nanoseconds from its first frame to its last: for status.
  let writtenFrames = Atomic<UInt64>(0)
  let writtenBytes = Atomic<UInt64>(0)
  let writtenTime = Atomic<Int64>(0)

  /// Stores how much of the file under way is written.
  func noteWritten(frames: UInt64 = 0, bytes: UInt64 = 0, nanoseconds: Int64 = 0) {
    writtenFrames.store(frames, ordering: .relaxed)
    writtenBytes.store(bytes, ordering: .relaxed)
    writtenTime.store(nanoseconds, ordering: .relaxed)
  }

  /// Whether there is room for the stamps of one more entry of the port, and for a change of admission with
  /// each of them.
  var hasRoom: Bool {
    stamps.end + UInt64(2 * RequestPort.mostTogether + 2) <= read.load(ordering: .acquiring)
      + UInt64(Self.depth)
  }
}
