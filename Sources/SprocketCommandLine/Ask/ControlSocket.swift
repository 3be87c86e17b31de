internal import Glibc
internal import Sprocket
internal import SprocketShare
internal import Synchronization

/// `--control-socket`: a Unix socket on which other programs of the same user ask a run, one JSON object
/// per line (docs/on-demand.md).
///
/// One thread serves all clients, and never waits for a single one. It disconnects a client that sends too
/// long a line, or does not read its answers.
final class ControlSocket: Sendable {
  /// Most clients at a time. Larger: more programs may watch a run.
  private static let mostClients = 32
  /// Most requests that wait for a disk or a device, each with a thread of its own. Larger: more clients may
  /// wait for a disk that hangs.
  private static let mostWork = 32
  private static let isBusy =
    "\(mostWork) requests wait for a disk or a device already; look at what they wait for"
  /// Most bytes of a request, and of answers that a client has not read. Larger: clients may send longer
  /// requests and read more slowly, and each uses more memory.
  private static let longestRequest = 1 << 16
  private static let longestAnswers = 1 << 20
  /// Milliseconds between two checks for events and for the run's end. Larger: fewer wake-ups, later
  /// events.
  private static let tick: Int32 = 50

  private struct Client {
    let descriptor: Int32
    let holder: RequestHolder
    var input: [UInt8] = []
    var output: [UInt8] = []
    /// The events that the client was told of; `nil` if it did not ask for them.
    var told: NewsMark?
    /// Makes an answer; later lines wait for it.
    var work: BackgroundWork<String>?
    /// Whether the client is disconnected once its answers are sent.
    var isLeaving = false
  }

  private let path: String
  private let socket: ListeningSocket
  /// The folder in which `top` finds this socket.
  private let folder = Locked<String?>(nil)
  private let answerer: RequestAnswerer
  private let isEnding = Atomic<Bool>(false)
  private let work = Locked<BackgroundWork<Void>?>(nil)

  /// Makes the socket.
  init(path: String, _ desk: RequestDesk) throws(RunError) {
    socket = try ListeningSocket(path: path, .stream, owner: "--control-socket")
    self.path = path
    answerer = RequestAnswerer(desk, socket: path)
  }

  /// Of a run that was not started.
  deinit { socket.removeName() }

  /// Starts the thread that answers, and lets `top` find the socket.
  func start() throws(RunError) {
    let started = try BackgroundWork("control") { self.serve() }
    work.withLock { $0 = started }
    guard let identity = socket.identity else { return }
    folder.withLock { $0 = RunFolder.add(identity, path: path) }
    // Removes entries of killed runs in the background, because one of their file systems may hang. The run
    // does not wait for this work.
    _ = try? BackgroundWork("entries") { RunFolder.removeLeftOvers() }
  }

  /// Sends the last answers and events, and removes the socket and its entry, for half a second at most: a
  /// folder that hangs must not stop the program's end.
  func finish() {
    isEnding.store(true, ordering: .releasing)
    _ = work.withLock { $0 }?.wait(for: .milliseconds(500))
  }

  private func removeNames() {
    if let identity = socket.identity, let folder = folder.withLock({ $0.take() }) {
      RunFolder.remove(identity, from: folder)
    }
    socket.removeName()
  }

  // MARK: The thread

  private func serve() {
    var clients: [Client] = []
    var clientCount: UInt64 = 0
    var isOver = false
    var canAccept = true
    while !isOver {
      // Read before the events, so that clients get those of the run's end, too.
      isOver = isEnding.load(ordering: .acquiring)
      wait(for: clients, listens: canAccept)
      canAccept = accept(&clients, &clientCount)
      for index in clients.indices {
        var working = clients.count { $0.work != nil }
        answer(&clients[index], &working)
        receive(&clients[index], &working)
        if isOver, clients[index].work != nil {
          clients[index].output += Array(answerer.refusal("the run has ended").utf8)
        }
        addEvents(to: &clients[index], isOver: isOver)
        send(&clients[index])
      }
      clients.removeAll { client in
        let isDone = client.isLeaving && client.output.isEmpty && client.work == nil
        if isDone { close(client.descriptor) }
        return isDone
      }
    }
    for client in clients { close(client.descriptor) }
    removeNames()
  }

