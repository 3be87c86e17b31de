/// What the times of a file mean.
///
/// Times come from files, dumps and streams, which may say anything: a clock that begins anew or wraps, a
/// time that lies centuries ahead. Each packet passes one gate per file, in the file's order, pictures and
/// sound together. What it gives out does not go back in a stream, and is within `TimeGate.limit` of 0; so
/// whoever comes behind may add and negate times.
///
/// A step that a recording can have is kept exactly: of any length forwards up to `longestGap`. All else
/// begins an epoch: its first packet is placed where the streams before it end, and all streams that follow
/// the same clock get the same offset, so that sound stays with its pictures.
///
/// Times are in nanoseconds. Cost: some comparisons per packet; nothing is allocated but for a new stream.
public struct TimeGate: Sendable {
  /// What became of a time.
  public enum Verdict: Sendable, Hashable {
    /// It follows from the one before in its stream.
    case kept
    /// It belongs to the epoch that another stream began.
    case joined
    /// An epoch begins with it: the clock jumped.
    case epoch
    /// It went back by so little that it is a slip: it became that of the packet before.
    case repaired
  }

  /// A time that passed.
  public struct Passed: Sendable, Hashable {
    public var time: Int64
    public var verdict: Verdict
    /// What was added to the time that came, for other times of the same packet.
    public var offset: Int128
  }

  /// An epoch that began: the clock went from one time to another, and goes on at a third.
  public struct Jump: Sendable, Hashable {
    /// Time of the packet before, in the same stream.
    public var from: Int128
    public var to: Int128
    /// What it became.
    public var place: Int64
  }

  /// Largest absolute value of a time that is given out, 146 years. Larger: sums and differences of two
  /// overflow.
  public static let limit: Int64 = 1 << 62 - 1

  /// Limits a time to the range of the gate's output.
  public static func bounded(_ time: Int128) -> Int64 {
    Int64(min(max(time, -Int128(limit)), Int128(limit)))
  }

  /// Latest time at which a file begins, 10 years below the limit: so much is left for what follows. Wall
  /// clocks get there in 2106.
  public static let latestStart: Int64 = limit - 3653 * 86_400 * second
  /// Longest gap that is kept, 24 days: so many milliseconds fit into 31 bits, and containers hold them.
  /// Larger: damaged times leave longer holes.
  public static let longestGap: Int64 = 24 * 86_400 * second
  /// Longest gap that is kept of a clock that wraps, an hour. A longer jump mostly means that two
  /// streams were joined.
  public static let longestGapOfWrappingClock: Int64 = 3600 * second
  /// Maximum step back, in nanoseconds, that is repaired instead of beginning an epoch. A larger value stops
  /// the pictures of a film whose clock restarts within that time.
  static let slip: Int64 = second / 10
  /// How near to an epoch's times those of another stream are when it joins. Larger: a stream that goes on
  /// with the old clock is mistaken for one that follows. Streams of a file are some seconds apart at most.
  static let reach: Int64 = 10 * second
  /// Longest frame, for the end of a stream: the length of a last packet may have a gap in it.
  private static let longestFrame: Int64 = second
  /// A frame, where nothing says its length.
  private static let usualFrame: Int64 = second / 25
  private static let second: Int64 = 1_000_000_000

  private struct Stream: Sendable {
    var epoch: Int
    var offset: Int128
    /// Added to what came, for a clock that wrapped.
    var turns: Int128 = 0
    /// Newest time that came, with turns.
    var input: Int128
    var output: Int64
    /// Length of the last packet, or the step to it.
    var length: Int64
    /// Latest end of a picture, as it is shown.
    var shownEnd = Int64.min
  }

  private var streams: [Int: Stream] = [:]
  private var epoch = 0
  private var offset: Int128 = 0
  /// Newest time of the newest epoch.
  private var newest: Int128?

  /// Epochs that began, the first of them; ``jumpCount`` counts all.
  public private(set) var jumps: [Jump] = []
  public private(set) var jumpCount = 0
  private static let mostJumps = 3

  public init() {}

  /// Passes the decode time of the next packet of a stream. `length` is the packet's, 0 where it does not
  /// say. `turn` is after how long the stream's clock begins again; `nil` if it does not. `ahead` is how much
  /// later the packet is shown than decoded, `longestGap` at most.
  public mutating func pass(
    _ time: Int128, length: Int64 = 0, stream number: Int, turn: Int128? = nil, ahead: Int64 = 0
  ) -> Passed {
    let passed = pass(time, length, number, turn, ahead)
    guard var stream = streams[number] else { return passed }
    let end = Self.bounded(Int128(passed.time) + Int128(ahead) + Int128(stream.length))
    stream.shownEnd = max(stream.shownEnd, end)
    streams[number] = stream
    return passed
  }

