import Foundation
import SprocketLibAV
import TestExpectations
import TestSupport
import Testing

/// A file in memory, that may be full, and of which each step is kept.
final class MemoryOutput: MuxerOutput {
  var bytes: [UInt8] = []
  var capacity = Int.max
  /// The file after each write and before each sync.
  var steps: [[UInt8]] = []
  var keepsSteps = false
  var syncs = 0

  func write(_ span: Span<UInt8>, at offset: Int64) -> Bool {
    guard Int(offset) + span.count <= capacity else { return false }
    let end = Int(offset) + span.count
    if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
    for index in span.indices { bytes[Int(offset) + index] = span[index] }
    if keepsSteps { steps.append(bytes) }
    return true
  }

  func sync() -> Bool {
    syncs += 1
    return true
  }
}

@Suite(.enabled(if: Tool.hasFFmpeg)) struct MuxerTests {
  let clips: Scratch
  /// Images of different sizes in bytes.
  let images: [[UInt8]]

  init() throws {
    clips = try Scratch()
    let clip = try clips.make("clip.mjpeg", frames: 40, ["-c:v", "mjpeg", "-q:v", "3"])
    let bytes = try Scratch.bytes(clip)
    var starts: [Int] = []
    for index in bytes.indices.dropLast(2) where bytes[index...].starts(with: [0xFF, 0xD8, 0xFF]) {
      starts.append(index)
    }
    starts.append(bytes.count)
    images = zip(starts, starts.dropFirst()).map { Array(bytes[$0..<$1]) }
    expectEqual(images.count, 40)
  }

  static let description = MovieDescription(
    width: 53, height: 37, rate: MediaRational(12, 1), range: .full, matrix: .bt601,
    transfer: .unspecified, isGray: false)

  /// Writes all images, `gap` ticks apart.
  func write(_ container: MovieContainer, gap: Int64, to output: MemoryOutput) throws(MuxerError)
    -> UInt64
  {
    var muxer = try Muxer(
      container, Self.description, tags: [("captured_ns", "123")], output: output)
    for (index, image) in images.enumerated() {
      try muxer.write(image.span, tick: Int64(index) * gap, gap: gap)
    }
    try muxer.finish(nominalTicks: gap)
    return muxer.durableFrames
  }

  /// The packets of a file: time in ticks and bytes.
  func packets(_ bytes: [UInt8], _ container: MovieContainer) throws -> [String] {
    let path = try clips.write("movie.\(container.rawValue)", bytes)
    return try Tool.probe(path, "packet=pts,size")
  }

  @Test(arguments: MovieContainer.allCases.filter(\.holdsJPEG))
  func everyFrameIsThereAtItsTime(container: MovieContainer) throws {
    let output = MemoryOutput()
    let gap = Int64(container.ticksPerSecond) / 12
    try expectEqual(write(container, gap: gap, to: output), 40)
    let expected = images.enumerated().map { "\(Int64($0) * gap),\($1.count)" }
    try expectEqual(packets(output.bytes, container), expected)
  }

  /// Cut off after any step, the file has all frames up to one of its fragments; in the last steps, in
  /// which it becomes plain, all.
  @Test(arguments: MovieContainer.allCases.filter(\.holdsJPEG))
  func eachStepLeavesAFileThatCanBeRead(container: MovieContainer) throws {
    let output = MemoryOutput()
    output.keepsSteps = true
    _ = try write(container, gap: Int64(container.ticksPerSecond) / 12, to: output)
    // The first step has no more than what an MKV begins with.
    let counts = try output.steps.dropFirst().map { try packets($0, container).count }
    expectEqual(counts.sorted(), counts)
    expectEqual(counts.last, 40)
    if container != .mkv {
      // A second is 12 frames; each fragment is its index and its frames.
      expectTrue(Set(counts).isSuperset(of: [12, 24, 36, 40]))
      expectEqual(counts.suffix(3), [40, 40, 40])
      expectEqual(output.syncs, 1)
    }
  }

  @Test(arguments: [MovieContainer.mov, .mp4])
  func aFullDiskAtTheEndLeavesTheFragments(container: MovieContainer) throws {
    let whole = MemoryOutput()
    whole.keepsSteps = true
    let gap = Int64(container.ticksPerSecond) / 12
    _ = try write(container, gap: gap, to: whole)
    let output = MemoryOutput()
    // Before the index, which is the last but one step, and the 16 bytes of the last.
    output.capacity = whole.steps[whole.steps.count - 3].count
    #expect(throws: MuxerError.output) { try write(container, gap: gap, to: output) }
    try expectEqual(packets(output.bytes, container).count, 40)
  }

  @Test(arguments: MovieContainer.allCases.filter(\.holdsJPEG))
  func vouchesForWhatTheDiskTook(container: MovieContainer) throws {
    let output = MemoryOutput()
    output.capacity = images[..<30].reduce(0) { $0 + $1.count }
    var muxer = try Muxer(container, Self.description, output: output)
    let gap = Int64(container.ticksPerSecond) / 12
    var failure: MuxerError?
    for (index, image) in images.enumerated() where failure == nil {
      do throws(MuxerError) {
        try muxer.write(image.span, tick: Int64(index) * gap, gap: gap)
      } catch {
        failure = error
      }
    }
    expectEqual(failure, .output)
    let (frames, end) = (muxer.durableFrames, muxer.durableEnd)
    // The first frame that is a second or more from where its fragment begins is in the next.
    let fragment = (UInt64(container.ticksPerSecond) + UInt64(gap) - 1) / UInt64(gap)
    expectEqual(frames, 2 * fragment)
    try expectEqual(packets(Array(output.bytes[..<Int(end)]), container).count, Int(frames))
  }

  /// Longer than 32 bits of ticks: 13.3 hours.
  @Test(arguments: [MovieContainer.mov, .mp4]) func daysFit(container: MovieContainer) throws {
    let output = MemoryOutput()
    let gap: Int64 = 3_600 * 90000
    _ = try write(container, gap: gap, to: output)
    let path = try clips.write("long.\(container.rawValue)", output.bytes)
    try expectEqual(Tool.probe(path, "stream=duration"), ["144000.000000"])
    try expectEqual(Tool.probe(path, "packet=pts").last, "\(39 * gap)")
  }

  @Test(arguments: MovieContainer.allCases.filter(\.holdsJPEG))
  func keepsTags(container: MovieContainer) throws {
    let output = MemoryOutput()
    _ = try write(container, gap: 100, to: output)
    let path = try clips.write("tags.\(container.rawValue)", output.bytes)
    let name = container == .mkv ? "CAPTURED_NS" : "captured_ns"
    try expectEqual(Tool.probe(path, "format_tags=\(name)"), ["123"])
  }
}
