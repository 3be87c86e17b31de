internal import SprocketCodecs
internal import SprocketCore
internal import SprocketFiles
internal import SprocketShare

/// Where things lie in a slot of shared memory, and the text that tells readers. `docs/share.md` has both.
struct ShareLayout {
  /// Offset from a frame's header to the counts of all frames before it.
  static let totalsOffset = FrameHeader.byteCount

  let plan: TensorPlan
  let reports: [ReportLayout]
  /// Frames in a slot.
  let batch: Int
  /// Slots of the memory.
  let slots: Int
  /// Offset of each report from the frame's header.
  let reportOffsets: [Int]
  /// From one frame's header to the next.
  let frameStride: Int
  /// Offset of the first frame's pixels in a slot.
  let payloadAt: Int
  let slotBytes: Int

  init(_ plan: TensorPlan, reports: [ReportLayout], batch: Int, slots: Int) {
    self.plan = plan
    self.reports = reports
    (self.batch, self.slots) = (batch, slots)
    var next = Self.totalsOffset + MemoryLayout<FateTotals>.size
    reportOffsets = reports.map { report in
      defer { next += (report.byteCount + 7) & ~7 }
      return next
    }
    frameStride = (next + 63) & ~63
    payloadAt = SharedMemory.slotHeaderBytes + batch * frameStride
    slotBytes = (payloadAt + batch * plan.byteCount + 4095) & ~4095
  }

  /// Bytes of the memory.
  var byteCount: Int { SharedMemory.byteCount(slotBytes: slotBytes, slotCount: slots) }

  func headerRange(frame index: Int) -> Range<Int> {
    let start = SharedMemory.slotHeaderBytes + index * frameStride
    return start..<start + frameStride
  }

  func payloadRange(frame index: Int) -> Range<Int> {
    let start = payloadAt + index * plan.byteCount
    return start..<start + plan.byteCount
  }

  /// Whether readers can go on with what they were told.
  func isSame(as other: ShareLayout?) -> Bool {
    guard let other else { return false }
    return plan.settings == other.plan.settings && plan.format == other.plan.format
      && reports.map(\.slot) == other.reports.map(\.slot)
      && reports.map(\.fields) == other.reports.map(\.fields)
      && batch == other.batch
  }

  /// Returns the layout as JSON, without `shared` and `totals`: `ShareReaders` adds these.
  func text(_ setup: SinkSetup, every: Bool) -> [UInt8] {
    let settings = plan.settings
    let isPlanar = settings.usedOrder == .nchw
    let shape =
      isPlanar
      ? [plan.regionCount, plan.channelCount, plan.height, plan.width]
      : [plan.regionCount, plan.height, plan.width, plan.channelCount]
    let format = plan.format
    let fields: [(String, String)] = [
      ("version", "1"), ("every", "\(every)"),
      ("source", quoted(setup.source.name)), ("live", "\(setup.isLive)"),
      ("clock", quoted("\(setup.source.clock)")), ("epoch", "\(setup.epoch)"),
      ("rate", "\(format.rate.framesPerSecond)"),
      ("memory_bytes", "\(byteCount)"), ("slots", "\(slots)"),
      ("slots_at", "4096"), ("slot_bytes", "\(slotBytes)"),
      ("frames_at", "\(SharedMemory.slotHeaderBytes)"), ("frame_stride", "\(frameStride)"),
      ("totals_at", "\(Self.totalsOffset)"),
      ("batch", "\(batch)"), ("payload_at", "\(payloadAt)"), ("payload_bytes", "\(plan.byteCount)"),
      ("layout", quoted(settings.layout.rawValue)),
      ("channels", quoted(settings.usedChannels.rawValue)),
      ("type", quoted(settings.usedElement.rawValue)),
      ("order", quoted(settings.usedOrder.rawValue)),
      ("shape", "[" + shape.map { "\($0)" }.joined(separator: ",") + "]"),
      ("picture", "[\(format.width),\(format.height)]"),
      ("decoded_at", "\(plan.scale.divisor)"),
      ("regions", "[" + (0..<plan.regionCount).map(region).joined(separator: ",") + "]"),
      ("lens", lens(format.lens)),
      ("reports", "[" + reports.indices.map(report).joined(separator: ",") + "]"),
    ]
    return Array(("{" + fields.map { quoted($0) + ":" + $1 }.joined(separator: ",") + "}").utf8)
  }

  /// Scale and shift from an entry's pixels to the picture's, across and down.
  private func region(_ index: Int) -> String {
    let map = plan.pictureFromTensor(region: index).values
    return "[\(map[0]),\(map[4]),\(map[2]),\(map[5])]"
  }

  private func lens(_ lens: Lens?) -> String {
    guard let lens else { return "null" }
    func camera(_ camera: Lens.Camera) -> String {
      "[\(camera.focalX),\(camera.focalY),\(camera.centerX),\(camera.centerY)]"
    }
    let d = lens.distortion
    let distortion = [
      d.k1, d.k2, d.p1, d.p2, d.k3, d.k4, d.k5, d.k6, d.s1, d.s2, d.s3, d.s4, d.tauX, d.tauY,
    ]
    return #"{"model":"\#(lens.model.rawValue)","camera":\#(camera(lens.camera)),"#
      + #""undistorted":\#(camera(lens.undistorted)),"distortion":"#
      + "[" + distortion.map { "\($0)" }.joined(separator: ",") + "]}"
  }

  private func report(_ index: Int) -> String {
    let fields = reports[index].fields.map(field)
    return #"{"plugin":\#(quoted(reports[index].plugin)),"offset":\#(reportOffsets[index]),"#
      + #""fields":["# + fields.joined(separator: ",") + "]}"
  }

  private func field(_ field: ReportFieldDescription) -> String {
    var words = "null"
    if case .word(let names) = field.kind {
      words = "[" + names.map(quoted).joined(separator: ",") + "]"
    }
    var list = ""
    if case .list(let kind) = field.kind {
      list =
        #","stride":\#(kind.stride),"count_at":\#(kind.countOffset),"texts_at":\#(kind.textsOffset),"#
        + #""texts_bytes":\#(kind.textsCapacity),"#
        + #""fields":[\#(kind.fields.map(self.field).joined(separator: ","))]"#
    }
    return
      #"{"name":\#(quoted(field.name)),"unit":\#(quoted(field.unit)),"offset":\#(field.offset),"#
      + #""type":"\#(field.kind.typeName)","count":\#(field.kind.count),"words":\#(words)\#(list)}"#
  }

  private func quoted(_ text: String) -> String {
    String(decoding: jsonString(text), as: UTF8.self)
  }
}

extension FieldKind {
  /// As NumPy names it; what NumPy has no name for has its own.
  fileprivate var typeName: String {
    switch self {
    case .double, .gridValues, .matrixValues, .cornerValues: "f8"
    case .float: "f4"
    case .int64: "i8"
    case .uint32, .levelCounts: "u4"
    case .bool, .word: "u1"
    case .text: "text"
    case .binary: "binary"
    case .list: "list"
    }
  }
}
