import Sprocket
import SprocketCapture
import TestExpectations
import TestSupport
import Testing

/// Random orders of appending, marking and ending. Files are read by ffprobe.
@Suite struct WriterOrderTests {
  private static let rate = 8000
  private static let format = FrameFormat(
    pixelFormat: .i420, width: 64, height: 48, color: .jpeg, rate: FrameRate(frames: 25))
  private static let frame: Int64 = 40_000_000
  private static let picture = [UInt8](repeating: 90, count: 64 * 48 * 3 / 2)

  @Test(arguments: 0..<20)
  func allTracksEndWhereTheSessionOrTheLastPictureSays(seed: UInt64) async throws {
    for isLive in [false, true] {
      let order = WriterOrder(seed: seed)
      let scratch = try Scratch()
      let path = scratch.path("clip.\(order.kind)")
      let asset = try await write(order, to: path, isLive: isLive)
      let label: Comment = "seed \(seed) \(isLive ? "live" : "offline") \(order) \(asset.notes)"
      let all = asset.frames + asset.leftOutFrames + asset.droppedFrames
      expectEqual(all, UInt64(order.taken.count + order.late.count), label)
      // Live, the encoder may be too slow for pictures that come all at once.
      if !isLive || asset.droppedFrames == 0 {
        expectEqual(asset.frames, UInt64(order.taken.count), label)
        expectEqual(asset.droppedFrames, 0, label)
      }
      try check(path, order, hasAll: asset.droppedFrames == 0, label)
    }
  }

  private func write(
    _ order: WriterOrder, to path: String, isLive: Bool
  ) async throws -> AssetWriter.Asset {
    let writer = AssetWriter(path: path, expectsMediaDataInRealTime: isLive)
    var settings = VideoSettings(order.isJPEG ? .jpeg : .h264)
    if !order.isJPEG { settings.preset = order.preset }
    let video = AssetWriter.VideoInput(Self.format, settings)
    let audio = AssetWriter.AudioInput(
      AudioFormat(number: .s16, rate: Self.rate, channels: 1),
      AudioSettings(order.kind == "mp4" ? .aac : .pcm))
    try writer.add(video)
    try writer.add(audio)
    try writer.startWriting()
    try writer.startSession(at: order.start)
    let samples = [UInt8](repeating: 3, count: Self.rate / 50 * 2)
    for step in order.steps {
      switch step {
      case .picture(let time):
        if isLive { await expectTrue(until { video.isReadyForMoreMediaData }, "no room") }
        let isLate = order.endIsKnown(at: step) && time >= order.end
        let expected: AssetWriter.Appended =
          time < order.start ? .early : isLate ? .late : .taken
        try expectEqual(video.append(Self.picture.span, at: time), expected, "\(time) \(order)")
      case .sound(let time):
        if isLive { await expectTrue(until { audio.isReadyForMoreMediaData }, "no room") }
        try #expect(audio.append(samples.span, at: time) != .full)
      case .endSession: try writer.endSession(at: order.end)
      case .finishVideo: video.markAsFinished()
      case .finishAudio: audio.markAsFinished()
      }
    }
    return try await writer.finishWriting()
  }

  /// Lengths of MOV and MP4 are in ticks of a track: 1/90000 s, and samples.
  private func check(_ path: String, _ order: WriterOrder, hasAll: Bool, _ label: Comment) throws {
    guard hasAll else {
      // Which pictures are lost is not known, but all tracks are equally long.
      let ends = try ffprobe(path, "stream=duration_ts").compactMap { Int64($0) }
      guard order.kind != "mkv" else { return }
      expectAtMost(abs(ends[0] * 4 / 45 - ends[1]), 1, "\(label.rawValue) \(ends)")
      return
    }
    let length = order.end - (order.taken.first ?? 0)
    let packets = try ffprobe(path, "packet=stream_index,pts_time,flags")
      .filter { $0.hasPrefix("0,") && !$0.contains("D") }
    expectEqual(packets.count, order.taken.count, label)
    if order.kind == "mkv" {
      let seconds = try Double(ffprobe(path, "format=duration").first ?? "") ?? 0
      expectAtMost(abs(seconds - Double(length) / 1e9), 0.0011, "\(label.rawValue) \(seconds)")
      return
    }
    let ends = try ffprobe(path, "stream=duration_ts").compactMap { Int64($0) }
    expectEqual(ends.count, 2, label)
    expectAtMost(abs(ends[0] - length * 9 / 100_000), 1, "\(label.rawValue) \(ends)")
    expectAtMost(
      abs(ends[1] - length * Int64(Self.rate) / 1_000_000_000), 1, "\(label.rawValue) \(ends)")
  }
}

