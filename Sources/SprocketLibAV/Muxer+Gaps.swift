internal import CSprocketLibAV

/// The ticks that libavformat is handed of a track. It takes no gap of 2^31 ticks, and computes with shorter
/// ones what it cannot hold; so for it a gap lasts a second at most. And it takes a fragment to begin where
/// the one before ended. The file's index and its fragments' headers have the true times.
struct LibraryClock {
  private var last: (tick: Int64, handed: Int64, end: Int64)?
  private var startsFragment = false
  /// What was handed on is not what came.
  private(set) var isShifted = false

  /// What is handed on for a tick that is not before the last one, and lasts `duration` ticks; for the first
  /// one that is `first`.
  mutating func hand(
    _ tick: Int64, _ duration: Int64, perSecond second: Int32, first: Int64? = nil
  ) -> Int64 {
    let handed =
      last.map { startsFragment ? $0.end : $0.handed + min(tick - $0.tick, Int64(second)) } ?? first
      ?? tick
    startsFragment = false
    last = (tick, handed, handed + duration)
    isShifted = isShifted || handed != tick
    return handed
  }

  /// A fragment was ended.
  mutating func beginFragment() { startsFragment = last != nil }
}

// Holes in pictures and sound.
extension Muxer {
  /// Tables of all tracks, in the order of the file.
  var tables: [SampleTable] {
    (picture.map { [$0] } ?? []) + sounds.map(\.table) + (text.map { [$0.table] } ?? [])
  }

  /// Ticks per second of a stream of the library.
  private func ticksPerSecond(ofStream stream: Int) -> Int32 {
    let track = stream - (picture == nil ? 0 : 1)
    return container.isQuickTime && sounds.indices.contains(track)
      ? Int32(sounds[track].format.rate) : container.ticksPerSecond
  }

  /// Tick and duration that the library is handed for a packet.
  mutating func hand(_ tick: Int64, _ duration: Int64, stream: Int) -> (
    tick: Int64, duration: Int64
  ) {
    guard container.isQuickTime else { return (tick, duration) }
    let second = ticksPerSecond(ofStream: stream)
    let duration = min(duration, Int64(second))
    return (clocks[stream].hand(tick, duration, perSecond: second), duration)
  }

  /// Before a fragment is written: the library takes it to begin where the last one ended.
  func noteFragmentTimes() {
    guard container.isQuickTime, clocks.contains(where: \.isShifted) else { return }
    for (index, table) in tables.enumerated() where table.pendingCount > 0 {
      bridge.fragmentTimes[UInt32(index + 1)] = UInt64(max(0, table.pendingTick))
    }
  }

  /// No more pictures come from the encoder; those that it had were written.
  public mutating func endEncoder() throws(MuxerError) {
    try flush()
    encoder = nil
  }

  /// Replaces the encoder by one with the same settings. Its tick 0 is tick `tick` of the file.
  public mutating func goOn(with encoder: VideoEncoder, from tick: Int64) {
    (self.encoder, firstTick, delay) = (encoder, tick, nil)
  }

  /// Leaves out so many whole seconds of a track's silence. A MOV stores one fragment's length of PCM and
  /// refers to it again and again; of all else a file has nothing there.
  public mutating func skip(seconds: Int64, ofTrack track: Int) throws(MuxerError) {
    guard seconds > 0 else { return }
    let format = sounds[track].format
    var samples = Int(seconds) * format.rate
    if let encoder = sounds[track].encoder {
      try flush()
      return encoder.skip(samples: samples)
    }
    try writeHeld()
    try flush()
    guard container.isQuickTime else {
      sounds[track].table.leaveOut(samples: samples)
      return
    }
    if sounds[track].zeros == nil {
      let first = min(samples, fragmentSamples(format))
      let zeros = [UInt8](repeating: 0, count: first * format.sampleBytes)
      try write(audio: zeros.span, track: track)
      try flush()
      sounds[track].zeros = sounds[track].table.lastChunk
      samples -= first
    }
    // An index counts 2^32 samples; a file with more has no index.
    if let zeros = sounds[track].zeros, sounds[track].table.fitsIndex {
      sounds[track].table.append(chunk: zeros, samples: samples)
    } else {
      sounds[track].table.leaveOut(samples: samples)
    }
    sounds[track].durable += UInt64(samples)
  }
}
