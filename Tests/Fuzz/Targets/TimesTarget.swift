internal import SprocketCore
internal import SprocketJPEG
internal import SprocketMCAP
internal import SprocketPixels
internal import SprocketTimes

@testable import SprocketLibAV
@testable import SprocketSources

// Makes files with arbitrary times. The first byte of the input chooses the container of the movie. Each
// following group of nine bytes is a packet: its stream, and its time in 64 bits.

/// Plays a Matroska file with pictures and sound, plays an MCAP file with the same pictures, and checks a
/// movie that it writes at the times of the played pictures.
func feedTimes(_ input: [UInt8]) {
  guard let kind = input.first, let image = tinyJPEG else { return }
  let packets = stride(from: 1, to: input.count - 8, by: 9).prefix(mostPackets).map { start in
    (0..<8).reduce((isSound: input[start] & 1 != 0, time: 0)) {
      ($0.isSound, $0.time << 8 | Int64(input[start + 1 + $1]))
    }
  }
  InputFile.shared.hold(matroska(packets, image))
  let times = played(FileSource(path: InputFile.shared.path))
  feed(FileAudioSource(path: InputFile.shared.path))
  let containers: [MovieContainer] = [.mov, .mp4, .mkv]
  checkMovie(of: times, in: containers[Int(kind) % 3], image)
  InputFile.shared.hold(mcap(packets.filter { !$0.isSound }.map(\.time), image))
  _ = played(ReplaySource(path: InputFile.shared.path))
}

private let mostPackets = 48

/// Plays a source and returns the times of its frames. Fails if a time goes back, or exceeds 2^62 ns.
private func played(_ source: any Source) -> [Int64] {
  defer { try? source.close() }
  guard (try? source.open()) != nil else { return [] }
  var times: [Int64] = []
  while times.count < mostPackets, let arrival = try? source.next(timeout: 1_000_000_000) {
    switch arrival {
    case .end: return times
    case .nothing, .epoch: continue
    case .frame(let frame):
      let time = frame.captured.nanoseconds
      expect(abs(time) <= TimeGate.limit, "a time is \(time)")
      expect(
        times.last.map { $0 <= time } ?? true, "time goes back from \(times.last ?? 0) to \(time)")
      times.append(time)
      source.discard()
    }
  }
  _ = source.notes
  return times
}

/// Writes pictures at these times, and reads the movie: each is shown where it was, from the first, within
/// half a tick of the movie's clock, unless the ones before it lie closer together than its ticks.
private func checkMovie(of times: [Int64], in container: MovieContainer, _ image: [UInt8]) {
  // A gap can exceed the gate's limit only where the first pictures have no time. Such a movie is not
  // checked.
  let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
  guard let first = times.first, gaps.max() ?? 0 <= TimeGate.longestGap else { return }
  let output = MemoryOutput()
  let description = MovieDescription(
    width: 8, height: 8, rate: nil, range: .full, matrix: .bt601, transfer: .unspecified,
    isGray: true)
  var clock = MovieClock(rate: container.ticksPerSecond)
  guard var muxer = try? Muxer(container, description, output: output) else { return }
  var ticks: [Int64] = []
  for time in times {
    let tick = clock.tick(at: time)
    ticks.append(tick)
    let isWritten: Void? = try? muxer.write(image.span, tick: tick, gap: 1)
    expect(isWritten != nil, "a picture at tick \(tick) cannot be written")
  }
  let isFinished: Void? = try? muxer.finish(nominalTicks: nil)
  expect(isFinished != nil, "a movie of the ticks \(ticks) cannot be finished")
  InputFile.shared.hold(output.bytes)
  let longest = zip(ticks, ticks.dropFirst()).map { $1 - $0 }.max() ?? 0
  // The scale is divided until steps have 31 bits.
  let divisor = longest / (1 << 31) * 2 + 1
  guard var reader = try? MediaReader(path: InputFile.shared.path) else {
    expect(false, "a movie of the times \(times) cannot be opened")
    return
  }
  // Ticks by which the next picture is late: each picture lasts one tick of the divided scale or more.
  var late: Int64 = 0
  var index = 0
  while let packet = try? reader.nextPacket() {
    expect(index < ticks.count, "the movie has more pictures than \(ticks.count)")
    let shown = rescaled(packet.timeNanoseconds, Int64(container.ticksPerSecond), 1_000_000_000)
    if index > 0 { late = max(0, late + divisor - (ticks[index] - ticks[index - 1])) }
    expect(
      (-divisor - 1...divisor + 1 + late).contains(shown - ticks[index]),
      "the picture of tick \(ticks[index]) is shown at \(shown), \(time(times[index], from: first))"
    )
    index += 1
  }
  expect(index == ticks.count, "the movie has \(index) pictures of \(ticks.count)")
}

