public import SprocketCore
internal import Synchronization

/// Identifies requests that were asked together (`Engine.ask`).
public struct RequestID: Sendable, Hashable, CustomStringConvertible {
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }

  public var description: String { "\(number)" }
}

/// Result of requests that were asked together.
public struct AskedRequests: Sendable, Hashable {
  /// The recording of each request, in their order.
  public let recordings: [RecordingID]
  /// Identifies the requests for `Engine.withdraw`, while they wait for their frame.
  public let id: RequestID
}

/// Identifies who makes a request. The number of requests that may wait is limited for each client, so that
/// one client cannot block the others.
public struct RequestHolder: Sendable, Hashable {
  let number: UInt64
  /// Most requests of the holder that may wait for their frame; `nil` for as many as the run takes.
  let most: Int?
  /// Whether the holder asks what became of its requests (`Engine.takeOutcomes`).
  let isFollowed: Bool

  /// The program itself.
  public static let program = RequestHolder(number: 0, most: nil, isFollowed: false)

  /// One of the program's clients. The program gives each client a number of its own. At most 64 requests of
  /// a client may wait, and 192 of all clients; the other 64 places are for the program.
  public static func client(_ number: UInt64) -> RequestHolder {
    RequestHolder(number: number, most: mostPerClient, isFollowed: false)
  }

  /// The script of the run. Clients are numbered from 1, so that none of them has this number.
  package static let script = RequestHolder(number: .max, most: mostPerClient, isFollowed: true)

  package static let mostPerClient = RequestPort.capacity / 4
  static let mostOfClients = RequestPort.capacity / 4 * 3
}

/// What became of requests that were asked together.
package enum RequestOutcome: Sendable {
  case inTime
  /// Their frame had passed when they were asked. They hold from a later frame.
  case late
  /// The run ended before their frame.
  case unmade
  /// Their sink had another recording at their frame, or the recording to continue had ended.
  case refused
}

/// State of requests that were asked together: they wait for their frame, have taken effect, or were
/// withdrawn. An atomic compare-and-exchange decides whether the source's thread or the withdrawing thread
/// is first.
final class RequestTicket: Sendable {
  enum State: UInt8 {
    case waits, takesEffect, isLate, isUnmade, isRefused, withdrawn
  }

  let id: RequestID
  let holder: RequestHolder
  /// Whether they wait for a frame that is not the next one.
  let isLater: Bool
  /// Files and stops that are given back if the requests are withdrawn.
  let files: [FileID]
  let stops: [RecordingID]
  let settings: SettingRequest?
  /// Whether all of them are stops that use the place reserved for their recording. These do not count for
  /// the holder's limit.
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

  /// `nil` while they wait, and if they were withdrawn.
  var outcome: RequestOutcome? {
    switch State(rawValue: state.load(ordering: .acquiring)) {
    case .takesEffect: .inTime
    case .isLate: .late
    case .isUnmade: .unmade
    case .isRefused: .refused
    case .waits, .withdrawn, nil: nil
    }
  }

  /// Notes, after they took effect, that a sink refuses one of them.
  func refuse() { state.store(State.isRefused.rawValue, ordering: .releasing) }

  /// False if another thread was first.
  func exchange(for new: State) -> Bool {
    state.compareExchange(
      expected: State.waits.rawValue, desired: new.rawValue, ordering: .acquiringAndReleasing
    ).exchanged
  }
}
