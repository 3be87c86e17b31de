extension FrameView {
  /// Full-range 8-bit luma at `scale`; `format.lumaSize(scale)` gives its size.
  @_lifetime(borrow self)
  public func luma(_ scale: LumaScale = .full) -> Plane {
    guard parts.contains(.luma(scale)) else { undeclared("luma(.\(scale))") }
    let plane = unsafe storage.pointee.versions[version].luma[Int(scale.rawValue)]
    return unsafe Plane(plane, borrowing: self)
  }

  /// The planar picture, in `format.image`.
  public var image: ImageView {
    @_lifetime(borrow self)
    get {
      guard parts.contains(.image), let planar = format.image else { undeclared("image") }
      return unsafe ImageView(
        storage.pointee.versions[version].image, format: planar, borrowing: self)
    }
  }

  /// The planar picture, in `format.image`, reduced by `imageScale`, which is `scale` or less: a JPEG's own
  /// transform makes it, where nobody reads more of the frame. A sample stands for a square of
  /// `imageScale.divisor` samples from the top left on; `format.lumaSize(imageScale)` is the size of luma.
  @_lifetime(borrow self)
  public func reducedImage(_ scale: LumaScale) -> ImageView {
    guard parts.contains(.reducedImage(scale)), let planar = format.image else {
      undeclared("reducedImage(.\(scale))")
    }
    return unsafe ImageView(
      storage.pointee.versions[version].image, format: planar, borrowing: self)
  }

  /// The source's own bytes.
  public var encoded: Span<UInt8> {
    @_lifetime(borrow self)
    get {
      guard parts.contains(.encoded) else { undeclared("encoded") }
      let start = unsafe UnsafePointer(storage.pointee.source.planes[0].base)
      let span = unsafe Span(_unsafeStart: start, count: storage.pointee.records[lane].byteCount)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// The camera's own packet of H.264 or HEVC, with start codes; empty if the source has none.
  public var packet: Span<UInt8> {
    @_lifetime(borrow self)
    get {
      guard parts.contains(.packet) else { undeclared("packet") }
      guard unsafe storage.pointee.packetCount > 0, let memory = unsafe storage.pointee.sourceMemory
      else {
        return Span()
      }
      let start = unsafe UnsafePointer(memory.assumingMemoryBound(to: UInt8.self))
      let span = unsafe Span(_unsafeStart: start, count: storage.pointee.packetCount)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// Plane `index` of the frame as the source delivered it, in the source's pixel format; the one
  /// plane of an encoded frame is one row. Needs `.encoded`. A frame of which nothing arrived has no
  /// rows.
  @_lifetime(borrow self)
  public func sourcePlane(_ index: Int) -> Plane {
    guard parts.contains(.encoded) else { undeclared("encoded") }
    contract(
      index >= 0 && index < format.pixelFormat.planeCount,
      "asks for plane \(index) of \(format.pixelFormat.fourcc); its planes are 0 to "
        + "\(format.pixelFormat.planeCount - 1)")
    let plane = unsafe storage.pointee.source.planes[index]
    return unsafe Plane(plane, borrowing: self)
  }

  /// Where the planes of `sourcePlane` lie in memory that other devices can use; none where the source
  /// exports no memory, or the frame was copied. The memory has this frame until the view ends: then the
  /// source may overwrite it.
  public var exportedPlanes: ExportedPlanes {
    guard parts.contains(.encoded) else { undeclared("encoded") }
    return unsafe storage.pointee.exported
  }

  /// The picture to be written, for a stage that declared `setup.writes`.
  @_lifetime(&self)
  public mutating func edit() -> ImageEditor {
    guard let written, let planar = writtenFormat.image else {
      contractBroken(
        "writes pixels, which it did not declare; add `try setup.writes(.inPlace)`, or `.nextImage`, to "
          + "configure")
    }
    let target = unsafe storage.pointee.versions[written].image
    guard let read = format.image else {
      let from = unsafe storage.pointee.source
      return unsafe ImageEditor(
        target: target, format: planar, from: from, fromFormat: format.pixelFormat, mutating: &self)
    }
    let from = unsafe isInPlace ? nil : storage.pointee.versions[version].image
    return unsafe ImageEditor(
      target: target, format: planar, from: from, fromFormat: read, mutating: &self)
  }

  /// Where the points of the picture that is read lie in the sensor's picture. The lens is `format.lens`.
  public var sensorMap: SensorMap {
    unsafe storage.pointee.versions[version].sensorMap
  }

  /// Where the point (`x`, `y`) of the picture that is read lies in the sensor's picture. In pixels; whole
  /// numbers are the middles of pixels.
  public func sensorPoint(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    sensorMap.sensorPoint(x, y, through: format.lens)
  }

  /// Where the points of the picture that is written lie in the sensor's picture. A stage that moves pixels
  /// sets it for each frame, by `sensorMap.followed(by:)`; else it is that of the picture that is read.
  public mutating func setSensorMap(_ map: SensorMap) {
    guard let written else {
      contractBroken(
        "moves pixels, and writes none; add `try setup.writes(.nextImage)` to configure")
    }
    unsafe storage.pointee.versions[written].sensorMap = map
  }

  /// How many intact earlier frames lie within the declared history.
  public var earlierCount: Int { unsafe neighbours.earlier }
  /// How many intact later frames lie within the declared look-ahead.
  public var laterCount: Int { unsafe neighbours.later }

  /// The nearest intact earlier frame but `index`: 0 is the one just before this. `nil` where there are
  /// not so many: at the start, and where frames were damaged or dropped.
  ///
  /// The greatest index is one less than the history that was declared; another stops the program, for it
  /// would always be `nil`.
  ///
  ///     setup.readsHistory(2)                           // in configure
  ///
  ///     if let before = frame.earlier(0) { ... }        // in process: the frame just before
  ///     if let beforeThat = frame.earlier(1) { ... }    // the one before that
  @_lifetime(borrow self)
  public func earlier(_ index: Int = 0) -> NeighbourFrame? {
    contract(
      index >= 0 && index < history,
      "asks for earlier(\(index)), having declared a history of \(history); earlier(0) is the frame just "
        + "before: declare `setup.readsHistory(\(max(index, 0) + 1))`, or count from 0")
    guard index < earlierCount, let frames = unsafe neighbours.frames else { return nil }
    return unsafe NeighbourFrame(frames[index], of: self)
  }

  /// The nearest intact later frame but `index`: 0 is the one just after this. `nil` where there are not so
  /// many; an index beyond the declared look-ahead stops the program, as with `earlier`.
  @_lifetime(borrow self)
  public func later(_ index: Int = 0) -> NeighbourFrame? {
    contract(
      index >= 0 && index < lookahead,
      "asks for later(\(index)), having declared a look-ahead of \(lookahead); later(0) is the frame just "
        + "after: declare `setup.readsAhead(\(max(index, 0) + 1))`, or count from 0")
    guard index < laterCount, let frames = unsafe neighbours.frames else { return nil }
    return unsafe NeighbourFrame(frames[neighbours.earlier + index], of: self)
  }
}

extension NeighbourFrame {
  /// As `FrameView.luma`.
  @_lifetime(copy self)
  public func luma(_ scale: LumaScale = .full) -> Plane {
    guard parts.contains(.luma(scale)) else { undeclared("luma(.\(scale))") }
    let plane = unsafe storage.pointee.versions[version].luma[Int(scale.rawValue)]
    let view = unsafe Plane(plane, borrowing: self)
    return unsafe _overrideLifetime(view, copying: self)
  }

  /// As `FrameView.image`.
  public var image: ImageView {
    @_lifetime(copy self)
    get {
      guard parts.contains(.image), let planar = format.image else { undeclared("image") }
      let view = unsafe ImageView(
        storage.pointee.versions[version].image, format: planar, borrowing: self)
      return unsafe _overrideLifetime(view, copying: self)
    }
  }
}

private func undeclared(_ part: String) -> Never {
  contractBroken(
    "reads .\(part), which it did not declare; add `try setup.reads(.\(part))` to configure")
}
