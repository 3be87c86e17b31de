internal import SprocketFiles

/// A JSON Schema of an object (json-schema.org, draft 2020-12), put together once.
package struct JSONProperties {
  package init() {}

  private var members: [(name: String, schema: String, isRequired: Bool)] = []

  /// A member whose schema is `{"type": type, "description": text}`.
  package mutating func add(
    _ name: some CustomStringConvertible, _ type: String, _ text: String, isRequired: Bool = true
  ) {
    add(name, schema: Self.simple(type, text), isRequired: isRequired)
  }

  /// A member that is one of these words.
  package mutating func add(
    _ name: some CustomStringConvertible, of words: [String], _ text: String,
    isRequired: Bool = true
  ) {
    let choices = words.map(quoted).joined(separator: ",")
    add(
      name, schema: #"{"enum":[\#(choices)],"description":\#(quoted(text))}"#,
      isRequired: isRequired)
  }

  package mutating func add(
    _ name: some CustomStringConvertible, schema: String, isRequired: Bool = true
  ) {
    members.append((name.description, schema, isRequired))
  }

  /// The whole schema, in one line.
  package func schema(title: String = "") -> String {
    let named = title.isEmpty ? "" : #""title":\#(quoted(title)),"#
    let properties = members.map { quoted($0.name) + ":" + $0.schema }
    let required = members.filter(\.isRequired).map { quoted($0.name) }
    return "{\(named)\"type\":\"object\",\"properties\":{\(properties.joined(separator: ","))},"
      + "\"required\":[\(required.joined(separator: ","))]}"
  }

  /// `type` is one word of JSON Schema, or several with a bar between them.
  static func simple(_ type: String, _ text: String) -> String {
    let types = type.split(separator: "|").map { quoted(String($0)) }
    let value = types.count == 1 ? types[0] : "[\(types.joined(separator: ","))]"
    return #"{"type":\#(value),"description":\#(quoted(text))}"#
  }

  package static func array(of items: String, _ text: String) -> String {
    #"{"type":"array","items":\#(items),"description":\#(quoted(text))}"#
  }
}
