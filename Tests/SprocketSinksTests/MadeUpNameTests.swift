import Foundation
import SprocketCore
import SprocketFiles
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSinks

/// The program makes up some names. It must not write into other users' files of such a name, and private
/// files must stay private.
@Suite struct MadeUpNameTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: scratch.url.appendingPathComponent(name))
  }

  func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: scratch.path(name), withDestinationPath: target)
  }

  func setMode(_ name: String, _ mode: Int) throws {
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: scratch.path(name))
  }

  func setOwner(_ name: String, _ user: Int, _ group: Int) throws {
    try FileManager.default.setAttributes(
      [.ownerAccountID: user, .groupOwnerAccountID: group], ofItemAtPath: scratch.path(name))
  }

  func mode(_ name: String) throws -> Int? {
    let attributes = try FileManager.default.attributesOfItem(atPath: scratch.path(name))
    return attributes[.posixPermissions] as? Int
  }

  func open(_ name: String, overwrite: Bool, isMadeUp: Bool = false) throws(RunError)
    -> PartialFile
  {
    try PartialFile(
      path: scratch.path(name), purpose: "movie", overwrite: overwrite, isMadeUp: isMadeUp)
  }

  /// What opening `m.mov` throws where `m.partial.mov` is something else.
  func obstacle(overwrite: Bool) -> String? {
    do throws(RunError) {
      var file = try open("m.mov", overwrite: overwrite)
      try file.write("new".utf8Span.span)
      return nil
    } catch {
      return error.description
    }
  }

  func sentence(_ what: String) -> String {
    "cannot write movie to \(scratch.path("m.mov")): \(scratch.path("m.partial.mov")), which it is "
      + "called until it is complete, is \(what); move that away or choose another name"
  }

  @Test(arguments: [false, true]) func noSymbolicLinkIsFollowed(overwrite: Bool) throws {
    for target in ["victim", "empty", "nothing", "."] {
      try write("victim", "precious")
      try write("empty", "")
      try link("m.partial.mov", to: target)
      expectEqual(obstacle(overwrite: overwrite), sentence("a symbolic link"))
      try expectTrue(scratch.text("victim") == "precious" && scratch.text("empty") == "")
      expectFalse(FileManager.default.fileExists(atPath: scratch.path("nothing")))
      try FileManager.default.removeItem(atPath: scratch.path("m.partial.mov"))
    }
  }

  @Test(arguments: [false, true]) func noHardLinkIsWrittenInto(overwrite: Bool) throws {
    for text in ["precious", ""] {
      try write("victim", text)
      try FileManager.default.linkItem(
        atPath: scratch.path("victim"), toPath: scratch.path("m.partial.mov"))
      expectEqual(obstacle(overwrite: overwrite), sentence("a hard link to another file"))
      try expectEqual(scratch.text("victim"), text)
      try FileManager.default.removeItem(atPath: scratch.path("m.partial.mov"))
    }
  }

  @Test func aFolderAndAPipeAreCalledWhatTheyAre() throws {
    try FileManager.default.createDirectory(
      atPath: scratch.path("m.partial.mov"), withIntermediateDirectories: false)
    expectEqual(obstacle(overwrite: true), sentence("a folder"))
    try FileManager.default.removeItem(atPath: scratch.path("m.partial.mov"))
    _ = try Tool.run("mkfifo", [scratch.path("m.partial.mov")])
    expectEqual(obstacle(overwrite: true), sentence("a device or pipe"))
  }

  @Test(.enabled(if: getuid() == 0, "only root can give a file to another user"))
  func anotherUsersFileIsNotWrittenInto() throws {
    try write("m.partial.mov", "theirs")
    try setOwner("m.partial.mov", 12_345, 12_345)
    expectEqual(obstacle(overwrite: true), sentence("another user's file"))
    try expectEqual(scratch.text("m.partial.mov"), "theirs")
    // Unless it is that user's file which is replaced.
    try write("m.mov", "old")
    try setOwner("m.mov", 12_345, 54_321)
    var file = try open("m.mov", overwrite: true)
    try file.write("new".utf8Span.span)
    try file.complete()
    let attributes = try FileManager.default.attributesOfItem(atPath: scratch.path("m.mov"))
    expectEqual(attributes[.ownerAccountID] as? Int, 12_345)
    expectEqual(attributes[.groupOwnerAccountID] as? Int, 54_321)
  }

  @Test func aLinkThatTakesThePartialNameMeanwhileIsNotGivenTheFinalOne() throws {
    var file = try open("m.mov", overwrite: false)
    try file.write("new".utf8Span.span)
    try FileManager.default.moveItem(
      atPath: scratch.path("m.partial.mov"), toPath: scratch.path("elsewhere"))
    try link("m.partial.mov", to: "elsewhere")
    #expect(throws: RunError.self) { try file.complete() }
    expectFalse(FileManager.default.fileExists(atPath: scratch.path("m.mov")))
  }

  @Test func aNameThatIsMadeUpReplacesALinkAndTheUsersFollowsIt() throws {
    for isMadeUp in [false, true] {
      try write("victim", "precious")
      try link("m-2.mov", to: "victim")
      var file = try open("m-2.mov", overwrite: true, isMadeUp: isMadeUp)
      try file.write("new".utf8Span.span)
      try file.complete()
      try expectEqual(scratch.text("m-2.mov"), "new")
      try expectEqual(scratch.text("victim"), (isMadeUp ? "precious" : "new"))
      try FileManager.default.removeItem(atPath: scratch.path("m-2.mov"))
    }
  }

  @Test(arguments: [0o600, 0o640, 0o444, 0o666])
  func aPartialFileHasTheFinalFilesModeFromTheStart(mode: Int) throws {
    for hasLeftOver in [false, true] {
      try write("m.mov", "private")
      try setMode("m.mov", mode)
      if hasLeftOver {
        try write("m.partial.mov", "left")
        try setMode("m.partial.mov", 0o644)
      }
      var file = try open("m.mov", overwrite: true)
      // What is left over is as it was until it is written.
      if !hasLeftOver { try expectEqual(self.mode("m.partial.mov"), mode) }
      try file.write("new".utf8Span.span)
      try expectEqual(self.mode("m.partial.mov"), mode)
      try file.complete()
      try expectEqual(self.mode("m.mov"), mode)
    }
  }

  @Test func aStillThatIsReplacedHandsDownItsModeAndItsLinksLoseNothing() throws {
    try FileManager.default.createDirectory(
      atPath: scratch.path("s"), withIntermediateDirectories: false)
    try write("victim", "precious")
    try write("s/still-00000000.jpg", "private")
    try setMode("s/still-00000000.jpg", 0o600)
    try FileManager.default.linkItem(
      atPath: scratch.path("victim"), toPath: scratch.path("s/still-00000000.partial.jpg"))
    try link("s/still-00000001.partial.jpg", to: "../victim")
    try link("s/still-00000001.jpg", to: "../victim")
    let sink = StillSink(path: scratch.path("s"), overwrite: true)
    var setup = SinkSetup.test(StillSinkTests.format)
    try sink.configure(&setup)
    for number: UInt64 in 0..<3 {
      try StillSinkTests.frame(number, Double(number) / 60, byte: 7).write(to: sink)
    }
    try expectEqual(mode("s/still-00000000.jpg"), 0o600)
    try sink.finish()
    try expectEqual(scratch.text("victim"), "precious")
    for number in 0..<3 {
      try expectEqual(
        scratch.bytes("s/still-0000000\(number).jpg"), [UInt8](repeating: 7, count: 98))
    }
  }
}
