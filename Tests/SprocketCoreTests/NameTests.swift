import SprocketCore
import TestExpectations
import Testing

@Suite struct PrintableTests {
  @Test(arguments: [
    ("clip.avi", "clip.avi"), ("Zoë's 映画 👩‍🚀.mov", "Zoë's 映画 👩‍🚀.mov"), ("", ""),
    ("a\nb\tc\r", "a\\nb\\tc\\r"), ("\u{1B}[31mred", "\\u{1B}[31mred"),
    ("\0\u{7F}", "\\u{0}\\u{7F}"),
    ("\u{9B}2J", "\\u{9B}2J"), ("\u{85}\u{2028}\u{2029}", "\\u{85}\\u{2028}\\u{2029}"),
    ("gpj.\u{202E}exe", "gpj.\\u{202E}exe"), ("\u{2066}a\u{2069}", "\\u{2066}a\\u{2069}"),
    ("\r\n", "\\r\\n"),
  ])
  func whatCommandsATerminalIsShownByItsNumber(given: String, shown: String) {
    expectEqual(printable(given), shown)
    expectEqual(printable(shown), shown)
  }
}

@Suite struct NearestNameTests {
  static let stages = ["autoexposure", "autofocus", "focus", "latedrop", "meter", "negate"]

  @Test(arguments: [
    ("metr", "meter"), ("Meter", "meter"), ("mteer", "meter"), ("focsu", "focus"),
    ("late", "latedrop"), ("neg", "negate"), ("autofocsu", "autofocus"),
  ])
  func aMisspelledNameIsFound(given: String, meant: String) {
    expectEqual(nearestName(to: given, among: Self.stages), meant)
  }

  @Test(arguments: ["", "a", "auto", "vignette", String(repeating: "meter", count: 100_000)])
  func whatIsLikeNoneOrSeveralIsNot(given: String) {
    expectNil(nearestName(to: given, among: Self.stages))
  }

  @Test func aSentenceEndsWithAllThereAre() {
    expectEqual(
      knownNames(["a1", "meter"], near: "metr"), "did you mean `meter`? there are: a1, meter")
    let many = (1...12).map { "a\($0)" } + ["meter"]
    expectEqual(knownNames(many, near: "metr"), "did you mean `meter`?")
    expectEqual(knownNames(many, near: "other"), "there are: " + many.joined(separator: ", "))
    expectEqual(knownList(many, atMost: 2), "a1, a2 and 11 more")
    expectEqual(knownNames(["meter"], near: "x9y", "it has"), "it has: meter")
    expectEqual(knownNames([], near: "x"), "there are: none")
  }
}

@Suite struct DurationTextTests {
  @Test(
    arguments: [
      ("2s", 2_000_000_000), ("1.5s", 1_500_000_000), ("500ms", 500_000_000), ("40us", 40_000),
      ("7ns", 7), ("5m", 300_000_000_000), ("1h", 3_600_000_000_000), ("0s", 0),
    ] as [(String, Int64)])
  func oneSyntax(text: String, nanoseconds: Int64) {
    expectEqual(Duration(settingText: text), .nanoseconds(nanoseconds))
  }

  @Test(arguments: ["", "10", "0", "s", "3sec", "-1s", "1 s", "nans", "infs", "1e30h"])
  func withoutItsUnitNothingIsADuration(text: String) {
    expectNil(Duration(settingText: text))
  }
}

@Suite struct OutputNameTests {
  @Test func namesThatAreSpelledAlikeAreEqual() {
    var name: OutputName = "{{x}}-{source}.mov"
    name.move(to: "/a")
    expectEqual(name, "/a/{{x}}-{source}.mov")
    expectEqual(name.filled("source", with: "door"), OutputName(literal: "/a/{x}-door.mov"))
    name = "b.mov"
    name.move(to: "/")
    expectEqual(name.path, "/b.mov")
  }
}
