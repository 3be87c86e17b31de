public import SprocketCodecs
public import SprocketCore
internal import SprocketShare

/// What a user may choose of a share.
public struct ShareSettings: KindSettings {
  /// Readers find it by that name, or by the path of a socket; `fd:3` is a socket that this program was
  /// started with.
  public var name = OutputName()
  public var tensor = TensorSettings()
  /// `tensor.layout`.
  public var layout = TensorSettings.Layout.rgb
  /// `nil`: every frame where frames can wait, the latest where they are live.
  public var take: FrameTaking?
  /// Frames in a slot.
  public var batch = 1
  /// Slots of the memory.
  public var slots = 8
  /// How long frames wait for a first reader, and how long a reader may hold frames and acknowledge none.
  public var patience = Duration.seconds(60)

  public init() {}

  var usedTensor: TensorSettings {
    var tensor = tensor
    tensor.layout = layout
    return tensor
  }

  public static var settings: [Setting<Self>] {
    [
      Setting(
        "name", \.name, use: nil,
        "by which readers find it, or the path of a socket; fd:3: a given one"),
      Setting("layout", \.layout, "pictures of bytes, or tensors of numbers from 0 to 1"),
    ]
      + TensorSettings.settings.map { $0.within(\.tensor) } + [
        Setting(
          "take", \.take,
          "every frame or the latest; auto: every one where frames can wait, as those of files"),
        Setting("batch", \.batch, range: 1...256, unit: "frames", "that are handed on together"),
        Setting(
          "slots", \.slots, range: 2...8,
          "places for frames in the memory: fewer take less memory, and readers have less time"),
        Setting(
          "patience", \.patience,
          "how long frames wait for a first reader, and a reader may hold frames"),
      ]
  }
}

extension ShareSink {
  public static let kind = SinkKind(
    "share", "frames for other programs, in shared memory", argument: "name", ShareSettings.self
  ) { (settings, request) throws(RunError) in
    let name = settings.name.path
    guard name.hasPrefix("fd:") else {
      return request.naming(try ShareSink(named: name, settings))
    }
    guard let descriptor = Int32(name.dropFirst(3)), descriptor > 2 else {
      throw RunError(
        .usage,
        "share \(name): give the number of a socket that this program was started with, as fd:3")
    }
    let given = try GivenDescriptors.take(descriptor, "share \(name)")
    // This check comes first, so that the error names the number that was given.
    try ShareReaders.requireSocket(descriptor)
    return request.naming(try ShareSink(given, settings))
  }
}
