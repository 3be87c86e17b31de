import Foundation
import SprocketCore
import SprocketFiles
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSinks

/// Files are numbered names of 100 bytes, with the mark of a movie that a run wrote; a total of 1K has room
/// for ten.
@Suite struct KeptTotalTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func write(_ names: [String], bytes: Int = 100, isOwn: Bool = true) throws {
    let mark = isOwn ? Array("captured_ns".utf8) : []
    for name in names {
      _ = try scratch.write(name, mark + [UInt8](repeating: 7, count: bytes - mark.count))
    }
  }

  private func lastPart(_ paths: [String]) -> [String] {
    paths.map { String($0.split(separator: "/").last!) }
  }

  /// A file that a run is writing.
  private func open(_ name: String, bytes: Int) throws -> PartialFile {
    var file = try PartialFile(path: scratch.path(name), purpose: "movie", overwrite: false)
    try file.write([UInt8](repeating: 1, count: bytes).span)
    return file
  }

  private func names() throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: scratch.url.path))
  }

  private func total(_ name: String, limit: Int, fileBytes: UInt64? = nil) throws -> KeptTotal {
    try #require(
      KeptTotal(ByteCount(limit), of: OutputName(scratch.path(name)), fileBytes: fileBytes))
  }

  /// What is deleted when a file is complete, without its folder.
  private func trim(_ total: KeptTotal, _ name: String, bytes: UInt64 = 100) -> [String] {
    lastPart(total.trim(after: scratch.path(name), bytes: bytes).deleted)
  }

  @Test func theLowestNumbersGoFirst() throws {
    try write((5...14).map { "ride-\($0).mov" })
    let kept = try total("ride-{n}.mov", limit: 800)
    expectEqual(trim(kept, "ride-14.mov"), ["ride-5.mov", "ride-6.mov"])
    try expectEqual(names(), Set((7...14).map { "ride-\($0).mov" }))
    expectEmpty(trim(kept, "ride-14.mov"))
    expectEqual(kept.notes.count, 1)
  }

  @Test func numbersAreComparedAndNotTexts() throws {
    try write(["ride-9.mov", "ride-10.mov", "ride-100.mov"])
    let kept = try total("ride-{n}.mov", limit: 200)
    expectEqual(trim(kept, "ride-100.mov"), ["ride-9.mov"])
  }

  @Test func whatThePatternDidNotMakeStays() throws {
    let others = [
      "ride.mov", "ride-.mov", "ride-01.mov", "ride-0.mov", "ride--1.mov", "ride-1.mp4",
      "ride-1.mov.bak",
      "ride-1.partial", "ride-x1.mov", "aride-1.mov", "ride-1a.mov", "ride-+1.mov", "ride-1-2.mov",
      "Ride-1.mov", "ride-99999999999999999999.mov", "ride-1.partial.partial.mov", "ride-١.mov",
    ]
    try write(others)
    try FileManager.default.createDirectory(
      atPath: scratch.path("ride-2.mov"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: scratch.path("ride-3.mov"), withDestinationPath: scratch.path("ride.mov"))
    try write(["ride-7.mov"])
    let kept = try total("ride-{n}.mov", limit: 1)
    let all = try names()
    expectEmpty(trim(kept, "ride-7.mov"))
    try expectEqual(names(), all)
    // The newest file alone is above the limit, which is said.
    expectEqual(kept.notes.count, 1)
  }

  @Test func whatNoRunWroteIsNeverDeletedAndDoesNotCount() throws {
    try write(["a-1.mov", "a-2024.mov"], bytes: 5000, isOwn: false)
    try write((3...6).map { "a-\($0).mov" })
    let kept = try total("a-{n}.mov", limit: 300)
    expectEqual(trim(kept, "a-6.mov"), ["a-3.mov"])
    try expectEqual(
      names(), ["a-1.mov", "a-2024.mov", "a-4.mov", "a-5.mov", "a-6.mov"])
    expectEqual(
      kept.notes.last,
      "movie: no run wrote \(scratch.path("a-1.mov")) and 1 more, which have names of "
        + "\(scratch.path("a-{n}.mov")): they are not counted, and stay")
  }

  @Test(arguments: [
    (before: 0, behind: 300_000), (before: 300_000, behind: 0), (before: 60_000, behind: 60_000),
  ]) func theMarkIsFoundAtEitherEnd(before: Int, behind: Int) throws {
    let bytes =
      [UInt8](repeating: 7, count: before) + Array("CAPTURED_ns".utf8)
      + [UInt8](repeating: 7, count: behind)
    _ = try scratch.write("a-1.mov", bytes)
    try write(["a-2.mov"])
    expectEqual(trim(try total("a-{n}.mov", limit: 1000), "a-2.mov"), ["a-1.mov"])
  }

  @Test func roomIsMadeBeforeTheFirstFileAndNotBehindTheLast() throws {
    try write((1...5).map { "a-\($0).mov" })
    let kept = try total("a-{n}.mov", limit: 500)
    expectEmpty(trim(kept, "a-5.mov"))
    let next = try total("a-{n}.mov", limit: 500)
    expectEqual(lastPart(next.makeRoom().deleted), ["a-1.mov"])
    expectEmpty(next.makeRoom().deleted)
    expectEqual(next.notes.count, 1)
    // While a file is under way, the one that is completed makes room.
    var file = try open("a-6.mov", bytes: 10)
    expectEmpty(try total("a-{n}.mov", limit: 200).makeRoom().deleted)
    expectEqual(trim(try total("a-{n}.mov", limit: 400), "a-5.mov"), ["a-2.mov"])
    try file.complete()
  }

  @Test func numbersThatNoRunReachesAreOfOthers() throws {
    try write(["a-9223372036854775807.mov", "a-1000000000001.mov", "a-12.mov"])
    try expectEqual(total("a-{n}.mov", limit: 1).highestNumber, 12)
    let sink = MovieSink(path: scratch.path("a-{n}.mov"), keepTotal: ByteCount(1 << 30))
    try expectEqual(sink.takeName(OutputName(scratch.path("a-{n}.mov")), 3).number, 15)
  }

  @Test func theFileUnderWayCountsAsTheLargestOrAsItsSplit() throws {
    var file = try open("a-6.mov", bytes: 10)
    try write((1...5).map { "a-\($0).mov" })
    expectEmpty(trim(try total("a-{n}.mov", limit: 600), "a-5.mov"))
    expectEqual(trim(try total("a-{n}.mov", limit: 600, fileBytes: 200), "a-5.mov"), ["a-1.mov"])
    let kept = try total("a-{n}.mov", limit: 600)
    // Four are left; the largest so far has 300 bytes.
    expectEqual(trim(kept, "a-5.mov", bytes: 300), ["a-2.mov"])
    try file.complete()
  }

  @Test func whatAnEarlierRunLeftGoesInItsTurnAndWhatIsWrittenStays() throws {
    try write(["a-1.partial.mov", "a-2.mov", "a-4.mov"])
    var file = try open("a-3.mov", bytes: 500)
    let kept = try total("a-{n}.mov", limit: 100)
    expectEqual(trim(kept, "a-4.mov"), ["a-1.partial.mov", "a-2.mov"])
    try expectEqual(names(), ["a-3.partial.mov", "a-4.mov"])
    try file.complete()
  }

  @Test func numbersBeginBehindThoseThatAreThere() throws {
    try expectEqual(total("a-{n}.mov", limit: 1).highestNumber, 0)
    try write(["a-7.mov", "a-12.partial.mov", "a-x.mov"])
    let kept = try total("a-{n}.mov", limit: 1)
    expectEqual(kept.highestNumber, 12)
    try write(["a-40.mov"])
    expectEqual(kept.highestNumber, 12)
  }

  @Test(.enabled(if: getuid() != 0, "root may delete all")) func whatCannotBeDeletedIsAnErrorOnce()
    throws
  {
    try write(["a-1.mov", "a-2.mov", "a-3.mov"])
    func setMode(_ mode: Int) throws {
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: scratch.url.path)
    }
    try setMode(0o500)
    let kept = try total("a-{n}.mov", limit: 150)
    let first = kept.trim(after: scratch.path("a-3.mov"), bytes: 100)
    expectEmpty(first.deleted)
    expectTrue(first.error?.description.contains("make its folder writable") ?? false)
    expectNil(kept.trim(after: scratch.path("a-3.mov"), bytes: 100).error)
    try setMode(0o700)
  }

  @Test func aRecordingWithANameOfItsOwnDeletesNothing() throws {
    try write(["a-1.mov", "a-2.mov"])
    expectEmpty(trim(try total("a-{n}.mov", limit: 1), "other.mov"))
  }

  @Test(arguments: [
    "movie.mov", "take{n}/movie.mov", "a-{n}-{n}.mov", "cam1{n}.mov", "{source}{n}.mov",
    "a-{n}1.mov",
  ])
  func aNameWithoutANumberOfItsOwnKeepsNoTotal(_ name: String) {
    expectTrue(KeptTotal(ByteCount(1), of: OutputName(name), fileBytes: nil) == nil)
  }

  @Test func wrongSettingsAreRefusedWithTheirPaths() {
    func paths(_ choose: (inout MovieSettings) -> Void) -> [[String]] {
      var settings = MovieSettings()
      (settings.path, settings.keepTotal) = ("a-{n}.mov", ByteCount(1 << 30))
      choose(&settings)
      return settings.errors { SettingPath($0) }.map { $0.settings.map(\.description) }
    }
    expectEqual(paths { $0.split = .time(.seconds(60)) }, [])
    expectEqual(paths { $0.isOnDemand = true }, [])
    expectEqual(paths { $0.path = "a.mov" }, [["keep-total", "path"]])
    expectEqual(paths { _ in }, [["keep-total", "split"]])
    expectEqual(paths { $0.split = .bytes(ByteCount(1 << 30)) }, [["keep-total", "split"]])
    expectEqual(paths { $0.split = .bytes(ByteCount(1 << 29)) }, [])
  }

  @Test func standardOutputTakesOneMovie() {
    func paths(_ choose: (inout MovieSettings) -> Void) -> [[String]] {
      var settings = MovieSettings()
      settings.path = "-"
      choose(&settings)
      return settings.errors { SettingPath($0) }.map { $0.settings.map(\.description) }
    }
    expectEqual(paths { $0.container = .mkv }, [])
    expectEqual(paths { $0.keepTotal = ByteCount(1) }, [["keep-total", "path"]])
    expectEqual(paths { $0.split = .time(.seconds(1)) }, [["path", "split"]])
    expectEqual(
      paths { ($0.isOnDemand, $0.keepFree) = (true, ByteCount(1)) },
      [
        ["path", "on-demand", "keep-free"]
      ])
    expectEqual(paths { ($0.path, $0.container) = ("a.mkv", .mkv) }, [["container"]])
    expectEqual(paths { $0.container = .webm }, [["codec"]])
    expectEqual(paths { $0.path = "a.webm" }, [["codec"]])
  }
}
