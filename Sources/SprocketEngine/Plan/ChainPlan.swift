internal import SprocketCore
internal import SprocketRing

/// How a chain becomes lanes, image versions and memory, for one epoch.
///
/// Keeps of the ring's contract:
/// - R1: consecutive steps of the same order share a lane.
/// - R4: but a stage begins a new one when it looks at other frames. Each writing stage makes a new
///   image version. It is the same memory when the stage writes in place and nobody still reads the
///   old one: not a stage that looks around, and not the source that lent it. So a writer can share the
///   lane of what comes before it, and a worker has the picture in its cache all the way to the pack.
///
/// Stages before the first that reads pixels come before unpacking.
struct ChainPlan {
  enum Step: Equatable {
    case stage(Int)
    case unpack
    /// Unpacks the parts that only on-demand sinks read, of the frames that were admitted to these.
    case unpackAsked
    case select
    case pack
    /// For sinks that tap the source: a lane of its own beside the chain.
    case packSource
  }

  struct Lane: Equatable {
    var steps: [Step]
    var workers: Int
    var history = 0
    var lookahead = 0
    /// A step writes to the source's controls.
    var steers = false
    /// Follows the source, and not the lane before it.
    var followsSource = false

    /// Name of a worker's thread in the trace.
    func threadName(worker: Int, _ stages: [ChainStage]) -> String {
      let names = steps.map { $0.name(stages) }.joined(separator: "+")
      return workers > 1 ? "\(names) \(worker + 1)" : names
    }

    /// Whether it unpacks, or derives luma from what a stage wrote.
    func needsUnpacker(_ plan: ChainPlan, _ stages: [ChainStage]) -> Bool {
      steps.contains { step in
        step == .unpack
          || step.stageIndex.map { stages[$0].declared.writing != nil } ?? false
      }
    }
  }

  struct Version {
    var format: FrameFormat
    /// What of this version is read, by stages and sinks.
    var parts: FrameParts = []
    /// The image is the memory of the version before.
    var isInPlace = false
    /// The stage writes in place, but somebody still reads the version before: copied first.
    var copiesFirst = false
    /// Image and full luma lie in memory that is not this version's own.
    var borrowsImage = false
    var borrowsLuma = false
  }

  var lanes: [Lane] = []
  var versions: [Version]
  /// Per stage: the version that it reads.
  var readVersion: [VersionIndex] = []
  var sinkParts: FrameParts
  var unpacks = false
  private let verifies: Bool
  /// Parts that `unpackAsked` unpacks (A9 of the contract of requests). All other parts are unpacked as
  /// without on-demand sinks, so that the results of stages do not depend on requests.
  private(set) var askedParts: FrameParts = []

  /// What the sinks read, and the steps that the chain runs for them.
  struct SinkNeeds {
    /// What they read at the chain's end.
    var parts: FrameParts = []
    /// What on-demand sinks read in addition.
    var askedParts: FrameParts = []
    var selects = false
    var packs = false
    var packsSource = false
  }

  /// `unpackPlan` says what unpacking need not copy. With `verifies`, encoded frames are unpacked
  /// also where nobody reads pixels.
  init(
    format: FrameFormat, stages: [ChainStage], sinks: SinkNeeds, workers: Int,
    verifies: Bool = false,
    unpackPlan: (FrameFormat, FrameParts) -> UnpackPlan
  ) {
    sinkParts = sinks.parts
    self.verifies = verifies
    // If a stage writes pixels, the image of the last version exists in any case.
    if stages.contains(where: { $0.declared.writing != nil }) {
      sinkParts.formUnion(sinks.askedParts)
    }
    versions = [Version(format: format)]
    planVersions(stages, askedParts: sinks.askedParts)
    if verifies, format.pixelFormat.isEncoded, format.image != nil,
      versions[0].parts.isDisjoint(with: .pixels)
    {
      // The cheapest: all that is encoded is read for it, too.
      versions[0].parts.formUnion(.luma(.eighth))
    }
    let unpacked = versions[0].parts.intersection(.pixels)
    unpacks = !unpacked.isEmpty
    if unpacks {
      let borrowed = unpackPlan(format, unpacked)
      versions[0].borrowsImage = borrowed.borrowsImage
      versions[0].borrowsLuma = borrowed.borrowsLuma
    }
    sinkParts.formUnion(sinks.askedParts)
    if lastVersion == .unpacked {
      askedParts = sinks.askedParts.intersection(.pixels).subtracting(unpacked)
      versions[0].parts.formUnion(sinks.askedParts)
    }
    if !askedParts.isEmpty {
      let borrowed = unpackPlan(format, askedParts)
      if askedParts.contains(.image) { versions[0].borrowsImage = borrowed.borrowsImage }
      if askedParts.contains(.luma(.full)) { versions[0].borrowsLuma = borrowed.borrowsLuma }
    }
    planWriting(stages)
    planLanes(stages, sinks, workers: workers)
  }

