#if Page
  internal import NIOCore
  internal import Sprocket
  internal import Synchronization

  /// A picture, and its JPEG for all who watch.
  typealias PageShown = (picture: PagePicture, bytes: ByteBuffer)

  /// Who watches a run, and what each of them gets.
  ///
  /// Everyone gets the newest picture when the one before has left; nobody has a queue.
  ///
  /// Unchecked: used on the server's event loop alone, but for the call of a new picture.
  final class PageHub: @unchecked Sendable {
    let loop: any EventLoop
    let run: any PageRun
    private let feed: PageFeed
    /// A look at the newest picture is on its way to the loop.
    private let isTold = Atomic<Bool>(false)
    private var watchers: [ObjectIdentifier: any PageWatcher] = [:]
    private(set) var clientCount = 0
    private var isWatched = false
    private var linger: Scheduled<Void>?
    private var ticks: RepeatedTask?
    private var tickCount = 0
    private var mark = NewsMark()
    private var shown: PageShown?

    init(_ loop: any EventLoop, _ feed: PageFeed, _ run: any PageRun) {
      (self.loop, self.feed, self.run) = (loop, feed, run)
    }

    func start() {
      feed.onPicture { [weak self] _ in
        guard let self, !isTold.exchange(true, ordering: .acquiringAndReleasing) else { return }
        loop.execute { self.show() }
      }
      let tick = TimeAmount.milliseconds(100)
      ticks = loop.scheduleRepeatedTask(initialDelay: tick, delay: tick) { [weak self] _ in
        self?.tick()
      }
    }

    func stop() {
      ticks?.cancel()
      feed.onPicture(nil)
      for watcher in watchers.values { watcher.end() }
      watchers = [:]
      if isWatched { run.watch(false) }
    }

    /// Counts a connection; false if there are too many.
    func enter() -> Bool {
      guard clientCount < PageLimits.clients else { return false }
      clientCount += 1
      return true
    }

    func leave() { clientCount -= 1 }

    func add(_ watcher: any PageWatcher) {
      watchers[ObjectIdentifier(watcher)] = watcher
      update()
    }

    func remove(_ watcher: any PageWatcher) {
      watchers[ObjectIdentifier(watcher)] = nil
      update()
    }

    /// Somebody began to want pictures, or wants none any more.
    func update() {
      let isWanted = watchers.values.contains { $0.wantsPictures }
      if isWanted {
        linger?.cancel()
        linger = nil
        if !isWatched { run.watch(true) }
        isWatched = true
      } else if isWatched, linger == nil {
        linger = loop.scheduleTask(in: .milliseconds(PageLimits.lingerMilliseconds)) {
          [weak self] in
          guard let self else { return }
          linger = nil
          guard !watchers.values.contains(where: { $0.wantsPictures }) else { return }
          isWatched = false
          shown = nil
          run.watch(false)
        }
      }
    }

    /// The newest picture, and its JPEG; `nil` before the first.
    var newest: PageShown? {
      guard isWatched, let picture = feed.newest else { return nil }
      if shown?.picture !== picture || shown == nil {
        shown = (picture, ByteBuffer(bytes: picture.jpeg))
      }
      return shown
    }

    private func show() {
      isTold.store(false, ordering: .releasing)
      for watcher in watchers.values where watcher.wantsPictures { watcher.pictureCame() }
    }

    private func tick() {
      tickCount += 1
      // Also where it was refused before, or has ended.
      if isWatched, tickCount % 5 == 0 { run.watch(true) }
      if tickCount % (10 * PageLimits.pingSeconds) == 0 {
        for watcher in watchers.values { watcher.beat() }
      }
      let readers = watchers.values.filter { $0.wantsNews }
      let events = run.events(since: &mark)
      guard !readers.isEmpty else { return }
      for event in events { for reader in readers { reader.tell(event: event) } }
      guard tickCount % 5 == 0 else { return }
      let status = run.status()
      for reader in readers { reader.tell(status: status) }
    }
  }

  /// The time within which a client has to take what it was sent: it is disconnected then.
  struct PageStall {
    private var timer: Scheduled<Void>?

    var isRunning: Bool { timer != nil }

    /// Begins it, also where it runs.
    mutating func begin(_ channel: any Channel) {
      timer?.cancel()
      timer = channel.eventLoop.scheduleTask(in: .seconds(PageLimits.stallSeconds)) {
        channel.close(promise: nil)
      }
    }

    /// The client has taken it.
    mutating func end() {
      timer?.cancel()
      timer = nil
    }
  }

  /// A client that stays: a stream, a page, a snapshot that waits for its frame.
  protocol PageWatcher: AnyObject {
    var wantsPictures: Bool { get }
    var wantsNews: Bool { get }
    /// The newest picture is another one.
    func pictureCame()
    func tell(event: String)
    func tell(status: String)
    /// Asks a client that says nothing whether it is there.
    func beat()
    /// The run ends.
    func end()
  }

  extension PageWatcher {
    var wantsNews: Bool { false }
    func tell(event: String) {}
    func tell(status: String) {}
    func beat() {}
  }
#endif
