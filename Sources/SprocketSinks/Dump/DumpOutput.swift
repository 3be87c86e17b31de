internal import Glibc
internal import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP
internal import SprocketRecords
internal import Synchronization

/// The MCAP file of a dump. The dumps of several sources may share one: each writes chunks of its own, on
/// topics below its name.
///
/// The file is complete when all sources have ended. After a failure nothing is written any more, and each
/// source gets the same error.
///
/// Unchecked: the writer is touched under the lock alone. It cannot be the lock's value, since it cannot be
/// copied.
public final class DumpOutput: @unchecked Sendable {
  let path: String
  private let overwrite: Bool
  private let lock = Locked<Void>(())
  private var writer: MCAPWriter<PartialFile>?
  private var hasBegun = false
  /// A chunk with frames has been written.
  private var hasFrames = false
  /// Sources that have not ended.
  private var parts: Int
  private var failure: RunError?
  private let wasLost = Atomic<Bool>(false)
  let sources: Int

  /// What made the file, as JSON; empty where that is not known.
  private let description: String

  /// `sources` is the number of sources that write into the file, 1 to ``mostSources``. An existing file is
  /// refused unless `overwrite` is set. `description` is stored as it is, as metadata.
  public init(
    path: String, overwrite: Bool = false, sources: Int = 1, description: String = ""
  ) {
    contract(
      1...Self.mostSources ~= sources,
      "shares a dump among \(sources) sources; give 1 to \(Self.mostSources)")
    (self.path, self.overwrite, self.sources, parts) = (path, overwrite, sources, sources)
    self.description = description
  }

  /// Sources of one dump at most: numbers of channels have 16 bits, and each source has
  /// `DumpPart.channels` of them.
  public static let mostSources = 255

  /// Creates the file, once.
  func open() throws(RunError) {
    try lock.withLock { _ throws(RunError) in
      guard writer == nil else { return }
      writer = MCAPWriter(
        output: try PartialFile(path: path, purpose: "a dump", overwrite: overwrite))
    }
  }

  /// Adds the definitions of channels; begins the file before the first ones.
  func define(_ kinds: [DumpChannel.Kind]) throws(RunError) {
    try use { writer throws(RunError) in
      if !hasBegun {
        try writer.begin(library: "sprocket")
        if !description.isEmpty {
          try writer.add(
            MCAPMetadata(
              name: RunDescription.name, metadata: [RunDescription.key: description]))
        }
      }
      hasBegun = true
      for kind in kinds {
        if let schema = kind.schema { try writer.add(schema) }
        try writer.add(kind.channel)
      }
    }
  }

  /// Writes a chunk; `hasFrames` says whether it holds what arrived of frames.
  func write(_ chunk: inout MCAPChunk, hasFrames: Bool = false) throws(RunError) {
    try use { writer throws(RunError) in
      try writer.write(&chunk)
      if hasFrames { self.hasFrames = true }
    }
  }

  /// Begins to move what was written to the disk; with `isAwaited` it is there on return.
  func sync(isAwaited: Bool) throws(RunError) {
    try use { writer throws(RunError) in
      if isAwaited { try writer.output.syncWithName() } else { try writer.output.beginSync() }
    }
  }

  /// A source has written its last chunk. The file ends with the last source's, and gets its name.
  func endPart() throws(RunError) {
    try use { writer throws(RunError) in
      parts -= 1
      guard parts == 0 else { return }
      try writer.end()
      try writer.output.complete()
    }
  }

  private func use(
    _ body: (inout MCAPWriter<PartialFile>) throws(RunError) -> Void
  ) throws(RunError) {
    try lock.withLock { _ throws(RunError) in
      if let failure { throw failure }
      guard writer != nil else { return }
      defer { noteLoss() }
      do throws(RunError) {
        try body(&writer!)
      } catch {
        throw cut(error)
      }
    }
  }

  /// Another program removed the file, or the disk did not take what the kernel had taken; as it was after
  /// the last write. Does not wait for a write that is under way.
  var isLost: Bool { wasLost.load(ordering: .acquiring) }

  /// Where an earlier run's partial file lies now.
  var keptPath: String? { lock.withLock { _ in writer?.output.keptPath } }

  private func noteLoss() {
    let isGone = writer?.output.isGone ?? false
    wasLost.store(isGone || (writer?.output.isLost ?? false), ordering: .releasing)
  }

  /// Ends the file where it broke: whole chunks stay, under the partial name. Returns the error that each
  /// source reports, the same after the first failure.
  func fail(_ error: RunError) -> RunError { lock.withLock { _ in failure ?? cut(error) } }

  private func cut(_ error: RunError) -> RunError {
    writer?.output.cut(to: Int64(writer?.offset ?? 0))
    writer?.output.abandon(isOfUse: hasFrames)
    var told = error
    let isGone = writer?.output.isGone ?? false
    if hasFrames, !isGone, let partial = writer?.output.partialPath, error.code == .failed {
      let isLost = writer?.output.isLost ?? false
      told = RunError(
        .failed,
        isLost
          ? "\(error); \(partial) may lack what was recorded"
          : "\(error); what was recorded before is in \(partial)")
    }
    failure = told
    return told
  }
}

/// The channels of one source among those of a dump.
struct DumpPart: Sendable {
  /// Channels that each source has at most. Larger: more microphones for each source, fewer sources.
  static let channels: UInt16 = 256

  /// Added to the numbers of channels and schemas.
  let base: UInt16
  /// Before the names of topics: `front/`; empty in a dump of one source.
  let prefix: String
  /// The frame of reference of images (`frame_id`).
  let frameID: String

  /// Of a dump of one source.
  static let only = DumpPart(base: 0, prefix: "", frameID: "camera")

  private init(base: UInt16, prefix: String, frameID: String) {
    (self.base, self.prefix, self.frameID) = (base, prefix, frameID)
  }

  /// Of the source with that name, the `index`th of several.
  init(_ name: String, index: Int) {
    self.init(base: UInt16(index) * Self.channels, prefix: name + "/", frameID: name)
  }
}

extension PartialFile: MCAPOutput {
  mutating func write(_ bytes: Span<UInt8>) throws(RunError) {
    if isGone { throw .naming(name, partial: partialPath ?? name, ENOENT) }
    try write(bytes, at: nil)
  }
}