  private mutating func planVersions(_ stages: [ChainStage], askedParts: FrameParts) {
    for stage in stages {
      readVersion.append(lastVersion)
      versions[versions.count - 1].parts.formUnion(stage.declared.parts)
      if stage.declared.writing != nil, let next = stage.declared.format {
        versions.append(Version(format: next))
      }
    }
    versions[versions.count - 1].parts.formUnion(sinkParts)
    // The next version is made from this one's image; the first picture of a mosaic from the source's bytes.
    for index in versions.indices.dropLast() where versions[index].format.image != nil {
      versions[index].parts.formUnion(.image)
    }
    // A stage writes whole images.
    for index in versions.indices.dropFirst() {
      versions[index].parts = versions[index].parts.unpacked(
        versions[index].format, besides: .image)
    }
    versions[0].parts = versions[0].parts.unpacked(versions[0].format, besides: askedParts)
  }

  private mutating func planWriting(_ stages: [ChainStage]) {
    for (index, stage) in stages.enumerated() {
      guard let writing = stage.declared.writing else { continue }
      let from = readVersion[index].place
      guard writing == .inPlace else { continue }
      // Find the first version that shares this memory. A stage up to this one that looks around in any of
      // these versions still reads it.
      var first = from
      while first > 0, versions[first].isInPlace { first -= 1 }
      let isStillRead = stages[...index].indices.contains { earlier in
        stages[earlier].declared.looksAround && (first...from).contains(readVersion[earlier].place)
      }
      if isStillRead || (first == 0 && versions[0].borrowsImage) {
        versions[from + 1].copiesFirst = true
      } else {
        versions[from + 1].isInPlace = true
        versions[from + 1].borrowsImage = true
      }
    }
    for index in versions.indices.dropFirst() {
      versions[index].borrowsLuma = versions[index].format.lumaIsPlane
    }
  }

  private mutating func planLanes(
    _ stages: [ChainStage], _ sinks: SinkNeeds, workers: Int
  ) {
    let head = stages.firstIndex { $0.declared.readsPixels } ?? stages.count
    func add(_ step: Step, _ order: Order, startsLane: Bool = false, _ stage: ChainStage? = nil) {
      let threads = order == .any ? workers : 1
      let isSame = lanes.last.map { ($0.workers > 1) == (threads > 1) } ?? false
      if startsLane || !isSame || lanes.isEmpty {
        lanes.append(Lane(steps: [], workers: threads))
      }
      lanes[lanes.count - 1].steps.append(step)
      if let declared = stage?.declared {
        lanes[lanes.count - 1].history = max(lanes[lanes.count - 1].history, declared.history)
        lanes[lanes.count - 1].lookahead = max(lanes[lanes.count - 1].lookahead, declared.lookahead)
        if declared.isSteering { lanes[lanes.count - 1].steers = true }
      }
    }
    for (index, stage) in stages.enumerated() {
      if index == head, unpacks { add(.unpack, .any) }
      let declared = stage.declared
      add(.stage(index), stage.kind.order, startsLane: declared.looksAround, stage)
    }
    if head == stages.count, unpacks { add(.unpack, .any) }
    if !askedParts.isEmpty { add(.unpackAsked, .any) }
    if sinks.selects { add(.select, .sequence) }
    if sinks.packs { add(.pack, .any) }
    if sinks.packsSource {
      lanes.append(Lane(steps: [.packSource], workers: workers, followsSource: true))
    }
  }

