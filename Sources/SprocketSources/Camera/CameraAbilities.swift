internal import SprocketCore
internal import SprocketV4L2

/// What a camera has beside pictures: a lamp, a flash, pictures of several exposures.
public struct CameraAbilities: Sendable, Hashable {
  /// Where the camera offers it.
  public enum Ability: Sendable, Hashable {
    /// By a control of that name.
    case control(String)
    /// By a LED of the kernel's LED class: its folder, where writing to `brightness` sets it.
    case light(String)
    /// A sentence that says why not.
    case missing(String)
  }

  /// A lamp that can be on all the time.
  public let torch: Ability
  public let flash: Ability
  /// The sensor merges exposures into one picture of a wide range of light.
  public let hdr: Ability

  /// Of a camera with these controls. `mayHaveLights`: the machine's LEDs may be its own; those of a USB or a
  /// virtual camera are not.
  init(_ controls: [V4L2Control], mayHaveLights: Bool, in tree: DeviceTree = .system) {
    let lights = mayHaveLights ? CameraLight.all(in: tree) : []
    func mode(_ value: Int64) -> Ability? {
      let found = controls.first { control in
        guard control.id == V4L2Control.flashMode, case .menu(let items) = control.kind else {
          return false
        }
        return items.contains { $0.index == value }
      }
      return found.map { .control($0.name) }
    }
    func control(_ ids: UInt32...) -> Ability? {
      controls.first { ids.contains($0.id) && !$0.isReadOnly }.map { .control($0.name) }
    }
    let noLight = "the driver has no flash controls"
    let noLED = mayHaveLights ? ", and this machine has no such LED" : ""
    torch =
      mode(V4L2Control.flashModeTorch) ?? lights.first { $0.isTorch }.map { .light($0.folder) }
      ?? .missing(noLight + noLED)
    flash =
      control(V4L2Control.flashStrobe) ?? mode(V4L2Control.flashModeFlash)
      ?? lights.first { $0.isFlash }.map { .light($0.folder) } ?? .missing(noLight + noLED)
    hdr =
      control(V4L2Control.hdrSensorMode, V4L2Control.wideDynamicRange)
      ?? .missing("the driver has no control wide_dynamic_range or hdr_sensor_mode")
  }
}

/// A LED that lights what a camera sees.
struct CameraLight: Hashable {
  /// As in `/sys/class/leds/white:torch`.
  let folder: String
  let isTorch: Bool
  let isFlash: Bool

  /// Those of a machine. By the kernel's "LED handling under Linux" the last part of a name is its function,
  /// `torch` or `flash`; one with the attribute `flash_strobe` is a flash that can also be on, as a torch
  /// ("Flash LED handling").
  static func all(in tree: DeviceTree) -> [CameraLight] {
    tree.devices(in: "leds").compactMap { name, device in
      let strobes = tree.attribute("flash_strobe", of: device) != nil
      let words = name.lowercased().split { $0 == ":" || $0 == "_" || $0 == "-" }
      let isTorch = words.contains { $0.hasPrefix("torch") }
      let isFlash = strobes || words.contains { $0.hasPrefix("flash") }
      guard isTorch || isFlash else { return nil }
      return CameraLight(
        folder: "\(tree.root)/class/leds/\(name)", isTorch: isTorch || strobes, isFlash: isFlash)
    }
  }
}
