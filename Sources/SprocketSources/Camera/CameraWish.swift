internal import SprocketCore
internal import SprocketV4L2

/// Required properties of a camera, instead of a name: `?size=1920x1080,position=front`.
///
/// The first matching camera is used, also where another program has it: so that a wish always means the same
/// camera. Its format, size and rate are requested unless options request others.
struct CameraWish {
  private(set) var request = FormatRequest()
  private(set) var position: DevicePosition?
  private let text: String

  /// `nil` for a name that does not begin with `?`.
  init?(_ name: String) throws(RunError) {
    guard name.hasPrefix("?") else { return nil }
    text = name
    var keys: [Substring] = []
    for part in name.dropFirst().split(separator: ",", omittingEmptySubsequences: false) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard !keys.contains(pair[0]) else {
        throw RunError(
          .usage, "`\(name)`: \(pair[0]) is given twice; give it once", change: .source)
      }
      keys.append(pair[0])
      guard pair.count == 2, take(String(pair[0]), String(pair[1])) else {
        throw RunError(
          .usage,
          "`\(name)`: \(part.isEmpty ? "a part is empty" : "`\(part)` cannot be wished for"); "
            + "a wish has the form ?size=1920x1080,rate=30,format=MJPG,position=front; each "
            + "part may be left out; position is "
            + DevicePosition.allCases.map(\.rawValue).joined(separator: ", "), change: .source)
      }
    }
  }

  /// False if the key or the value is invalid.
  private mutating func take(_ key: String, _ value: String) -> Bool {
    switch key {
    case "size":
      let sides = value.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
      guard sides.count == 2, let width = sides[0], let height = sides[1], width > 0, height > 0
      else { return false }
      request.size = FrameSize(width, height)
    case "rate":
      guard let rate = Double(value), rate > 0, rate <= 1000 else { return false }
      request.rate = FrameRate(framesPerSecond: rate)
    case "format":
      guard let format = PixelFormat(settingText: value) else { return false }
      request.format = format
    case "position":
      guard let found = DevicePosition(rawValue: value) else { return false }
      position = found
    default: return false
    }
    return true
  }

  /// The request, completed by the wish.
  func completing(_ asked: FormatRequest) -> FormatRequest {
    FormatRequest(
      format: asked.format ?? request.format, size: asked.size ?? request.size,
      rate: asked.rate ?? request.rate)
  }

  /// The first camera that fits.
  ///
  /// Cost: opens cameras until one fits.
  func find(among nodes: [CameraNode]) throws(RunError) -> CameraNode {
    guard !nodes.isEmpty else { return try CameraNode.find("", among: nodes) }
    var refusals: [(node: CameraNode, text: String)] = []
    for node in nodes {
      if let refusal = refusal(of: node) { refusals.append((node, refusal)) } else { return node }
    }
    throw RunError(
      .usage, "no camera fits `\(text)`: \(Self.joined(refusals))", change: .source)
  }

  /// The sentences, with those that say the same of several cameras as one: `vivid (/dev/video0,
  /// /dev/video2) does not offer 1x1; it offers 320x180`. Pure.
  static func joined(_ refusals: [(node: CameraNode, text: String)]) -> String {
    /// What stands for the camera in a sentence.
    let place = "\0"
    var groups: [(card: String?, paths: [String], text: String)] = []
    for (node, text) in refusals {
      let card = text.contains(node.title) ? node.card : nil
      let pattern = text.replacing(card == nil ? node.path : node.title, with: place)
      if let index = groups.firstIndex(where: { $0.card == card && $0.text == pattern }) {
        groups[index].paths.append(node.path)
      } else {
        groups.append((card, [node.path], pattern))
      }
    }
    return groups.map { card, paths, text in
      let list = paths.joined(separator: ", ")
      return text.replacing(place, with: card.map { "\($0) (\(list))" } ?? list)
    }.joined(separator: "; ")
  }

  /// Why a camera does not fit.
  private func refusal(of node: CameraNode) -> String? {
    do throws(V4L2Error) {
      if let problem = node.problem { throw problem }
      let device = try V4L2Device(path: node.path)
      let found = DevicePosition(of: device, device.controls()) ?? node.identity?.position
      if let position, found != position {
        return "\(node.title) has the position \(found?.rawValue ?? "unknown")"
      }
      let negotiation = CameraNegotiation(
        name: node.title, formats: CameraFormat.all(of: device)
      ) { fourCC, size in CameraRates(of: node, fourCC, size) }
      do throws(RunError) {
        _ = try negotiation.choose(request)
        return nil
      } catch {
        return error.description
      }
    } catch {
      return RunError(error, name: node.title).description
    }
  }
}

extension CameraRates {
  /// Rates of a camera, read through a file of its own, since a closure cannot borrow the device. Empty
  /// if the driver does not report them.
  fileprivate init(of node: CameraNode, _ fourCC: String, _ size: CameraSize) {
    do throws(V4L2Error) {
      let device = try V4L2Device(path: node.path)
      self.init(device.intervals(of: V4L2FourCC(fourCC), V4L2Size(size)))
    } catch {
      self = .these([])
    }
  }
}
