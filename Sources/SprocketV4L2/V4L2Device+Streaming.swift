internal import CSprocketV4L2
internal import Glibc

// Buffers in the driver's memory, mapped: asking for them, filling, taking.

/// A piece of a buffer's memory, mapped. With some formats of the multi-planar interface each
/// plane has one.
@safe
struct V4L2Piece {
  let memory: UnsafeMutableRawBufferPointer
  /// Where the driver has it.
  let offset: Int64
  /// Of the same memory, for other devices; -1 unless it was exported.
  var descriptor: Int32 = -1
}

/// A buffer in the driver's memory.
struct V4L2Buffer {
  var pieces: [V4L2Piece]
}

/// A buffer that the driver filled.
public struct V4L2Frame: Sendable, Hashable, BitwiseCopyable {
  /// Which buffer.
  public var index: Int
  /// The driver's number: 32 bits, after the last comes 0.
  public var sequence: UInt32
  /// As the driver gives it, on the clock that the flags name. Far from sense it saturates.
  public var nanoseconds: Int64
  /// `V4L2_BUF_FLAG_*`.
  public var flags: UInt32
  /// Where in the buffer the frame begins, and how many bytes it has; within the buffer. Of one in several
  /// pieces of memory, the first.
  public var offset: Int
  public var byteCount: Int
  /// The same of the second and the third piece; 0 where there is none.
  public var (secondOffset, secondByteCount) = (0, 0)
  public var (thirdOffset, thirdByteCount) = (0, 0)

  /// Where in a piece of memory the frame lies.
  public func range(_ piece: Int) -> Range<Int> {
    switch piece {
    case 0: offset..<offset + byteCount
    case 1: secondOffset..<secondOffset + secondByteCount
    default: thirdOffset..<thirdOffset + thirdByteCount
    }
  }

  /// Whether the driver says that its time is on CLOCK_MONOTONIC.
  public var isMonotonic: Bool {
    flags & UInt32(V4L2_BUF_FLAG_TIMESTAMP_MASK) == UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
  }

  /// The time is the start of exposure, not the end of the frame.
  public var isStampedAtStart: Bool {
    flags & UInt32(V4L2_BUF_FLAG_TSTAMP_SRC_MASK) == UInt32(V4L2_BUF_FLAG_TSTAMP_SRC_SOE)
  }

  /// The driver found the frame damaged.
  public var isDamaged: Bool { flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 }

  public init(
    index: Int, sequence: UInt32, nanoseconds: Int64, flags: UInt32, offset: Int, byteCount: Int
  ) {
    self.index = index
    self.sequence = sequence
    self.nanoseconds = nanoseconds
    self.flags = flags
    self.offset = offset
    self.byteCount = byteCount
  }
}

/// What ``V4L2Device/wait(milliseconds:)`` found.
public struct V4L2Readiness: OptionSet, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let frame = V4L2Readiness(rawValue: 1)
  public static let event = V4L2Readiness(rawValue: 2)
  /// The driver stopped, or the device is gone: taking a frame tells which.
  public static let failure = V4L2Readiness(rawValue: 4)
}

extension V4L2Device {
  public var bufferCount: Int { buffers.count }

  /// A piece of a buffer's memory; valid as long as the device, or for ever after ``leaveMemoryMapped()``.
  public func memory(_ index: Int, piece: Int = 0) -> UnsafeMutableRawBufferPointer {
    unsafe buffers[index].pieces[piece].memory
  }

  /// The memory stays mapped when the device is closed, for somebody still reads it.
  public mutating func leaveMemoryMapped() { isMemoryLeftMapped = true }

  /// Asks for `count` buffers and maps those that it gets, which may be more or fewer.
  ///
  /// The corresponding C functions are `v4l2_ioctl` with `VIDIOC_REQBUFS` and `VIDIOC_QUERYBUF`, and
  /// `v4l2_mmap`.
  public mutating func makeBuffers(_ count: Int) throws(V4L2Error) {
    var wanted = v4l2_requestbuffers()
    wanted.count = UInt32(clamping: count)
    wanted.type = bufferType
    wanted.memory = V4L2_MEMORY_MMAP.rawValue
    try demand(SPROCKET_VIDIOC_REQBUFS, &wanted, "VIDIOC_REQBUFS")
    for index in 0..<wanted.count { buffers.append(try map(index)) }
  }

