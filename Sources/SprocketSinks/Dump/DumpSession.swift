internal import Glibc
internal import SprocketCore
internal import SprocketFiles

/// What holds for all frames of an epoch: the record that comes before them.
struct DumpSession {
  private let epoch: UInt32
  private let source: SourceDescription
  private let stages: [String]
  /// What must be added to the monotonic clock to have the time of day, in nanoseconds, as it was then;
  /// `nil` where the frames' times are on another clock.
  private let wallOffset: Int64?

  init(_ setup: SinkSetup) {
    epoch = setup.epoch
    source = setup.source
    stages = setup.stageNames
    let isMonotonic = source.clock == .monotonic
    wallOffset = isMonotonic ? wallClockNow() - monotonicNow() : nil
  }

  /// As JSON.
  var text: [UInt8] {
    let format = source.format
    let color = format.color
    var fields: [(String, String)] = [
      ("version", "1"), ("epoch", "\(epoch)"), ("source", quoted(source.name)),
      ("format", quoted(format.pixelFormat.fourcc)),
      ("image", format.image.map { quoted($0.fourcc) } ?? "null"),
      ("width", "\(format.width)"), ("height", "\(format.height)"),
      ("rate", #"{"frames":\#(format.rate.frames),"seconds":\#(format.rate.seconds)}"#),
      (
        "color",
        #"{"range":"\#(color.range)","matrix":"\#(color.matrix)","transfer":"\#(color.transfer)","#
          + #""chroma_site":"\#(color.chromaSite)"}"#
      ),
      ("orientation", "\(format.presentation.orientation.rawValue)"),
      (
        "pixel_aspect",
        #"{"width":\#(format.presentation.pixelAspect.width),"#
          + #""height":\#(format.presentation.pixelAspect.height)}"#
      ),
      ("field_order", quoted("\(format.presentation.fieldOrder)")),
      ("images_per_frame", format.hasFieldImages ? "2" : "1"),
      ("live", "\(source.isLive)"), ("clock", quoted("\(source.clock)")),
      ("wall_offset_ns", wallOffset.map { "\($0)" } ?? "null"),
      ("stages", "[" + stages.map(quoted).joined(separator: ",") + "]"),
    ]
    let controls = source.controls?.controls ?? []
    fields.append(("controls", "[" + controls.map(text(of:)).joined(separator: ",") + "]"))
    return Array(("{" + fields.map { quoted($0) + ":" + $1 }.joined(separator: ",") + "}").utf8)
  }

  private func text(of control: ControlDescription) -> String {
    #"{"name":\#(quoted(control.name)),"unit":\#(quoted(control.unit)),"#
      + #""minimum":\#(control.minimum),"maximum":\#(control.maximum)}"#
  }

  private func quoted(_ text: String) -> String {
    String(decoding: jsonString(text), as: UTF8.self)
  }
}
