public import Sprocket

/// How a picture fills a view.
public enum VideoGravity: Sendable, Hashable {
  /// The whole picture, with bars where the view has another shape.
  case aspectFit
  /// The whole view, with parts of the picture cut off.
  case aspectFill
  /// The whole picture in the whole view, stretched.
  case resize
}

/// Where a picture lies in a view, and which point of one is which of the other. Pure.
///
/// Points of the device are fractions of the sensor's picture, 0/0 top left and 1/1 bottom right. Points of
/// the view are in its own units, from its top left. In a view of no size, or of one that is no number, there
/// is no picture and no point.
public struct PreviewGeometry: Sendable, Hashable {
  public var viewWidth: Double
  public var viewHeight: Double
  /// Of the picture as the device gives it.
  public var pictureWidth: Double
  public var pictureHeight: Double
  public var gravity: VideoGravity
  /// What is done to the picture before it is shown.
  public var orientation: Orientation

  public init(
    view: (width: Double, height: Double), picture: (width: Double, height: Double),
    gravity: VideoGravity = .aspectFit, orientation: Orientation = .upright
  ) {
    (viewWidth, viewHeight) = view
    (pictureWidth, pictureHeight) = picture
    (self.gravity, self.orientation) = (gravity, orientation)
  }

  private var isOnItsSide: Bool { orientation.rawValue >= Orientation.transposed.rawValue }

  /// Where the picture lies, as shown; it reaches beyond the view with `.aspectFill`. All 0 where the view
  /// has no size. Before the first frame the picture has none, and the whole view is its place.
  public var pictureRect: (x: Double, y: Double, width: Double, height: Double) {
    let nowhere = (x: 0.0, y: 0.0, width: 0.0, height: 0.0)
    guard viewWidth > 0, viewHeight > 0, viewWidth.isFinite, viewHeight.isFinite else {
      return nowhere
    }
    let width = isOnItsSide ? pictureHeight : pictureWidth
    let height = isOnItsSide ? pictureWidth : pictureHeight
    guard gravity != .resize, width > 0, height > 0 else { return (0, 0, viewWidth, viewHeight) }
    let (across, down) = (viewWidth / width, viewHeight / height)
    let scale = gravity == .aspectFit ? min(across, down) : max(across, down)
    let (shownWidth, shownHeight) = (width * scale, height * scale)
    let rect = (
      x: (viewWidth - shownWidth) / 2, y: (viewHeight - shownHeight) / 2, width: shownWidth,
      height: shownHeight
    )
    return shownWidth.isFinite && shownHeight.isFinite ? rect : nowhere
  }

  /// The device's point that is shown at a point of the view; `nil` beside the picture, and where the view
  /// has no size.
  public func devicePoint(x: Double, y: Double) -> Point? {
    let rect = pictureRect
    guard rect.width > 0, rect.height > 0 else { return nil }
    let (u, v) = ((x - rect.x) / rect.width, (y - rect.y) / rect.height)
    guard 0...1 ~= u, 0...1 ~= v else { return nil }
    switch orientation {
    case .upright: return Point(x: u, y: v)
    case .mirrored: return Point(x: 1 - u, y: v)
    case .halfTurn: return Point(x: 1 - u, y: 1 - v)
    case .flipped: return Point(x: u, y: 1 - v)
    case .transposed: return Point(x: v, y: u)
    case .quarterTurn: return Point(x: v, y: 1 - u)
    case .transversed: return Point(x: 1 - v, y: 1 - u)
    case .threeQuarterTurn: return Point(x: 1 - v, y: u)
    }
  }

  /// Where a device's point is shown in the view; `nil` where the view has no size, and for a point that is
  /// no number. A point beyond the picture lies beyond its place in the view.
  public func viewPoint(_ point: Point) -> (x: Double, y: Double)? {
    let (x, y) = (point.x, point.y)
    let (u, v): (Double, Double) =
      switch orientation {
      case .upright: (x, y)
      case .mirrored: (1 - x, y)
      case .halfTurn: (1 - x, 1 - y)
      case .flipped: (x, 1 - y)
      case .transposed: (y, x)
      case .quarterTurn: (1 - y, x)
      case .transversed: (1 - y, 1 - x)
      case .threeQuarterTurn: (y, 1 - x)
      }
    let rect = pictureRect
    guard rect.width > 0, rect.height > 0 else { return nil }
    let shown = (x: rect.x + u * rect.width, y: rect.y + v * rect.height)
    return shown.x.isFinite && shown.y.isFinite ? shown : nil
  }
}

