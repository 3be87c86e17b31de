internal import SprocketCodecs
internal import SprocketCore
internal import SprocketLibAV

// Pictures by number, as another program asks for them (`asked`).

extension FileSource {
  /// Refuses settings that contradict requests by number.
  func checkAsked() throws(RunError) {
    guard settings.asked >= 0 else { return }
    guard !isReal, settings.from == .zero else {
      throw RunError(.usage, "asked takes pictures by number: leave out pace and from")
    }
    let asked = try AskedNumbers(descriptor: Int32(settings.asked))
    if path == "-" {
      // Loads the libraries before the path comes, so that the film opens sooner.
      _ = LibAV.missing
      while path == "-" {
        guard goesOn(), !asked.isGone else { throw nobodyAsks }
        switch asked.receive(timeout: Self.tick) {
        case nil: continue
        case .file:
          path = asked.path
          if Self.namesPictures(path) { throw Self.noFilm(path) }
        default: asked.refuse()
        }
      }
    }
    self.asked = asked
  }

  /// Nanoseconds between two looks at whether the source is to stop. Larger: fewer wake-ups, a later end.
  private static let tick: Int64 = 50_000_000

  /// Reads the first picture where that is needed to know the file; else waits for the first request, and
  /// reads what it asks for.
  func readFirst(_ asked: AskedNumbers) throws(MediaError) {
    asked.answer(.opened, 0, while: goesOn)
    guard reader?.hasReadAhead == false else { return try read() }
    while held == nil, goesOn(), !asked.isGone { try readAsked(asked, timeout: Self.tick) }
    if held?.format == nil { try openWholly() }
  }

  /// The other program has gone before it asked for anything.
  var nobodyAsks: RunError { RunError(.failed, "no picture of \(path) was asked for") }

  /// Opens the file so that all of it can be read.
  private func openWholly() throws(MediaError) {
    if reader?.hasReadAhead != true { _ = try openReader() }
  }

  /// Makes what was asked for the held frame.
  func readAsked(_ asked: AskedNumbers, timeout: Int64) throws(MediaError) {
    try asked.take(timeout: timeout, place: place, while: goesOn) { () throws(MediaError) in
      if index == nil { try makeIndex() }
      return index?.times ?? []
    }
    guard let wanted = asked.next else { return }
    let number = Int(clamping: wanted)
    if index == nil, number == 0, !asked.hasMore, try readAlone() {
      // The next picture is read from the start of the file.
    } else if index == nil, number == readCount {
      try openWholly()
      try readNext()
    } else {
      if index == nil { try makeIndex() }
      try read(number, isLast: !asked.hasMore)
    }
    guard let held else {
      return asked.end(place, count: index?.count ?? readCount, while: goesOn)
    }
    if held.isCorrupt { asked.answer(.lost, place, while: goesOn) }
    asked.advance()
  }

  private func goesOn() -> Bool { !isInterrupted }

  /// Decodes the first picture and nothing else; false where the file does not allow that, or was read on.
  private func readAlone() throws(MediaError) -> Bool {
    if reader == nil { _ = try openReader(readsAhead: false) }
    guard reader?.hasReadAhead == false else { return false }
    let first = try reader?.firstPicture()
    reader = nil
    guard let first = consume first else { return false }
    hold(first)
    return true
  }

  /// Reads on as without requests. The first picture was read by `open`.
  private func readNext() throws(MediaError) {
    if let first = opened.take() {
      held = first
    } else {
      try read()
    }
    if held != nil { readCount += 1 }
  }

  private func makeIndex() throws(MediaError) {
    dropOpened()
    try openWholly()
    index = try reader?.makeIndex(asPackets: staysEncoded)
    readCount = -1
  }

  /// The picture that `open` has read is not the one that is asked for.
  private func dropOpened() {
    guard opened.take() != nil else { return }
    packet = nil
    picture = nil
  }

  /// Reads the picture of a number; none is held where the file has no such number.
  private func read(_ number: Int, isLast: Bool) throws(MediaError) {
    guard let known = index, number < known.count else { return }
    if staysEncoded {
      if let found = try reader?.packet(number, of: known) {
        hold(found)
      } else {
        held = Held(time: known.times[number], isCorrupt: true)
      }
      return
    }
    let isAhead = number == (lastNumber ?? -2) + 1
    lastNumber = number
    if hold(try reader!.picture(number, of: known, isLast: isLast && !isAhead)) { return }
    // Some files have another order than their times tell.
    if !known.isDecoded, let found = try reader?.decodedIndex() {
      index = found
      if !found.hasOrder(of: known) {
        asked?.answer(.changed, place, UInt64(found.count), while: goesOn)
      }
      guard number < found.count else { return }
      if hold(try reader!.picture(number, of: found, isLast: isLast)) { return }
    }
    held = Held(time: index?.times[number] ?? 0, isCorrupt: true)
  }

  /// False for a picture that could not be decoded.
  private func hold(_ unit: consuming DecodedUnit) -> Bool {
    guard case .frame(let frame) = consume unit else { return false }
    hold(frame)
    return true
  }
}
