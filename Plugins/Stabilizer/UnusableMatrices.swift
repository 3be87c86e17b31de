/// Replaces each matrix that cannot be used by the identity, and counts them.
///
/// None is known to arise. Should one, it costs a frame its correction and the user reads a sentence.
struct UnusableMatrices {
  private(set) var count = 0

  /// `similarity`, or the identity if that is all that can be used.
  mutating func checked(_ similarity: Similarity, isUsable: Bool) -> Similarity {
    guard !isUsable else { return similarity }
    count += 1
    return .identity
  }

  /// What a user is told of the stage with that name; nothing where all could be used.
  func notes(_ stage: String) -> [String] {
    guard count > 0 else { return [] }
    let frames = count == 1 ? "1 frame" : "\(count) frames"
    return [
      "\(stage) left \(frames) as they were, whose motion came out as no number; please report this"
    ]
  }
}