  /// The copy of the record that a lane uses.
  func upstream(ofLane index: Int) -> RecordIndex {
    lanes[index].followsSource || index == 0 ? .source : .lane(index - 1)
  }

  /// Whether a lane is the chain's last.
  func isChainEnd(_ index: Int) -> Bool {
    !lanes[index].followsSource && lanes[(index + 1)...].allSatisfy(\.followsSource)
  }

  /// What a stage may touch.
  func access(stage index: Int, lane: Int, _ stages: [ChainStage]) -> FrameAccess {
    let declared = stages[index].declared
    let version = readVersion[index]
    var access = FrameAccess(
      lane: .lane(lane), version: version, written: declared.writing == nil ? nil : version.next,
      isInPlace: declared.writing == .inPlace, format: self[version].format,
      writtenFormat: declared.format, parts: declared.parts)
    access.imageScale = self[version].parts.imageScale
    access.history = declared.history
    access.lookahead = declared.lookahead
    return access
  }

  /// Whether anything happens to a frame before sinks come in.
  var hasProcessing: Bool { lanes.contains { $0.steps.contains(where: \.isProcessing) } }

  /// The record that a sink reads: that of the lane that packs, else selects, for it; else of the last lane
  /// that unpacks or runs a stage, so that the sink does not wait for the packing of other sinks; else the
  /// source's. Sinks that are not on demand do not wait for `unpackAsked`.
  func tap(packs: Bool, selects: Bool, isOnDemand: Bool = false, source: Bool) -> RecordIndex {
    let last = lanes.lastIndex { lane in
      source
        ? packs && lane.followsSource
        : packs
          ? lane.steps.contains(.pack)
          : selects
            ? lane.steps.contains(.select)
            : lane.steps.contains { $0.isProcessing || isOnDemand && $0 == .unpackAsked }
    }
    return last.map { .lane($0) } ?? .source
  }

  /// Whether more is read of a frame than its packet, or damage of packets is looked for.
  var needsPicture: Bool {
    verifies || !versions[0].parts.union(sinkParts).union(askedParts).subtracting(.packet).isEmpty
  }

  /// The pixel version at the end of the chain.
  var lastVersion: VersionIndex { VersionIndex(versions.count - 1) }

  subscript(version: VersionIndex) -> Version { versions[version.place] }

  /// What sinks may touch: the chain's end.
  var sinkAccess: FrameAccess {
    var access = FrameAccess(
      lane: lanes.isEmpty ? .source : .lane(lanes.count - 1), version: lastVersion,
      format: self[lastVersion].format, parts: sinkParts)
    access.imageScale = self[lastVersion].parts.imageScale
    return access
  }

  /// Warnings about stages that have no effect with this source, or come too late in the chain to save
  /// work.
  func warnings(_ stages: [ChainStage], isLive: Bool) -> [String] {
    if !isLive {
      return stages.filter(\.declared.usesRemaining).map {
        "\($0.name) does nothing here: this source's frames wait for the chain; the source's "
          + "setting pace=real makes them live"
      }
    }
    guard let head = stages.firstIndex(where: { $0.declared.readsPixels }) else { return [] }
    return stages.indices.filter { $0 > head && stages[$0].declared.usesRemaining }.map {
      "\(stages[$0].name) comes after \(stages[head].name), which reads pixels: frames that it "
        + "drops have been unpacked by then; put it first"
    }
  }

  /// Frames that a frame waits for on its way through the chain.
  var totalLookahead: Int { lanes.reduce(0) { $0 + $1.lookahead } }
}

extension ChainPlan {
  /// Names of an epoch's threads in the trace.
  func threadNames(_ stages: [ChainStage], _ sinks: [SinkPlace]) -> [String] {
    let workers = lanes.flatMap { lane in
      (0..<lane.workers).map { lane.threadName(worker: $0, stages) }
    }
    return [SourceTracer.name] + workers + sinks.map(\.state.traceName)
  }
}
