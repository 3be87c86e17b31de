import Sprocket
import TestExpectations
import Testing

@testable import SprocketCommandLine

/// Labels of sources, and what of an option is each one's.
struct SourceLabelTests {
  @Test func labelsAreGivenOrMade() throws {
    let texts = [
      "front=camera:usb:046d:0825#0", "scene", "scene", "camera:?size=640x480", "file:a=b.mov",
    ]
    let found = try SourceLabel.all(texts)
    expectEqual(found.map(\.label), ["front", "scene", "scene2", "camera", "file"])
    expectEqual(
      found.map(\.source),
      [
        "camera:usb:046d:0825#0", "scene", "scene", "camera:?size=640x480", "file:a=b.mov",
      ])
    try expectEqual(SourceLabel.all(["scene", "scene=camera"]).map(\.label), ["scene2", "scene"])
    #expect(throws: RunError.self) { try SourceLabel.all(["a=scene", "a=scene"]) }
  }

  @Test func aSourcesOwnReplaceThoseOfAll() throws {
    let labels = SourceLabels(labels: ["left", "right"])
    let pairs = ["gain=1", "right.gain=3", "truth={source}.json", "left.exposure=2.5"]
    try expectEqual(
      labels.pairs(pairs, of: "left", option: "--control"),
      [
        "gain=1", "truth={source}.json", "exposure=2.5",
      ])
    try expectEqual(
      labels.pairs(pairs, of: "right", option: "--control"),
      [
        "truth={source}.json", "gain=3",
      ])
    #expect(throws: RunError.self) {
      try labels.pairs(["middle.gain=1"], of: "left", option: "--control")
    }
    let sizes = [Labelled(1), Labelled(label: "right", 2)]
    try expectEqual(labels.value(sizes, of: "left", option: "--size"), 1)
    try expectEqual(labels.value(sizes, of: "right", option: "--size"), 2)
    #expect(throws: RunError.self) {
      try labels.value([Labelled(1), Labelled(2)], of: "left", option: "--size")
    }
    #expect(throws: RunError.self) {
      try labels.value([Labelled(label: "up", 1)], of: "left", option: "--size")
    }
  }
}