/// What a seed makes of a writer's calls.
private struct WriterOrder: CustomStringConvertible {
  enum Step: Equatable {
    case picture(Int64)
    case sound(Int64)
    case endSession, finishVideo, finishAudio
  }

  let kind: String
  let isJPEG: Bool
  let preset: String
  let start: Int64
  /// Where the movie ends.
  let end: Int64
  /// Pictures in the file, and those at the end or later.
  let taken: [Int64]
  let late: [Int64]
  private(set) var steps: [Step] = []

  var description: String {
    "\(kind) \(isJPEG ? "jpeg" : preset) from \(start) to \(end), \(taken.count)+\(late.count) "
      + steps.map { step in
        switch step {
        case .picture: "p"
        case .sound: "s"
        case .endSession: "E"
        case .finishVideo: "V"
        case .finishAudio: "A"
        }
      }.joined()
  }

  func endIsKnown(at step: Step) -> Bool {
    guard let known = steps.firstIndex(of: .endSession) else { return false }
    return steps.firstIndex(of: step).map { $0 > known } ?? false
  }

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed &+ 41)
    let frame: Int64 = 40_000_000
    kind = ["mov", "mp4", "mkv"][Int(seed % 3)]
    isJPEG = Bool.random(using: &random)
    preset = ["ultrafast", "medium"].randomElement(using: &random)!
    let start = Int64.random(in: 0..<3_000_000_000, using: &random)
    let count = Int64.random(in: 5..<40, using: &random)
    let first = start + Int64.random(in: -60_000_000..<60_000_000, using: &random)
    let pictures = (0..<count).map { first + $0 * frame }
    let inSession = pictures.filter { $0 >= start }
    let last = inSession.last!
    // Before the last picture, behind it, or none.
    let choice = seed % 4
    let length: Int64 =
      choice == 0
      ? Int64.random(in: frame...max(frame + 1, last - inSession[0]), using: &random)
      : last - inSession[0] + Int64.random(in: 1_000_000..<2_000_000_000, using: &random)
    let finish = choice < 2 ? inSession[0] + length : last + frame
    let isTold = choice < 2
    (self.start, end) = (start, finish)
    (taken, late) = (inSession.filter { $0 < finish }, inSession.filter { $0 >= finish })
    let soundLength = last - start + Int64.random(in: -300_000_000..<2_500_000_000, using: &random)
    let sounds = stride(from: start - frame, to: start + max(frame, soundLength), by: 20_000_000)
      .map { $0 }
    var (p, s) = (0, 0)
    // Sound is at most 2 s ahead of the pictures, pictures are any time ahead of the sound.
    while p < pictures.count || s < sounds.count {
      let ahead = s < sounds.count && p < pictures.count ? sounds[s] - pictures[max(0, p - 1)] : 0
      let takesPicture =
        s == sounds.count || ahead > 2_000_000_000 || Int.random(in: 0..<3, using: &random) == 0
      if p < pictures.count, takesPicture {
        steps.append(.picture(pictures[p]))
        p += 1
        if p == pictures.count, Bool.random(using: &random) { steps.append(.finishVideo) }
      } else if s < sounds.count {
        steps.append(.sound(sounds[s]))
        s += 1
        if s == sounds.count, Bool.random(using: &random) { steps.append(.finishAudio) }
      }
    }
    if isTold {
      // A .mkv does not lose what it has.
      let place =
        kind == "mkv" && !late.isEmpty ? 0 : Int.random(in: 0...steps.count, using: &random)
      steps.insert(.endSession, at: place)
    }
  }
}

/// SplitMix64.
private struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
