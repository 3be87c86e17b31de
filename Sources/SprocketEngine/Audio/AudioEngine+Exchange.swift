public import SprocketCore
internal import Synchronization

// Sources and sinks that come and go while the sound goes on.
extension AudioEngine {
  /// Opens a source that may take the place of the present one: on the caller's thread, while the sound goes
  /// on. Throws if it cannot be opened, and if it does not give what the first source gave: the same numbers,
  /// rate and channels, live or not, on the same clock.
  public func open(_ source: any AudioSource) throws(RunError) -> OpenSound {
    let opened = OpenSound(source, try source.open())
    let new = opened.description
    guard new.format.number == description.format.number,
      new.format.rate == description.format.rate,
      new.format.channels == description.format.channels
    else {
      throw RunError(
        .usage,
        "\(new.name) gives \(new.format.text), and the sound that goes on has \(description.format.text); "
          + "begin another run with it, or set it to that", change: .microphone)
    }
    guard new.isLive == description.isLive, new.clock == description.clock else {
      throw RunError(
        .usage,
        "\(new.name) has another clock or pace than \(description.name), so it cannot take its place; begin "
          + "another run with it", change: .microphone)
    }
    guard new.blockSamples > description.blockSamples else { return opened }
    opened.take()
    return OpenSound(PiecedSound(source, new, most: description.blockSamples), new)
  }

  /// Lets another source take the place of the present one, which is closed: from the next block on, as a
  /// new segment of the clock. `nil`: nobody takes it, and files that begin from then on have no track of
  /// this sound; files under way are silent. Of an engine that outlives its source.
  ///
  /// Returns when the old source is closed. Throws if that does not happen in time, or if the sound is over:
  /// then nothing has changed.
  public func exchange(for new: OpenSound?) throws(RunError) {
    guard outlivesSource else {
      throw RunError(.usage, "this sound ends with its source; make it with outlivesSource")
    }
    guard hasBegun else { throw notBegun }
    switch seat.exchange(for: new, until: deadline(in: Self.exchangePatience)) {
    case .done: return
    case .busy:
      throw RunError(.failed, "the sound is being changed already; ask again when that is done")
    case .closed: throw RunError(.usage, "the sound of \(description.name) is over")
    case .stuck:
      throw RunError(
        .failed,
        "\(description.name) did not return from a call in time, so the sound was not changed; ask again"
      )
    }
  }

  /// Longest wait for a source to return and to be closed, nanoseconds. Larger: slower drivers can be
  /// exchanged, and a stuck one is told of later.
  private static let exchangePatience: Int64 = 5_000_000_000

  // MARK: Sinks

  /// Adds a sink while the sound goes on. Its first block is the next one; with `name` that sink ends with
  /// the sample before it, so that no sample is lost between the two, and none is in both.
  ///
  /// Throws if the sink refuses the sound, if `spareTaps` sinks that came later have it already, if no thread
  /// can be had, and if the sound is over or has not begun.
  public func attach(
    _ sink: any AudioSink, inPlaceOf name: String? = nil
  ) throws(RunError) {
    guard hasBegun else { throw notBegun }
    do throws(RunError) {
      try sink.configure(description)
    } catch {
      throw RunError(error, of: sink.name)
    }
    let tap = try makeLateTap(for: sink.name)
    let worker = try AudioSinkWorker(sink, tap, shared)
    if let name { tap.begin(at: leave(name)) }
    let isOver = workers.withLock { workers in
      guard !workers.isClosed else { return true }
      workers.all = workers.all.filter { !$0.wait(until: 0) } + [worker]
      worker.start()
      return false
    }
    // Its summary may have been read by now.
    guard !isOver else {
      throw RunError(
        .failed, "the sound of \(description.name) is over, so \(sink.name) cannot have it")
    }
  }

  private var notBegun: RunError {
    RunError(.usage, "the sound of \(description.name) has not begun; start it first")
  }

  /// Takes a sink away: it gets what has been heard by now, and completes its file on its own thread. Does
  /// nothing if there is no sink of that name.
  public func detach(_ name: String) { _ = leave(name) }

  /// Number of the first sample that the sink does not get.
  private func leave(_ name: String) -> UInt64 {
    let end = shared.produced.load(ordering: .acquiring)
    let found = workers.withLock { $0.all.filter { $0.name == name } }
    for worker in found { worker.leave(at: end) }
    return end
  }
}

extension AudioFormat {
  /// The format in words, for a sentence.
  fileprivate var text: String {
    "\(number.settingText), \(rate) Hz and \(channels == 1 ? "1 channel" : "\(channels) channels")"
  }
}
