internal import Sprocket

/// A camera in JSON. Keys only ever get more.
struct CameraLine: Encodable {
  struct Format: Encodable {
    let fourcc, text: String
    let known, emulated: Bool
    let sizes: [Size]
  }

  struct Size: Encodable {
    let width, height: Int?
    let minWidth, minHeight, maxWidth, maxHeight, stepWidth, stepHeight: Int?
    let framesPerSecond, framesPerSecondRange: [Double]?

    enum CodingKeys: String, CodingKey {
      case width, height
      case minWidth = "min_width"
      case minHeight = "min_height"
      case maxWidth = "max_width"
      case maxHeight = "max_height"
      case stepWidth = "step_width"
      case stepHeight = "step_height"
      case framesPerSecond = "frames_per_second"
      case framesPerSecondRange = "frames_per_second_range"
    }

    init(_ sizes: CameraSizes) {
      let one = sizes.isRange ? nil : sizes.largest
      let range = sizes.isRange ? sizes : nil
      width = one?.width
      height = one?.height
      minWidth = range?.smallest.width
      minHeight = range?.smallest.height
      maxWidth = range?.largest.width
      maxHeight = range?.largest.height
      stepWidth = range?.step.width
      stepHeight = range?.step.height
      switch sizes.rates {
      case .these(let list):
        framesPerSecond = list.map(\.framesPerSecond)
        framesPerSecondRange = nil
      case .range(let slowest, let fastest):
        framesPerSecond = nil
        framesPerSecondRange = [slowest.framesPerSecond, fastest.framesPerSecond]
      }
    }
  }

  struct Control: Encodable {
    let name, group, kind, unit: String
    let minimum, maximum, step: Int64
    let `default`, value: Int64?
    let choices: [Choice]?
    let readOnly, inactive: Bool
    let flags: [String]
    let text: String?
    let dimensions: [Int]?
    let delay: Int?

    enum CodingKeys: String, CodingKey {
      case name, group, kind, unit, minimum, maximum, step, `default`, value, choices, inactive
      case flags, text, dimensions
      case delay = "delay_frames"
      case readOnly = "read_only"
    }
  }

  struct Choice: Encodable {
    let value: Double
    let name: String
  }

  struct Crop: Encodable {
    let area, bounds: String
  }

  struct Capability: Encodable {
    let supported: Bool
    let control, light, reason: String?

    init(_ ability: CameraAbilities.Ability) {
      var (control, light, reason): (String?, String?, String?) = (nil, nil, nil)
      switch ability {
      case .control(let name): control = name
      case .light(let folder): light = folder
      case .missing(let sentence): reason = sentence
      }
      supported = reason == nil
      (self.control, self.light, self.reason) = (control, light, reason)
    }
  }

  let kind = "camera"
  let node, name, driver, bus: String
  let identity, place, unit, position: String?
  let holders: [String]
  let problem: String?
  let formats: [Format]
  let controls: [Control]
  let capabilities: [String: Capability]?
  let crop: Crop?

  init(_ camera: CameraInfo) {
    node = camera.path
    name = camera.card
    driver = camera.driver
    bus = camera.bus
    identity = camera.identity?.name
    place = camera.identity?.place
    unit = camera.identity?.unit
    position = camera.position?.rawValue
    holders = camera.holders
    problem = camera.problem
    formats = camera.formats.map { format in
      Format(
        fourcc: format.fourCC, text: format.text, known: format.pixelFormat != nil,
        emulated: format.isEmulated, sizes: format.sizes.map(Size.init))
    }
    controls = camera.controls.map(Self.line)
    capabilities = camera.abilities.map { abilities in
      [
        "torch": Capability(abilities.torch), "flash": Capability(abilities.flash),
        "hdr": Capability(abilities.hdr),
      ]
    }
    crop = camera.crop.map { Crop(area: $0.area.settingText, bounds: $0.bounds.settingText) }
  }

  private static func line(_ control: CameraControlInfo) -> Control {
    let description = control.description
    var choices: [Choice]?
    let kind: String
    switch description.kind {
    case .number: kind = "number"
    case .boolean: kind = "boolean"
    case .button: kind = "button"
    case .text: kind = "text"
    case .array: kind = "array"
    case .menu(let list):
      kind = "menu"
      choices = list.map { Choice(value: $0.value, name: $0.name) }
    }
    return Control(
      name: description.name, group: control.group, kind: kind, unit: description.unit,
      minimum: Int64(nearest: description.minimum), maximum: Int64(nearest: description.maximum),
      step: Int64(nearest: description.step),
      default: description.defaultValue.map { Int64(nearest: $0) },
      value: control.value.map { Int64(nearest: $0) }, choices: choices,
      readOnly: control.isReadOnly, inactive: control.isInactive, flags: control.flags,
      text: control.text, dimensions: control.dimensions.isEmpty ? nil : control.dimensions,
      delay: control.delay)
  }
}
