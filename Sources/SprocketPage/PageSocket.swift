#if Page
  internal import NIOCore
  internal import NIOWebSocket
  internal import Sprocket

  /// The WebSocket of an open page: pictures one at a time, state and events.
  ///
  /// To the page: a binary message is a picture, that is the length of a line of reports (32 bits, most
  /// significant byte first), the line, and the JPEG; a text message is `{"status":...}` or `{"news":...}`.
  /// From the page: `show` and `hide`, as the page is seen or not, and `drawn`, with which it asks for the
  /// next picture.
  ///
  /// Unchecked: used on the server's event loop alone.
  final class PageSocket: ChannelInboundHandler, PageWatcher, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let hub: PageHub
    private let channel: any Channel
    private var isSeen = false
    /// A picture was not drawn yet, and one has not left yet: the first is the page's word.
    private var isDrawing = false
    private var isWriting = false
    /// A pong has not left yet.
    private var isPonging = false
    /// The client has answered to the latest ping.
    private var isThere = true
    /// Messages in the second that began then.
    private var second: (begin: NIODeadline, count: Int) = (.now(), 0)
    private var last: UInt64?
    private var stall = PageStall()

    init(_ hub: PageHub, _ channel: any Channel) { (self.hub, self.channel) = (hub, channel) }

    var wantsPictures: Bool { isSeen }
    var wantsNews: Bool { isSeen }

    func handlerAdded(context: ChannelHandlerContext) { hub.add(self) }

    func channelInactive(context: ChannelHandlerContext) {
      stall.end()
      hub.remove(self)
      context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let frame = unwrapInboundIn(data)
      let now = NIODeadline.now()
      if now - second.begin > .seconds(1) { second = (now, 0) }
      second.count += 1
      guard second.count <= PageLimits.messagesPerSecond else { return context.close(promise: nil) }
      isThere = true
      switch frame.opcode {
      case .text where frame.fin: take(String(buffer: frame.unmaskedData))
      case .ping where isPonging: break
      case .ping:
        isPonging = true
        let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
        channel.writeAndFlush(pong).whenComplete { [weak self] _ in self?.isPonging = false }
      case .pong: break
      case .connectionClose:
        send(.connectionClose, frame.unmaskedData)
        context.close(promise: nil)
      default: context.close(promise: nil)
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    private func take(_ word: String) {
      switch word {
      case "show":
        (isSeen, isDrawing, last) = (true, false, nil)
        hub.update()
        tell(status: hub.run.status())
        pictureCame()
      case "hide":
        isSeen = false
        hub.update()
      case "drawn":
        isDrawing = false
        pictureCame()
      default: channel.close(promise: nil)
      }
    }

    func pictureCame() {
      guard isSeen, !isDrawing, !isWriting, let (picture, bytes) = hub.newest,
        picture.record.number != last
      else { return }
      last = picture.record.number
      (isDrawing, isWriting) = (true, true)
      stall.begin(channel)
      var head = channel.allocator.buffer(capacity: picture.line.count + 4)
      head.writeInteger(UInt32(picture.line.count))
      head.writeBytes(picture.line)
      // Two fragments of one message: the JPEG is shared by all who watch.
      channel.write(WebSocketFrame(fin: false, opcode: .binary, data: head), promise: nil)
      let sent = channel.writeAndFlush(
        WebSocketFrame(fin: true, opcode: .continuation, data: bytes))
      sent.whenComplete { [weak self] result in
        guard let self else { return }
        isWriting = false
        stall.end()
        if case .success = result { pictureCame() }
      }
    }

    func beat() {
      guard isThere else { return channel.close(promise: nil) }
      isThere = false
      if channel.isWritable { send(.ping, ByteBuffer()) }
    }

    // A page that does not take its pictures gets no news either: they would queue up.
    func tell(event: String) {
      guard channel.isWritable else { return }
      send(.text, ByteBuffer(string: "{\"news\":\(event)}"))
    }

    func tell(status: String) {
      guard channel.isWritable else { return }
      send(.text, ByteBuffer(string: "{\"status\":\(status)}"))
    }

    private func send(_ opcode: WebSocketOpcode, _ bytes: ByteBuffer) {
      channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, data: bytes), promise: nil)
    }

    func end() {
      send(.text, ByteBuffer(string: "{\"end\":true}"))
      channel.close(promise: nil)
    }
  }
#endif
