internal import CSprocketV4L2
internal import Glibc

// Frames that are written to a device: which buffer comes next, and handing it over.
//
// v4l2loopback differs from other drivers. It gives back a buffer at each VIDIOC_DQBUF, which one depends on
// its version, and none is ever held. In version 0.12 a reader that asks for fewer buffers than there are
// (VIDIOC_REQBUFS) takes away the others from the writer: it then counts buffers modulo that number.

/// Which buffers of an output the driver has. Buffers are used by turns. Pure.
struct V4L2Outputs: Sendable {
  private var isQueued: [Bool] = []
  private var queuedCount = 0
  /// Buffers in use: those before this number.
  private(set) var usableCount = 0
  /// The buffer that comes next.
  private(set) var next = 0

  init() {}

  init(count: Int) {
    isQueued = Array(repeating: false, count: count)
    usableCount = count
  }

  var isAnyQueued: Bool { queuedCount > 0 }
  var isNextFree: Bool { usableCount > 0 && !isQueued[next] }

  /// The next buffer was given to the driver.
  mutating func noteQueued() {
    guard isNextFree else { return }
    isQueued[next] = true
    queuedCount += 1
    next = (next + 1) % usableCount
  }

  /// The driver gave a buffer back. One that it did not have stands for the one that it had longest.
  mutating func noteReturned(_ index: Int) {
    guard queuedCount > 0 else { return }
    let isKnown = index < usableCount && isQueued[index]
    let oldest = (0..<usableCount).lazy.map { [next, usableCount] in (next + $0) % usableCount }
      .first { [isQueued] in isQueued[$0] }
    guard let returned = isKnown ? index : oldest else { return }
    isQueued[returned] = false
    queuedCount -= 1
  }

  /// From now on there are fewer buffers.
  mutating func limit(to count: Int) {
    usableCount = min(usableCount, count)
    queuedCount = isQueued.prefix(usableCount).count { $0 }
    next = usableCount > 0 ? next % usableCount : 0
  }
}

extension V4L2Device {
  /// Makes sure that no other program writes. Advisory: other programs need not look at the lock.
  static func claim(
    _ fd: Int32, _ path: String, _ capabilities: V4L2Capabilities
  ) throws(V4L2Error) {
    guard capabilities.isOutput else {
      // With exclusive_caps=1 a loopback is no output while a program writes to it.
      throw V4L2Error(
        capabilities.isLoopback ? .busy : .notACamera, operation: "VIDIOC_QUERYCAP", path: path,
        .output)
    }
    guard flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
      throw V4L2Error(.busy, operation: "flock", errno: errno, path: path, .output)
    }
  }

  /// The node's own name, where ``path`` may be a link to it.
  public var node: String { V4L2Holder.target("/proc/self/fd/\(fd)") ?? path }

  /// This process has it open more than once: it is a camera of this run, too.
  public var isOpenTwice: Bool { V4L2Holder.descriptors(of: node, "self") > 1 }

  /// Asks for `count` buffers to write frames into, and maps them. There may be fewer, and at least one.
  public mutating func makeOutputBuffers(_ count: Int) throws(V4L2Error) {
    try makeBuffers(count)
    outputs = V4L2Outputs(count: buffers.count)
    // What v4l2loopback counts modulo another number lies where the first buffers do.
    let places = buffers.map { $0.pieces[0].offset }
    outputs.limit(to: places.indices.first { places[..<$0].contains(places[$0]) } ?? places.count)
    guard outputs.usableCount > 0 else {
      throw V4L2Error(.outOfMemory, operation: "VIDIOC_REQBUFS", path: path, direction)
    }
  }

  /// The buffer to write the next frame into; `nil` while the driver has all of them.
  ///
  /// Cost: two requests, and no memory.
  public mutating func nextOutput() throws(V4L2Error) -> Int? {
    while outputs.isAnyQueued, let returned = try dequeue() { outputs.noteReturned(returned.index) }
    while outputs.usableCount > 0, try !isInPlace(outputs.next) {
      var first = 0
      while first < outputs.next, try isInPlace(first) { first += 1 }
      outputs.limit(to: first)
    }
    guard outputs.usableCount > 0 else {
      throw V4L2Error(.failed, operation: "VIDIOC_QUERYBUF", path: path, direction)
    }
    return outputs.isNextFree ? outputs.next : nil
  }

  /// Whether the driver still has a buffer where it was when it was mapped.
  private func isInPlace(_ index: Int) throws(V4L2Error) -> Bool {
    let found = unsafe try withBuffer(UInt32(index)) { (buffer) throws(V4L2Error) in
      unsafe try demand(SPROCKET_VIDIOC_QUERYBUF, &buffer, "VIDIOC_QUERYBUF")
    }
    return unsafe Int64(found.buffer.m.offset) == buffers[index].pieces[0].offset
  }

  /// Calls `body` with the memory of a buffer that ``nextOutput()`` gave.
  public mutating func withOutput<Result, Failure: Error>(
    _ index: Int, _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let memory = unsafe buffers[index].pieces[0].memory.bindMemory(to: UInt8.self)
    var bytes = unsafe MutableSpan(_unsafeElements: memory)
    return try body(&bytes)
  }

  /// Hands the first `byteCount` bytes of that buffer over as a frame, captured at `nanoseconds` on
  /// CLOCK_MONOTONIC, which its readers see (`V4L2_BUF_FLAG_TIMESTAMP_COPY`).
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_QBUF`.
  public mutating func queueOutput(
    _ index: Int, byteCount: Int, nanoseconds: Int64, sequence: UInt32
  ) throws(V4L2Error) {
    _ = unsafe try withBuffer(UInt32(index)) { (buffer) throws(V4L2Error) in
      unsafe buffer.bytesused = UInt32(clamping: byteCount)
      unsafe buffer.field = V4L2_FIELD_NONE.rawValue
      unsafe buffer.flags = UInt32(V4L2_BUF_FLAG_TIMESTAMP_COPY)
      unsafe buffer.timestamp.tv_sec = Int(nanoseconds / 1_000_000_000)
      unsafe buffer.timestamp.tv_usec = Int(nanoseconds % 1_000_000_000 / 1000)
      unsafe buffer.sequence = sequence
      unsafe try demand(SPROCKET_VIDIOC_QBUF, &buffer, "VIDIOC_QBUF")
    }
    outputs.noteQueued()
  }
}
