import Foundation
import SprocketCore
import SprocketV4L2
import TestExpectations
import Testing

@testable import SprocketSources

@Suite struct ControlProfileTests {
  private static func control(
    _ title: String, _ kind: V4L2Control.Kind = .integer, _ most: Int64 = 255, flags: UInt32 = 0
  ) -> V4L2Control {
    V4L2Control(
      id: UInt32(title.utf8.reduce(1) { $0 &* 31 &+ Int($1) } & 0xFFFF), title: title, kind: kind,
      minimum: 0, maximum: most, flags: flags)
  }
  private static let menu = control(
    "Power Line Frequency",
    .menu([
      V4L2MenuItem(index: 0, text: "Disabled"), V4L2MenuItem(index: 1, text: "50 Hz"),
    ]), 1)
  private static let brightness = control("Brightness")
  private static let controls = [
    brightness, menu, control("Reset", .button, 0), control("Volatile", flags: 0x80),
    control("Inactive", flags: 0x10), control("Fixed", flags: 0x4), control("Text", .text),
    control("Push", flags: 0x40), control("Go", flags: 0x200), control("Grabbed", flags: 0x2),
  ]

  @Test func whatLastsIsSaved() {
    let profile = ControlProfile(camera: "Cam", identity: "usb:1:2@3#0", Self.controls) {
      $0 == Self.menu ? 1 : 7
    }
    expectEqual(
      profile.text,
      """
      # sprocket controls
      # camera: Cam
      # identity: usb:1:2@3#0
      brightness=7
      power_line_frequency=1  # 50_hz
      grabbed=7

      """)
  }

  @Test func aFileIsReadAsItWasWritten() throws {
    let entries = [
      ControlProfile.Entry("brightness", "-7"), ControlProfile.Entry("menu", "1", note: "50_hz"),
    ]
    let profile = ControlProfile(camera: "A: b\nc", identity: nil, entries: entries)
    let read = try ControlProfile(text: profile.text)
    expectEqual(read.camera, "A: b c")
    expectNil(read.identity)
    expectEqual(read.entries.map(\.name), ["brightness", "menu"])
    expectEqual(read.entries.map(\.value), ["-7", "1"])
    let loose = try ControlProfile(text: "  gain = 3 # x\r\n\n#\n# a\ngain=4")
    expectEqual(loose.entries, [ControlProfile.Entry("gain", "4")])
    expectNil(loose.camera)
  }

  /// As other editors write it: a mark of the byte order, lines that end in CR LF.
  @Test func filesOfOtherEditorsAreRead() throws {
    let read = try ControlProfile(text: "\u{FEFF}# camera: Cam\r\ngain=3\r\nhue=4\r\n")
    expectEqual(read.camera, "Cam")
    expectEqual(
      read.entries, [ControlProfile.Entry("gain", "3"), ControlProfile.Entry("hue", "4")])
  }

