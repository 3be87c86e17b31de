// Every rule finds what it is for: small trees made up for it, one with the fault, one without.

import TestExpectations
import Testing

@Suite("Rules find what they are for")
struct RuleTests {
  private let body = String(repeating: "  work()\n", count: 70)

  private func found(_ rule: Rule, _ texts: [String: String]) -> [String] {
    rule(Tree(texts)).map(\.description)
  }

  @Test func longFile() {
    let lines = String(repeating: "// A line.\n", count: 301)
    expectEqual(found(Rules.filesAreShort, ["Sources/A/B.swift": lines]).count, 1)
    expectEmpty(found(Rules.filesAreShort, ["Tests/A/B.swift": lines]))
    let fits = String(repeating: "// A line.\n", count: 300)
    expectEmpty(found(Rules.filesAreShort, ["Sources/A/B.swift": fits]))
  }

  @Test func longFunctionButNotLongType() {
    let function = "struct S {\n  func long() {\n\(body)  }\n}\n"
    let findings = found(Rules.functionsAreShort, ["A.swift": function])
    expectEqual(findings.count, 1)
    expectEqual(findings.first?.hasPrefix("A.swift:2: this block has 72 lines"), true)
    let type = "extension S: P {\n" + String(repeating: "  var a: Int { 1 }\n", count: 70) + "}\n"
    expectEmpty(found(Rules.functionsAreShort, ["A.swift": type]))
  }

  @Test func bracesInStringsAndCommentsDoNotCount() {
    let text = ##"let a = "{ \(f("{")) {" // {"## + "\n" + ##"let b = #"{ \#(g("}")) "{"#"## + "\n"
    expectEmpty(SwiftCode.functions(in: [SwiftCode.blanked(text)]))
    let code = SwiftCode.blanked(text)
    expectFalse(code.contains("{"))
    expectTrue(code.contains("f("))
    expectTrue(code.contains("g("))
    expectEqual(code.count, text.count)
  }

  @Test func longLine() {
    let line = String(repeating: "x", count: 111) + "\n"
    expectEqual(found(Rules.linesAreShort, ["a.py": line]).count, 1)
    expectEmpty(found(Rules.linesAreShort, ["a.md": line]))
  }

  @Test func untidyEnds() {
    expectEqual(found(Rules.linesEndCleanly, ["a.md": "one \ntwo"]).count, 2)
    expectEmpty(found(Rules.linesEndCleanly, ["a.md": "one\ntwo\n"]))
  }

  @Test(arguments: Rules.bannedWords.filter { !$0.inCode }.map(\.word))
  func bannedWordAnywhere(_ word: String) {
    expectFalse(found(Rules.saysNoBannedWord, ["a.md": "It is \(word).\n"]).isEmpty)
  }

  @Test func bannedWordInCodeOnly() {
    expectEqual(found(Rules.saysNoBannedWord, ["A.swift": "let a = " + "try! b()\n"]).count, 1)
    expectEmpty(found(Rules.saysNoBannedWord, ["A.swift": "// Never " + "try! this\n"]))
  }

  @Test(arguments: ["/" + "work/wt", "see `/" + "home/me`", "\"/" + "opt/x\""])
  func machinePath(_ path: String) {
    expectEqual(found(Rules.namesNoMachine, ["a.md": path + "\n"]).count, 1)
  }

  @Test func relativePathIsNoMachinePath() {
    expectEmpty(found(Rules.namesNoMachine, ["a.md": "our/" + "work/wt and ./" + "home/x\n"]))
  }

  @Test func reportThatIsNotPublic() {
    let report = """
      public struct Report: FrameReport {
        /// In levels, 0 to 255.
        public var mean = 0.0
        public init() {}
        public var isDark: Bool { mean < 1 }
        public static var fields: [ReportField<Self>] { [] }
      }

      """
    let rule = Rules.reportsAreDocumented
    expectEmpty(found(rule, ["Plugins/A/A.swift": report]))
    let bare = report.replacing("        /// In levels, 0 to 255.\n", with: "")
      .replacing("  /// In levels, 0 to 255.\n", with: "")
    expectEqual(found(rule, ["Plugins/A/A.swift": bare]).count, 1)
    let hidden = report.replacing("public var mean", with: "var mean")
      .replacing("public struct", with: "struct")
    expectEqual(found(rule, ["Plugins/A/A.swift": hidden]).count, 2)
    expectEmpty(found(rule, ["Tests/A/A.swift": hidden]))
  }

  @Test func unlistedUnsafe() {
    let list = [Permission("Sources", ["A"], "needed")]
    let tree = Tree([
      "Sources/A.swift": "unsafe\n", "B.swift": "unsafe\n", "C.swift": "// unsafe\n",
    ])
    let findings = Rules.permitted(list, "unsafe", in: tree) { $0.contains("unsafe") }
    expectEqual(findings.map(\.path), ["B.swift"])
  }

  @Test func permissionThatNobodyNeeds() {
    let list = [Permission("Sources", ["A"], "needed")]
    let findings = Rules.permitted(list, "unsafe", in: Tree([:])) { $0 == "unsafe" }
    expectEqual(findings.map(\.path), ["Sources/A.swift"])
  }

  @Test func uncheckedWithoutReason() {
    func findings(_ comment: String) -> [String] {
      found(
        Rules.sendabilityIsChecked,
        ["A.swift": "/// A box.\n\(comment)final class A: " + "@unchecked Sendable {\n}\n"]
      ).filter { $0.hasPrefix("A.swift") }
    }
    expectEqual(findings("").count, 2)
    expectEqual(findings("/// Unchecked: one thread uses it.\n").count, 1)
  }

