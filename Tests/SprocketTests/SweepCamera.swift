import Sprocket
import TestSupport

/// A recorded focus sweep as a camera: what it shows is the picture that was taken where its lens is.
/// A write shows in the frame after the next.
final class SweepCamera: Source {
  /// The pictures, furthest up first: Z+20, Z+18 ... Z-110 (mm).
  static let heights = stride(from: 20, through: -110, by: -2).map { $0 }

  let pictures: [[UInt8]]
  private let port: ControlPort
  /// Shows each picture once, in order, whatever is written.
  private let isSlideShow: Bool
  /// Writes that it takes before it refuses all.
  private let patience: Int
  /// When it is replugged and comes back without a control; `nil` for never.
  private let losesLensAt: Int?
  private var hasLens = true
  private var lens: Int
  private var waiting: (value: Double, ticket: UInt64, from: Int)?
  private var events = EventQueue()
  private var writes = 0
  private var number = 0

  init(lens: Int, isSlideShow: Bool = false, patience: Int = .max, losesLensAt: Int? = nil)
    throws
  {
    pictures = try Self.heights.map { height in
      let digits = String(abs(height))
      let name =
        (height < 0 ? "Z-" : "Z+") + String(repeating: "0", count: 3 - digits.count) + digits
      return try TestData.bytes("focus/firepick_rep1/\(name).jpg")
    }
    let last = Double(pictures.count - 1)
    let control = ControlDescription(name: "lens", unit: "", minimum: 0, maximum: last, step: 1)
    port = ControlPort(controls: [control])
    self.lens = lens
    self.isSlideShow = isSlideShow
    self.patience = patience
    self.losesLensAt = losesLensAt
  }

  func open() throws(RunError) -> SourceDescription {
    let first = pictures[0]
    let image = EncodedFrame(checking: first.span)
    var format = FrameFormat(
      pixelFormat: .mjpeg, image: image?.image, width: image?.width ?? 0,
      height: image?.height ?? 0,
      color: .jpeg, rate: FrameRate(frames: 30))
    format.color.transfer = .srgb
    let capacity = pictures.map(\.count).max() ?? 0
    return SourceDescription(
      name: "sweep", format: format, isLive: false, clock: .media, capacity: capacity,
      controls: hasLens ? port : nil)
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    if isSlideShow {
      guard number < pictures.count else { return .end }
      lens = number
    }
    if number == losesLensAt, hasLens {
      hasLens = false
      return .epoch(try open(), .replug)
    }
    while let write = port.take() { take(write) }
    if let due = waiting, due.from <= number {
      lens = Int(due.value)
      events.add(Event(kind: .controlApplied, ticket: due.ticket, value: due.value))
      waiting = nil
    }
    var inForce = ControlState()
    inForce.lensPosition = Float(lens) / Float(pictures.count - 1)
    let time = Timestamp(nanoseconds: Int64(number) * 33_333_333, clock: .media)
    defer { number += 1 }
    return .frame(ArrivedFrame(sequence: UInt64(number), captured: time, inForce: inForce))
  }

  private func take(_ write: ControlPort.Write) {
    writes += 1
    if writes > patience {
      events.add(Event(kind: .controlRefused, ticket: write.ticket, value: write.value))
    } else {
      waiting = (write.value, write.ticket, number + 1)
    }
  }

  func take(into slot: inout CaptureSlot) {
    let picture = pictures[lens]
    var bytes = slot.bytes
    for index in picture.indices { bytes[index] = picture[index] }
    slot.filled(picture.count)
  }

  func takeEvents(into events: inout EventQueue) { events.take(from: &self.events) }

  func discard() {}
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func close() {}
}
