public import Sprocket

/// Whether what was added to a session belongs to it.
public enum LinkState: Sendable, Hashable {
  /// The configuration that adds it has not ended.
  case pending
  case active
  /// It was removed, or the configuration that added it was refused.
  case removed
}

struct LinkSettings: Sendable, Hashable {
  var isEnabled = true
  var isSoundEnabled = true
  /// Not mirrored.
  var turn = Orientation.upright
  /// Whether left and right are exchanged after the turn.
  var isMirrored = false

  var orientation: Orientation { isMirrored ? turn.mirrorImage : turn }
}

/// An output in a session. Only it has links: before an output is added there is none to be set.
public struct Added<Output: CaptureOutput>: Sendable {
  public let output: Output
  let addition: Int

  public var state: LinkState { output.core.state(of: addition) }
}

/// Which link of an output is meant.
public struct VideoMedia: Sendable {
  public static var video: VideoMedia { VideoMedia() }
}

/// Which link of an output is meant.
public struct AudioMedia: Sendable {
  public static var audio: AudioMedia { AudioMedia() }
}

extension Added where Output: TakesVideo {
  public func link(for media: VideoMedia) -> VideoLink {
    VideoLink(core: output.core, addition: addition)
  }
}

extension Added where Output: TakesAudio {
  public func link(for media: AudioMedia) -> AudioLink {
    AudioLink(core: output.core, addition: addition)
  }
}

/// The way of the pictures from a session's camera to one output.
public struct VideoLink: Sendable {
  let core: OutputCore
  let addition: Int

  public var state: LinkState { core.state(of: addition) }
  /// False: no frame reaches the output; photographs and recordings that are asked for are refused.
  public var isEnabled: Bool { core.link.isEnabled }
  /// What has to be done to a picture before it stands upright. Samples stay as they are: a movie gets a
  /// display matrix when its recording begins, a photograph gets EXIF's tag.
  public var orientation: Orientation { core.link.orientation }

  /// Throws if the output was removed, or its adding was refused.
  public func setEnabled(_ isEnabled: Bool) throws(CaptureError) {
    try core.setLink(addition) { $0.isEnabled = isEnabled }
  }

  /// Sets the turn. What `setMirrored` has set stays; a mirrored orientation is its turn, mirrored. Throws
  /// also for outputs that give samples to the program: these stay as they are.
  public func setOrientation(_ orientation: Orientation) throws(CaptureError) {
    try core.requireTurn()
    try core.setLink(addition) { link in
      link.turn = orientation.isMirrored ? orientation.mirrorImage : orientation
      link.isMirrored = link.isMirrored || orientation.isMirrored
    }
  }

  /// Exchanges left and right, after the turn that is set. Throws as `setOrientation` does.
  public func setMirrored(_ isMirrored: Bool) throws(CaptureError) {
    try core.requireTurn()
    try core.setLink(addition) { $0.isMirrored = isMirrored }
  }

  public var isMirrored: Bool { core.link.isMirrored }
}

extension Orientation {
  var isMirrored: Bool {
    switch self {
    case .upright, .halfTurn, .quarterTurn, .threeQuarterTurn: false
    case .mirrored, .flipped, .transposed, .transversed: true
    }
  }

  /// The same with left and right exchanged afterwards.
  var mirrorImage: Orientation {
    switch self {
    case .upright: .mirrored
    case .mirrored: .upright
    case .halfTurn: .flipped
    case .flipped: .halfTurn
    case .quarterTurn: .transposed
    case .transposed: .quarterTurn
    case .threeQuarterTurn: .transversed
    case .transversed: .threeQuarterTurn
    }
  }
}

extension OutputCore {
  func requireTurn() throws(CaptureError) {
    guard state.withLock({ $0.turn == nil }) else { return }
    throw CaptureError(
      .settingsRefused,
      "the samples of \(name) stay as the camera gives them; add the stage rotate to the session's stages"
    )
  }

  func state(of addition: Int) -> LinkState {
    state.withLock { $0.addition == addition ? $0.membership : .removed }
  }

  func setLink(_ addition: Int, _ change: (inout LinkSettings) -> Void) throws(CaptureError) {
    let isThere = state.withLock { state in
      guard state.addition == addition, state.membership != .removed else { return false }
      change(&state.link)
      state.turn?.value = state.link.orientation
      return true
    }
    guard isThere else {
      throw CaptureError(
        .outputRefused, "\(name) is not part of the session any more, so its link cannot be set")
    }
  }
}
