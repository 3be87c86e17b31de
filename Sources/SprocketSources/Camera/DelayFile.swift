internal import Glibc
internal import SprocketCore
internal import SprocketFiles

/// Keeps what a run measured of a camera: each control's delay in frames, from the answer to a write until
/// the picture shows it. One small file for each device, in `$XDG_STATE_HOME/sprocket/delays`, by default
/// `~/.local/state/sprocket/delays`; its name is the device's identity.
///
/// Lines are `CONTROL FRAMES`, behind a line that says what the file is. A file that has anything else is
/// ignored, and replaced by the next measurement.
struct DelayFile {
  /// Longest accepted delay, in frames. Larger: delays of slower cameras are stored, too.
  static let longest = 60
  private static let title = "sprocket delays 1"
  /// Most bytes that are read. Larger: more controls; a name has 32 characters at most.
  private static let most = 4096

  let path: String

  /// `nil` without a folder for it: no `XDG_STATE_HOME` and no `HOME`.
  init?(of identity: DeviceIdentity, state: String? = nil) {
    guard let folder = state ?? Self.folder else { return nil }
    path = folder + "/sprocket/delays/" + String(identity.name.prefix(200))
  }

  private static var folder: String? {
    func variable(_ name: String) -> String? {
      unsafe getenv(name).map { unsafe String(cString: $0) }.flatMap {
        $0.hasPrefix("/") ? $0 : nil
      }
    }
    return variable("XDG_STATE_HOME") ?? variable("HOME").map { $0 + "/.local/state" }
  }

  /// Frames by the control's name; none if there is no file, or a damaged one.
  ///
  /// The corresponding C functions are `open` and `read`.
  func read() -> [String: Int] {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return [:] }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: Self.most + 1)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe Glibc.read(file, $0.baseAddress, $0.count)
    }
    guard count > 0, count <= Self.most else { return [:] }
    return Self.parsed(String(decoding: bytes.prefix(count), as: UTF8.self))
  }

  static func parsed(_ text: String) -> [String: Int] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard text.hasSuffix("\n"), lines.removeFirst() == title else { return [:] }
    var delays: [String: Int] = [:]
    for line in lines.dropLast() {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      guard words.count == 2, let frames = Int(words[1]), 0...longest ~= frames, !words[0].isEmpty
      else { return [:] }
      delays[String(words[0])] = frames
    }
    return delays
  }

  static func text(_ delays: [String: Int]) -> String {
    ([title] + delays.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
      .joined(separator: "\n") + "\n"
  }

  /// Adds what was measured to what is there. The file is replaced as a whole.
  ///
  /// The corresponding C function is `mkdir`.
  func add(_ measured: [String: Int]) throws(RunError) {
    let known = read()
    let delays = known.merging(measured) { $1 }
    guard delays != known else { return }
    var folder = ""
    for part in path.split(separator: "/").dropLast() {
      folder += "/" + part
      _ = unsafe mkdir(folder, 0o700)
    }
    let file = try OutputFile(path: path, purpose: "delays", overwrite: true)
    try file.write(Self.text(delays))
  }
}

extension CameraSource {
  /// Tells the port which delays are given or kept. `before`: of a camera that was plugged in again.
  func knowDelays(before: ControlPort?) {
    let port = controls.port
    let kept = identity.flatMap { DelayFile(of: $0) }?.read() ?? [:]
    for (index, control) in port.controls.enumerated() {
      let index = UInt16(index)
      if let frames = kept[control.name] {
        port.knows(ControlDelayTime(frames: frames, .kept), of: index)
      }
      if let found = before?.control(control.name), let delay = before?.delay(of: found) {
        port.knows(delay, of: index)
      }
    }
    let given: [(ControlUnit.Role, PictureDelay)] = [
      (.exposure, settings.exposureDelay), (.gain, settings.gainDelay), (.lens, settings.lensDelay),
    ]
    for case (let role, .frames(let frames)) in given {
      guard let control = SteeredControl.control(in: role, on: port) else { continue }
      port.knows(ControlDelayTime(frames: frames, .given), of: control)
    }
  }

  /// Keeps the delays that this run measured to the frame. A folder that cannot be written costs a note.
  func keepDelays() {
    let measured = controls.port.delays.filter {
      $0.delay.origin == .measured && $0.delay.shortest == $0.delay.frames
    }
    guard !measured.isEmpty, let identity, let file = DelayFile(of: identity) else { return }
    do throws(RunError) {
      try file.add(
        Dictionary(measured.map { ($0.control, $0.delay.frames) }, uniquingKeysWith: { $1 }))
    } catch {
      firstNotes.append("the measured delays of \(title) are not kept: \(error.description)")
    }
  }
}
