/// `text` as one line that a terminal shows and does not obey.
///
/// Names come from files, devices, folders and arguments, and may hold escape sequences, newlines, and
/// marks that turn the direction of writing. Each such character is shown by its number instead, as
/// Swift spells it: `\u{1B}`; a newline, return or tab as `\n`, `\r`, `\t`. All else stays, so a text
/// that was made printable once does not change any more.
public func printable(_ text: String) -> String {
  guard text.unicodeScalars.contains(where: { commands($0) }) else { return text }
  var shown = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\n": shown += "\\n"
    case "\r": shown += "\\r"
    case "\t": shown += "\\t"
    case let scalar where commands(scalar):
      shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    default: shown.unicodeScalars.append(scalar)
    }
  }
  return shown
}

/// Control characters (C0, DEL, C1), line and paragraph separators, and Unicode's marks of direction.
private func commands(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .lineSeparator, .paragraphSeparator: true
  default: scalar.properties.isBidiControl
  }
}
