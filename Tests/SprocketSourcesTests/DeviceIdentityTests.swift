import Foundation
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSources

/// Names of devices, from trees of sysfs as they were published: each section of `sysfs.txt` names its
/// source.
@Suite struct DeviceIdentityTests {
  /// A listing, made into folders and links as sysfs has them.
  private struct Listing {
    let scratch: Scratch
    let tree: DeviceTree

    init(_ names: String...) throws {
      scratch = try Scratch()
      tree = DeviceTree(root: scratch.path("sys"))
      let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Listings/sysfs.txt")
      var isWanted = false
      var device = ""
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
        if line.hasPrefix("= ") {
          isWanted = names.contains(String(line.dropFirst(2)))
        } else if isWanted, line.hasPrefix("/") {
          device = String(line)
        } else if isWanted, line.hasPrefix(" ") {
          try add(line, to: device)
        }
      }
    }

    private func add(_ line: Substring, to device: String) throws {
      let files = FileManager.default
      let pair = line.drop { $0 == " " }.split(separator: "=", maxSplits: 1).map { String($0) }
      let file = URL(filePath: tree.root + device).appending(path: pair[0])
      try files.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      guard pair[0] == "subsystem" else {
        return try Data("\(pair[1])\n".utf8).write(to: file)
      }
      let isClass = ["video4linux", "sound", "media", "input"].contains(pair[1])
      let group = URL(filePath: tree.root).appending(path: (isClass ? "class/" : "bus/") + pair[1])
      try files.createDirectory(at: group, withIntermediateDirectories: true)
      try files.createSymbolicLink(at: file, withDestinationURL: group)
      if isClass {
        let node = URL(filePath: tree.root + device)
        let link = group.appending(path: node.lastPathComponent)
        try files.createSymbolicLink(at: link, withDestinationURL: node)
      }
    }

