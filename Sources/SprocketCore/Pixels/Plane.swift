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
      if y < 0 || y >= rows { wrongRow(y, of: rows) }
      let span = unsafe Span(_unsafeStart: base + y &* stride, count: bytesPerRow)
      return unsafe _overrideLifetime(span, copying: self)
    }
  }

  /// Row `y` of 16-bit little-endian samples.
  @inlinable
  public subscript(row16 y: Int) -> Span<UInt16> {
    @_lifetime(copy self)
    get {
      if y < 0 || y >= rows { wrongRow(y, of: rows) }
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
    contract(
      stride >= bytesPerRow,
      "hands rows that lie upside down to a library; copy them into memory of your own")
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

/// The planes of a picture, luma first; or of a mosaic, one.
@safe
public struct ImageView: ~Escapable {
  @usableFromInline let storage: ImageStorage
  /// How its planes are laid out.
  public let format: PixelFormat

  @_lifetime(borrow owner)
  init<Owner: ~Copyable & ~Escapable>(
    _ storage: ImageStorage, format: PixelFormat, borrowing owner: borrowing Owner
  ) {
    unsafe self.storage = storage
    self.format = format
  }

  /// 1 to 3.
  public var planeCount: Int { format.planeCount }

  /// A plane; 0 is luma. Another index than those below `planeCount` stops the program.
  public subscript(plane index: Int) -> Plane {
    @_lifetime(copy self)
    get {
      if index < 0 || index >= format.planeCount { wrongPlane(index, of: format.planeCount) }
      let plane = unsafe Plane(storage.planes[index], borrowing: self)
      return unsafe _overrideLifetime(plane, copying: self)
    }
  }
}

/// The picture that a writing stage fills in, and the one that it is made from.
///
/// It has the size of the format that `Stage.configure` returned: for `.inPlace` that of the frames as they
/// came. A plane may be smaller: `rows(plane:)` says how many rows it has, and the `count` of a row how many
/// samples. Of I420, chroma has half of both, rounded up.
///
///     var picture = frame.edit()
///     for plane in 0..<picture.planeCount {
///       for y in 0..<picture.rows(plane: plane) {
///         var row = picture.row(y, plane: plane)
///         for x in 0..<row.count { row[x] = 255 - row[x] }
///       }
///     }
///
/// For `.nextImage` every byte has to be written: it holds an older frame.
@safe
public struct ImageEditor: ~Copyable, ~Escapable {
  @usableFromInline let target: ImageStorage
  let from: ImageStorage?
  let fromFormat: PixelFormat
  /// Pixel format of the picture that is written: `image` of the format that `configure` returned.
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

  /// A picture of `new` that lies in `bytes`, its planes one behind the other without padding, to be made of
  /// `image`.
  @_lifetime(&bytes)
  package init(
    of image: borrowing ImageView, into bytes: inout MutableSpan<UInt8>, _ new: FrameFormat
  ) {
    let format = new.image ?? image.format
    let count = format.byteCount(width: new.width, height: new.height)
    var target = unsafe ImageStorage()
    // Traps where they are too few.
    _ = bytes.span.extracting(0..<count)
    unsafe bytes.withUnsafeMutableBufferPointer { memory in
      var place = 0
      for plane in 0..<format.planeCount {
        let size = format.planeSize(plane, width: new.width, height: new.height)
        unsafe target.planes[plane] = unsafe PlaneStorage(
          base: memory.baseAddress.unsafelyUnwrapped + place, stride: size.bytesPerRow,
          bytesPerRow: size.bytesPerRow, rows: size.rows)
        place += size.bytesPerRow * size.rows
      }
    }
    unsafe self.init(
      target: target, format: format, from: image.storage, fromFormat: image.format,
      mutating: &bytes)
  }

  /// 1 to 3: luma, then chroma.
  public var planeCount: Int { format.planeCount }

  /// Number of rows of a plane; of plane 0, the picture's height.
  public func rows(plane index: Int) -> Int {
    if index < 0 || index >= format.planeCount { wrongPlane(index, of: format.planeCount) }
    return unsafe target.planes[index].rows
  }

  /// The picture before this stage, for a stage that declared `.nextImage`; for one that declared
  /// `.firstImage`, what the source delivered, in its pixel format.
  /// Stops the program in one that declared `.inPlace`: its source is the picture that it edits.
  public var source: ImageView {
    @_lifetime(copy self)
    get {
      guard let from = unsafe from else {
        contractBroken(
          "asks for the picture before it, and writes in place; declare `setup.writes(.nextImage)`")
      }
      let view = unsafe ImageView(from, format: fromFormat, borrowing: self)
      return unsafe _overrideLifetime(view, copying: self)
    }
  }

  /// The plane, which has that row. A plane that the format does not have has none.
  @inlinable
  func plane(_ index: Int, row y: Int) -> PlaneStorage {
    if index < 0 || index >= 3 { wrongPlane(index, of: format.planeCount) }
    let plane = unsafe target.planes[unchecked: index]
    if unsafe y < 0 || y >= plane.rows { wrongRow(y, of: unsafe plane.rows, plane: index) }
    return unsafe plane
  }

  /// Row `y` of plane `index`, to be written: 8-bit samples without padding, so that the `count` of plane 0
  /// is the picture's width.
  ///
  /// Methods, because Swift 6.3 crashes on a subscript that lends a `MutableSpan` across modules.
  @inlinable
  @_lifetime(&self)
  public mutating func row(_ y: Int, plane index: Int) -> MutableSpan<UInt8> {
    let plane = unsafe plane(index, row: y)
    let start = unsafe plane.base + y &* plane.stride
    let span = unsafe MutableSpan(_unsafeStart: start, count: plane.bytesPerRow)
    return unsafe _overrideLifetime(span, mutating: &self)
  }

  /// Row `y` of plane `index` as 16-bit little-endian samples, to be written.
  @inlinable
  @_lifetime(&self)
  public mutating func row16(_ y: Int, plane index: Int) -> MutableSpan<UInt16> {
    let plane = unsafe plane(index, row: y)
    let start = unsafe UnsafeMutableRawPointer(plane.base + y &* plane.stride)
    let words = unsafe start.assumingMemoryBound(to: UInt16.self)
    let span = unsafe MutableSpan(_unsafeStart: words, count: plane.bytesPerRow / 2)
    return unsafe _overrideLifetime(span, mutating: &self)
  }
}

@usableFromInline @inline(never)
func wrongRow(_ y: Int, of rows: Int, plane: Int? = nil) -> Never {
  let place = plane.map { " of plane \($0)" } ?? " of a plane"
  contractBroken(
    "asks for row \(y)\(place), which has \(rows); the first is 0, count to `rows`")
}

@usableFromInline @inline(never)
func wrongPlane(_ index: Int, of count: Int) -> Never {
  contractBroken(
    "asks for plane \(index) of a picture, which has \(count); the first is 0, count to `planeCount`"
  )
}
