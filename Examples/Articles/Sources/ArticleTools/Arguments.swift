import SprocketCapture

/// What a program was given: where its files go, and its devices.
public struct Arguments: Sendable {
  public let folder: String
  /// The first `--camera`, or the scene that looks back.
  public let back: CaptureDevice
  /// The second `--camera`, or the scene that looks at the user; `nil` where one camera was named.
  public let front: CaptureDevice?
  /// `--microphone`, or the scene's.
  public let microphone: CaptureDevice

  public func path(_ name: String) -> String { "\(folder)/\(name)" }

  init(_ words: [String]) throws(UsageError) {
    var folders: [String] = []
    var cameras: [CaptureDevice] = []
    var microphones: [CaptureDevice] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--camera":
        cameras.append(try Self.device(.video, rest.popFirst(), after: word))
      case "--microphone":
        microphones.append(try Self.device(.audio, rest.popFirst(), after: word))
      case _ where word.hasPrefix("-"): throw UsageError("there is no option \(word)")
      default: folders.append(word)
      }
    }
    guard let folder = folders.first, folders.count == 1 else {
      throw UsageError("one folder is needed for the files, not \(folders.count)")
    }
    guard cameras.count <= 2, microphones.count <= 1 else {
      throw UsageError("two cameras and one microphone are the most")
    }
    self.folder = folder
    let scenes = CaptureDevice.scenes
    back = cameras.first ?? scenes[0]
    front = cameras.isEmpty ? scenes[1] : cameras.dropFirst().first
    microphone = microphones.first ?? CaptureDevice(sceneMicrophone: .init())
  }

  /// A device by its identity, else by its name.
  private static func device(
    _ media: CaptureDevice.MediaType, _ name: String?, after option: String
  ) throws(UsageError) -> CaptureDevice {
    guard let name else { throw UsageError("\(option) needs a name") }
    let known = CaptureDevice.devices(for: media)
    if let device = CaptureDevice.device(uniqueID: name), device.mediaType == media {
      return device
    }
    if let device = known.first(where: { $0.localizedName == name }) { return device }
    let names = known.map { "\($0.uniqueID) (\($0.localizedName))" }
    throw UsageError(
      "no device is called \(name); there are: "
        + (names.isEmpty ? "none" : names.joined(separator: ", ")))
  }
}

/// Wrong arguments: exit code 2.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ problem: String) {
    description = "\(problem); give FOLDER [--camera BACK [--camera FRONT]] [--microphone NAME]"
  }
}
