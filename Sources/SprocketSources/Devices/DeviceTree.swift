internal import Glibc

/// The kernel's list of devices, as files under a root folder: `/sys`, or a copy of a part of it.
///
/// A device is named by its folder below the root, as in `/devices/pci0000:00/0000:00:14.0/usb1/1-5`.
/// Calls read files. The result is `nil` or empty for files that are missing or cannot be read.
struct DeviceTree: Sendable {
  let root: String

  static let system = DeviceTree(root: "/sys")

  /// An attribute of a device, without the end of its line.
  ///
  /// The corresponding C functions are `open` and `read`.
  func attribute(_ name: String, of device: String) -> String? {
    let file = unsafe open("\(root)\(device)/\(name)", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    // Attributes of sysfs have a page at most; names of devices are far shorter.
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
    guard count > 0 else { return nil }
    let line = bytes.prefix(count).prefix { $0 != 0x0A && $0 != 0 }
    return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
  }

  /// The devices of a class, such as `video4linux`, with the names that they have there.
  ///
  /// The corresponding C functions are `opendir`, `readdir` and `realpath`.
  func devices(in deviceClass: String) -> [(name: String, device: String)] {
    let folder = "/class/\(deviceClass)"
    return Self.names(in: root + folder).compactMap { name in
      resolved("\(folder)/\(name)").map { (name, $0) }
    }
  }

  /// What the link `subsystem` of a device leads to, as in `usb`.
  func subsystem(of device: String) -> String? {
    resolved("\(device)/subsystem")?.split(separator: "/").last.map { String($0) }
  }

  /// A device, its parent, and so on up to `/devices`.
  func line(from device: String) -> [String] {
    var parts = device.split(separator: "/")
    var line: [String] = []
    while parts.count > 1 {
      line.append("/" + parts.joined(separator: "/"))
      parts.removeLast()
    }
    return line
  }

  /// The names in a folder, sorted; none where it cannot be read.
  static func names(in folder: String) -> [String] {
    guard let handle = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(handle) }
    var names: [String] = []
    while let entry = unsafe readdir(handle) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// The folder that a path leads to, links followed, below the root.
  private func resolved(_ path: String) -> String? {
    guard let top = real(root), let found = real(root + path), found.hasPrefix(top + "/") else {
      return nil
    }
    return String(found.dropFirst(top.count))
  }

  private func real(_ path: String) -> String? {
    guard let found = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }
}
