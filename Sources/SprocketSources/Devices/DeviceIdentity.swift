/// Persistent names of a device. They do not depend on the order in which devices are found. Computed
/// from sysfs alone.
///
/// - A USB device with a serial number is `usb:VENDOR:PRODUCT:SERIAL#FUNCTION`, in any port. Without
/// one, or if two connected devices have the same name, it is `usb:VENDOR:PRODUCT@PORT#FUNCTION`, in
/// this port only.
/// - `PORT` is the controller's address and the port numbers behind it, as in `0000:00:14.0-1.4`. Ports
/// of the controller's SuperSpeed root hub have numbers of their own, which follow `ss-`.
/// - `FUNCTION` is the interface number: colour and infrared camera of one device differ in it. If the
/// node's index in that interface is not 0, it follows after a point (metadata nodes).
/// - Any other device is `BUS:ADDRESS:NAME#INDEX`, as in `platform:fe801000.csi:unicam-image#0`. Nodes
/// of one card differ in the driver's name of the node, or in the index.
/// - A device without hardware, such as a loopback, is `virtual:NODE`.
///
/// In serial numbers and names, characters other than ASCII letters, digits, `.` and `-` become `_`.
public struct DeviceIdentity: Sendable, Hashable {
  /// The persistent name.
  public let name: String
  /// The name by port. It differs from `name` for USB devices with a serial number.
  public let place: String
  /// The physical device. Cameras and microphones of one device have the same value; `nil` without
  /// hardware.
  public let unit: String?
  public let position: DevicePosition?

  /// Whether `word` is one of its names, or one of them without its function.
  func answers(to word: String) -> Bool {
    [name, place].contains { $0 == word || $0.hasPrefix(word + "#") }
  }
}

/// Where a camera looks.
public enum DevicePosition: String, Sendable, Hashable, CaseIterable {
  /// Towards the user of the machine.
  case front
  /// Away from the user of the machine.
  case back
  /// Not built in, so its direction is unknown.
  case external
}

extension DeviceTree {
  /// Identities of all video nodes of this machine, by node name.
  static func videoNodes() -> [String: DeviceIdentity] { system.identities(in: "video4linux") }

  /// Identities of all devices of a class, by node name, such as `video0`.
  ///
  /// Cost: reads some twenty small files for each device; opens none.
  func identities(in deviceClass: String) -> [String: DeviceIdentity] {
    let found = devices(in: deviceClass).map { ($0.name, Facts($0.name, $0.device, self)) }
    var units: [String: Set<String>] = [:]
    for case (_, let facts) in found {
      if let usb = facts.usb, let name = usb.bySerial { units[name, default: []].insert(usb.path) }
    }
    return Dictionary(
      found.map { name, facts in
        let serial = facts.usb?.bySerial.flatMap { units[$0]?.count == 1 ? $0 : nil }
        return (name, facts.identity(serial: serial))
      }, uniquingKeysWith: { first, _ in first })
  }
}

/// Properties of one device that the tree has.
private struct Facts {
  struct USB {
    let path: String
    /// As in `usb:046d:0825`.
    let model: String
    let port: String
    /// With the serial number, where there is one.
    let bySerial: String?
  }

  let node: String
  let usb: USB?
  /// As in `platform:vivid.0:vivid-000-vid-cap`; `nil` for what belongs to no hardware.
  let place: String?
  let unit: String?
  let function: String
  let position: DevicePosition?

