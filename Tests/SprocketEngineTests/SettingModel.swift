import SprocketCore
import SprocketEngine

/// Changes live settings of a run at random, and knows what each frame must show: the stages `addvalue` and
/// `later` add their values to every byte. Each value that is asked for is asked for once, so it tells
/// which request a change belongs to.
struct SettingModel {
  private struct Asked {
    let stage: String
    let values: [String: String]
    let moment: Moment
  }

  /// Plug-ins in the chain that have live settings.
  var stages: [String] = []
  /// What another stage adds.
  var base = 0
  /// For each change of the run's shape that held, in order: the values with which the stages began anew;
  /// `nil` if they stayed as they were.
  var shapes: [[String: Int]?] = []
  private var asked: [Asked] = []
  private var nextValue = 1

  /// Asks for a change. Refusals are part of it: the run may have ended.
  mutating func ask(_ engine: Engine, _ random: inout TestRandom, at moment: Moment) {
    guard let stage = stages.isEmpty ? nil : stages[random.below(stages.count)], nextValue < 100
    else { return }
    var values = ["value": nextValue]
    if stage == "addvalue", random.chance(50) {
      values = [random.chance(50) ? "value" : "more": nextValue]
    }
    nextValue += 1
    do throws(RunError) {
      try engine.set(adding(values, in: stage), at: moment)
      let texts = values.mapValues(String.init)
      asked.append(Asked(stage: stage, values: texts, moment: moment))
    } catch {}
  }

  /// What does not hold of the changes that the run tells of, and of what frames show.
  func problems(_ engine: Engine, shown: [(number: UInt64, added: Int)]) -> [String] {
    var found: [String] = []
    var changes: [(number: UInt64, stage: String, values: [String: String])] = []
    var told: [Int] = []
    var anew: [(number: UInt64, values: [String: Int])] = []
    var shapes = shapes[...]
    var mark = NewsMark()
    for news in engine.news(since: &mark) {
      if case .reconfigured(let number) = news {
        if let values = shapes.popFirst() ?? nil { anew.append((number, values)) }
      }
      guard case .settings(let changed, let number) = news else { continue }
      if number < changes.last?.number ?? 0 { found.append("changes are not in order") }
      changes.append((number, changed.stage, changed.values))
      let index = asked.firstIndex { $0.stage == changed.stage && $0.values == changed.values }
      guard let index else {
        found.append("nobody asked for \(changed)")
        continue
      }
      if told.contains(index) { found.append("\(changed) is told twice") }
      if case .frame(let wanted) = asked[index].moment, number < wanted {
        found.append("\(changed) holds from \(number), before \(wanted)")
      }
      told.append(index)
    }
    if !shapes.isEmpty { found.append("a change of the run is not told") }
    let atOnce = told.filter { asked[$0].moment == .now }
    if atOnce != atOnce.sorted() { found.append("changes are in another order than was asked") }
    var values: [String: Int] = [:]
    for (number, added) in shown.sorted(by: { $0.number < $1.number }) {
      while let next = anew.first, next.number <= number {
        // Changes before it were about the stages before.
        while let change = changes.first, change.number < next.number { changes.removeFirst() }
        values = next.values
        anew.removeFirst()
      }
      while let change = changes.first, change.number <= number {
        for (key, text) in change.values { values["\(change.stage).\(key)"] = Int(text) }
        changes.removeFirst()
      }
      let expected = values.values.reduce(base, +) % 256
      if added != expected { found.append("frame \(number) shows \(added) and not \(expected)") }
    }
    return found
  }
}
