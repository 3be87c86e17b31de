/// A point that a page asks about: `{"x":0.5,"y":0.5}`.
struct PagePoint: Hashable {
  let x: Double
  let y: Double

  /// `nil` for anything else, and for numbers that are not finite.
  init?(json: [UInt8]) {
    guard json.count < 200, let text = String(validating: json, as: UTF8.self) else { return nil }
    let inner = text.filter { !$0.isWhitespace }
    guard inner.hasPrefix("{"), inner.hasSuffix("}") else { return nil }
    var values: [Substring: Double] = [:]
    for part in inner.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: false)
    {
      let pair = part.split(separator: ":", omittingEmptySubsequences: false)
      guard pair.count == 2, let value = Double(pair[1]), value.isFinite,
        values.updateValue(value, forKey: pair[0]) == nil
      else { return nil }
    }
    guard values.count == 2, let x = values["\"x\""], let y = values["\"y\""] else { return nil }
    (self.x, self.y) = (x, y)
  }
}
