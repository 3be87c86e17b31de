public import SprocketCore
internal import Synchronization

/// Identifies requests that were asked together (`Engine.ask`).
public struct RequestID: Sendable, Hashable, CustomStringConvertible {
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }

  public var description: String { "\(number)" }
}

/// What requests that were asked together have become.
public struct AskedRequests: Sendable, Hashable {
  /// The recording of each request, in their order.
  public let recordings: [RecordingID]
  /// By which they can be withdrawn while they wait for their frame (`Engine.withdraw`).
  public let id: RequestID
}

/// Who asks. A program that shares a run with others bounds what each of them may have waiting.
public struct RequestHolder: Sendable, Hashable {
  let number: UInt64
  /// Most requests of the holder that may wait for their frame; `nil` for as many as the run takes.
  let most: Int?

  /// The program itself.
  public static let program = RequestHolder(number: 0, most: nil)

  /// One of the program's clients, by a number that it gives each of them. 64 of its requests may wait, and
  /// 192 of all clients: the rest of 256 is the program's.
  public static func client(_ number: UInt64) -> RequestHolder {
    RequestHolder(number: number, most: RequestPort.capacity / 4)
  }

  static let mostOfClients = RequestPort.capacity / 4 * 3
}

/// Says whether requests that were asked together wait for their frame, have taken effect, or were withdrawn.
/// One exchange of a word decides between the source's thread and the one that withdraws.
final class RequestTicket: Sendable {
  enum State: UInt8 {
    case waits, takesEffect, withdrawn
  }

  let id: RequestID
  let holder: RequestHolder
  /// Whether they wait for a frame that is not the next one.
  let isLater: Bool
  /// What is to be given back if they are withdrawn.
  let files: [FileID]
  let stops: [RecordingID]
  let settings: SettingRequest?
  /// Whether they are stops with places of their own, which are refused to nobody.
  let isFree: Bool
  private let state = Atomic<UInt8>(State.waits.rawValue)

  init(
    _ id: RequestID, _ holder: RequestHolder, _ moment: Moment, files: [FileID] = [],
    stops: [RecordingID] = [], settings: SettingRequest? = nil, isFree: Bool = false
  ) {
    isLater = moment != .now
    self.id = id
    self.holder = holder
    self.files = files
    self.stops = stops
    self.settings = settings
    self.isFree = isFree
  }

  var waits: Bool { state.load(ordering: .acquiring) == State.waits.rawValue }
  var isWithdrawn: Bool { state.load(ordering: .acquiring) == State.withdrawn.rawValue }

  /// False if another thread was first.
  func exchange(for new: State) -> Bool {
    state.compareExchange(
      expected: State.waits.rawValue, desired: new.rawValue, ordering: .acquiringAndReleasing
    ).exchanged
  }
}
