package import SprocketCore
package import SprocketFiles

private enum Key {
  static let produced: StaticString = "produced"
  static let sinks: StaticString = "sinks"
}

/// Where all frames of a run ended. Replays do not read it: they count anew.
package enum LedgerRecord {
  package static let schema: JSONProperties = {
    var keys = JSONProperties()
    keys.add(Key.produced, "integer", "frames that the source made, gaps counted")
    var counts = JSONProperties()
    for fate in Fate.allCases { counts.add(fate.name, "integer", "frames") }
    keys.add(
      Key.sinks,
      schema: #"{"type":"object","additionalProperties":\#(counts.schema()),"#
        + #""description":"where they ended, for each sink"}"#)
    return keys
  }()

  package static func write(_ ledger: Ledger, to text: inout TextBuffer) throws(RunError) {
    try text.append(key: Key.produced, isFirst: true)
    try text.append(decimal: ledger.produced)
    try text.append(key: Key.sinks)
    try text.append(UInt8(ascii: "{"))
    for (index, entry) in ledger.entries.enumerated() {
      if index > 0 { try text.append(UInt8(ascii: ",")) }
      try text.append(jsonString(entry.sink))
      for (place, fate) in Fate.allCases.enumerated() {
        try text.append(place == 0 ? ":{" : ",")
        try text.append(jsonString(fate.name))
        try text.append(UInt8(ascii: ":"))
        try text.append(decimal: entry.counts[fate])
      }
      try text.append(UInt8(ascii: "}"))
    }
    try text.append("}}")
  }
}
