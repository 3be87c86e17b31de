/// A process that has a device open.
public struct ALSAHolder: Hashable, Sendable {
  public var process: Int
  /// The program's name.
  public var name: String

  public init(process: Int, name: String) {
    self.process = process
    self.name = name
  }

  /// Who has subdevices of a device open, as the kernel tells.
  static func all(card: Int, device: Int, subdevices: Int) -> [ALSAHolder] {
    (0..<subdevices).compactMap { number in
      let status = text(of: "/proc/asound/card\(card)/pcm\(device)c/sub\(number)/status")
      return value(of: "owner_pid", in: status).map { ALSAHolder(task: $0) }
    }
  }

  /// The process that a thread belongs to: whoever opened a device may have been a thread.
  private init(task: Int) {
    let process = value(of: "Tgid", in: text(of: "/proc/\(task)/status")) ?? task
    self.init(process: process, name: trimmed(text(of: "/proc/\(process)/comm")[...]))
  }
}
