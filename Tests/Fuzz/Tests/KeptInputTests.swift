internal import FoundationEssentials
internal import TestExpectations
internal import Testing

/// Every kept input of the fuzzer, fed to its target once: one for each past finding among them.
/// `make fuzz` goes on from there with inputs of its own.
@Suite(.serialized) struct KeptInputTests {
  /// These have nothing but the seeds that `make fuzz` makes.
  private let seedsAlone: Set = ["exif", "sound"]
  private static let corpus =
    #filePath.split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" } + "/Corpus"

  @Test(arguments: FuzzTarget.all.map(\.name))
  func aKeptInputFindsNothing(_ name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let folder = Self.corpus + "/" + name
    if seedsAlone.contains(name) { return }
    for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let data = try #require(FileManager.default.contents(atPath: folder + "/" + file))
      target.feed([UInt8](data))
    }
  }

  @Test func eachFolderIsThatOfATarget() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus)
    expectEqual(
      Set(folders), Set(FuzzTarget.all.map(\.name)).subtracting(seedsAlone))
  }
}