/// The newest frame for a view, whenever the view asks. Nobody waits for it.
public final class PreviewOutput: TakesVideo, SessionOutput {
  private struct State {
    var newest: FrameCopy?
    var geometry: PreviewGeometry
  }

  public let core = OutputCore("preview")
  let takes: Set<CaptureDevice.MediaType> = [.video]
  /// Where copies wait for a reader of every frame.
  private let copies: CopiedFrames<FrameCopy>
  private let hasReader: Bool
  private let state: Locked<State>

  /// `content` is what the view draws; it is copied for each frame.
  public convenience init(
    _ content: FrameCopy.Content = .nv12, view: (width: Double, height: Double) = (0, 0),
    gravity: VideoGravity = .aspectFit
  ) {
    self.init(CopiedFrames(content, .newest, nil), hasReader: false, view, gravity)
  }

  /// A preview whose frames are also read by `for await`, such as by an encoder beside the view: see
  /// ``VideoDataOutput/copies(of:keeping:onDrop:)`` for what waits, and what is told. With `.every(n)`
  /// `newestFrame` waits for the reader, too.
  public static func copies(
    of content: FrameCopy.Content = .nv12, view: (width: Double, height: Double) = (0, 0),
    gravity: VideoGravity = .aspectFit, keeping: FrameCopies.Keeping = .newest,
    onDrop: VideoDataOutput.DropHandler? = nil
  ) -> (output: PreviewOutput, frames: AsyncStream<FrameCopy>) {
    let copies = CopiedFrames<FrameCopy>(content, keeping, onDrop)
    return (PreviewOutput(copies, hasReader: true, view, gravity), copies.stream)
  }

  private init(
    _ copies: CopiedFrames<FrameCopy>, hasReader: Bool, _ view: (width: Double, height: Double),
    _ gravity: VideoGravity
  ) {
    (self.copies, self.hasReader) = (copies, hasReader)
    state = Locked(
      State(geometry: PreviewGeometry(view: view, picture: (0, 0), gravity: gravity)))
    core.state.withLock { state in
      // Points are converted by the link's orientation.
      state.turn = OrientationSetting()
      state.onRemove = { copies.end() }
    }
  }

  /// The newest frame; `nil` before the first.
  public var newestFrame: FrameCopy? { state.withLock(\.newest) }

  /// The view's size and gravity. The picture's size and orientation are the session's, and set by it.
  public var geometry: PreviewGeometry {
    get {
      var geometry = state.withLock(\.geometry)
      geometry.orientation = core.link.orientation
      return geometry
    }
    set { state.withLock { $0.geometry = newValue } }
  }

  /// The device's point that is shown at a point of the view; `nil` beside the picture, and where the view
  /// has no size. Of the newest frame: stages that crop, turn or steady the picture are counted in.
  public func devicePoint(x: Double, y: Double) -> Point? {
    guard let shown = geometry.devicePoint(x: x, y: y), let frame = newestFrame,
      let sensor = core.run?.engine?.description.format
    else { return geometry.devicePoint(x: x, y: y) }
    // Whole numbers are the middles of pixels.
    let (across, down) = frame.sensorPoint(
      shown.x * Double(frame.format.width) - 0.5, shown.y * Double(frame.format.height) - 0.5)
    guard across.isFinite, down.isFinite else { return nil }
    return Point(
      x: min(max((across + 0.5) / Double(sensor.width), 0), 1),
      y: min(max((down + 0.5) / Double(sensor.height), 0), 1))
  }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] {
    let sink = VideoDataSink(core, [], copies, takesLatest: copies.keeping == .newest)
    sink.onDrop = copies.onDrop
    sink.onFrame = { [weak self] frame, _ in self?.show(frame) }
    return [sink]
  }

  private func show(_ frame: borrowing PackedFrame) {
    let copy = FrameCopy(frame, copies.content)
    state.withLock { state in
      state.newest = copy
      state.geometry.pictureWidth = Double(copy.format.width)
      state.geometry.pictureHeight = Double(copy.format.height)
    }
    if hasReader { copies.add(copy) }
  }

  func didLeave() { state.withLock { $0.newest = nil } }
}
