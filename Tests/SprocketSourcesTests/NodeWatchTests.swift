import Foundation
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSources

/// Nodes that come and go, in a folder of the test's own.
@Suite struct NodeWatchTests {
  private let scratch: Scratch
  private static let second: Int64 = 1_000_000_000

  init() throws {
    scratch = try Scratch()
    _ = try scratch.write("video0", [0])
    _ = try scratch.write("tty1", [0])
  }

  private func wait(_ watch: inout NodeWatch) throws {
    let hasHeard = watch.wait(timeout: longestWaitNanoseconds)
    try #require(hasHeard)
  }

  private func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: scratch.path(name))
  }

  @Test func whatComesAndGoesIsTold() throws {
    var watch = try NodeWatch(folder: scratch.url.path)
    let first = watch.nodes
    expectEqual(Array(first.keys), ["video0"])
    _ = try scratch.write("video2", [0])
    try wait(&watch)
    var changes = watch.changes()
    expectTrue(changes.gone == [] && changes.new == ["video2"])
    try remove("video0")
    try wait(&watch)
    changes = watch.changes()
    expectTrue(changes.gone == ["video0"] && changes.new == [])
  }

  /// Within the time in which nodes come to rest: another device.
  @Test func whatWasPluggedInAgainIsBoth() throws {
    var watch = try NodeWatch(folder: scratch.url.path)
    _ = try scratch.write("kept", [0])
    try FileManager.default.moveItem(
      atPath: scratch.path("video0"), toPath: scratch.path("old"))
    _ = try scratch.write("video0", [0])
    try wait(&watch)
    let changes = watch.changes()
    expectTrue(changes.gone == ["video0"] && changes.new == ["video0"])
  }

  /// The folder of sound devices comes with the first card.
  @Test func aMachineGetsItsFirstMicrophone() throws {
    var watch = try NodeWatch(folder: scratch.url.path)
    try FileManager.default.createDirectory(
      atPath: scratch.path("snd"), withIntermediateDirectories: false)
    try wait(&watch)
    _ = watch.changes()
    _ = try scratch.write("snd/pcmC0D0p", [0])
    _ = try scratch.write("snd/pcmC0D0c", [0])
    try wait(&watch)
    let changes = watch.changes()
    expectEqual(changes.new, ["snd/pcmC0D0c"])
  }

  @Test func whatIsNoCameraIsNotHeard() throws {
    var watch = try NodeWatch(folder: scratch.url.path)
    for name in ["tty2", "video", "videox", "v4l-subdev0", "media0", "pcmC0D0c"] {
      _ = try scratch.write(name == "pcmC0D0c" ? "other" : name, [0])
    }
    let hasHeard = watch.wait(timeout: Self.second / 2)
    expectFalse(hasHeard)
    let changes = watch.changes()
    #expect(changes == ([], []))
  }

  @Test func aFolderThatIsNotThereIsTold() {
    #expect(throws: (any Error).self) { _ = try NodeWatch(folder: "/nowhere") }
  }
}