  /// The corresponding C function is `poll`.
  private func wait(for clients: [Client], listens: Bool) {
    // If the process has no free descriptor, no client can be accepted: `accept` is tried again after a
    // tick.
    var requests = [pollfd(fd: listens ? socket.descriptor : -1, events: Int16(POLLIN), revents: 0)]
    for client in clients {
      let events = (client.isLeaving ? 0 : POLLIN) | (client.output.isEmpty ? 0 : POLLOUT)
      // A client that has closed its side is always ready.
      let descriptor = client.isLeaving && client.output.isEmpty ? -1 : client.descriptor
      requests.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
    }
    _ = unsafe poll(&requests, nfds_t(requests.count), Self.tick)
  }

  /// Accepts clients. Refuses those of other users, as the socket's mode does, and those beyond
  /// `mostClients`. Returns false if clients may wait that cannot be accepted now. The corresponding C
  /// function is `accept`.
  private func accept(_ clients: inout [Client], _ clientCount: inout UInt64) -> Bool {
    while true {
      let accepted = Glibc.accept(socket.descriptor, nil, nil)
      guard accepted >= 0 else { return errno == EAGAIN }
      _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
      _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
      let user = peerUser(of: accepted)
      let isWelcome = user == geteuid() || user == 0
      // Clients that have left and wait for a slow answer do not count here: `mostWork` limits them.
      let present = clients.count { !$0.isLeaving || $0.work == nil }
      guard isWelcome, present < Self.mostClients else {
        close(accepted)
        continue
      }
      clientCount += 1
      clients.append(Client(descriptor: accepted, holder: .client(clientCount)))
    }
  }

  private func receive(_ client: inout Client, _ working: inout Int) {
    guard !client.isLeaving else { return }
    var bytes = [UInt8](repeating: 0, count: 4096)
    // Reads at most one longest request at a time, so that no client delays the others.
    for _ in 0..<16 {
      let count = unsafe read(client.descriptor, &bytes, bytes.count)
      if count < 0, errno == EAGAIN || errno == EINTR { break }
      guard count > 0 else {
        client.isLeaving = true
        break
      }
      client.input += bytes[..<count]
    }
    answer(&client, &working)
    if client.input.count > Self.longestRequest {
      client.output += Array(
        answerer.refusal("a request has at most \(Self.longestRequest) bytes").utf8)
      client.isLeaving = true
    }
  }

  /// Answers the lines that have come.
  private func answer(_ client: inout Client, _ working: inout Int) {
    if let work = client.work {
      guard work.wait(for: .zero), let result = work.take() else { return }
      client.work = nil
      client.output += Array(((try? result.get()) ?? "").utf8)
    }
    while client.work == nil, let end = client.input.firstIndex(of: UInt8(ascii: "\n")) {
      let line = Array(client.input[..<end])
      client.input.removeFirst(end + 1)
      guard isReading(&client) else { return }
      switch answerer.outcome(line, of: client.holder) {
      case .answer(let text): client.output += Array(text.utf8)
      case .events(let text):
        client.output += Array(text.utf8)
        client.told = answerer.mark
      case .work where working >= Self.mostWork:
        client.output += Array(answerer.refusal(Self.isBusy).utf8)
      case .work(let make):
        do throws(RunError) {
          working += 1
          client.work = try BackgroundWork("change", make)
        } catch {
          client.output += Array(answerer.refusal(error).utf8)
        }
      }
    }
  }

  /// Disconnects a client that has not read its answers. Returns false if it is disconnected.
  private func isReading(_ client: inout Client) -> Bool {
    guard client.output.count > Self.longestAnswers else { return true }
    client.output = []
    client.isLeaving = true
    return false
  }

  private func addEvents(to client: inout Client, isOver: Bool) {
    guard var told = client.told, isReading(&client) else { return }
    for line in answerer.events(since: &told) { client.output += Array(line.utf8) }
    client.told = told
    if isOver { client.output += Array(answerer.end().utf8) }
  }

  private func send(_ client: inout Client) {
    while !client.output.isEmpty {
      let count = unsafe Glibc.send(
        client.descriptor, client.output, client.output.count, Int32(MSG_NOSIGNAL))
      guard count > 0 else {
        if count < 0, errno != EAGAIN, errno != EINTR {
          client.output = []
          client.isLeaving = true
        }
        return
      }
      client.output.removeFirst(count)
    }
  }
}
