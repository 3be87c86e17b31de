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
  /// `nil` where the kernel lists no such device.
  var identity: DeviceIdentity?

  /// The cameras of this machine by number.
  static func all() -> [CameraNode] {
    let identities = DeviceTree.videoNodes()
    return V4L2Node.all().map { CameraNode($0, identities) }.filter(\.mayBeCamera)
  }

  /// Nodes that give metadata, radios, converters and parts of pipelines are none, nor are those that
  /// the kernel lists and this machine's `/dev` does not have, as in a container. Those that may not be
  /// opened may be cameras.
  var mayBeCamera: Bool {
    switch problem?.code {
    case .notFound, .notACamera, .needsPipeline: false
    default: true
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

  /// As in `vivid (/dev/video0, platform:vivid.0)`, where it has an identity.
  private var fullTitle: String {
    identity.map { "\(card) (\(path), \($0.name))" } ?? title
  }

  /// The one that the user means: by node, by a link to one, by identity, by name, or by a wish.
  static func named(_ name: String) throws(RunError) -> CameraNode {
    let path = name.contains("/") ? name : name.hasPrefix("video") ? "/dev/\(name)" : nil
    if let node = path.flatMap({ V4L2Node.at($0) }) {
      return CameraNode(node, DeviceTree.videoNodes())
    }
    if let wish = try CameraWish(name) { return try wish.find(among: all()) }
    return try find(name, among: all())
  }

  /// The one of that identity, or of that name, or of a part of a name that only one has, in any case.
  /// Without a name the first that may be opened and offers something, else the first. Pure.
  static func find(_ name: String, among nodes: [CameraNode]) throws(RunError) -> CameraNode {
    guard !nodes.isEmpty else {
      throw RunError(
        .notFound, "there is no camera; plug one in, or take the source scene or file:PATH",
        [.source])
    }
    if name.isEmpty { return nodes.first { $0.problem == nil && !$0.isIdle } ?? nodes[0] }
    let list = nodes.map(\.title).joined(separator: ", ")
    let lower = name.lowercased()
    let same = nodes.filter { $0.identity?.answers(to: name) == true }
    let exact = same.isEmpty ? nodes.filter { $0.card == name } : same
    let near = exact.isEmpty ? nodes.filter { $0.card.lowercased().contains(lower) } : exact
    guard let found = near.first else {
      throw RunError(.notFound, "there is no camera `\(name)`; there are: \(list)", [])
    }
    guard near.count == 1 else {
      throw RunError(
        .usage,
        "`\(name)` fits several cameras; name one by its node or its identity: "
          + near.map(\.fullTitle).joined(separator: ", ")
      )
    }
    return found
  }
}

extension CameraNode {
  /// `identities`: of all nodes, by their names.
  init(_ node: V4L2Node, _ identities: [String: DeviceIdentity]) {
    let identity = node.path.split(separator: "/").last.flatMap { identities[String($0)] }
    guard let found = node.capabilities else {
      self.init(path: node.path, card: node.name, problem: node.problem, identity: identity)
      return
    }
    self.init(
      path: node.path, card: found.card, driver: found.driver, bus: found.bus, identity: identity)
    if !found.isCamera {
      problem = V4L2Error(.notACamera, operation: "VIDIOC_QUERYCAP", path: path)
    } else if found.needsPipeline {
      problem = V4L2Error(.needsPipeline, operation: "VIDIOC_QUERYCAP", path: path)
    } else {
      isIdle = Self.isIdle(path)
    }
  }
}

extension RunError {
  /// A device's error, as a sentence; busy devices with who has them.
  init(_ error: V4L2Error, name: String) {
    switch error.code {
    case .notFound: self.init(.notFound, error.description, [])
    case .notPermitted: self.init(.notPermitted, error.description, [])
    case .busy:
      let holders = V4L2Holder.all(of: error.path).map(\.text).joined(separator: ", ")
      self.init(
        .inUse,
        holders.isEmpty ? error.description : "\(name) is in use by \(holders); close that", [])
    case .notACamera, .needsPipeline: self.init(.usage, error.description)
    default: self.init(.failed, error.description)
    }
  }
}
