#if Page
  internal import NIOCore
  internal import NIOHTTP1
  internal import Sprocket

  /// A watcher that writes as long as its connection lasts.
  protocol PageStreaming: PageWatcher {
    /// Sends what comes before the first picture or event.
    func begin()
  }

  /// Motion JPEG as browsers and programs have read it since 1996: parts with a boundary between them.
  ///
  /// A browser draws a part only when it has read the beginning of the next one, so that is sent at once. It
  /// says nothing of the next picture, which is not known yet: parts have no length.
  ///
  /// Unchecked: used on the server's event loop alone.
  final class PageStream: PageStreaming, @unchecked Sendable {
    private static let boundary = "sprocketframe"
    private static let next = ByteBuffer(
      string: "\r\n--\(boundary)\r\nContent-Type: image/jpeg\r\n\r\n")
    private let channel: any Channel
    private let hub: PageHub
    private var isWriting = false
    private var last: UInt64?
    private var stall = PageStall()

    init(_ channel: any Channel, _ hub: PageHub) { (self.channel, self.hub) = (channel, hub) }

    var wantsPictures: Bool { true }

    func begin() {
      // HTTP/1.0, so that parts are not cut into chunks, which simple readers do not know.
      var head = HTTPResponseHead(version: .http1_0, status: .ok)
      head.headers = PageHeaders.all("multipart/x-mixed-replace; boundary=\(Self.boundary)")
      head.headers.add(name: "Connection", value: "close")
      channel.write(HTTPServerResponsePart.head(head), promise: nil)
      var first = Self.next
      // The first boundary begins the body.
      first.moveReaderIndex(forwardBy: 2)
      channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(first)), promise: nil)
      pictureCame()
    }

    func pictureCame() {
      guard !isWriting, let (picture, bytes) = hub.newest, picture.record.number != last else {
        return
      }
      last = picture.record.number
      isWriting = true
      stall.begin(channel)
      channel.write(HTTPServerResponsePart.body(.byteBuffer(bytes)), promise: nil)
      let sent = channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(Self.next)))
      sent.whenComplete { [weak self] result in
        guard let self else { return }
        isWriting = false
        stall.end()
        if case .success = result { pictureCame() }
      }
    }

    func end() { channel.close(promise: nil) }
  }

  /// One picture that was exposed at or after the asking.
  ///
  /// Unchecked: used on the server's event loop alone.
  final class PageSnapshot: PageWatcher, @unchecked Sendable {
    /// Seconds for a frame to come.
    private static let patience: Int64 = 5
    private let hub: PageHub
    private let asked = monotonicNow()
    /// The picture that was shown when it was asked for.
    private let before: UInt64?
    private var done: ((PageShown?) -> Void)?
    private var timeout: Scheduled<Void>?

    init(_ hub: PageHub, _ done: @escaping (PageShown?) -> Void) {
      (self.hub, self.done) = (hub, done)
      before = hub.newest?.picture.record.number
      timeout = hub.loop.scheduleTask(in: .seconds(Self.patience)) { [weak self] in
        self?.finish(nil)
      }
    }

    var wantsPictures: Bool { true }

    func pictureCame() {
      guard let shown = hub.newest, shown.picture.record.number != before else { return }
      // Other clocks are not comparable with that of the asking: the next picture is it.
      if let begin = shown.picture.exposureBegin, begin < asked { return }
      finish(shown)
    }

    private func finish(_ shown: PageShown?) {
      timeout?.cancel()
      let done = done
      self.done = nil
      done?(shown)
    }

    func end() { finish(nil) }
  }

  /// Lines of reports and events, as Server-Sent Events.
  ///
  /// Unchecked: used on the server's event loop alone.
  final class PageEvents: PageStreaming, @unchecked Sendable {
    private let channel: any Channel
    private let hub: PageHub
    /// Bytes under way to the client. Those of a slow one are left out, and it is told.
    private var unsent = 0
    private var stall = PageStall()
    private var left = 0
    private var last: UInt64?
    /// Bytes under way beyond which lines are left out.
    private static let mostUnsent = 1 << 18

    init(_ channel: any Channel, _ hub: PageHub) { (self.channel, self.hub) = (channel, hub) }

    var wantsPictures: Bool { true }
    var wantsNews: Bool { true }

    func begin() {
      var head = HTTPResponseHead(version: .http1_0, status: .ok)
      head.headers = PageHeaders.all("text/event-stream; charset=utf-8")
      head.headers.add(name: "Connection", value: "close")
      channel.writeAndFlush(HTTPServerResponsePart.head(head), promise: nil)
    }

    func pictureCame() {
      guard let picture = hub.newest?.picture, picture.record.number != last else { return }
      last = picture.record.number
      send("report", String(decoding: picture.line, as: UTF8.self))
    }

    func tell(event: String) { send("event", event) }

    private func send(_ kind: String, _ line: String) {
      guard unsent < Self.mostUnsent else {
        left += 1
        return
      }
      var text = ""
      if left > 0 { text = "event: left\ndata: \(left)\n\n" }
      left = 0
      text += "event: \(kind)\ndata: \(line.filter { !$0.isNewline })\n\n"
      let bytes = ByteBuffer(string: text)
      unsent += bytes.readableBytes
      // Lines follow each other: the time of one that waits goes on.
      if !stall.isRunning { stall.begin(channel) }
      channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(bytes))).whenComplete {
        [weak self] _ in
        guard let self else { return }
        unsent -= bytes.readableBytes
        stall.end()
      }
    }

    func end() { channel.close(promise: nil) }
  }
#endif
