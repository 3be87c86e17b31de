internal import Glibc
package import SprocketCore
internal import SprocketFiles

enum SessionKey {
  static let version: StaticString = "version"
  static let source: StaticString = "source"
  static let format: StaticString = "format"
  static let image: StaticString = "image"
  static let width: StaticString = "width"
  static let height: StaticString = "height"
  static let rate: StaticString = "rate"
  static let frames: StaticString = "frames"
  static let seconds: StaticString = "seconds"
  static let color: StaticString = "color"
  static let range: StaticString = "range"
  static let matrix: StaticString = "matrix"
  static let transfer: StaticString = "transfer"
  static let chromaSite: StaticString = "chroma_site"
  static let orientation: StaticString = "orientation"
  static let pixelAspect: StaticString = "pixel_aspect"
  static let fieldOrder: StaticString = "field_order"
  static let images: StaticString = "images_per_frame"
  static let live: StaticString = "live"
  static let wallOffset: StaticString = "wall_offset_ns"
  static let stages: StaticString = "stages"
  static let controls: StaticString = "controls"
  static let name: StaticString = "name"
  static let unit: StaticString = "unit"
  static let minimum: StaticString = "minimum"
  static let maximum: StaticString = "maximum"
}

private typealias Key = SessionKey

/// What holds for all frames of an epoch: the record that comes before them.
package struct SessionRecord: Sendable {
  /// Version of the record format.
  static let version = 1

  private let epoch: UInt32
  private let source: SourceDescription
  private let stages: [String]
  /// What must be added to the monotonic clock to have the time of day, in nanoseconds, as it was then;
  /// `nil` where the frames' times are on another clock.
  private let wallOffset: Int64?

  package init(_ setup: SinkSetup) {
    epoch = setup.epoch
    source = setup.source
    stages = setup.stageNames
    let isMonotonic = source.clock == .monotonic
    wallOffset = isMonotonic ? wallClockNow() - monotonicNow() : nil
  }

  package static let schema: JSONProperties = {
    var keys = JSONProperties()
    keys.add(Key.version, "integer", "of these records: \(version)")
    keys.add(
      FrameKey.epoch, "integer", "counts changes of format, replugs and jumps backwards, from 0")
    keys.add(Key.source, "string", "the source's name")
    keys.add(Key.format, "string", "pixel format of the bytes, as V4L2's four characters")
    keys.add(
      Key.image, "string|null", "the same of the unpacked picture; null where there is none")
    keys.add(Key.width, "integer", "pixels")
    keys.add(Key.height, "integer", "pixels")
    keys.add(Key.rate, schema: rate.schema())
    keys.add(Key.color, schema: color.schema())
    keys.add(Key.orientation, "integer", "what makes pictures upright, 1 to 8 as in EXIF")
    keys.add(Key.pixelAspect, schema: aspect.schema())
    keys.add(Key.fieldOrder, of: FieldOrder.allCases.map { "\($0)" }, "of interlaced pictures")
    keys.add(Key.images, "integer", "2 where a frame is two JPEG images, a field each")
    keys.add(Key.live, "boolean", "frames did not wait")
    keys.add(FrameKey.clock, of: Timestamp.Clock.words, "of captured_ns")
    keys.add(
      Key.wallOffset, "integer|null",
      "ns from the monotonic clock to the time of day (UNIX); null on other clocks")
    keys.add(
      Key.stages, schema: JSONProperties.array(of: #"{"type":"string"}"#, "the chain, in order"))
    keys.add(
      Key.controls,
      schema: JSONProperties.array(of: control.schema(), "an event's control counts in these"))
    return keys
  }()

  private static var rate: JSONProperties {
    var keys = JSONProperties()
    keys.add(Key.frames, "integer", "0 where the rate is unknown")
    keys.add(Key.seconds, "integer", "s")
    return keys
  }

  private static var color: JSONProperties {
    var keys = JSONProperties()
    keys.add(Key.range, of: ["full", "limited"], "of luma")
    keys.add(Key.matrix, "string", "how RGB became YUV")
    keys.add(Key.transfer, "string", "how light became numbers")
    keys.add(
      Key.chromaSite, of: Color.ChromaSite.allCases.map { "\($0)" },
      "where subsampled chroma lies among luma")
    return keys
  }

  private static var aspect: JSONProperties {
    var keys = JSONProperties()
    keys.add(Key.width, "integer", "0 where the aspect is unknown")
    keys.add(Key.height, "integer", "")
    return keys
  }

  private static var control: JSONProperties {
    var keys = JSONProperties()
    keys.add(Key.name, "string", "")
    keys.add(Key.unit, "string", "")
    keys.add(Key.minimum, "number", "")
    keys.add(Key.maximum, "number", "")
    return keys
  }

  /// The record as JSON.
  package var text: [UInt8] {
    let format = source.format
    let color = format.color
    let aspect = format.presentation.pixelAspect
    return Array(
      object([
        (Key.version, "\(Self.version)"), (FrameKey.epoch, "\(epoch)"),
        (Key.source, quoted(source.name)), (Key.format, quoted(format.pixelFormat.fourcc)),
        (Key.image, format.image.map { quoted($0.fourcc) } ?? "null"),
        (Key.width, "\(format.width)"), (Key.height, "\(format.height)"),
        (
          Key.rate,
          object([
            (Key.frames, "\(format.rate.frames)"), (Key.seconds, "\(format.rate.seconds)"),
          ])
        ),
        (
          Key.color,
          object([
            (Key.range, quoted("\(color.range)")), (Key.matrix, quoted("\(color.matrix)")),
            (Key.transfer, quoted("\(color.transfer)")),
            (Key.chromaSite, quoted("\(color.chromaSite)")),
          ])
        ),
        (Key.orientation, "\(format.presentation.orientation.rawValue)"),
        (
          Key.pixelAspect,
          object([(Key.width, "\(aspect.width)"), (Key.height, "\(aspect.height)")])
        ),
        (Key.fieldOrder, quoted("\(format.presentation.fieldOrder)")),
        (Key.images, format.hasFieldImages ? "2" : "1"), (Key.live, "\(source.isLive)"),
        (FrameKey.clock, quoted("\(source.clock.word)")),
        (Key.wallOffset, wallOffset.map { "\($0)" } ?? "null"),
        (Key.stages, "[" + stages.map(quoted).joined(separator: ",") + "]"),
        (
          Key.controls,
          "[" + (source.controls?.controls ?? []).map(text(of:)).joined(separator: ",") + "]"
        ),
      ]
      ).utf8)
  }

  private func text(of control: ControlDescription) -> String {
    object([
      (Key.name, quoted(control.name)), (Key.unit, quoted(control.unit)),
      (Key.minimum, "\(control.minimum)"), (Key.maximum, "\(control.maximum)"),
    ])
  }
}

/// Makes a JSON object. Each value is JSON text already.
func object(_ members: [(key: StaticString, value: String)]) -> String {
  "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
}

func quoted(_ text: String) -> String { String(decoding: jsonString(text), as: UTF8.self) }
