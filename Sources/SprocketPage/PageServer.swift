#if Page
  internal import NIOCore
  internal import NIOHTTP1
  internal import NIOPosix
  internal import NIOWebSocket
  package import Sprocket

  /// Where clients connect.
  private final class Listening: Sendable {
    let channel = Locked<(any Channel)?>(nil)
  }

  /// Serves the page of one run, on a thread of its own.
  package final class PageServer: Sendable {
    private let address: PageAddress
    private let guarded: PageGuard
    private let token: String?
    private let group: MultiThreadedEventLoopGroup
    private let hub: PageHub
    private let listening = Listening()

    /// `token`: what browsers of other machines show; `nil` where the address is this machine's alone.
    package init(
      _ settings: PageSettings, token: String?, _ feed: PageFeed, _ run: any PageRun
    ) {
      (address, self.token) = (settings.address, token)
      guarded = PageGuard(settings.address, settings.hosts, token: token.map { Array($0.utf8) })
      group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      hub = PageHub(group.next(), feed, run)
    }

    /// Begins to serve. Returns the link by which a browser finds the page, with the token where it may be
    /// shown: not in a log.
    package func start(showsToken: Bool) throws(RunError) -> String {
      let (guarded, hub) = (guarded, hub)
      let bootstrap = ServerBootstrap(group: group)
        .serverChannelOption(.backlog, value: 64)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(.socketOption(.so_keepalive), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try PageConnection.add(to: channel, guarded.at(port: channel.localAddress?.port), hub)
          }
        }
      do {
        let made: any Channel
        switch address {
        case .tcp(let host, let port):
          made = try bootstrap.bind(host: host, port: Int(port)).wait()
        case .unix(let path):
          // A run that was killed leaves its socket behind: it is replaced if nobody answers there.
          let other = ClientBootstrap(group: group).connect(unixDomainSocketPath: path)
          guard (try? other.wait()) == nil else { throw ChannelError.alreadyClosed }
          made = try bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true)
            .wait()
        }
        listening.channel.withLock { $0 = made }
        hub.start()
        return link(made.localAddress?.port, showsToken ? token : nil)
      } catch {
        throw RunError(
          .failed,
          "the page cannot be served at \(address.settingText) (\(error)); choose another address, such as "
            + "--page 8081", change: SettingPath("outputs", "page", "address"))
      }
    }

    /// Ends all connections, within a second.
    package func stop() {
      let (hub, listening) = (hub, listening)
      hub.loop.execute {
        hub.stop()
        listening.channel.withLock { $0.take() }?.close(promise: nil)
      }
      group.shutdownGracefully { _ in }
    }

    private func link(_ port: Int?, _ token: String?) -> String {
      switch address {
      case .unix: return address.settingText
      case .tcp(let host, let given):
        let shown = host == "0.0.0.0" || host == "::" ? "127.0.0.1" : host
        let name = shown.contains(":") ? "[\(shown)]" : shown
        let query = token.map { "?token=\($0)" } ?? ""
        return "http://\(name):\(port ?? Int(given))/\(query)"
      }
    }
  }
#else
  package import Sprocket

  /// Stands for the server in a program that was built without it.
  package final class PageServer: Sendable {
    package init(
      _ settings: PageSettings, token: String?, _ feed: PageFeed, _ run: any PageRun
    ) {}

    /// Throws: there is no server.
    package func start(showsToken: Bool) throws(RunError) -> String {
      throw RunError(
        .usage,
        "this program was built without its page; build it with `swift build --traits Page`, or take the one "
          + "that `make page` or the package installs")
    }

    package func stop() {}
  }
#endif