  private mutating func pass(
    _ time: Int128, _ length: Int64, _ number: Int, _ turn: Int128?, _ ahead: Int64
  ) -> Passed {
    let bound = Int128(turn == nil ? Self.longestGap : Self.longestGapOfWrappingClock)
    guard let newest else {
      let stream = Stream(epoch: 0, offset: 0, input: time, output: .min, length: 0)
      guard abs(time) <= Int128(Self.latestStart) else {
        return start(time, length, stream, number, ahead, from: 0)
      }
      newest = time
      return follow(time, length, stream, number, .kept)
    }
    guard var stream = streams[number] else {
      // The first packet of another stream.
      var stream = Stream(epoch: epoch, offset: offset, input: time, output: .min, length: 0)
      guard let came = Self.first(time, turn, where: { abs($0 - newest) <= bound }) else {
        return start(time, length, stream, number, ahead, from: newest)
      }
      (stream.turns, stream.input) = (came - time, came)
      return follow(came, length, stream, number, .kept)
    }
    let came = time + stream.turns
    if stream.epoch != epoch {
      let old = abs(came - stream.input)
      let isNear = { (time: Int128) in
        let near = abs(time - newest)
        return near <= Int128(Self.reach) && near < old
      }
      if let joined = Self.first(came, turn, where: isNear) {
        stream.turns += joined - came
        (stream.epoch, stream.offset, stream.input) = (epoch, offset, joined)
        return follow(joined, length, stream, number, .joined)
      }
    }
    let reference = stream.epoch == epoch ? max(newest, stream.input) : stream.input
    let legal = (stream.input - Int128(Self.slip))...(reference + bound)
    guard let kept = Self.first(came, turn, where: legal.contains) else {
      return start(came, length, stream, number, ahead, from: stream.input)
    }
    stream.turns += kept - came
    return follow(kept, length, stream, number, kept < stream.input ? .repaired : .kept)
  }

  /// A time that came, or what it is a turn of the clock later or earlier.
  private static func first(
    _ time: Int128, _ turn: Int128?, where isFit: (Int128) -> Bool
  ) -> Int128? {
    if isFit(time) { return time }
    guard let turn else { return nil }
    return isFit(time + turn) ? time + turn : isFit(time - turn) ? time - turn : nil
  }

  /// What was added to the times of a stream's last packet.
  public func offset(ofStream number: Int) -> Int128 {
    guard let stream = streams[number] else { return offset }
    return stream.offset + stream.turns
  }

  /// Begins an epoch with a packet. Its picture is shown no earlier than the end of the pictures before it in
  /// its stream: behind a jump, the time between decoding and presentation may be shorter than before it.
  private mutating func start(
    _ came: Int128, _ length: Int64, _ stream: Stream, _ number: Int, _ ahead: Int64,
    from last: Int128
  ) -> Passed {
    let ends = streams.values.map { min(Self.limit, $0.output + $0.length) }
    let shown = stream.shownEnd == .min ? .min : stream.shownEnd - ahead
    let place = min(Self.limit, max(ends.max() ?? 0, shown))
    epoch += 1
    offset = Int128(place) - came
    newest = came
    jumpCount += 1
    if jumps.count < Self.mostJumps { jumps.append(Jump(from: last, to: came, place: place)) }
    var stream = stream
    (stream.epoch, stream.offset, stream.input) = (epoch, offset, came)
    return follow(came, length, stream, number, .epoch)
  }

  private mutating func follow(
    _ came: Int128, _ length: Int64, _ stream: Stream, _ number: Int, _ verdict: Verdict
  ) -> Passed {
    var stream = stream
    let limit = Int128(Self.limit)
    let time = max(stream.output, Int64(min(max(came + stream.offset, -limit), limit)))
    let step = stream.output == .min ? 0 : time - stream.output
    let frame = length > 0 ? length : step > 0 ? step : stream.length
    stream.length = min(frame > 0 ? frame : Self.usualFrame, Self.longestFrame)
    stream.input = max(stream.input, came)
    stream.output = time
    streams[number] = stream
    if stream.epoch == epoch { newest = max(newest ?? came, came) }
    return Passed(time: time, verdict: verdict, offset: stream.offset + stream.turns)
  }
}

extension TimeGate {
  /// Sentences for a user; `name` is the file's.
  public func notes(of name: String) -> [String] {
    var notes = jumps.map { jump in
      "the clock of \(name) jumps from \(Self.text(jump.from)) to \(Self.text(jump.to)); time goes on at "
        + Self.text(Int128(jump.place))
    }
    let more = jumpCount - jumps.count
    if more > 0 { notes.append("\(more) more jumps of that clock were closed") }
    return notes
  }

  private static func text(_ time: Int128) -> String {
    let milliseconds = (time + (time < 0 ? -500_000 : 500_000)) / 1_000_000
    let (whole, part) = (abs(milliseconds) / 1000, abs(milliseconds) % 1000)
    let digits = String(Int(part))
    return (milliseconds < 0 ? "-" : "") + "\(whole)."
      + String(repeating: "0", count: 3 - digits.count) + digits + " s"
  }
}
