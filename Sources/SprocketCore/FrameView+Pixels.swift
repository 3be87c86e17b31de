extension FrameView {
  /// Full-range 8-bit luma at `scale`; `format.lumaSize(scale)` gives its size.
  @_lifetime(borrow self)
  public func luma(_ scale: LumaScale = .full) -> Plane {
    precondition(
      parts.contains(.luma(scale)),
      "declare setup.reads(.luma(.\(scale))) in configure before reading it")
    let plane = unsafe storage.pointee.versions[version].luma[Int(scale.rawValue)]
    return unsafe Plane(plane, borrowing: self)
  }

  /// The planar picture, in `format.image`.
  public var image: ImageView {
    @_lifetime(borrow self)
    get {
      precondition(
        parts.contains(.image), "declare setup.reads(.image) in configure before reading it")
      guard let planar = format.image else {
        preconditionFailure("\(format.pixelFormat.fourcc) has no planar picture")
      }
      return unsafe ImageView(
        storage.pointee.versions[version].image, format: planar, borrowing: self)
    }
  }

  /// The source's own bytes.
  public var encoded: Span<UInt8> {
    @_lifetime(borrow self)
    get {
      precondition(
        parts.contains(.encoded), "declare setup.reads(.encoded) in configure before reading it")
      let start = unsafe UnsafePointer(storage.pointee.source.planes[0].base)
      let span = unsafe Span(_unsafeStart: start, count: storage.pointee.records[lane].byteCount)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// Plane `index` of the frame as the source delivered it, in the source's pixel format; the one
  /// plane of an encoded frame is one row. Needs `.encoded`. A frame of which nothing arrived has no
  /// rows.
  @_lifetime(borrow self)
  public func sourcePlane(_ index: Int) -> Plane {
    precondition(
      parts.contains(.encoded), "declare setup.reads(.encoded) in configure before reading it")
    let plane = unsafe storage.pointee.source.planes[index]
    return unsafe Plane(plane, borrowing: self)
  }

  /// The picture to be written, for a stage that declared `setup.writes`.
  @_lifetime(&self)
  public mutating func edit() -> ImageEditor {
    guard let written, let planar = writtenFormat.image, let read = format.image else {
      preconditionFailure("declare setup.writes(...) in configure before writing pixels")
    }
    let target = unsafe storage.pointee.versions[written].image
    let from = unsafe isInPlace ? nil : storage.pointee.versions[version].image
    return unsafe ImageEditor(
      target: target, format: planar, from: from, fromFormat: read, mutating: &self)
  }

  /// How many intact earlier frames lie within the declared history.
  public var earlierCount: Int { unsafe neighbours.earlier }
  /// How many intact later frames lie within the declared look-ahead.
  public var laterCount: Int { unsafe neighbours.later }

  /// The nearest intact earlier frame but `index`, or `nil` if there are not so many.
  @_lifetime(borrow self)
  public func earlier(_ index: Int = 0) -> NeighbourFrame? {
    guard index < earlierCount, let frames = unsafe neighbours.frames else { return nil }
    return unsafe NeighbourFrame(frames[index], of: self)
  }

  /// The nearest intact later frame but `index`, or `nil` if there are not so many.
  @_lifetime(borrow self)
  public func later(_ index: Int = 0) -> NeighbourFrame? {
    guard index < laterCount, let frames = unsafe neighbours.frames else { return nil }
    return unsafe NeighbourFrame(frames[neighbours.earlier + index], of: self)
  }
}

extension NeighbourFrame {
  /// As `FrameView.luma`.
  @_lifetime(copy self)
  public func luma(_ scale: LumaScale = .full) -> Plane {
    precondition(
      parts.contains(.luma(scale)),
      "declare setup.reads(.luma(.\(scale))) in configure before reading it")
    let plane = unsafe storage.pointee.versions[version].luma[Int(scale.rawValue)]
    let view = unsafe Plane(plane, borrowing: self)
    return unsafe _overrideLifetime(view, copying: self)
  }

  /// As `FrameView.image`.
  public var image: ImageView {
    @_lifetime(copy self)
    get {
      guard parts.contains(.image), let planar = format.image else {
        preconditionFailure("declare setup.reads(.image) in configure before reading it")
      }
      let view = unsafe ImageView(
        storage.pointee.versions[version].image, format: planar, borrowing: self)
      return unsafe _overrideLifetime(view, copying: self)
    }
  }
}
