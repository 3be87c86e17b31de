internal import CSprocketYAML

/// A place in a text. Lines and columns count from 1.
public struct YAMLMark: Sendable, Hashable {
  public let line: Int
  public let column: Int
  fileprivate init(_ mark: yaml_mark_t) {
    (line, column) = (Int(mark.line) + 1, Int(mark.column) + 1)
  }
}

/// What a text has at a place.
public enum YAMLEvent: Sendable, Hashable {
  /// `isCut`: a comment follows on the line, which may have been meant as a part of the text.
  case scalar(String, isQuoted: Bool, isCut: Bool)
  case beginList, endList, beginMap, endMap
  /// `*name`.
  case alias(String)
  case beginDocument
  /// The end of the text.
  case end
}

/// A text is no YAML.
public struct YAMLError: Error, Sendable {
  /// `nil` where the library is missing.
  public let mark: YAMLMark?
  /// What is wrong, in the words of the library.
  public let problem: String
}

/// The events of a text, one after the other: a parser of libyaml, which sees no more than what was asked
/// for, so that whoever asks can stop.
///
/// Unchecked: one thread uses it at a time.
@safe
public final class YAMLParser: @unchecked Sendable {
  /// On the heap: the library keeps a pointer to it.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  /// The text, and a copy that stays where it is.
  private let bytes: [UInt8]
  private let memory: UnsafeMutablePointer<UInt8>
  /// A place that both ways of counting have reached.
  private var place = (byte: 0, character: 0)

  /// Reads UTF-8; the bytes are copied. Throws where the library is missing.
  public init(_ text: [UInt8]) throws(YAMLError) {
    if let missing = YAML.missing { throw YAMLError(mark: nil, problem: missing) }
    bytes = text
    unsafe parser = .allocate(capacity: 1)
    unsafe parser.initialize(to: yaml_parser_t())
    unsafe memory = .allocate(capacity: max(text.count, 1))
    unsafe memory.initialize(from: text, count: text.count)
    // The library does not count the byte order mark.
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { place.byte = 3 }
    guard unsafe yaml.yaml_parser_initialize(parser) == 1 else {
      throw YAMLError(mark: nil, problem: "there is too little memory")
    }
    unsafe yaml.yaml_parser_set_input_string(parser, memory, text.count)
  }

  deinit {
    unsafe yaml.yaml_parser_delete(parser)
    unsafe parser.deallocate()
    unsafe memory.deallocate()
  }

  /// The next event. Throws where the text is no YAML, and for anchors and tags, which are not taken.
  public func next() throws(YAMLError) -> (event: YAMLEvent, mark: YAMLMark) {
    while true {
      var event = unsafe yaml_event_t()
      guard unsafe yaml.yaml_parser_parse(parser, &event) == 1 else { throw failure }
      defer { unsafe yaml.yaml_event_delete(&event) }
      let mark = unsafe YAMLMark(event.start_mark)
      switch unsafe event.type {
      case YAML_SCALAR_EVENT:
        return (unsafe try scalar(event.data.scalar, event.end_mark, mark), mark)
      case YAML_SEQUENCE_START_EVENT:
        let start = unsafe event.data.sequence_start
        unsafe try refuse(anchor: start.anchor, tag: start.tag, mark)
        return (.beginList, mark)
      case YAML_MAPPING_START_EVENT:
        let start = unsafe event.data.mapping_start
        unsafe try refuse(anchor: start.anchor, tag: start.tag, mark)
        return (.beginMap, mark)
      case YAML_SEQUENCE_END_EVENT: return (.endList, mark)
      case YAML_MAPPING_END_EVENT: return (.endMap, mark)
      case YAML_ALIAS_EVENT: return (.alias(unsafe text(event.data.alias.anchor)), mark)
      case YAML_DOCUMENT_START_EVENT: return (.beginDocument, mark)
      case YAML_STREAM_END_EVENT: return (.end, mark)
      default: continue
      }
    }
  }

  private func scalar(
    _ scalar: yaml_event_t.__Unnamed_union_data.__Unnamed_struct_scalar, _ end: yaml_mark_t,
    _ mark: YAMLMark
  ) throws(YAMLError) -> YAMLEvent {
    unsafe try refuse(anchor: scalar.anchor, tag: scalar.tag, mark)
    let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
    guard let text = unsafe String(validating: bytes, as: UTF8.self) else {
      throw YAMLError(mark: mark, problem: "found bytes that are not UTF-8")
    }
    let isQuoted = unsafe scalar.style != YAML_PLAIN_SCALAR_STYLE
    return .scalar(text, isQuoted: isQuoted, isCut: !isQuoted && hasComment(end))
  }

  /// Whether a comment follows on the line.
  private func hasComment(_ end: yaml_mark_t) -> Bool {
    // The library counts characters: each has one first byte. Events come in the order of the text.
    while place.byte < bytes.count, place.character < end.index {
      place.byte += 1
      while place.byte < bytes.count, bytes[place.byte] & 0xC0 == 0x80 { place.byte += 1 }
      place.character += 1
    }
    let after = bytes[place.byte...].first { $0 != 0x20 && $0 != 0x09 }
    return after == UInt8(ascii: "#")
  }

  private func refuse(
    anchor: UnsafeMutablePointer<yaml_char_t>?, tag: UnsafeMutablePointer<yaml_char_t>?,
    _ mark: YAMLMark
  ) throws(YAMLError) {
    if let anchor = unsafe anchor {
      throw YAMLError(
        mark: mark, problem: "found the anchor &\(unsafe text(anchor)), and anchors are not taken")
    }
    if let tag = unsafe tag {
      throw YAMLError(
        mark: mark, problem: "found the tag \(unsafe text(tag)), and tags are not taken")
    }
  }

  private func text(_ characters: UnsafeMutablePointer<yaml_char_t>?) -> String {
    unsafe characters.map { unsafe String(cString: $0) } ?? ""
  }

  private var failure: YAMLError {
    let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) }
    let context = unsafe parser.pointee.context.map { unsafe String(cString: $0) } ?? ""
    // What has no end is told where it begins.
    let begins = context.contains("quoted scalar") || context.contains("flow")
    return YAMLError(
      mark: unsafe YAMLMark(begins ? parser.pointee.context_mark : parser.pointee.problem_mark),
      problem: problem ?? "there is too little memory")
  }
}