  @Test func whatIsNoProfileIsRefusedWithItsReason() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "profiles-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "profile").path()
    func refusal(_ path: String) -> String? {
      do throws(RunError) {
        _ = try ControlProfile(path: path)
        return nil
      } catch {
        return error.description
      }
    }
    expectEqual(refusal(path)?.contains("does not exist; give a file of controls"), true)
    for (bytes, reason) in [
      (Data("a=1\n".utf8) + Data(repeating: 0x20, count: 1 << 20), "larger than 1 MB"),
      (Data([0x61, 0x3D, 0xFF]), "no text in UTF-8"), (Data(), "holds no control"),
      (Data(String(repeating: "a=1\n", count: 3).utf8), nil),
      (Data((0...10_000).map { "a\($0)=1\n" }.joined().utf8), "at most 10000 controls"),
    ] {
      try bytes.write(to: URL(filePath: path))
      let found = refusal(path)
      expectTrue(reason.map { found?.contains($0) == true } ?? (found == nil), "\(reason ?? "")")
    }
    for path in ["/dev/null", folder.path()] {
      expectEqual(refusal(path)?.contains("is no file"), true)
    }
  }

  /// 10,000 names that a camera does not have are one short note.
  @Test func notesAreShort() throws {
    let text = (0..<10_000).map { "a\($0)=1\n" }.joined() + "brightness=999\n"
    let plan = try ControlProfile(text: String(text.dropFirst(5))).plan(
      for: Self.controls, of: "Cam", named: "Cam"
    ) { _ in 0 }
    expectEqual(plan.notes.count, 2)
    expectTrue(plan.notes.allSatisfy { $0.utf8.count < 200 })
    expectEqual(plan.notes.last?.hasSuffix(" and 9987 more"), true)
  }

  @Test(arguments: ["gain", "=3", "gain=", "gain 3", "gain=#3"]) func aLineThatIsNoneIsNamed(
    line: String
  ) {
    let error = #expect(throws: RunError.self) { try ControlProfile(text: "a=1\n\(line)") }
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.hasPrefix("line 2: "), true)
  }

  @Test func aCameraTakesWhatFitsAndSaysWhatDoesNot() throws {
    let profile = try ControlProfile(
      text: """
        # camera: Other
        brightness=300
        power_line_frequency=50_hz
        zoom=2
        zoom=1
        fixed=1
        reset=1
        grabbed=2
        inactive=3
        """)
    let plan = profile.plan(for: Self.controls, of: "Cam", named: "Cam (/dev/video0)") {
      Self.controls[$0].flags
    }
    expectTrue(plan.writes.map(\.index) == [1, 4] && plan.writes.map(\.value) == [1, 3])
    expectEqual(
      plan.notes,
      [
        "the controls are those of Other; Cam (/dev/video0) takes what fits",
        "given more than once, the last counts: zoom",
        "brightness=300 is left out for Cam (/dev/video0): give 0 to 255",
        "Cam (/dev/video0) has no zoom",
        "left out, because they cannot be set: fixed, reset",
        "left out, because they cannot be changed while frames come: grabbed",
      ])
    let same = ControlProfile(camera: "Cam", entries: [ControlProfile.Entry("brightness", "3")])
    expectEmpty(same.plan(for: Self.controls, of: "Cam", named: "Cam") { _ in 0 }.notes)
  }

  /// The numbers are those of linux/v4l2-controls.h.
  @Test func lightsAndWideRangeAreFoundOrHaveAReason() throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "leds-\(getpid())")
    defer { try? FileManager.default.removeItem(at: root) }
    let files = FileManager.default
    func abilities(_ controls: [V4L2Control], mayHaveLights: Bool = true) -> CameraAbilities {
      CameraAbilities(
        controls, mayHaveLights: mayHaveLights, in: DeviceTree(root: root.path()))
    }
    func reason(_ ability: CameraAbilities.Ability) -> String? {
      if case .missing(let reason) = ability { reason } else { nil }
    }
    let none = abilities([])
    expectEqual(reason(none.torch)?.hasSuffix("this machine has no such LED"), true)
    expectEqual(reason(none.hdr)?.contains("wide_dynamic_range"), true)
    expectEqual(
      reason(abilities([], mayHaveLights: false).flash), "the driver has no flash controls")

    try files.createDirectory(
      at: root.appending(path: "class/leds"), withIntermediateDirectories: true)
    for (name, strobes) in [("input3::capslock", false), ("white:torch", false), ("led0", true)] {
      let device = root.appending(path: "devices/platform/leds/\(name)")
      try files.createDirectory(at: device, withIntermediateDirectories: true)
      if strobes { try Data("0\n".utf8).write(to: device.appending(path: "flash_strobe")) }
      try files.createSymbolicLink(
        atPath: root.appending(path: "class/leds/\(name)").path(),
        withDestinationPath: "../../devices/platform/leds/\(name)")
    }
    let lit = abilities([])
    expectEqual(lit.flash, .light("\(root.path())/class/leds/led0"))
    expectTrue(
      lit.torch == .light("\(root.path())/class/leds/led0")
        || lit.torch == .light("\(root.path())/class/leds/white:torch"))
    expectNotNil(reason(abilities([], mayHaveLights: false).torch))

    let mode = V4L2Control(
      id: 0x009C_0901, title: "LED Mode",
      kind: .menu([V4L2MenuItem(index: 0, text: "Off"), V4L2MenuItem(index: 2, text: "Torch")]),
      minimum: 0, maximum: 2)
    let strobe = V4L2Control(
      id: 0x009C_0903, title: "Strobe", kind: .button, minimum: 0, maximum: 0)
    let range = V4L2Control(
      id: 0x009A_0915, title: "Wide Dynamic Range", kind: .boolean, minimum: 0, maximum: 1)
    let sensor = V4L2Control(
      id: 0x009A_0924, title: "HDR Sensor Mode", kind: .menu([]), minimum: 0, maximum: 1)
    let all = abilities([mode, strobe, range])
    expectEqual(all.torch, .control("led_mode"))
    expectEqual(all.flash, .control("strobe"))
    expectEqual(all.hdr, .control("wide_dynamic_range"))
    expectEqual(abilities([sensor]).hdr, .control("hdr_sensor_mode"))
  }
}
