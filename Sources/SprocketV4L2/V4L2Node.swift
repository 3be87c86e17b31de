internal import Glibc

/// A video device that this machine has, as far as it can be told without streaming.
public struct V4L2Node: Sendable {
  /// As in `/dev/video0`.
  public var path: String
  /// The name that the kernel gives the node; known even where it may not be opened.
  public var name: String
  private static let folder = "/sys/class/video4linux"
  /// `nil` where it could not be asked.
  public var capabilities: V4L2Capabilities?
  /// Why it could not be asked.
  public var problem: V4L2Error?

  /// All nodes of this machine, in the order of their numbers, cameras or not.
  ///
  /// Cost: opens each.
  public static func all() -> [V4L2Node] {
    names(in: folder).compactMap { name in number(name).map { ($0, name) } }
      .sorted { $0.0 < $1.0 }
      .map { _, name in V4L2Node(path: "/dev/\(name)", name: title(name) ?? name) }
  }

  /// The node that a path leads to, by way of links, too; `nil` where nothing is.
  ///
  /// Cost: opens it.
  ///
  /// The corresponding C functions are `realpath` and `stat`.
  public static func at(_ path: String) -> V4L2Node? {
    guard let found = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(found) }
    let resolved = unsafe String(cString: found)
    let name = resolved.split(separator: "/").last.map { String($0) } ?? resolved
    return V4L2Node(path: resolved, name: title(name) ?? name)
  }

  private init(path: String, name: String) {
    self.path = path
    self.name = name
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFCHR {
      problem = V4L2Error(.notACamera, operation: "stat", path: path)
      return
    }
    do throws(V4L2Error) {
      capabilities = try V4L2Device(path: path).capabilities
    } catch {
      problem = error
    }
  }

  /// The 7 of `video7`; `nil` for radios, subdevices and all else.
  private static func number(_ name: String) -> Int? {
    name.hasPrefix("video") ? Int(name.dropFirst(5)) : nil
  }

  private static func title(_ name: String) -> String? {
    guard let bytes = contents("\(folder)/\(name)/name", upTo: 256) else { return nil }
    return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
  }
}

/// The names in a folder; none where it cannot be read.
///
/// The corresponding C functions are `opendir` and `readdir`.
func names(in folder: String) -> [String] {
  guard let handle = unsafe opendir(folder) else { return [] }
  defer { unsafe closedir(handle) }
  var names: [String] = []
  while let entry = unsafe readdir(handle) { names.append(text(unsafe entry.pointee.d_name)) }
  return names
}

/// The first bytes of a small file; `nil` where it cannot be read.
///
/// The corresponding C functions are `open` and `read`.
func contents(_ path: String, upTo limit: Int) -> [UInt8]? {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { return nil }
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: limit)
  let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, limit) }
  return count < 0 ? nil : Array(bytes.prefix(count))
}
