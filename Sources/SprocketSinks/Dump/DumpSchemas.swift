internal import SprocketCore
internal import SprocketFiles

/// What the records of a dump hold, for programs and people. `docs/dump.md` says more.
enum DumpSchemas {
  static let session: JSONProperties = {
    var keys = JSONProperties()
    keys.add("version", "integer", "of these records: 1")
    keys.add("epoch", "integer", "counts changes of format, replugs and jumps backwards, from 0")
    keys.add("source", "string", "the source's name")
    keys.add("format", "string", "pixel format of the bytes, as V4L2's four characters")
    keys.add("image", "string|null", "the same of the unpacked picture; null where there is none")
    keys.add("width", "integer", "pixels")
    keys.add("height", "integer", "pixels")
    var rate = JSONProperties()
    rate.add("frames", "integer", "0 where the rate is unknown")
    rate.add("seconds", "integer", "s")
    keys.add("rate", schema: rate.schema())
    var color = JSONProperties()
    color.add("range", of: ["full", "limited"], "of luma")
    color.add("matrix", "string", "how RGB became YUV")
    color.add("transfer", "string", "how light became numbers")
    color.add(
      "chroma_site", of: Color.ChromaSite.allCases.map { "\($0)" },
      "where subsampled chroma lies among luma")
    keys.add("color", schema: color.schema())
    keys.add("orientation", "integer", "what makes pictures upright, 1 to 8 as in EXIF")
    var aspect = JSONProperties()
    aspect.add("width", "integer", "0 where the aspect is unknown")
    aspect.add("height", "integer", "")
    keys.add("pixel_aspect", schema: aspect.schema())
    keys.add("field_order", of: FieldOrder.allCases.map { "\($0)" }, "of interlaced pictures")
    keys.add("images_per_frame", "integer", "2 where a frame is two JPEG images, a field each")
    keys.add("live", "boolean", "frames did not wait")
    keys.add("clock", of: clocks, "of captured_ns")
    keys.add(
      "wall_offset_ns", "integer|null",
      "ns from the monotonic clock to the time of day (UNIX); null on other clocks")
    keys.add(
      "stages", schema: JSONProperties.array(of: #"{"type":"string"}"#, "the chain, in order"))
    var control = JSONProperties()
    control.add("name", "string", "")
    control.add("unit", "string", "")
    control.add("minimum", "number", "")
    control.add("maximum", "number", "")
    keys.add(
      "controls",
      schema: JSONProperties.array(of: control.schema(), "an event's control counts in these"))
    return keys
  }()

  static let source: JSONProperties = {
    var keys = JSONProperties()
    keys.add("number", "integer", "among all frames produced in the run, gaps counted, from 0")
    keys.add("sequence", "integer", "the source's own number")
    keys.add("epoch", "integer", "the session that the frame belongs to")
    keys.add("captured_ns", "integer", "ns, when light became this frame")
    keys.add("clock", of: clocks, "of captured_ns")
    keys.add(
      "point", of: ["unknown", "start_of_exposure", "end_of_frame", "estimated"],
      "what captured_ns stands for")
    keys.add("dequeued_ns", "integer", "ns on the monotonic clock, when the source handed it over")
    keys.add("bytes", "integer", "of the image; 0 where nothing arrived and there is no image")
    keys.add("driver_flags", "integer", "v4l2_buffer.flags; 0 where there is no driver")
    keys.add(
      "fate", of: ["corrupt", "startup"], "what the source said against it, if anything",
      isRequired: false)
    addControls(&keys)
    return keys
  }()

  static func fate(_ reports: [ReportLayout]) -> JSONProperties {
    var keys = JSONProperties()
    keys.add("number", "integer", "as in source")
    keys.add("sequence", "integer", "as in source")
    keys.add("epoch", "integer", "as in source")
    keys.add("captured_ns", "integer|null", "ns; null where the frame never arrived")
    keys.add("clock", "string|null", "of captured_ns")
    keys.add("fate", of: Fate.allCases.map(\.name), "where the frame ended, at the chain's end")
    keys.add("latency_us", "number|null", "us to the chain's end; null if it did not get there")
    keys.add("stage", "string", "which one dropped it", isRequired: false)
    addControls(&keys)
    for (name, fields) in plugins(reports) { keys.add(name, schema: fields, isRequired: false) }
    return keys
  }

  /// Per plug-in, in order, the schema of the fields of its reports.
  private static func plugins(_ reports: [ReportLayout]) -> [(name: String, fields: String)] {
    var names: [String] = []
    for report in reports where !report.fields.isEmpty && !names.contains(report.plugin) {
      names.append(report.plugin)
    }
    return names.map { name in
      var keys = JSONProperties()
      for field in reports.filter({ $0.plugin == name }).flatMap(\.fields) { add(field, &keys) }
      return (name, keys.schema())
    }
  }

  private static func add(_ field: ReportFieldDescription, _ keys: inout JSONProperties) {
    switch field.kind {
    case .double, .float: keys.add(field.name, "number|null", field.unit, isRequired: false)
    case .int64, .uint32: keys.add(field.name, "integer", field.unit, isRequired: false)
    case .bool: keys.add(field.name, "boolean", field.unit, isRequired: false)
    case .text, .binary: keys.add(field.name, "string|null", field.unit, isRequired: false)
    case .levelCounts:
      keys.add(
        field.name, schema: JSONProperties.array(of: #"{"type":"integer"}"#, field.unit),
        isRequired: false)
    case .gridValues, .matrixValues, .cornerValues:
      let number = #"{"type":["number","null"]}"#
      keys.add(
        field.name, schema: JSONProperties.array(of: number, field.unit), isRequired: false)
    case .word(let words): keys.add(field.name, of: words, field.unit, isRequired: false)
    case .list(let list):
      var item = JSONProperties()
      for field in list.fields { add(field, &item) }
      keys.add(
        field.name, schema: JSONProperties.array(of: item.schema(), field.unit), isRequired: false)
    }
  }

  static let range: JSONProperties = {
    var keys = JSONProperties()
    keys.add(
      "fate", of: ["overrun", "behind"],
      "overrun: the engine had no room; behind: the dump came too late, or the run ended")
    keys.add(
      "source_fate", of: ["corrupt", "startup"], "what the source said of them", isRequired: false)
    keys.add("epoch", "integer", "as in source")
    keys.add("first_number", "integer", "number of the first of these frames")
    keys.add("first_sequence", "integer", "its sequence")
    keys.add("frames", "integer", "how many follow each other")
    addEvents(&keys)
    return keys
  }()

  static let ledger: JSONProperties = {
    var keys = JSONProperties()
    keys.add("produced", "integer", "frames that the source made, gaps counted")
    var counts = JSONProperties()
    for fate in Fate.allCases { counts.add(fate.name, "integer", "frames") }
    keys.add(
      "sinks",
      schema: #"{"type":"object","additionalProperties":\#(counts.schema()),"#
        + #""description":"where they ended, for each sink"}"#)
    return keys
  }()

  static let clocks = ["monotonic", "media", "recorded"]

  private static func addControls(_ keys: inout JSONProperties) {
    keys.add("exposure_us", "number", "us, in force where known", isRequired: false)
    keys.add("gain", "number", "a factor, in force where known", isRequired: false)
    keys.add("lens", "number", "0 nearest to 1 furthest, in force where known", isRequired: false)
    addEvents(&keys)
  }

  private static func addEvents(_ keys: inout JSONProperties) {
    var event = JSONProperties()
    event.add(
      "kind",
      of: ["control_applied", "control_refused", "replugged", "stalled", "settings_changed"],
      "what happened")
    event.add("control", "integer", "index among the session's controls", isRequired: false)
    event.add("ticket", "integer", "of the control write", isRequired: false)
    event.add("value", "number|null", "what the device made of it", isRequired: false)
    event.add("wait_us", "number|null", "us in which nothing arrived", isRequired: false)
    event.add("stage", "string", "whose settings changed", isRequired: false)
    event.add("settings", "object", "the new values as texts, by name", isRequired: false)
    keys.add(
      "events", schema: JSONProperties.array(of: event.schema(), "just before the frame"),
      isRequired: false)
  }
}