  private func map(_ index: UInt32) throws(V4L2Error) -> V4L2Buffer {
    var pieces: [V4L2Piece] = []
    for (length, offset) in try places(index) {
      let memory = unsafe v4l2_mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset)
      guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
        let error = failure("mmap")
        for piece in pieces { unsafe v4l2_munmap(piece.memory.baseAddress, piece.memory.count) }
        throw error
      }
      pieces.append(
        unsafe V4L2Piece(
          memory: UnsafeMutableRawBufferPointer(start: memory, count: length), offset: offset))
    }
    return V4L2Buffer(pieces: pieces)
  }

  private func places(_ index: UInt32) throws(V4L2Error) -> [(length: Int, offset: Int64)] {
    let found = unsafe try withBuffer(index) { (buffer) throws(V4L2Error) in
      unsafe try demand(SPROCKET_VIDIOC_QUERYBUF, &buffer, "VIDIOC_QUERYBUF")
    }
    guard isMultiplanar else {
      return unsafe [(Int(found.buffer.length), Int64(found.buffer.m.offset))]
    }
    return (0..<pieceCount).map { piece in
      unsafe (Int(found.planes[piece].length), Int64(found.planes[piece].m.mem_offset))
    }
  }

  /// Makes a descriptor of each buffer's memory, by which other devices can use it (DMABUF). They are closed
  /// with the device.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_EXPBUF`.
  public mutating func exportBuffers() throws(V4L2Error) {
    for index in buffers.indices {
      for piece in buffers[index].pieces.indices {
        var wanted = v4l2_exportbuffer()
        wanted.type = bufferType
        wanted.index = UInt32(index)
        wanted.plane = UInt32(piece)
        wanted.flags = UInt32(O_CLOEXEC | O_RDWR)
        try demand(SPROCKET_VIDIOC_EXPBUF, &wanted, "VIDIOC_EXPBUF")
        buffers[index].pieces[piece].descriptor = wanted.fd
      }
    }
  }

  /// The descriptor of a piece of a buffer's memory; -1 unless it was exported.
  public func descriptor(_ index: Int, piece: Int) -> Int32 {
    buffers[index].pieces[piece].descriptor
  }

  /// Gives a buffer to the driver, to be filled.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_QBUF`.
  public mutating func queue(_ index: Int) throws(V4L2Error) {
    _ = unsafe try withBuffer(UInt32(index)) { (buffer) throws(V4L2Error) in
      unsafe try demand(SPROCKET_VIDIOC_QBUF, &buffer, "VIDIOC_QBUF")
    }
  }

  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_STREAMON`.
  public mutating func start() throws(V4L2Error) {
    var type = bufferType
    try demand(SPROCKET_VIDIOC_STREAMON, &type, "VIDIOC_STREAMON")
  }

  /// All buffers come back, whatever is in them. Never fails in a way that matters.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_STREAMOFF`.
  public mutating func stop() {
    var type = bufferType
    _ = request(SPROCKET_VIDIOC_STREAMOFF, &type)
  }

  /// Waits for something to happen; nothing, when the time is over or a signal came. Of an output, a frame
  /// is ready when the driver has written one out.
  ///
  /// The corresponding C function is `poll`.
  public func wait(milliseconds: Int32) -> V4L2Readiness {
    let frame = direction == .output ? POLLOUT : POLLIN
    var entry = pollfd(fd: fd, events: Int16(frame | POLLPRI), revents: 0)
    guard unsafe poll(&entry, 1, milliseconds) > 0 else { return [] }
    let found = Int32(entry.revents)
    var ready: V4L2Readiness = []
    if found & frame != 0 { ready.insert(.frame) }
    if found & POLLPRI != 0 { ready.insert(.event) }
    if found & (POLLERR | POLLHUP | POLLNVAL) != 0 { ready.insert(.failure) }
    return ready
  }

  /// Takes a filled buffer from the driver; of an output, one that it has written out. `nil` when there is
  /// none.
  ///
  /// The corresponding C function is `v4l2_ioctl` with `VIDIOC_DQBUF`.
  public mutating func dequeue() throws(V4L2Error) -> V4L2Frame? {
    var isNoneReady = false
    let found = unsafe try withBuffer(0) { (buffer) throws(V4L2Error) in
      if unsafe request(SPROCKET_VIDIOC_DQBUF, &buffer) { return }
      guard errno == EAGAIN else { throw failure("VIDIOC_DQBUF") }
      isNoneReady = true
    }
    if isNoneReady { return nil }
    let buffer = unsafe found.buffer
    let index = unsafe Int(buffer.index)
    guard index < buffers.count else {
      throw V4L2Error(.failed, operation: "VIDIOC_DQBUF, buffer \(index)", path: path)
    }
    func place(_ piece: Int) -> (offset: Int, byteCount: Int) {
      guard piece < pieceCount else { return (0, 0) }
      let room = unsafe buffers[index].pieces[piece].memory.count
      guard isMultiplanar else { return unsafe (0, min(Int(buffer.bytesused), room)) }
      let plane = unsafe found.planes[piece]
      // A plane's bytes count its offset.
      let offset = min(Int(plane.data_offset), room)
      return (offset, min(max(0, Int(plane.bytesused) - offset), room - offset))
    }
    let first = place(0)
    var frame = V4L2Frame(
      index: index, sequence: unsafe buffer.sequence,
      nanoseconds: unsafe nanoseconds(buffer.timestamp),
      flags: unsafe buffer.flags, offset: first.offset, byteCount: first.byteCount)
    (frame.secondOffset, frame.secondByteCount) = place(1)
    (frame.thirdOffset, frame.thirdByteCount) = place(2)
    return frame
  }

  private func nanoseconds(_ time: timeval) -> Int64 {
    let (seconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return time.tv_sec < 0 ? .min : .max }
    let (sum, isOver) = seconds.addingReportingOverflow(Int64(time.tv_usec) &* 1000)
    return isOver ? .max : sum
  }

  /// Fills in a buffer's description with its planes behind it, as the device wants it.
  func withBuffer(
    _ index: UInt32, _ body: (inout v4l2_buffer) throws(V4L2Error) -> Void
  ) throws(V4L2Error) -> (buffer: v4l2_buffer, planes: InlineArray<3, v4l2_plane>) {
    var buffer = unsafe v4l2_buffer()
    unsafe buffer.index = index
    unsafe buffer.type = bufferType
    unsafe buffer.memory = V4L2_MEMORY_MMAP.rawValue
    var planes = InlineArray<3, v4l2_plane>(repeating: v4l2_plane())
    guard isMultiplanar else {
      unsafe try body(&buffer)
      return unsafe (buffer, planes)
    }
    unsafe try withUnsafeMutablePointer(to: &planes) { (pointer) throws(V4L2Error) in
      unsafe buffer.m.planes = unsafe UnsafeMutableRawPointer(pointer)
        .assumingMemoryBound(to: v4l2_plane.self)
      unsafe buffer.length = UInt32(pieceCount)
      unsafe try body(&buffer)
    }
    return unsafe (buffer, planes)
  }
}
