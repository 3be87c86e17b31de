#if Page
  internal import NIOCore
  internal import NIOHTTP1
  internal import NIOWebSocket
  internal import Sprocket

  /// One connection of a browser or a program: its requests in turn.
  ///
  /// Unchecked: used on the server's event loop alone.
  final class PageConnection: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let guarded: PageGuard
    private let hub: PageHub
    private let channel: any Channel
    private var asked = PageGuard.Asked()
    private var body: [UInt8] = []
    private var isTooLong = false
    private var isKept = true
    private var watcher: (any PageWatcher)?
    /// Requests in the second that began then.
    private var second: (begin: NIODeadline, count: Int) = (.now(), 0)
    private var timeout: Scheduled<Void>?

    init(_ guarded: PageGuard, _ hub: PageHub, _ channel: any Channel) {
      (self.guarded, self.hub, self.channel) = (guarded, hub, channel)
    }

    /// Builds the pipeline of a connection. Throws if there are too many.
    static func add(to channel: any Channel, _ guarded: PageGuard, _ hub: PageHub) throws {
      guard hub.enter() else { throw ChannelError.connectTimeout(.zero) }
      channel.closeFuture.whenComplete { _ in hub.leave() }
      let connection = PageConnection(guarded, hub, channel)
      let upgrader = NIOWebSocketServerUpgrader(
        maxFrameSize: PageLimits.body,
        shouldUpgrade: { channel, head in
          let asked = PageGuard.Asked(head)
          // A page has an origin: a browser sends it with each of these.
          let isOwn = asked.path == "/socket" && !asked.origins.isEmpty
          let isAllowed = isOwn && ((try? guarded.check(asked)) != nil)
          return channel.eventLoop.makeSucceededFuture(isAllowed ? HTTPHeaders() : nil)
        },
        upgradePipelineHandler: { channel, _ in
          channel.eventLoop.makeCompletedFuture {
            connection.stopTimer()
            try channel.pipeline.syncOperations.addHandler(PageSocket(hub, channel))
          }
        })
      try channel.pipeline.syncOperations.configureHTTPServerPipeline(
        withPipeliningAssistance: true,
        withServerUpgrade: (
          upgraders: [upgrader],
          completionHandler: { context in
            context.pipeline.syncOperations.removeHandler(connection, promise: nil)
          }
        ), withErrorHandling: true)
      try channel.pipeline.syncOperations.addHandler(connection)
      // Pictures leave late rather than old.
      if channel.remoteAddress?.port != nil, let channel = channel as? any SocketOptionProvider {
        _ = channel.unsafeSetSocketOption(
          level: .tcp, name: Self.unsentLimit, value: PageLimits.unsentBytes)
      }
    }

    /// `TCP_NOTSENT_LOWAT` of Linux.
    private static let unsentLimit = NIOBSDSocket.Option(rawValue: 25)

    func handlerAdded(context: ChannelHandlerContext) { startTimer() }

    func channelInactive(context: ChannelHandlerContext) {
      stopTimer()
      if let watcher { hub.remove(watcher) }
      watcher = nil
      context.fireChannelInactive()
    }

    /// Ends a connection on which no whole request comes in time.
    private func startTimer(_ seconds: Int64 = PageLimits.idleSeconds) {
      timeout?.cancel()
      let channel = channel
      timeout = channel.eventLoop.scheduleTask(in: .seconds(seconds)) {
        channel.close(promise: nil)
      }
    }

    private func stopTimer() {
      timeout?.cancel()
      timeout = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        asked = PageGuard.Asked(head)
        isKept = head.isKeepAlive
        (body, isTooLong) = ([], false)
      case .body(let bytes):
        isTooLong = isTooLong || body.count + bytes.readableBytes > PageLimits.body
        if !isTooLong { body += bytes.readableBytesView }
      case .end:
        stopTimer()
        answer()
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    // MARK: Answers

    private func answer() {
      let now = NIODeadline.now()
      if now - second.begin > .seconds(1) { second = (now, 0) }
      second.count += 1
      do throws(PageGuard.Refusal) {
        guard second.count <= PageLimits.requestsPerSecond else {
          isKept = false
          throw .init(status: 429, sentence: "too many requests; ask again in a second")
        }
        guard !isTooLong else {
          throw .init(
            status: 413, sentence: "a request has at most \(PageLimits.body) bytes")
        }
        if guarded.isLink(asked) { return try welcome() }
        try guarded.check(asked)
        try route()
      } catch {
        send(error.status, "text/plain; charset=utf-8", error.sentence + "\n")
      }
    }

    private func route() throws(PageGuard.Refusal) {
      let action = asked.query.split(separator: "&").first { $0.hasPrefix("action=") }
        .map { $0.dropFirst(7) }
      switch (asked.path, action) {
      case ("/stream.mjpg", _), ("/stream", _), ("/", "stream"):
        watch(PageStream(channel, hub))
      case ("/snapshot.jpg", _), ("/snapshot", _), ("/", "snapshot"):
        watch(PageSnapshot(hub) { [weak self] in self?.send(snapshot: $0) })
      case ("/events", _): watch(PageEvents(channel, hub))
      case ("/state.json", _): send(200, "application/json", hub.run.status())
      case ("/controls.json", _): send(200, "application/json", hub.run.controls())
      case ("/metrics", _):
        send(200, "text/plain; version=0.0.4; charset=utf-8", hub.run.metrics())
      case ("/ask", _):
        let channel = channel
        hub.run.answer(body) { [self] text in
          channel.eventLoop.execute { self.send(200, "application/json", text) }
        }
      case ("/point", _): try sendPoint()
      case (let path, _):
        guard let file = PageFile.all[path] else {
          throw .init(status: 404, sentence: "there is no \(path) here")
        }
        send(200, file.type, file.text)
      }
    }

    /// Gives the browser the token as a cookie that no script can read, and takes it off the address.
    private func welcome() throws(PageGuard.Refusal) {
      var own = asked
      own.cookies = []
      own.authorizations = ["Bearer \(tokenInLink)"]
      try guarded.check(own)
      send(
        303, "text/plain; charset=utf-8", "",
        [
          ("Location", "/"),
          (
            "Set-Cookie",
            "\(guarded.cookieName)=\(tokenInLink); Path=/; HttpOnly; SameSite=Strict"
          ),
        ])
    }

    private var tokenInLink: String {
      asked.query.split(separator: "&").first { $0.hasPrefix("token=") }
        .map { String($0.dropFirst(6)) } ?? ""
    }

    /// Which point of the sensor the page shows at a point.
    private func sendPoint() throws(PageGuard.Refusal) {
      let wanted = "give {\"x\":0.5,\"y\":0.5}, fractions of the picture, while it is shown"
      guard let values = PagePoint(json: body),
        let point = hub.newest?.picture.sensorPoint(x: values.x, y: values.y)
      else { throw .init(status: 400, sentence: wanted) }
      send(200, "application/json", "{\"x\":\(point.x),\"y\":\(point.y)}\n")
    }

    private func watch(_ watcher: any PageWatcher) {
      guard asked.method == "GET" else { return send(200, "text/plain; charset=utf-8", "") }
      self.watcher = watcher
      hub.add(watcher)
      (watcher as? any PageStreaming)?.begin()
    }

    private func send(snapshot shown: PageShown?) {
      if let watcher { hub.remove(watcher) }
      watcher = nil
      guard let (picture, bytes) = shown else {
        return send(503, "text/plain; charset=utf-8", "no frame came in time; look at the camera\n")
      }
      send(
        200, "image/jpeg", bytes,
        [
          ("X-Frame", "\(picture.record.number)"),
          ("X-Captured-Ns", "\(picture.record.captured.nanoseconds)"),
        ])
    }

    private func send(
      _ status: Int, _ type: String, _ text: String, _ more: [(String, String)] = []
    ) {
      send(status, type, ByteBuffer(string: text), more)
    }

    private func send(
      _ status: Int, _ type: String, _ bytes: ByteBuffer, _ more: [(String, String)]
    ) {
      var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status))
      head.headers = PageHeaders.all(type)
      for (name, value) in more { head.headers.add(name: name, value: value) }
      head.headers.add(name: "Content-Length", value: "\(bytes.readableBytes)")
      if !isKept { head.headers.add(name: "Connection", value: "close") }
      channel.write(HTTPServerResponsePart.head(head), promise: nil)
      if asked.method != "HEAD" {
        channel.write(HTTPServerResponsePart.body(.byteBuffer(bytes)), promise: nil)
      }
      let (isKept, channel) = (isKept, channel)
      startTimer(PageLimits.stallSeconds)
      channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { [weak self] _ in
        if isKept { self?.startTimer() } else { channel.close(promise: nil) }
      }
    }
  }

  extension PageGuard.Asked {
    init(_ head: HTTPRequestHead) {
      method = head.method.rawValue
      let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      (path, query) = (String(parts[0]), parts.count == 2 ? String(parts[1]) : "")
      hosts = head.headers["Host"]
      origins = head.headers["Origin"]
      sites = head.headers["Sec-Fetch-Site"]
      contentTypes = head.headers["Content-Type"]
      cookies = head.headers["Cookie"]
      authorizations = head.headers["Authorization"]
    }
  }

  /// Headers that every answer has.
  enum PageHeaders {
    static func all(_ type: String) -> HTTPHeaders {
      [
        "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Content-Security-Policy":
          "default-src 'none'; img-src 'self' blob:; script-src 'self'; style-src 'self'; "
          + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      ]
    }
  }
#endif