  init(_ node: String, _ device: String, _ tree: DeviceTree) {
    self.node = node
    // Without the node itself, and the folder of its class.
    let parents = tree.line(from: device).drop { path in
      let subsystem = tree.subsystem(of: path)
      return subsystem == nil || subsystem == tree.subsystem(of: device)
    }
    let line = Array(parents)
    let index = tree.attribute("index", of: device).flatMap { Int($0) } ?? 0
    usb = USB(line, tree)
    let owner = line.first
    if let usb {
      let interface = line.lazy.compactMap { tree.attribute("bInterfaceNumber", of: $0) }.first
      let number = interface.flatMap { Int($0, radix: 16) } ?? 0
      function = index == 0 ? "\(number)" : "\(number).\(index)"
      place = nil
      unit = usb.path
    } else if let owner, let name = owner.split(separator: "/").last,
      let bus = tree.subsystem(of: owner)
    {
      let title = tree.attribute("name", of: device).map { ":" + written($0) } ?? ""
      function = "\(index)"
      place = "\(bus):\(name)\(title)"
      // A PCI card with picture and sound has a function for each: 03:00.0 and 03:00.1.
      unit = bus == "pci" ? owner.lastIndex(of: ".").map { String(owner[..<$0]) } ?? owner : owner
    } else {
      (function, place, unit) = ("", nil, nil)
    }
    position = DevicePosition(line, isUSB: usb != nil, tree)
  }

  func identity(serial: String?) -> DeviceIdentity {
    let byPlace: String
    if let usb {
      byPlace = "\(usb.model)@\(usb.port)#\(function)"
    } else if let place {
      byPlace = "\(place)#\(function)"
    } else {
      byPlace = "virtual:\(node)"
    }
    return DeviceIdentity(
      name: serial.map { "\($0)#\(function)" } ?? byPlace, place: byPlace, unit: unit,
      position: position)
  }
}

extension Facts.USB {
  /// `nil` where no device in the line is one of USB.
  init?(_ line: [String], _ tree: DeviceTree) {
    guard
      let place = line.firstIndex(where: { tree.attribute("idVendor", of: $0) != nil }),
      let vendor = tree.attribute("idVendor", of: line[place]),
      let product = tree.attribute("idProduct", of: line[place])
    else { return nil }
    path = line[place]
    model = "usb:\(vendor):\(product)"
    bySerial = Self.usable(tree.attribute("serial", of: path)).map {
      "usb:\(vendor):\(product):\($0)"
    }
    let hub = line[place...].lastIndex { Self.isRootHub($0) }
    // 1-1.4 is port 4 of the hub in port 1 of the root hub usb1; bus numbers follow the order of discovery.
    let ports = path.split(separator: "/").last?.split(separator: "-").last.map { String($0) } ?? ""
    let controller =
      hub.flatMap { line.indices.contains($0 + 1) ? line[$0 + 1] : nil }?
      .split(separator: "/").last.map { String($0) } ?? "usb"
    let speed = hub.flatMap { tree.attribute("speed", of: line[$0]) }.flatMap { Double($0) } ?? 0
    port = "\(controller)-\(speed >= 5000 ? "ss-" : "")\(ports)"
  }

  /// As in `usb1`.
  private static func isRootHub(_ path: String) -> Bool {
    guard let name = path.split(separator: "/").last, name.hasPrefix("usb") else { return false }
    return Int(name.dropFirst(3)) != nil
  }

  /// `nil` for an unusable serial number: missing, or one character repeated.
  private static func usable(_ serial: String?) -> String? {
    guard let serial, Set(serial.utf8).count > 1 else { return nil }
    return written(serial)
  }
}

/// The text with characters that identities allow.
private func written(_ text: String) -> String {
  String(
    decoding: text.utf8.map { byte in
      let isPlain =
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
        || (0x61...0x7A).contains(byte) || byte == 0x2E || byte == 0x2D
      return isPlain ? byte : 0x5F
    }, as: UTF8.self)
}

extension DevicePosition {
  /// From the firmware's description of the port's place in the case, where the kernel has it; else USB
  /// devices that cannot be unplugged are taken for the camera above the screen, as libcamera does.
  init?(_ line: [String], isUSB: Bool, _ tree: DeviceTree) {
    let panel = line.lazy.compactMap { path in
      tree.attribute("physical_location/panel", of: path)
        ?? tree.attribute("port/physical_location/panel", of: path)
    }.first
    let isFixed = line.lazy.compactMap { tree.attribute("removable", of: $0) }.first
    switch (panel, isFixed) {
    case (_, "removable"): self = .external
    case ("front", _): self = .front
    case ("back", _): self = .back
    case (_, "fixed"): self = .front
    default:
      guard isUSB else { return nil }
      self = .external
    }
  }
}
