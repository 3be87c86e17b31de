internal import SprocketCodecs
internal import SprocketCore
internal import SprocketPixels

/// Makes the scene's frames, one at a time, with the state of camera and controls and the damage
/// that faults do. Knows nothing of time: see `SceneSource`.
final class SceneFrames {
  private let settings: SceneSettings
  private let interruption: SourceInterrupt
  /// By size: the usual one and the one that `formatchange` switches to.
  private var imagers: [SceneImager?] = [nil, nil]
  private var imager: SceneImager?
  private var camera: SceneCamera
  private var bytes: [UInt8] = []
  private(set) var byteCount = 0
  /// The frame's place in the cache, where its bytes are unchanged from there.
  private var cached: Int?
  /// The frame that was made last and is still wanted.
  private(set) var current: SceneTruth?
  private(set) var isCorrupt = false
  /// What happened since the frame before.
  var events = EventQueue()

  /// What is drawn is cut short, and of no use, once `interruption` is set.
  init(_ settings: SceneSettings, _ interruption: SourceInterrupt = SourceInterrupt()) {
    self.settings = settings
    self.interruption = interruption
    camera = SceneCamera(settings)
  }

  /// Makes what frames of that size need. Allocates, and takes some 0.25 µs per pixel the first
  /// time, and the drawing of all cached frames.
  func select(isAlternate: Bool) throws(RunError) -> (format: FrameFormat, capacity: Int) {
    let index = isAlternate ? 1 : 0
    let selected: SceneImager
    if let made = imagers[index] {
      selected = made
    } else {
      selected = try SceneImager(settings, isAlternate: isAlternate, interruption)
      imagers[index] = selected
    }
    imager = selected
    current = nil
    if bytes.count < selected.capacity {
      bytes = [UInt8](repeating: 0, count: selected.capacity)
    }
    return (selected.format, selected.capacity)
  }

  /// What the frame that was made last is said to be taken with.
  var inForce: ControlState { camera.told }

  /// Takes a control write that is in force from frame `number` on.
  func write(_ write: ControlPort.Write, from number: UInt64) {
    let change = ControlDelay.Change(
      control: Int(write.control), value: write.value, ticket: write.ticket)
    if camera.write(change, from: number) { return }
    events.add(Event(kind: .controlRefused, control: write.control, ticket: write.ticket))
  }

  /// Draws a frame, or finds it in the cache, and damages it if that is due. Does nothing when the
  /// frame is there already.
  func make(_ capture: SceneCapture) {
    if current?.capture == capture { return }
    guard let imager else { preconditionFailure("Select a size before making frames.") }
    while let change = camera.apply(at: capture.number) {
      events.add(
        Event(
          kind: .controlApplied, control: UInt16(change.control), ticket: change.ticket,
          value: change.value))
    }
    let truth = camera.truth(of: capture)
    if imager.cache.isEmpty {
      draw(truth.moment, imager)
    } else {
      fetch(imager.cache[Int(truth.moment.frame)], at: Int(truth.moment.frame), capture)
    }
    if capture.isDamaged { damage(capture) }
    isCorrupt = !isWhole(imager)
    current = truth
  }

  /// The frame is no longer wanted.
  func drop() {
    current = nil
  }

  /// Copies the frame into its slot.
  func deliver(into slot: inout CaptureSlot) {
    contract(
      current != nil, "takes a frame that was not announced; call `next` until it says .frame")
    if let cached, let imager {
      copy(imager.cache[cached], into: &slot)
    } else {
      copy(bytes, into: &slot)
    }
    slot.filled(byteCount)
    current = nil
  }
}

extension SceneFrames {
  private func draw(_ moment: SceneMoment, _ imager: SceneImager) {
    cached = nil
    var memory = bytes.mutableSpan
    var room = memory._mutatingExtracting(0..<imager.capacity)
    byteCount = imager.draw(moment, into: &room)
  }

  /// A frame from the cache is copied only if it is to be damaged.
  private func fetch(_ frame: [UInt8], at index: Int, _ capture: SceneCapture) {
    byteCount = frame.count
    cached = capture.isDamaged ? nil : index
    guard capture.isDamaged else { return }
    for place in 0..<frame.count { bytes[place] = frame[place] }
  }

  /// Breaks or cuts off what is in `bytes`.
  private func damage(_ capture: SceneCapture) {
    var random = SceneRandom(
      seed: settings.seed, stream: SceneStream.corruption, index: capture.number)
    let isEncoded = settings.format.isEncoded
    if capture.faults.contains(.corrupt) && isEncoded {
      Self.corrupt(&bytes, byteCount, &random)
    }
    if capture.faults.contains(.truncate) || !isEncoded {
      byteCount = SceneCorruption.truncated(byteCount, &random)
    }
  }

  /// What a driver would flag or a check of structure finds: every frame is looked at.
  private func isWhole(_ imager: SceneImager) -> Bool {
    guard settings.format.isEncoded else { return byteCount == imager.capacity }
    if let cached { return Self.isWhole(imager.cache[cached], byteCount) }
    return Self.isWhole(bytes, byteCount)
  }

  private static func isWhole(_ jpeg: [UInt8], _ count: Int) -> Bool {
    EncodedFrame(checking: jpeg.span.extracting(first: count)) != nil
  }

  private static func corrupt(_ jpeg: inout [UInt8], _ count: Int, _ random: inout SceneRandom) {
    var memory = jpeg.mutableSpan
    SceneCorruption.corrupt(&memory, count: count, &random)
  }

  private func copy(_ source: [UInt8], into slot: inout CaptureSlot) {
    var target = slot.bytes
    var room = target._mutatingExtracting(0..<byteCount)
    copyRow(source.span.extracting(first: byteCount), into: &room)
  }
}

extension SceneCapture {
  var isDamaged: Bool { !faults.isDisjoint(with: .damage) }
}
