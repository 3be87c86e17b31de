import Foundation
import SprocketCore
import SprocketFiles
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSinks

/// A file has its final name only when it is complete and synced.
@Suite struct PartialFileTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: scratch.url.appendingPathComponent(name))
  }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: scratch.url.path).sorted() }
  }

  func open(_ name: String, overwrite: Bool = false) throws(RunError) -> PartialFile {
    try PartialFile(path: scratch.path(name), purpose: "movie", overwrite: overwrite)
  }

  /// What opening `name` throws.
  func failure(_ name: String, overwrite: Bool = false) -> RunError? {
    do throws(RunError) {
      _ = try open(name, overwrite: overwrite)
      return nil
    } catch {
      return error
    }
  }

  /// What completing throws.
  func failure(completing file: inout PartialFile) -> RunError? {
    do throws(RunError) {
      try file.complete()
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    ("a/movie.mov", "a/movie.partial.mov"), ("sums", "sums.partial"),
    ("a.b/sums", "a.b/sums.partial"), (".hidden", ".hidden.partial"), ("x.y.z", "x.y.partial.z"),
    ("end.", "end.partial."),
  ]) func thePartialNameKeepsTheEnding(name: String, partial: String) {
    expectEqual(PartialFile.partialName(of: name), partial)
  }

  @Test func hasItsNameWhenItIsComplete() throws {
    var file = try open("m.mov")
    try expectEqual(names, ["m.partial.mov"])
    try file.write("world".utf8Span.span, at: 6)
    try file.write("hello ".utf8Span.span)
    try expectEqual(names, ["m.partial.mov"])
    try expectEqual(scratch.text("m.partial.mov"), "hello world")
    try file.complete()
    try expectEqual(names, ["m.mov"])
    try expectEqual(scratch.text("m.mov"), "hello world")
  }

  @Test func whatIsReplacedStaysUntilThen() throws {
    try write("m.mov", "old")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: scratch.path("m.mov"))
    var file = try open("m.mov", overwrite: true)
    try file.write("new".utf8Span.span)
    try expectEqual(scratch.text("m.mov"), "old")
    try file.complete()
    try expectTrue(names == ["m.mov"] && scratch.text("m.mov") == "new")
    let mode = try FileManager.default.attributesOfItem(atPath: scratch.path("m.mov"))
    expectEqual(mode[.posixPermissions] as? Int, 0o600)
  }

  @Test func aLinkGoesOnToStandForTheFile() throws {
    try write("real.mov", "old")
    try FileManager.default.createSymbolicLink(
      atPath: scratch.path("m.mov"), withDestinationPath: "real.mov")
    var file = try open("m.mov", overwrite: true)
    try file.write("new".utf8Span.span)
    try file.complete()
    try expectTrue(names == ["m.mov", "real.mov"] && scratch.text("real.mov") == "new")
  }

  @Test func whatAnEarlierRunLeftIsNotDestroyedUnasked() throws {
    try write("m.partial.mov", "precious")
    let error = failure("m.mov")
    expectEqual(error?.code, .usage)
    expectEqual(
      error?.description,
      "cannot write movie to \(scratch.path("m.mov")): a run that did not end "
        + "left \(scratch.path("m.partial.mov")); make a whole file of it "
        + "(sprocket recover \(scratch.path("m.partial.mov")) NAME), move it away, "
        + "or let \(scratch.path("m.mov")) be overwritten: then it is kept under another name")
    // A start that fails later does not destroy it either.
    expectNil(failure("m.mov", overwrite: true))
    try expectEqual(scratch.text("m.partial.mov"), "precious")
    var file = try open("m.mov", overwrite: true)
    try file.write("new".utf8Span.span)
    expectEqual(file.keptPath, scratch.path("m.interrupted.mov"))
    try file.complete()
    try expectTrue(
      names == ["m.interrupted.mov", "m.mov"] && scratch.text("m.mov") == "new"
        && scratch.text("m.interrupted.mov") == "precious")
    // Another one takes no name away.
    try write("m.partial.mov", "second")
    file = try open("m.mov", overwrite: true)
    try file.write("newer".utf8Span.span)
    try file.complete()
    try expectTrue(
      scratch.text("m.interrupted.mov") == "precious"
        && scratch.text("m.interrupted-2.mov") == "second" && scratch.text("m.mov") == "newer")
  }

  @Test func anEmptyLeftOverIsTakenOver() throws {
    try write("m.partial.mov", "")
    var file = try open("m.mov")
    try file.complete()
    try expectEqual(names, ["m.mov"])
  }

  @Test func whatAnotherRunIsWritingIsRefused() throws {
    var file = try open("m.mov")
    for overwrite in [false, true] {
      let error = failure("m.mov", overwrite: overwrite)
      expectEqual(error?.code, .usage)
      expectEqual(error?.description.contains("another run is writing it"), true)
    }
    try file.write("one".utf8Span.span)
    try file.complete()
    try expectEqual(scratch.text("m.mov"), "one")
  }

  @Test func whatAppearedMeanwhileIsKept() throws {
    var file = try open("m.mov")
    try file.write("new".utf8Span.span)
    try write("m.mov", "theirs")
    let error = failure(completing: &file)
    expectEqual(error?.code, .failed)
    expectEqual(error?.description.contains("is kept; the new file is"), true)
    try expectEqual(scratch.text("m.mov"), "theirs")
    try expectEqual(scratch.text("m.partial.mov"), "new")
  }

  @Test func aRemovedFolderIsToldAtTheEnd() throws {
    var file = try open("m.mov")
    try file.write("new".utf8Span.span)
    let wasGone = file.isGone
    try FileManager.default.removeItem(at: scratch.url)
    let isGone = file.isGone
    expectFalse(wasGone)
    expectTrue(isGone)
    let error = failure(completing: &file)
    expectEqual(error?.code, .failed)
    expectEqual(error?.description.hasSuffix("was removed during the run; run again"), true)
  }

  @Test func whatNobodyCompletesKeepsItsPartialName() throws {
    do {
      var file = try open("m.mov")
      try file.write("half".utf8Span.span)
    }
    try expectEqual(names, ["m.partial.mov"])
  }

  @Test func aFileThatIsMovedIsToldWhereItIs() throws {
    for theirs in [false, true] {
      var file = try open("m.mov")
      try file.write("new".utf8Span.span)
      let moved = scratch.path("moved\(theirs)")
      try FileManager.default.moveItem(atPath: scratch.path("m.partial.mov"), toPath: moved)
      // Another's file of that name is not given the final one.
      if theirs { try write("m.partial.mov", "theirs") }
      let error = failure(completing: &file)
      expectEqual(
        error?.description.contains("was moved during the run; the file is \(moved)"), true)
      try expectEqual(String(contentsOfFile: moved, encoding: .utf8), "new")
      try expectFalse(names.contains("m.mov"))
    }
  }

  @Test func aCompleteFileIsNotWritten() async {
    await #expect(processExitsWith: .failure) {
      let scratch = try Scratch()
      var file = try PartialFile(path: scratch.path("m"), purpose: "movie", overwrite: false)
      try file.complete()
      try file.write("more".utf8Span.span)
    }
  }
}
