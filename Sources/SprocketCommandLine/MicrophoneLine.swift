internal import Sprocket

/// A microphone in JSON. Keys only ever get more.
struct MicrophoneLine: Encodable {
  struct Format: Encodable {
    let format, number: String
  }

  struct Control: Encodable {
    let name, kind: String
    let minimum, maximum: Int64
    let value: Int64?
    let decibelRange: [Double]?
    let decibels: Double?

    enum CodingKeys: String, CodingKey {
      case name, kind, minimum, maximum, value, decibels
      case decibelRange = "decibel_range"
    }
  }

  let kind = "microphone"
  let address, name, id, device, driver, place: String
  let unit, problem: String?
  let subdevices: Int
  let holders: [String]
  let formats: [Format]
  let rates: [Int]
  let rateRange: [Int]?
  let channels: [Int]
  let controls: [Control]
  let aliases: [String]

  enum CodingKeys: String, CodingKey {
    case kind, address, name, id, device, driver, place, unit, problem, subdevices, holders, formats
    case rates
    case channels, controls, aliases
    case rateRange = "rate_range"
  }

  init(_ microphone: MicrophoneInfo) {
    address = microphone.address
    name = microphone.card
    id = microphone.id
    device = microphone.device
    driver = microphone.driver
    place = microphone.place
    unit = microphone.unit
    problem = microphone.problem
    subdevices = microphone.subdevices
    holders = microphone.holders
    formats = microphone.formats.map { Format(format: $0.name, number: $0.number.rawValue) }
    rates = microphone.rates
    rateRange = microphone.rateRange.map { [$0.lowerBound, $0.upperBound] }
    channels = microphone.channels
    controls = microphone.controls.map { control in
      Control(
        name: control.description.name,
        kind: control.description.kind == .boolean ? "boolean" : "number",
        minimum: Int64(nearest: control.description.minimum),
        maximum: Int64(nearest: control.description.maximum),
        value: control.value.map { Int64(nearest: $0) },
        decibelRange: control.decibelRange.map { [$0.lowerBound, $0.upperBound] },
        decibels: control.decibels)
    }
    aliases = microphone.aliases
  }
}

/// What `devices` lists, in JSON.
enum DeviceLine: Encodable {
  case camera(CameraLine)
  case microphone(MicrophoneLine)

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .camera(let line): try line.encode(to: encoder)
    case .microphone(let line): try line.encode(to: encoder)
    }
  }
}

/// A line of `devices --watch`, in JSON.
struct ChangeLine: Encodable {
  let event: String
  let device: DeviceLine

  init(_ change: DeviceChange) {
    event = change.event.rawValue
    switch change.device {
    case .camera(let camera): device = .camera(CameraLine(camera))
    case .microphone(let microphone): device = .microphone(MicrophoneLine(microphone))
    }
  }
}
