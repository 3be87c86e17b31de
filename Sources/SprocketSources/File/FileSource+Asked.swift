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
    if path == "-" { throw RunError(.usage, "asked needs a file that can be read twice") }
    asked = try AskedNumbers(descriptor: Int32(settings.asked))
  }

  /// Makes what was asked for the held frame.
  func readAsked(_ asked: AskedNumbers, timeout: Int64) throws(MediaError) {
    let isIdle = asked.next == nil
    if let request = asked.receive(timeout: isIdle ? timeout : 0) {
      switch request {
      case .pictures: asked.answer(.begins, place, while: goesOn)
      case .times:
        if index == nil { try makeIndex() }
        asked.answer(times: index?.times ?? [], while: goesOn)
      }
    }
    guard let wanted = asked.next else { return }
    let number = Int(clamping: wanted)
    if index == nil, number == readCount {
      try readNext()
    } else {
      if index == nil { try makeIndex() }
      try read(number, isLast: !asked.hasMore)
    }
    guard let held else {
      asked.answer(.beyond, place, UInt64(index?.count ?? readCount), while: goesOn)
      return asked.forget()
    }
    if held.isCorrupt { asked.answer(.lost, place, while: goesOn) }
    asked.advance()
  }

  private func goesOn() -> Bool { !isInterrupted }

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
