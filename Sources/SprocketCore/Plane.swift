/// Rows of bytes, borrowed from a frame for as long as the frame is borrowed.
///
/// Rows have a stride of their own; the padding behind a row is never part of its span.
@safe
public struct Plane: ~Escapable {
  @usableFromInline let base: UnsafePointer<UInt8>
  /// From one row to the next, in bytes; negative where a picture lies upside down.
  @usableFromInline let stride: Int
  /// Bytes in a row: samples, or twice that for 16-bit samples.
  public let bytesPerRow: Int
  public let rows: Int

  @_lifetime(borrow owner)
  init<Owner: ~Copyable & ~Escapable>(_ storage: PlaneStorage, borrowing owner: borrowing Owner) {
    unsafe base = UnsafePointer(storage.base)
    unsafe stride = storage.stride
    unsafe bytesPerRow = storage.bytesPerRow
    unsafe rows = storage.rows
  }

  /// Row `y` of 8-bit samples.
  @inlinable
  public subscript(row y: Int) -> Span<UInt8> {
    @_lifetime(copy self)
    get {
      precondition(y >= 0 && y < rows, "row out of range")
      let span = unsafe Span(_unsafeStart: base + y &* stride, count: bytesPerRow)
      return unsafe _overrideLifetime(span, copying: self)
    }
  }

  /// Row `y` of 16-bit little-endian samples.
  @inlinable
  public subscript(row16 y: Int) -> Span<UInt16> {
    @_lifetime(copy self)
    get {
      precondition(y >= 0 && y < rows, "row out of range")
      let start = unsafe UnsafeRawPointer(base + y &* stride).assumingMemoryBound(to: UInt16.self)
      let span = unsafe Span(_unsafeStart: start, count: bytesPerRow / 2)
      return unsafe _overrideLifetime(span, copying: self)
    }
  }

  /// All rows as a library wants them: from the first byte to the last, and the stride.
  @inlinable
  public func withUnsafeRows<Result, Failure: Error>(
    _ body: (UnsafeBufferPointer<UInt8>, Int) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    precondition(stride >= bytesPerRow, "rows that lie upside down are not handed to libraries")
    let count = rows == 0 ? 0 : stride * (rows - 1) + bytesPerRow
    return unsafe try body(UnsafeBufferPointer(start: base, count: count), stride)
  }

  /// All rows as one span, where they lie one behind the other without padding; else `nil`.
  public var contiguous: Span<UInt8>? {
    @_lifetime(copy self)
    get {
      guard stride == bytesPerRow else { return nil }
      let span = unsafe Span(_unsafeStart: base, count: rows * bytesPerRow)
      return unsafe _overrideLifetime(span, copying: self)
    }
  }
}

/// The planes of a picture, luma first.
@safe
public struct ImageView: ~Escapable {
  @usableFromInline let storage: ImageStorage
  public let format: PixelFormat

  @_lifetime(borrow owner)
  init<Owner: ~Copyable & ~Escapable>(
    _ storage: ImageStorage, format: PixelFormat, borrowing owner: borrowing Owner
  ) {
    unsafe self.storage = storage
    self.format = format
  }

  public var planeCount: Int { format.planeCount }

  public subscript(plane index: Int) -> Plane {
    @_lifetime(copy self)
    get {
      precondition(index < format.planeCount, "plane out of range")
      let plane = unsafe Plane(storage.planes[index], borrowing: self)
      return unsafe _overrideLifetime(plane, copying: self)
    }
  }
}

/// The picture that a writing stage fills in, and the one that it is made from.
@safe
public struct ImageEditor: ~Copyable, ~Escapable {
  @usableFromInline let target: ImageStorage
  let from: ImageStorage?
  let fromFormat: PixelFormat
  public let format: PixelFormat

  @_lifetime(&owner)
  init<Owner: ~Copyable & ~Escapable>(
    target: ImageStorage, format: PixelFormat, from: ImageStorage?, fromFormat: PixelFormat,
    mutating owner: inout Owner
  ) {
    unsafe self.target = target
    unsafe self.from = from
    self.fromFormat = fromFormat
    self.format = format
  }

  public var planeCount: Int { format.planeCount }

  /// Rows of one plane.
  public func rows(plane index: Int) -> Int { unsafe target.planes[index].rows }

  /// The picture before this stage, for a stage that declared `.nextImage`.
  /// Traps in one that declared `.inPlace`: its source is the picture that it edits.
  public var source: ImageView {
    @_lifetime(copy self)
    get {
      guard let from = unsafe from else {
        preconditionFailure("a stage that writes in place has no second picture to read")
      }
      let view = unsafe ImageView(from, format: fromFormat, borrowing: self)
      return unsafe _overrideLifetime(view, copying: self)
    }
  }

  /// Row `y` of plane `index`, to be written.
  ///
  /// Methods, because Swift 6.3 crashes on a subscript that lends a `MutableSpan` across modules.
  @inlinable
  @_lifetime(&self)
  public mutating func row(_ y: Int, plane index: Int) -> MutableSpan<UInt8> {
    let plane = unsafe target.planes[index]
    unsafe precondition(y >= 0 && y < plane.rows, "row out of range")
    let start = unsafe plane.base + y &* plane.stride
    let span = unsafe MutableSpan(_unsafeStart: start, count: plane.bytesPerRow)
    return unsafe _overrideLifetime(span, mutating: &self)
  }

  /// Row `y` of plane `index` as 16-bit little-endian samples, to be written.
  @inlinable
  @_lifetime(&self)
  public mutating func row16(_ y: Int, plane index: Int) -> MutableSpan<UInt16> {
    let plane = unsafe target.planes[index]
    unsafe precondition(y >= 0 && y < plane.rows, "row out of range")
    let start = unsafe UnsafeMutableRawPointer(plane.base + y &* plane.stride)
    let words = unsafe start.assumingMemoryBound(to: UInt16.self)
    let span = unsafe MutableSpan(_unsafeStart: words, count: plane.bytesPerRow / 2)
    return unsafe _overrideLifetime(span, mutating: &self)
  }
}