  @Test func forbiddenImport() {
    let rule = Rules.roomsImportOnlyTheirNeighbours
    expectEqual(found(rule, ["Sources/SprocketRing/A.swift": "import SprocketCore\n"]).count, 1)
    expectEqual(found(rule, ["Sources/SprocketRing/A.swift": "import Glibc\n"]).count, 1)
    expectEmpty(found(rule, ["Sources/SprocketRing/A.swift": "import Synchronization\n"]))
    expectEqual(found(rule, ["Plugins/Negate/A.swift": "import SprocketRing\n"]).count, 1)
    expectEmpty(found(rule, ["Plugins/Negate/A.swift": "public import SprocketCore\n"]))
    expectEqual(found(rule, ["Sources/New/A.swift": "\n"]).count, 1)
  }

  @Test func textBehindTheDoors() {
    func findings(_ path: String, _ text: String) -> [String] {
      found(Rules.textStaysAtTheDoors, [path: text]).filter { $0.hasPrefix(path) }
    }
    let function = "func set(_ values: [String: String]) {}\n"
    expectEqual(findings("Sources/SprocketEngine/A.swift", function).count, 1)
    expectEqual(findings("Plugins/Negate/A.swift", function).count, 1)
    expectEmpty(findings("Sources/SprocketCommandLine/A.swift", function))
    expectEmpty(findings("Sources/SprocketRecords/EventRecords.swift", function))
    let reading = "let given = CommandLine.arguments\n"
    expectEqual(findings("Sources/SprocketCommandLine/A.swift", reading).count, 1)
    expectEmpty(findings("Sources/SprocketCommandLine/ProgramArguments.swift", reading))
  }

  @Test func importsAreRead() {
    let text = "@testable import A\npublic import struct B.C\n// import D\n  internal import E\n"
    expectEqual(File(path: "A.swift", text: text).imports.map(\.module), ["A", "B", "E"])
  }

  @Test func secondWrapper() {
    let one = ["Sources/SprocketJPEG/A.swift": "import CSprocketJPEG\n"]
    expectEmpty(found(Rules.eachLibraryHasOneWrapper, one))
    let two = one.merging(["Sources/SprocketSinks/A.swift": "import CSprocketJPEG\n"]) { $1 }
    expectEqual(found(Rules.eachLibraryHasOneWrapper, two).count, 1)
  }

  @Test func functionThatNobodyCalls() {
    let texts = [
      "Sources/CSprocketTune/shim.h":
        "  FUNCTION(tune, tune_open) \\\n  FUNCTION(tune, tune_play)\n",
      "Sources/SprocketTune/A.swift": "// tune_play\nlet a = tune.tune_open()\n",
    ]
    let findings = found(Rules.listedFunctionsAreCalled, texts)
    #expect(findings.count == 1)
    #expect(findings.first?.contains("shim.h:2: tune_play") == true)
  }

  @Test func forgottenStage() {
    var texts = [
      "Package.swift": "let stages = [\n  \"Blur\",\n]\n",
      "Sources/SprocketStages/SprocketStages.swift":
        "import Blur\nlet builtinStages = [\n  Blur.plugin,\n]\n",
      "Plugins/Blur/README.md": "# Blur\n",
      "Plugins/Blur/Blur.swift": "\n",
      "Plugins/Blur/Tests/BlurTests.swift": "\n",
    ]
    expectEmpty(found(Rules.everyStageIsListed, texts))
    expectEmpty(found(Rules.listsAreAlphabetical, texts))
    texts["Plugins/Sharpen/Sharpen.swift"] = "\n"
    expectEqual(found(Rules.everyStageIsListed, texts).count, 4)
    texts["Package.swift"] = "let stages = [\n  \"Sharpen\",\n  \"Blur\",\n]\n"
    expectEqual(found(Rules.listsAreAlphabetical, texts).count, 1)
  }

  @Test func forgottenFile() {
    let texts = ["docs/ring.svg": "<svg/>\n", "README.md": "![](docs/ring.svg)\n"]
    expectEmpty(found(Rules.everyFileIsMentioned, texts))
    expectEqual(found(Rules.everyFileIsMentioned, texts.merging(["a.py": "\n"]) { $1 }).count, 1)
  }

  @Test func largeFile() {
    var tree = Tree([:])
    tree.others = ["clip.avi": 1 << 21]
    expectEqual(Rules.filesAreSmall(tree).count, 1)
  }

  @Test func untoldChanges() {
    expectEqual(found(Rules.changesAreTold, ["CHANGELOG.md": "# Changes\n"]).count, 1)
    expectEmpty(found(Rules.changesAreTold, ["CHANGELOG.md": "## Unreleased\n"]))
    expectEmpty(found(Rules.changesAreTold, ["CHANGELOG.md": "## 0.1.0\n"]))
  }

  @Test func readmeWithoutCommands() {
    expectEqual(found(Rules.readmeNamesTheTwoCommands, ["README.md": "make run\n"]).count, 1)
  }

  @Test func deadLink() {
    let rule = Rules.linksLeadSomewhere
    expectEmpty(found(rule, ["docs/a.md": "[b](../b.md#x)\n", "b.md": "\n"]))
    expectEqual(found(rule, ["docs/a.md": "[b](b.md)\n", "b.md": "\n"]).count, 1)
    expectEmpty(found(rule, ["a.md": "[b](https://example.org/b)\n"]))
  }
}
