internal import SprocketCodecs
internal import SprocketCore
internal import SprocketLibAV

// Files with several frames or pages.

extension PictureSource {
  /// Whether a page is of a kind that is not decoded, which is then told.
  func refuses(_ page: PictureFile.Page) -> Bool {
    guard let kind = page.unread else { return false }
    note("\(path) is \(kind), which is not read; save it in strips, or as PNG.")
    return true
  }

  /// The next frame or page of a file that was begun; `nil` where it has no more.
  func readMore() throws(MediaError) -> Held? {
    if let page = pages.popFirst() { return try show(page) }
    guard Self.films.contains(reader?.info.codecName ?? "") else {
      leaveFile()
      return nil
    }
    switch try reader!.nextFrame() {
    case .frame(let frame): return hold(frame)
    case .corrupt:
      note("a frame of \(path) cannot be decoded; save it anew.")
      return Held(isCorrupt: true)
    case .end:
      leaveFile()
      return nil
    }
  }

  /// Decodes a page from the packet that `reader` kept.
  func show(_ page: PictureFile.Page) throws(MediaError) -> Held {
    guard !refuses(page) else { return Held(isCorrupt: true) }
    let found = try reader!.decodeAgain { PictureFile.show(page, in: &$0) }
    guard case .frame(let frame) = consume found else {
      note("a page of \(path) cannot be decoded; save it anew.")
      return Held(isCorrupt: true)
    }
    orientation = page.orientation
    return hold(frame)
  }

  func leaveFile() {
    reader = nil
    pages = []
  }

  /// Keeps a frame as the one that is held.
  func hold(_ frame: consuming DecodedFrame) -> Held {
    let isCorrupt = frame.isCorrupt
    if isCorrupt { note("\(path) is damaged: its picture is not whole; copy it anew.") }
    var presentation = Presentation(orientation: orientation)
    presentation.pixelAspect = PixelAspect(reader?.info.display.pixelAspect)
    var color = frame.color
    if isFullRange, color.range == .unspecified { color.range = .full }
    hasTransparency = hasTransparency || reader?.hasTransparency ?? false
    let format = FrameFormat(
      pixelFormat: frame.format, width: frame.width, height: frame.height,
      color: Color(color, frame.format), rate: rate, presentation: presentation)
    picture = consume frame
    return Held(isCorrupt: isCorrupt, format: format)
  }
}
