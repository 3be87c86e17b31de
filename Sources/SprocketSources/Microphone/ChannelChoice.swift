public import SprocketCore

/// Which channels of a microphone are taken: all, or some in the order given. Spelled `all` or `0/3`, counted
/// from 0.
public struct ChannelChoice: Sendable, Hashable, SettingValue {
  /// `nil` for all.
  public let channels: [Int]?

  public static let all = ChannelChoice(channels: nil)

  private init(channels: [Int]?) { self.channels = channels }

  /// `nil` for none, for more than 8, and for a channel that is named twice.
  public init?(_ channels: [Int]) {
    guard 1...AudioFormat.mostChannels ~= channels.count, channels.allSatisfy({ $0 >= 0 }),
      Set(channels).count == channels.count
    else { return nil }
    self.init(channels: channels)
  }

  public init?(settingText: String) {
    guard settingText != "all" else {
      self = .all
      return
    }
    let numbers = settingText.split(separator: "/", omittingEmptySubsequences: false)
      .map { Int($0) ?? -1 }
    self.init(numbers)
  }

  public var settingText: String {
    channels.map { $0.map(\.settingText).joined(separator: "/") } ?? "all"
  }

  public static var allowed: String { "all, or up to 8 channels counted from 0, such as 0/3" }
  public static var forms: [SettingForm] {
    [.number(isWhole: true), .text(pattern: "all|[0-9]+(/[0-9]+)*")]
  }
}
