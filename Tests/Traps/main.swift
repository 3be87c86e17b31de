// Makes the mistake that it is told by name; without a name it lists them. docs/traps.md says what the
// program tells then, and Tests/Judges/test_traps.py holds one against the other.

import Sprocket

if CommandLine.arguments.count == 2, let mistake = Mistake(rawValue: CommandLine.arguments[1]) {
  try make(mistake)
} else {
  for mistake in Mistake.allCases { print(mistake.rawValue) }
}

func stereo() -> AudioFormat { AudioFormat(number: .s16, rate: 48_000, channels: 2) }

func make(_ mistake: Mistake) throws {
  switch mistake {
  case .field: _ = Plugin("probe", "makes mistakes", FieldProbe.self).stages.flatMap(\.fields)
  case .words: _ = Plugin("probe", "makes mistakes", WordProbe.self).stages.flatMap(\.fields)
  case .size:
    _ = FrameFormat(pixelFormat: .grey, width: 0, height: 48, color: .jpeg, rate: .unknown)
  case .planeSize: _ = PixelFormat.grey.plane(1, width: 64, height: 48)
  case .workers: _ = RunOptions(workers: 0)
  case .manyWorkers: _ = RunOptions(workers: 65)
  case .traceLimit: _ = RunOptions(traceLimit: 0)
  case .dumpSources: _ = DumpOutput(path: "dump.mcap", sources: 0)
  case .dumpSource:
    _ = DumpSink(sharing: DumpOutput(path: "dump.mcap", sources: 2), source: "a", index: 2)
  case .fourthPlane:
    var planes = ExportedPlanes()
    for _ in 0..<4 { planes.append(.init(descriptor: 0, offset: 0, bytesPerRow: 1)) }
  case .pairedSource: _ = try FramePairing(["a", "b"], within: .seconds(1)).sink(2)
  case .movieQuality: _ = MovieSink(path: "movie.mov", quality: 0)
  case .stillQuality: _ = StillSink(path: "stills", quality: 101)
  case .sharpest: _ = StillSink(path: "stills", sharpestOf: .seconds(1), isOnDemand: true)
  case .preRoll: _ = PreRoll(.zero)
  case .preRollSlack: _ = PreRoll(.seconds(1), slack: .seconds(-1))
  case .preRollBytes: _ = PreRoll(.seconds(1), bytes: 0)
  case .movieBegin: try MovieSink(path: "movie.mov", isOnDemand: true).begin(ProbeFile())
  case .stillsBegin: try StillSink(path: "stills", isOnDemand: true).begin(ProbeFile())
  case .audioFormat: _ = AudioFormat(number: .s16, rate: 7, channels: 2)
  case .audioBlock, .audioTap, .audioRead, .emptyReclaim: try makeOfSound(mistake)
  case .copies: _ = FrameCopies(keeping: .every(0))
  case .secondLoop:
    let copies = FrameCopies()
    let first = copies.makeAsyncIterator()
    withExtendedLifetime(first) { _ = copies.makeAsyncIterator() }
  case .pushEncoded: _ = PushSource(format: format(.mjpeg))
  case .pushRoom: _ = PushSource(format: format(.grey), room: 0)
  case .pushBytes: _ = PushSource(format: format(.grey)).push([UInt8](repeating: 0, count: 9).span)
  case .pushSoundRoom: _ = PushAudioSource(format: stereo(), room: .milliseconds(1))
  case .pushSoundBytes:
    _ = PushAudioSource(format: stereo()).push([UInt8](repeating: 0, count: 9).span)
  case .testEncoded, .testPlanes, .testPlaneBytes, .testEarlier, .testLater, .testFormat, .testLuma,
    .testReport, .testDamaged, .testPadding, .testDelay, .testMissing, .testWorkers, .testChange,
    .testValue:
    try makeInTest(mistake)
  default: try run(mistake)
  }
}

func format(_ pixels: PixelFormat) -> FrameFormat {
  FrameFormat(pixelFormat: pixels, width: 4, height: 2, color: .jpeg, rate: .unknown)
}

/// Runs a chain with the mistake in it.
func run(_ mistake: Mistake) throws {
  var settings = SceneSettings()
  settings.width = 64
  settings.height = 48
  settings.pace = .fast
  let ofSource: Set<Mistake> = [
    .fill, .take, .cameraTake, .sceneReclaim, .replayReclaim, .upsideDown,
  ]
  let source: any Source =
    ofSource.contains(mistake)
    ? try ProbeSource(mistake, settings) : try SceneSource(settings)
  let isOfUnpacker = mistake == .unpacker || mistake == .unpackerRange
  let isAny = mistake == .eventOrder || mistake == .steers
  let stage = try StageChoice(
    isAny ? AnyProbe.plugin : Probe.plugin, ["mistake": mistake.rawValue])
  let engine = try Engine(
    source: source, stages: [stage], sinks: [ProbeSink(mistake)],
    options: RunOptions(workers: 2, frameLimit: 10)
  ) { isOfUnpacker ? ProbeUnpacker(mistake) as any Unpacker : FrameUnpacker() }
  try engine.start()
  _ = engine.wait(for: .seconds(60))
}
