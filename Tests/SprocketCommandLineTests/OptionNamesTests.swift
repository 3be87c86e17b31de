import TestExpectations
import Testing

@testable import SprocketCommandLine
@testable import SprocketCore

@Suite struct OptionNamesTests {
  private func error(_ settings: SettingPath...) -> RunError {
    RunError(.usage, "no", settings)
  }

  @Test func eachSettingHasItsOption() {
    let cases: [(SettingPath, String)] = [
      (.source, "source"), (.size, "size"), (.source("shake"), "source-set"),
      (.source("replug"), "on-unplug"), (SettingPath("stages", "focus", "window"), "stage"),
      (.microphone, "microphone"), (.audioRate, "audio-rate"), (.audioStage, "audio-stage"),
      (.sink, "sink"), (SettingPath("outputs", "movie"), "movie"), (.codec, "codec"),
      (SettingPath("outputs", "movie", "crf"), "codec"),
      (SettingPath("outputs", "stills", "sharpest"), "stills-sharpest"),
      (SettingPath("outputs", "pipe", "size"), "pipe"), (.workers, "workers"),
    ]
    for (path, option) in cases {
      expectEqual(OptionNames.sentence(error(path), ["run"]), "no (--\(option))", "\(path)")
    }
    // An option is named once.
    let both = error(.codec, SettingPath("outputs", "movie", "crf"), .size)
    expectEqual(OptionNames.sentence(both, ["run"]), "no (--codec, --size)")
  }

  @Test func anExportHasOptionsOfItsOwn() {
    let refused = RunError(
      refused: SettingError(name: "size", given: "3", allowed: "WxH", unit: "px"),
      at: SettingPath("stages", "resize", "size"), of: "the stage resize")
    expectEqual(
      OptionNames.sentence(refused, ["export", "--scale", "3"]),
      "--scale 3 is not allowed: give WxH (px)")
    // The stage was given by its name.
    expectEqual(
      OptionNames.sentence(refused, ["export", "--stage", "resize:size=3"]),
      "the stage resize: size=3 is not allowed: give WxH (px) (--stage)")
    expectEqual(OptionNames.sentence(error(.audioCodec), ["export"]), "no (--audio)")
    // An export has no option for these.
    expectEqual(OptionNames.sentence(error(.workers, .source, .memory), ["export"]), "no")
  }
}
