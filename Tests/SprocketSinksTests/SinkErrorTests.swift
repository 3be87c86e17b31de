import CSprocketAllocations
import Foundation
import SprocketCore
import SprocketSinks
import TestExpectations
import TestSupport
import Testing

/// Where a file cannot be written: one sentence that says what to do.
@Suite struct SinkErrorTests {
  static let format = ReportSinkTests.format
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// What opening `path` for reports throws.
  func failure(_ path: String, overwrite: Bool = false) -> RunError? {
    let sink = ReportSink(path: path, overwrite: overwrite)
    var setup = SinkSetup.test(Self.format)
    do throws(RunError) {
      try sink.configure(&setup)
      try sink.finish()
      return nil
    } catch {
      return error
    }
  }

  @Test func namesAMissingDirectory() {
    let path = scratch.path("no/such/r.jsonl")
    let error = failure(path)
    expectEqual(error?.code, .usage)
    expectEqual(
      error?.description,
      "cannot write reports to \(path): the directory "
        + "\(scratch.path("no/such")) does not exist; make it")
  }

  @Test func refusesADirectory() {
    for overwrite in [false, true] {
      let error = failure(scratch.url.path, overwrite: overwrite)
      expectEqual(error?.code, .usage)
      expectEqual(error?.description.hasSuffix("it is a directory; give the name of a file"), true)
    }
  }

  @Test func refusesAFileInsideAFile() throws {
    try Data().write(to: scratch.url.appendingPathComponent("file"))
    let error = failure(scratch.path("file/r.jsonl"))
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.contains("\(scratch.path("file")) is not a directory"), true)
  }

  @Test func refusesAnEmptyPath() {
    expectEqual(failure("")?.description.contains("give the name of a file"), true)
  }

  @Test func refusesAnExistingFileUnlessToldToReplaceIt() throws {
    try Data("old".utf8).write(to: scratch.url.appendingPathComponent("r.jsonl"))
    let error = failure(scratch.path("r.jsonl"))
    expectEqual(error?.code, .usage)
    expectEqual(error?.settings, [.overwrite])
    try expectEqual(scratch.text("r.jsonl"), "old")
    expectNil(failure(scratch.path("r.jsonl"), overwrite: true))
    try expectEqual(scratch.text("r.jsonl"), "")
  }

  @Test func aRunThatDoesNotBeginLeavesFilesAsTheyWere() throws {
    try Data("old".utf8).write(to: scratch.url.appendingPathComponent("old"))
    for (name, overwrite) in [("old", true), ("new", false), ("newer", true)] {
      var sink: ReportSink? = ReportSink(path: scratch.path(name), overwrite: overwrite)
      var setup = SinkSetup.test(Self.format)
      try sink?.configure(&setup)
      sink = nil
    }
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: scratch.url.path), ["old"])
    try expectEqual(scratch.text("old"), "old")
  }

  @Test(arguments: ["/proc/self/r.jsonl", "/sys/r.jsonl"])
  func refusesWhereTheKernelMakesNoFiles(path: String) {
    // Not even for root; by which errno is the kernel's and the container's choice.
    let error = failure(path)
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.hasPrefix("cannot write reports to \(path): "), true)
    expectEqual(error?.description.hasSuffix("choose another place"), true)
  }

  @Test(.enabled(if: getuid() != 0, "root may write anywhere"))
  func namesADirectoryWithoutPermission() throws {
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o500], ofItemAtPath: scratch.url.path)
    let error = failure(scratch.path("r.jsonl"))
    expectEqual(error?.code, .usage)
    let sentence = "the folder \(scratch.url.path) is not writable for you"
    expectEqual(error?.description.contains(sentence), true)
  }

  @Test func tellsOfAFullDiskOnce() throws {
    for isLive in [true, false] {
      let sink = ReportSink(path: "/dev/full")
      var setup = SinkSetup.test(Self.format, isLive: isLive)
      try sink.configure(&setup)
      let error = #expect(throws: RunError.self) {
        for _ in 0..<1000 { try SinkFrame(Self.format).write(to: sink) }
      }
      expectEqual(error?.code, .failed)
      expectEqual(
        error?.description,
        "writing to /dev/full failed: the disk is full; free some space and run again")
      try sink.finish()
    }
  }

  @Test func aFullDiskIsNoticedAtTheEndAtTheLatest() throws {
    let sink = ReportSink(path: "/dev/full")
    var setup = SinkSetup.test(Self.format)
    try sink.configure(&setup)
    try SinkFrame(Self.format).write(to: sink)
    let error = #expect(throws: RunError.self) { try sink.finish() }
    expectEqual(error?.code, .failed)
  }

  @Test func checksumsAndPipesTellOfAFullDiskToo() throws {
    let checksums = ChecksumSink(path: "/dev/full")
    var setup = SinkSetup.test(Self.format)
    try checksums.configure(&setup)
    let frame = SinkFrame(Self.format, TestPattern.ramp.bytes(8))
    try frame.write(to: checksums, packer: checksums.makePacker())
    #expect(throws: RunError.self) { try checksums.finish() }

    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let pipe = PipeSink(.y4m, descriptor: full.fileDescriptor)
    setup = SinkSetup.test(Self.format)
    try pipe.configure(&setup)
    let error = #expect(throws: RunError.self) { try frame.write(to: pipe) }
    expectEqual(error?.code, .failed)
    try pipe.finish()
  }

  @Test func tellsWhenADescriptorIsNotOpenForWriting() throws {
    let file = try #require(FileHandle(forReadingAtPath: "/dev/null"))
    let sink = PipeSink(.gray, descriptor: file.fileDescriptor)
    var setup = SinkSetup.test(Self.format)
    try sink.configure(&setup)
    let frame = SinkFrame(Self.format, TestPattern.ramp.bytes(8))
    let error = #expect(throws: RunError.self) { try frame.write(to: sink) }
    expectEqual(error?.code, .usage)
  }

  @Test func nullTakesAllAndReadsNothing() throws {
    let sink = NullSink()
    var setup = SinkSetup.test(Self.format)
    try sink.configure(&setup)
    try expectTrue(setup.parts.isEmpty && sink.makePacker() == nil)
    let frame = SinkFrame(Self.format)
    for _ in 0..<3 { try frame.write(to: sink) }
    try sink.finish()
    expectEqual(sink.frameCount, 3)
  }
}

/// Neither checksums nor pixels cost an allocation per frame.
@Suite struct SinkAllocationTests {
  @Test func countsAtAll() {
    let before = sprocket_allocation_count()
    let array = TestPattern.zeros.bytes(100)
    expectEqual(array.count, 100)
    expectGreater(sprocket_allocation_count(), before)
  }

  @Test(arguments: [0, 16]) func checksumsAndPipesAllocateNothing(padding: Int) throws {
    let format = PipeSinkTests.format(.i420, 64, 64)
    let null = try #require(FileHandle(forWritingAtPath: "/dev/null"))
    let pipe = PipeSink(.y4m, descriptor: null.fileDescriptor)
    let checksums = ChecksumSink(path: "/dev/null")
    var setup = SinkSetup.test(format)
    try pipe.configure(&setup)
    try checksums.configure(&setup)
    let packer = checksums.makePacker()
    let frame = SinkFrame(format, TestPattern.random.bytes(6144), padding: padding)
    try frame.write(to: checksums, packer: packer)
    try frame.write(to: pipe)
    let before = sprocket_allocation_count()
    for _ in 0..<1000 {
      try frame.write(to: checksums, packer: packer)
      try frame.write(to: pipe)
    }
    expectEqual(sprocket_allocation_count() - before, 0)
    try checksums.finish()
  }
}