private func time(_ time: Int64, from first: Int64) -> String {
  "\((Double(time) - Double(first)) / 1e9) s after the first"
}

private final class MemoryOutput: MuxerOutput {
  var bytes: [UInt8] = []

  func write(_ new: Span<UInt8>, at offset: Int64) -> Bool {
    let end = Int(offset) + new.count
    if end > bytes.count { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
    for index in new.indices { bytes[Int(offset) + index] = new[index] }
    return true
  }

  func sync() -> Bool { true }
}

/// Grey, of 8 x 8 pixels.
private let tinyJPEG: [UInt8]? = {
  guard var encoder = try? JPEGEncoder(),
    let size = JPEGEncoder.maximumSize(width: 8, height: 8, subsampling: .gray)
  else { return nil }
  var output = [UInt8](repeating: 0, count: size)
  let plane = FuzzPlane(width: 8, height: 8)
  var count: Int?
  plane.use { luma in
    var span = output.mutableSpan
    count = try? encoder.encode(
      width: 8, height: 8, subsampling: .gray, y: PlaneBytes(luma), quality: 50, into: &span)
  }
  return count.map { Array(output[..<$0]) }
}()

// MARK: Files

/// Returns a Matroska file (RFC 9559). Each packet has a cluster of its own, with the packet's time in
/// milliseconds as an unsigned number of 64 bits.
private func matroska(_ packets: [(isSound: Bool, time: Int64)], _ image: [UInt8]) -> [UInt8] {
  func element(_ name: [UInt8], _ contents: [UInt8]) -> [UInt8] {
    name + [0x01] + bytes(contents.count, 7) + contents
  }
  func bytes(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
  func text(_ name: [UInt8], _ words: String) -> [UInt8] { element(name, Array(words.utf8)) }
  let picture =
    element([0xD7], [1]) + element([0x73, 0xC5], [1]) + element([0x83], [1])
    + text([0x86], "V_MJPEG")
    + element([0xE0], element([0xB0], [8]) + element([0xBA], [8]))
  // 8,000 samples a second, as a float.
  let rate: [UInt8] = [0x45, 0xFA, 0, 0]
  let sound =
    element([0xD7], [2]) + element([0x73, 0xC5], [2]) + element([0x83], [2])
    + text([0x86], "A_PCM/INT/LIT")
    + element([0xE1], element([0xB5], rate) + element([0x9F], [1]) + element([0x62, 0x64], [16]))
  let tracks = element(
    [0x16, 0x54, 0xAE, 0x6B], element([0xAE], picture) + element([0xAE], sound))
  let info = element(
    [0x15, 0x49, 0xA9, 0x66], element([0x2A, 0xD7, 0xB1], bytes(1_000_000, 4)))
  let clusters = packets.flatMap { packet in
    let block: [UInt8] = [packet.isSound ? 0x82 : 0x81, 0, 0, 0x80]
    let contents = packet.isSound ? [UInt8](repeating: 0, count: 320) : image
    return element(
      [0x1F, 0x43, 0xB6, 0x75],
      element([0xE7], bytes(Int(packet.time), 8)) + element([0xA3], block + contents))
  }
  return element([0x1A, 0x45, 0xDF, 0xA3], text([0x42, 0x82], "matroska"))
    + element([0x18, 0x53, 0x80, 0x67], info + tracks + clusters)
}

private struct MemoryMCAP: MCAPOutput {
  var bytes: [UInt8] = []
  mutating func write(_ new: Span<UInt8>) { for index in new.indices { bytes.append(new[index]) } }
}

/// Images of ROS 2, logged at these times in nanoseconds.
private func mcap(_ times: [Int64], _ image: [UInt8]) -> [UInt8] {
  func padded(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8) + [0]
    return [UInt8(bytes.count), 0, 0, 0] + bytes
      + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }
  let length = (0..<4).map { UInt8(truncatingIfNeeded: image.count >> (8 * $0)) }
  let message: [UInt8] =
    [0, 1, 0, 0] + [UInt8](repeating: 0, count: 8) + padded("camera") + padded("jpeg") + length
    + image
  var writer = MCAPWriter(output: MemoryMCAP())
  writer.begin(library: "fuzz")
  writer.add(
    MCAPSchema(id: 1, name: "sensor_msgs/msg/CompressedImage", encoding: "ros2msg", data: [0]))
  writer.add(MCAPChannel(id: 1, schema: 1, topic: "/camera", encoding: "cdr"))
  for (index, time) in times.enumerated() {
    let record = MCAPMessage(
      channel: 1, sequence: UInt32(index), logTime: UInt64(bitPattern: time))
    writer.add(record, data: message.span)
  }
  writer.end()
  return writer.output.bytes
}
