/// Detects changes of the whole scene, frozen pictures and dark pictures. Pure; all memory is allocated by
/// `init`.
struct SceneWatch {
  struct State: Equatable {
    var sceneChanged = false
    var subjectAreaChanged = false
    var frozenSeconds = 0.0
    var isDark = false
  }

  /// Share of moving samples in one frame above which the scene has changed. Larger: a moved camera is missed
  /// more often; smaller: a person near the camera counts as a change of the scene.
  private static let sceneShare = 0.5
  /// Share of samples that differ from the reference, above which the subject area has changed. Larger: only
  /// larger changes count. It is above the share of a person at some distance.
  private static let subjectShare = 0.3
  /// Time in seconds for which the subject area must differ. Larger: things that pass count less often.
  /// 0.5 s has 15 frames at 30 frames/s.
  private static let subjectSeconds = 0.5
  /// Level below which a sample is black. Larger: night scenes count as black more often. Video black is 16;
  /// a covered sensor with high gain stays below 24.
  private static let darkLevel: UInt8 = 24
  /// Least share of black samples in a dark picture. Larger: dead pixels or overlaid text prevent the
  /// detection more often.
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

  /// `share`: the share of moving samples.
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
    // The limit is twice the threshold because the reference is a single picture, with noise of its own.
    for index in luma.indices {
      let level = reference[index]
      let difference = Float(luma[index]) - level - shift.table[Int(level)]
      if difference.magnitude > 2 * threshold { count += 1 }
    }
    return Double(count) > Self.subjectShare * Double(luma.count)
  }
}
