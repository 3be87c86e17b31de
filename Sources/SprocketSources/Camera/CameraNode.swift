internal import SprocketCore
internal import SprocketV4L2

/// A device that is, or may be, a camera.
struct CameraNode: Sendable {
  var path: String
  var card: String
  var driver = ""
  var bus = ""
  /// Why it could not be asked whether it is one.
  var problem: V4L2Error?
  /// It offers no format: a loopback that nobody feeds.
  var isIdle = false

  /// The cameras of this machine by number. Nodes that give metadata, radios and converters are left
  /// out; those that cannot be opened may be cameras and stay.
  static func all() -> [CameraNode] {
    V4L2Node.all().compactMap { node in
      guard let found = node.capabilities else {
        return CameraNode(path: node.path, card: node.name, problem: node.problem)
      }
      guard found.isCamera else { return nil }
      return CameraNode(
        path: node.path, card: found.card, driver: found.driver, bus: found.bus,
        isIdle: isIdle(node.path))
    }
  }

  private static func isIdle(_ path: String) -> Bool {
    do throws(V4L2Error) {
      return try V4L2Device(path: path).formats().isEmpty
    } catch {
      return false
    }
  }

  /// As in `vivid (/dev/video0)`.
  var title: String { "\(card) (\(path))" }

  /// The one that the user means: by node (`/dev/video0`, `video0`), by name, or by a part of a name that
  /// only one has, in any case. Without a name the first that may be opened and offers something, else
  /// the first. Pure.
  static func find(_ name: String, among nodes: [CameraNode]) throws(SourceError) -> CameraNode {
    guard !nodes.isEmpty else {
      throw SourceError(
        .usage, "there is no camera; plug one in, or take --source scene or file:PATH")
    }
    if name.isEmpty { return nodes.first { $0.problem == nil && !$0.isIdle } ?? nodes[0] }
    if let found = nodes.first(where: { $0.path == name || $0.path == "/dev/\(name)" }) {
      return found
    }
    let list = nodes.map(\.title).joined(separator: ", ")
    let lower = name.lowercased()
    let exact = nodes.filter { $0.card == name }
    let near = exact.isEmpty ? nodes.filter { $0.card.lowercased().contains(lower) } : exact
    guard let found = near.first else {
      throw SourceError(.usage, "there is no camera `\(name)`; there are: \(list)")
    }
    guard near.count == 1 else {
      throw SourceError(
        .usage,
        "`\(name)` fits several cameras: \(near.map(\.title).joined(separator: ", ")); name the node"
      )
    }
    return found
  }
}

extension SourceError {
  /// A device's error, as a sentence; busy devices with who has them.
  init(_ error: V4L2Error, name: String) {
    let code: Code =
      switch error.code {
      case .notFound, .notPermitted, .notACamera: .usage
      default: .failed
      }
    let holders = error.code == .busy ? V4L2Holder.all(of: error.path) : []
    guard !holders.isEmpty else {
      self.init(code, error.description)
      return
    }
    let list = holders.map { "\($0.name) (process \($0.process))" }.joined(separator: ", ")
    self.init(code, "\(name) is in use by \(list); close that")
  }
}