    var cameras: [String: DeviceIdentity] { tree.identities(in: "video4linux") }
    var names: [String: String] { cameras.mapValues(\.name) }
  }

  @Test(arguments: [
    ("uvc-serial", ["video0": "usb:046d:0843:80C0D3BE#0", "video1": "usb:046d:0843:80C0D3BE#0.1"]),
    ("uvc-no-serial", ["video0": "usb:05a3:9750@0000:00:14.0-3#0"]),
    (
      "serial-with-spaces",
      [
        "video0": "usb:0c45:636b:HDY_Webcam_USB#0", "video1": "usb:0c45:636b:HDY_Webcam_USB#0.1",
      ]
    ),
    (
      "behind-hub",
      [
        "video0": "usb:057e:030a@0000:01:00.0-1.4#0",
        "video1": "usb:057e:030a@0000:01:00.0-1.4#0.1",
      ]
    ),
    (
      "behind-hub-jetson",
      [
        "video0": "usb:32e4:9230@3610000.xhci-2.1#0",
        "video1": "usb:32e4:9230@3610000.xhci-2.1#0.1",
      ]
    ),
    (
      "superspeed-behind-hub",
      ["video0": "usb:8086:0b3a:903223053376#0", "video1": "usb:8086:0b3a:903223053376#0.1"]
    ),
    ("loopback", ["video0": "virtual:video0", "video2": "virtual:video2"]),
    ("virtual-but-real-picam", ["video0": "virtual:video0"]),
    (
      "vivid",
      [
        "video0": "platform:vivid.0:vivid-000-vid-cap#0",
        "vbi0": "platform:vivid.0:vivid-000-vbi-cap#1",
        "video1": "platform:vivid.0:vivid-001-vid-cap#0",
      ]
    ),
  ])
  func everyKindOfDeviceHasItsName(_ listing: String, _ names: [String: String]) throws {
    try expectEqual(Listing(listing).names, names)
  }

  /// A colour and an infrared camera on two interfaces of one device. `/dev/v4l/by-id` has one name for both.
  @Test func colourAndInfraredAreTwo() throws {
    let listing = try Listing("rgb-and-ir")
    expectEqual(listing.names["video0"], "usb:13d3:56d5:200901010001#0")
    expectEqual(listing.names["video2"], "usb:13d3:56d5:200901010001#2")
    expectEqual(listing.names["video3"], "usb:13d3:56d5:200901010001#2.1")
    expectEqual(Set(listing.cameras.values.map(\.unit)).count, 1)
  }

  /// Two cameras of a model with the same serial number: `/dev/v4l/by-id` names one of them only.
  @Test func equalCamerasAreToldApartByTheirPorts() throws {
    let listing = try Listing("twins-same-serial")
    expectEqual(
      listing.names,
      [
        "video0": "usb:046d:0825@xhci-hcd.1-1#0", "video1": "usb:046d:0825@xhci-hcd.1-1#0.1",
        "video2": "usb:046d:0825@xhci-hcd.0-1#0", "video3": "usb:046d:0825@xhci-hcd.0-1#0.1",
      ])
    expectEqual(Set(listing.cameras.values.map(\.unit)).count, 2)
  }

  /// Port 4 of the controller's SuperSpeed half is another one than port 4 of its other half.
  @Test func superSpeedPortsHaveNumbersOfTheirOwn() throws {
    let names = try Listing("superspeed").names
    expectEqual(names["video2"], "usb:8086:0b3a@0000:00:14.0-ss-4#0")
    expectEqual(names["video7"], "usb:8086:0b3a@0000:00:14.0-ss-4#3.1")
    expectEqual(names.count, 8)
    expectEqual(Set(names.values).count, 8)
  }

  @Test func streamsOfOneUnitHaveDifferentNames() throws {
    let names = try Listing("platform-csi").names
    expectEqual(names["video0"], "platform:fe801000.csi:unicam-image#0")
    expectGreater(names.count, 8)
    expectEqual(Set(names.values).count, names.count)
  }

  /// A microphone in the same case: on another interface, or on another function of a PCI card.
  @Test(arguments: ["uvc-serial", "uvc-serial-sound", "grabber-with-sound", "pci-card"])
  func cameraAndMicrophoneOfAUnitBelongTogether(_ name: String) throws {
    let listing = try Listing(name)
    let sound = listing.tree.identities(in: "sound").filter { $0.key.hasPrefix("card") }
    expectEqual(sound.count, 1)
    let unit = sound.first?.value.unit
    expectTrue(unit != nil && Set(listing.cameras.values.map(\.unit)) == [unit])
  }

  @Test func microphonesOfOtherUnitsDoNotBelongTo() throws {
    let listing = try Listing("uvc-serial-sound", "grabber-with-sound")
    let sound = listing.tree.identities(in: "sound")
    expectEqual(sound["card1"]?.unit, listing.cameras["video0"]?.unit)
    expectEqual(sound["card2"]?.unit, listing.cameras["video2"]?.unit)
    expectUnequal(sound["card1"]?.unit, sound["card2"]?.unit)
  }

  @Test func whereACameraLooks() throws {
    func positions(_ name: String) throws -> [String: DevicePosition] {
      try Listing(name).cameras.compactMapValues(\.position)
    }
    try expectEqual(positions("uvc-no-serial"), ["video0": .external])
    try expectEqual(positions("built-in"), ["video0": .front, "video2": .back])
    try expectEmpty(positions("loopback"))
  }

  /// A serial number of zeros tells nothing.
  @Test func whatIsNoSerialNumberIsNotTakenForOne() throws {
    let built = try Listing("built-in").cameras["video2"]
    expectEqual(built?.name, "usb:5986:2114@0000:00:14.0-7#0")
    expectEqual(built?.answers(to: "usb:5986:2114@0000:00:14.0-7"), true)
    expectEqual(built?.answers(to: "usb:5986:2114@0000:00:14.0-7#"), false)
    expectEqual(built?.answers(to: "usb:5986:2114"), false)
  }

  @Test func anEmptyTreeHasNoDevices() {
    expectEmpty(DeviceTree(root: "/nowhere").identities(in: "video4linux"))
  }
}
