package import SprocketCore
internal import SprocketFiles

/// A picture for who watches: a JPEG, and what is said of its frame.
///
/// Unchecked: the sink fills it while nobody else has it, and nobody changes it afterwards.
package final class PagePicture: @unchecked Sendable {
  package fileprivate(set) var jpeg: [UInt8] = []
  /// A line of `--reports`, without its end: what became of the frame, and the stages' reports.
  package fileprivate(set) var line: [UInt8] = []
  package fileprivate(set) var record = FrameRecord()
  fileprivate var map = SensorMap()
  fileprivate var lens: Lens?
  /// Of the picture at the chain's end, and of the sensor's.
  fileprivate var whole = (width: 0, height: 0)
  fileprivate var sensor = (width: 0, height: 0)

  fileprivate init() {}

  /// When light began to become this picture, nanoseconds on the monotonic clock; `nil` on another clock.
  /// Where the source does not say that its times are beginnings, an exposure earlier than `captured`.
  package var exposureBegin: Int64? {
    guard record.captured.clock == .monotonic else { return nil }
    let exposure = Double(record.inForce.exposureMicroseconds)
    guard record.capturePoint != .startOfExposure, exposure.isFinite else {
      return record.captured.nanoseconds
    }
    return record.captured.nanoseconds - Int64(nearest: exposure * 1000)
  }

  /// The sensor's point, in fractions of its picture, that the JPEG shows at a point, in fractions of the
  /// JPEG as it is stored. Stages that crop, turn or steady the picture are counted in. `nil` where there is
  /// none.
  package func sensorPoint(x: Double, y: Double) -> Point? {
    guard 0...1 ~= x, 0...1 ~= y, sensor.width > 0, sensor.height > 0 else { return nil }
    // Whole numbers are the middles of pixels.
    let (across, down) = map.sensorPoint(
      x * Double(whole.width) - 0.5, y * Double(whole.height) - 0.5, through: lens)
    guard across.isFinite, down.isFinite else { return nil }
    return Point(
      x: min(max((across + 0.5) / Double(sensor.width), 0), 1),
      y: min(max((down + 0.5) / Double(sensor.height), 0), 1))
  }
}

/// Where a run's newest picture is for who watches. Any thread may read it; nobody waits for another one.
package final class PageFeed: Sendable {
  private struct State {
    var newest: PagePicture?
    var onPicture: (@Sendable (PagePicture) -> Void)?
  }

  private let state = Locked(State())

  package init() {}

  /// The newest picture while somebody watches; `nil` before the first.
  package var newest: PagePicture? { state.withLock(\.newest) }

  /// Calls `body` for each picture from now on, on the sink's thread: it must not wait.
  package func onPicture(_ body: (@Sendable (PagePicture) -> Void)?) {
    state.withLock { $0.onPicture = body }
  }

  fileprivate func publish(_ picture: PagePicture) {
    let body = state.withLock { state in
      state.newest = picture
      return state.onPicture
    }
    body?(picture)
  }

  /// Forgets the newest picture: nobody watches any more.
  fileprivate func clear() { state.withLock { $0.newest = nil } }
}

/// Pictures that are filled and handed out, and used again once nobody has them: so that none is allocated
/// per frame.
struct PagePictures {
  /// Pictures at most that wait to be used again. Larger: more watchers may still hold older pictures without
  /// an allocation; each takes as much memory as the largest JPEG so far.
  private static let most = 4
  private var pool: [PagePicture] = []
  private let feed: PageFeed
  private let format: FrameFormat
  private let sensor: (width: Int, height: Int)

  init(_ feed: PageFeed, _ format: FrameFormat, of source: SourceDescription) {
    (self.feed, self.format) = (feed, format)
    sensor = (source.format.width, source.format.height)
  }

  /// Publishes a frame. `size` is the JPEG's own.
  mutating func publish(
    _ frame: borrowing PackedFrame, _ jpeg: Span<UInt8>,
    _ line: borrowing ReportLine, _ text: inout TextBuffer
  ) throws(RunError) {
    let place = unused()
    let picture = pool[place]
    picture.jpeg.removeAll(keepingCapacity: true)
    picture.jpeg.append(all: jpeg)
    text.removeAll()
    try text.append(frame.record.sequence, frame.record.epoch, .delivered, frame.record, line)
    try text.append(frame.view, line)
    try text.append("}")
    picture.line.removeAll(keepingCapacity: true)
    text.withBytes { picture.line.append(all: $0) }
    picture.record = frame.record
    (picture.map, picture.lens) = (frame.view.sensorMap, format.lens)
    (picture.whole, picture.sensor) = ((format.width, format.height), sensor)
    feed.publish(picture)
  }

  func clear() { feed.clear() }

  /// The place of a picture that nobody else has.
  private mutating func unused() -> Int {
    for place in pool.indices where isKnownUniquelyReferenced(&pool[place]) { return place }
    if pool.count == Self.most { pool.removeFirst() }
    pool.append(PagePicture())
    return pool.count - 1
  }
}
