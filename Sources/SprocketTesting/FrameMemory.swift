internal import SprocketCodecs
internal import SprocketCore
internal import SprocketTestMemory

/// The memory of one slot, filled from a `TestFrame` as the engine fills it: version 0 is the unpacked source
/// frame, version 1 is what a stage writes. Writes past the end of a row are detected in both.
@safe
final class FrameMemory {
  static let report = ReportSlot(offset: 0, bit: 1)

  private let slot: TestSlot

  init(
    _ frame: TestFrame, parts: FrameParts, _ unpacker: FrameUnpacker, _ plan: UnpackPlan,
    reportBytes: Int, writing: (how: StageSetup.Writing, format: FrameFormat)?
  ) {
    let format = frame.format
    slot = TestSlot(versions: 2, reportBytes: reportBytes)
    slot.record = frame.record
    slot.addMemory(format, parts: parts, plan)
    slot.sensorMap = frame.sensorMap
    slot.deliver(frame.rows, padding: format.pixelFormat.isDeep ? 6 : 5)
    contract(
      slot.unpack(with: unpacker),
      "shows a damaged frame to a stage, which a run never does; show an intact one")
    slot.enterLane()
    guard let writing else { return }
    slot.addPicture(writing.format, version: 1)
    if writing.how == .inPlace { slot.copyImage(format, from: 0, to: 1) }
  }

  /// Calls `body` with the view that a stage gets.
  func show<Result>(
    _ access: FrameAccess, now: Int64, events: [Event]?, around: [FrameMemory], earlier: Int,
    _ body: (inout FrameView) -> Result
  ) -> Result {
    var storages = unsafe around.map { unsafe $0.slot.storage }
    return unsafe storages.withUnsafeMutableBufferPointer { frames in
      let neighbours = unsafe Neighbours(
        frames: frames.baseAddress, earlier: earlier, later: around.count - earlier)
      var view = unsafe FrameView(
        unsafeStorage: slot.storage, access: access, now: now, neighbours: neighbours,
        events: events)
      return body(&view)
    }
  }

  /// The report that the stage stored; `nil` if it stored none.
  func report<Report: BitwiseCopyable>(as type: Report.Type) -> Report? {
    guard slot.laneRecord.reported & Self.report.bit != 0 else { return nil }
    return unsafe slot.storage.pointee.reports.load(as: Report.self)
  }

  /// The picture of a version; traps if the stage wrote past the end of a row.
  func picture(version: VersionIndex, like frame: TestFrame, _ format: FrameFormat) -> TestFrame {
    guard let image = format.image else { return frame }
    contract(
      version == 0 || slot.paddingIsIntact(version: version),
      "wrote behind the end of a row; write the `count` bytes of a row and no more")
    var picture = frame
    picture.format = format
    picture.format.pixelFormat = image
    picture.sensorMap = slot.sensorMap(version: version)
    picture.planes = (0..<image.planeCount).map { plane in
      slot.imageRows(plane, version: version).flatMap { $0 }
    }
    return picture
  }

  func luma(_ scale: LumaScale) -> [UInt8] { slot.lumaRows(scale).flatMap { $0 } }
}

extension TestFrame {
  /// The rows of each plane.
  fileprivate var rows: [[[UInt8]]] {
    planes.indices.map { index in
      let width =
        format.pixelFormat.isEncoded
        ? planes[index].count
        : format.pixelFormat.plane(index, width: format.width, height: format.height).bytesPerRow
      return stride(from: 0, to: planes[index].count, by: width).map { start in
        Array(planes[index][start..<start + width])
      }
    }
  }

  /// The planes after `edit` has written them into new memory, as a `.nextImage` stage does.
  package func edited(by edit: (inout ImageEditor) -> Void) -> [[UInt8]] {
    let unpacker = FrameUnpacker()
    let plan = unpacker.prepare(format: format, parts: .image)
    let memory = FrameMemory(
      self, parts: .image, unpacker, plan, reportBytes: 0, writing: (.nextImage, format))
    let access = FrameAccess(lane: .lane(0), version: 0, written: 1, format: format, parts: .image)
    memory.show(access, now: now, events: nil, around: [], earlier: 0) { view in
      var editor = view.edit()
      edit(&editor)
    }
    return memory.picture(version: 1, like: self, format).planes
  }
}
