/// What happened to the scene as a whole. Pure; all memory is taken by `init`.
struct SceneWatch {
  struct State: Equatable {
    var sceneChanged = false
    var subjectAreaChanged = false
    var frozenSeconds = 0.0
    var isDark = false
  }

  /// Share of the picture that moves in one frame from which the scene counts as another one. Larger: a
  /// moved camera is noticed less often; smaller: a person who comes near counts as a new scene.
  private static let sceneShare = 0.5
  /// Share of the picture that differs from the reference from which the subject area has changed. Larger:
  /// only larger changes count. By trial on box.mp4, where an object is held before a webcam.
  private static let subjectShare = 0.3
  /// Seconds for which a change must last. Larger: what passes by counts less often.
  private static let subjectSeconds = 0.5
  /// Level below which a sample is black. Larger: night counts as black more often. 16 is video's black, and
  /// covered sensors with gain stay below 24.
  private static let darkLevel: UInt8 = 24
  /// Share of the samples that must be black. 1 % may be defects or an overlay's text.
  private static let darkShare = 0.99

  private let threshold: Float
  private var previous: [UInt8]
  private var reference: [Float]
  private var shift = ToneShift()
  private var isFirst = true
  private var frozenSeconds = 0.0
  private var changedSeconds = 0.0

  init(count: Int, threshold: Double) {
    self.threshold = Float(threshold)
    previous = [UInt8](repeating: 0, count: count)
    reference = [Float](repeating: 0, count: count)
  }

  /// `share` is the part of the picture that moves.
  mutating func look(_ luma: [UInt8], share: Double, seconds: Double) -> State {
    var state = State()
    state.isDark = isDark(luma)
    defer { isFirst = false }
    guard !isFirst else {
      keep(luma)
      takeReference(luma)
      return state
    }
    frozenSeconds = isSame(luma) ? frozenSeconds + seconds : 0
    state.frozenSeconds = frozenSeconds
    state.sceneChanged = share > Self.sceneShare
    changedSeconds = differsFromReference(luma) ? changedSeconds + seconds : 0
    if changedSeconds >= Self.subjectSeconds {
      state.subjectAreaChanged = true
      takeReference(luma)
      changedSeconds = 0
    }
    keep(luma)
    return state
  }

  private mutating func keep(_ luma: [UInt8]) {
    for index in luma.indices { previous[index] = luma[index] }
  }

  private mutating func takeReference(_ luma: [UInt8]) {
    for index in luma.indices { reference[index] = Float(luma[index]) }
  }

  private func isSame(_ luma: [UInt8]) -> Bool {
    for index in luma.indices where luma[index] != previous[index] { return false }
    return true
  }

  private func isDark(_ luma: [UInt8]) -> Bool {
    var count = 0
    for index in luma.indices where luma[index] < Self.darkLevel { count += 1 }
    return Double(count) >= Self.darkShare * Double(luma.count)
  }

  private mutating func differsFromReference(_ luma: [UInt8]) -> Bool {
    shift.measure(from: reference, to: luma)
    if shift.overall.magnitude >= Background.largeShift { return true }
    var count = 0
    // Twice the threshold: the reference is one picture, with its noise.
    for index in luma.indices {
      let level = reference[index]
      let difference = Float(luma[index]) - level - shift.table[Int(level)]
      if difference.magnitude > 2 * threshold { count += 1 }
    }
    return Double(count) > Self.subjectShare * Double(luma.count)
  }
}
