internal import SprocketCore

/// What the frames of an epoch take, known before any of it is allocated.
struct MemoryPlan {
  let format: FrameFormat
  let slots: Int
  /// Bytes of each slot that will be written.
  let slotBytes: Int
  /// The same, and address space for worst cases.
  let slotReserve: Int
  /// Bytes that unpackers, packers and the trace allocate, in total.
  let workerBytes: Int

  /// `nil` for what does not fit in an `Int`.
  private func total(_ bytes: Int) -> Int? {
    let (product, isTooLarge) = bytes.multipliedReportingOverflow(by: slots)
    let (sum, isStillTooLarge) = product.addingReportingOverflow(workerBytes)
    return isTooLarge || isStillTooLarge ? nil : sum
  }

  func check(_ limit: MemoryLimit) throws(RunError) {
    let size = "\(format.width)x\(format.height)"
    let needed = total(slotBytes)
    if needed ?? .max > limit.memory {
      throw RunError(
        .failed,
        "frames of \(size) need \(Self.text(needed)) of memory here (\(slots) frames of "
          + "\(Self.text(slotBytes))), and \(Self.text(limit.memory)) are allowed: use smaller "
          + "frames, fewer workers, or a shorter history or look-ahead, or allow more",
        change: .size, .workers, .memory)
    }
    let reserve = total(slotReserve)
    if reserve ?? .max > limit.addressSpace {
      throw RunError(
        .failed,
        "frames of \(size) need \(Self.text(reserve)) of address space here, and "
          + "\(Self.text(limit.addressSpace)) are left for them: use smaller frames or fewer "
          + "workers, or raise the limit (ulimit -v)", change: .size, .workers)
    }
  }

  /// Longest side in pixels, and largest frame in bytes, that are planned: far beyond any memory, whatever a
  /// file or device claims. Larger: the arithmetic of a plan, in 64 bits, might overflow.
  private static let longestSide = 1 << 20
  private static let largestFrame = 1 << 46

  /// Before stages and sinks are told of a source.
  static func check(_ source: SourceDescription) throws(RunError) {
    let (width, height) = (source.format.width, source.format.height)
    let pixels = source.format.pixelFormat
    guard !pixels.isPackets else {
      throw RunError(
        .failed,
        "\(source.name) says that its frames are \(pixels.settingText); let it say what pictures are decoded "
          + "to, and give packets beside them (FrameFormat.packets)")
    }
    guard width <= longestSide, height <= longestSide, source.capacity <= largestFrame else {
      throw RunError(
        .failed,
        "frames of \(width)x\(height) and up to \(text(source.capacity)) are too large; is "
          + "\(source.name) damaged?")
    }
  }

  private static func text(_ bytes: Int?) -> String {
    bytes.map { SystemMemory.text($0) } ?? "more memory than can be counted"
  }
}

/// What a run's frames may take.
struct MemoryLimit {
  /// Bytes that are written.
  let memory: Int
  /// Bytes of address space.
  let addressSpace: Int

  /// Share of the available memory that frames may take, in quarters; the rest is for decoders, sinks and
  /// other programs. Larger: larger frames are accepted, and the machine comes closer to running out of
  /// memory.
  private static let quarters = 3

  /// `asked` in bytes; by default a share of what is available now, which all epochs of a run keep to. So
  /// many runs share it.
  init(asked: Int?, sharers: Int = 1, system: SystemMemory = .now()) {
    memory = asked ?? Self.share(system.available, sharers)
    addressSpace = Self.share(system.addressSpace, sharers)
  }

  private static func share(_ bytes: Int, _ sharers: Int) -> Int {
    bytes == .max ? .max : bytes / 4 * quarters / max(sharers, 1)
  }
}
