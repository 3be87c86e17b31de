/// Sentences about a run: of each kind the first ones, and how many came after them. So a thing that happens
/// a million times in a run of days neither fills the memory nor hides another one. The kind of a sentence
/// is what is left of it without its digits.
struct BoundedSentences<Sentence> {
  private struct Kind {
    /// Places of the sentences that are kept.
    var places: [Int]
    var left: UInt64 = 0
  }

  private var kept: [(sentence: Sentence, text: String)] = []
  private var kinds: [String: Kind] = [:]

  /// Most sentences of a kind. Larger: longer summaries.
  static var mostOfAKind: Int { 10 }
  /// Most kinds, the first ones. Sentences with names of many files, for example, are of a kind each. Larger:
  /// longer summaries.
  static var mostKinds: Int { 100 }

  var isEmpty: Bool { kept.isEmpty }

  /// Adds a sentence, unless an equal one is there.
  mutating func add(_ sentence: Sentence, _ text: String) {
    let kind = text.filter { !$0.isNumber }
    guard var known = kinds[kind] else {
      guard kinds.count < Self.mostKinds else { return }
      kinds[kind] = Kind(places: [kept.count])
      return kept.append((sentence, text))
    }
    if known.places.contains(where: { kept[$0].text == text }) { return }
    if known.places.count < Self.mostOfAKind {
      known.places.append(kept.count)
      kept.append((sentence, text))
    } else {
      known.left += 1
    }
    kinds[kind] = known
  }

  /// Returns the kept sentences, in the order in which they came. `more` makes a sentence that says how many
  /// are left out that are like the given one.
  func all(_ more: (Sentence, UInt64) -> Sentence) -> [Sentence] {
    let others = kinds.values.filter { $0.left > 0 }.sorted { $0.places[0] < $1.places[0] }
    return kept.map(\.sentence) + others.map { more(kept[$0.places[0]].sentence, $0.left) }
  }
}
