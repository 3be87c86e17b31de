/// The end of a sentence that refuses a name: which it may have been meant to be, and all there are. A list
/// of more than 12 is left out where a near name is known.
///
/// ```swift
/// "there is no stage `metr`; " + knownNames(["focus", "meter"], near: "metr")
/// // there is no stage `metr`; did you mean `meter`? there are: focus, meter
/// ```
public func knownNames(
  _ known: [String], near name: String, _ verb: String = "there are"
) -> String {
  let near = nearestName(to: name, among: known)
  if let near, known.count > longestKnownList { return "did you mean `\(near)`?" }
  let question = near.map { "did you mean `\($0)`? " } ?? ""
  return "\(question)\(verb): \(known.isEmpty ? "none" : known.joined(separator: ", "))"
}

/// Most names that are listed beside a near one. Larger: longer sentences.
private let longestKnownList = 12

/// Names with commas between; of more than `limit`, the first ones and how many more there are.
package func knownList(_ names: [String], atMost limit: Int) -> String {
  guard names.count > limit else { return names.joined(separator: ", ") }
  return names.prefix(limit).joined(separator: ", ") + " and \(names.count - limit) more"
}

/// The one of `known` that `name` was most likely meant to be: the one that it begins, or else one that
/// is at most a third of its letters away, the case of letters aside. `nil` where there is none.
public func nearestName(to name: String, among known: [String]) -> String? {
  // Nobody misspells longer names, and the distance takes the product of both lengths.
  guard name.count <= 64 else { return nil }
  let given = Array(name.lowercased())
  let begun = known.filter { given.count >= 2 && $0.lowercased().hasPrefix(name.lowercased()) }
  if begun.count == 1 { return begun[0] }
  let limit = max(1, given.count / 3)
  return known.filter { $0.count <= 64 }
    .map { (name: $0, distance: editDistance(given, Array($0.lowercased()))) }
    // One letter is not near another.
    .filter { $0.distance <= limit && $0.distance < max(given.count, $0.name.count) }
    .min { $0.distance < $1.distance }?.name
}

/// How many letters have to be inserted, removed, replaced or swapped with their neighbour to make one
/// text of the other (optimal string alignment; Boytsov, ACM JEA 16, 2011, section 2.1).
func editDistance(_ one: [Character], _ other: [Character]) -> Int {
  var beforeLast: [Int] = []
  var last = Array(0...other.count)
  for row in one.indices {
    var next = [row + 1]
    for column in other.indices {
      var least = min(
        last[column + 1] + 1, next[column] + 1, last[column] + (one[row] == other[column] ? 0 : 1))
      if row > 0, column > 0, one[row] == other[column - 1], one[row - 1] == other[column] {
        least = min(least, beforeLast[column - 1] + 1)
      }
      next.append(least)
    }
    (beforeLast, last) = (last, next)
  }
  return last[other.count]
}
