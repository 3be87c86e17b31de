public import SprocketCore
internal import SprocketV4L2

/// A camera that this machine has, and what it offers.
public struct CameraInfo: Sendable {
  /// The device node.
  public let path: String
  /// What `--source camera:NAME` finds it by, beside the node.
  public let card: String
  public let driver: String
  public let bus: String
  /// Its persistent name; `nil` if the kernel does not list the device.
  public let identity: DeviceIdentity?
  /// Where it looks: what its driver says, else ``DeviceIdentity/position``.
  public let position: DevicePosition?
  /// Processes that have it open, such as `cheese (process 2156)`. Processes of other users are listed
  /// only with sufficient rights.
  public let holders: [String]
  /// Why it could not be asked; `nil` where all is well.
  public let problem: String?
  public let formats: [CameraFormat]
  public let controls: [CameraControlInfo]
  /// `nil` if it could not be asked.
  public let abilities: CameraAbilities?
  /// The part of the sensor that becomes the picture, and the largest; `nil` if it cannot be chosen.
  public let crop: (area: PixelArea, bounds: PixelArea)?

  /// The cameras of this machine, in the order of their nodes; those that may not be opened, too.
  ///
  /// Cost: opens each node, some ten milliseconds a camera.
  public static func all() -> [CameraInfo] {
    CameraNode.all().map { CameraInfo($0) }
  }

  /// Whether this program keeps it open now; false where a source only tries whether it can be had. Takes up
  /// to 0.3 s.
  public var isKeptHere: Bool { V4L2Holder.isKeptHere(path) }

  /// The camera with that node; `nil` where there is none.
  init?(at path: String) {
    guard let node = V4L2Node.at(path) else { return nil }
    let camera = CameraNode(node, DeviceTree.videoNodes())
    guard camera.mayBeCamera else { return nil }
    self.init(camera)
  }

  init(_ node: CameraNode) {
    path = node.path
    card = node.card
    driver = node.driver
    bus = node.bus
    identity = node.identity
    holders = V4L2Holder.all(of: node.path).map(\.text)
    var position = node.identity?.position
    do throws(V4L2Error) {
      if let problem = node.problem { throw problem }
      let device = try V4L2Device(path: node.path)
      formats = CameraFormat.all(of: device)
      let known = device.controls()
      let delays = node.identity.flatMap { DelayFile(of: $0) }?.read() ?? [:]
      controls = known.map { CameraControlInfo($0, of: device, delay: delays[$0.name]) }
      position = DevicePosition(of: device, known) ?? position
      let isApart = ["usb:", "virtual:"].contains { node.identity?.name.hasPrefix($0) == true }
      abilities = CameraAbilities(known, mayHaveLights: !isApart)
      if let area = device.crop(.active), let bounds = device.crop(.bounds) {
        crop = (area.area, bounds.area)
      } else {
        crop = nil
      }
      problem = nil
    } catch {
      problem = error.description
      formats = []
      controls = []
      abilities = nil
      crop = nil
    }
    self.position = position
  }
}

extension DevicePosition {
  /// What the driver says, by `V4L2_CID_CAMERA_ORIENTATION` (the kernel's "Camera Control Reference");
  /// `nil` where it says nothing.
  init?(of device: borrowing V4L2Device, _ controls: [V4L2Control]) {
    guard let told = controls.first(where: { $0.id == V4L2Control.cameraOrientation }) else {
      return nil
    }
    switch try? device.value(of: told) {
    case 0: self = .front
    case 1: self = .back
    case 2: self = .external
    default: return nil
    }
  }
}

extension V4L2Holder {
  /// As in `cheese (process 2156)`.
  var text: String { "\(name) (process \(process))" }
}

extension CameraFormat {
  /// All that a device offers.
  static func all(of device: borrowing V4L2Device) -> [CameraFormat] {
    var formats: [CameraFormat] = []
    for offer in device.formats() {
      formats.append(
        CameraFormat(
          fourCC: offer.fourCC.text, text: offer.text, pixelFormat: PixelFormat(offer.fourCC),
          isEmulated: offer.isEmulated, sizes: sizes(of: offer.fourCC, device)))
    }
    return formats
  }

  private static func sizes(of code: V4L2FourCC, _ device: borrowing V4L2Device) -> [CameraSizes] {
    switch device.sizes(of: code) {
    case .discrete(let list):
      // A driver that lists none has the size that it is set to.
      let known = list.isEmpty ? (try? device.format()).map { [$0.size] } ?? [] : list
      var sizes: [CameraSizes] = []
      for size in known {
        sizes.append(
          CameraSizes(
            smallest: CameraSize(size), largest: CameraSize(size), step: CameraSize(1, 1),
            rates: CameraRates(device.intervals(of: code, size)), isTold: !list.isEmpty))
      }
      return sizes
    case .stepwise(let smallest, let largest, let step):
      return [
        CameraSizes(
          smallest: CameraSize(smallest), largest: CameraSize(largest), step: CameraSize(step),
          rates: CameraRates(device.intervals(of: code, largest)))
      ]
    }
  }
}
