public import SprocketCore
internal import SprocketLibAV

/// The metadata of a movie: author, place and title. Only what is given here is written; a movie that is made
/// of a file keeps that file's metadata, except what is given here.
///
/// A `.mov` or `.mp4` has these as QuickTime metadata, with Apple's names
/// (`com.apple.quicktime.location.ISO6709`), and the title also as `title`, which other players show. A
/// `.mkv` or `.webm` has tags in capital letters: `TITLE`, `MAKE`, `LOCATION`.
public struct MovieMetadata: Sendable, Hashable {
  /// Empty for none, as all texts.
  public var title = ""
  /// Maker of the camera.
  public var make = ""
  /// Model of the camera.
  public var model = ""
  /// Program that recorded it.
  public var software = ""
  /// Who recorded it.
  public var artist = ""
  /// Who owns it.
  public var copyright = ""
  /// Anything that is to be read by people.
  public var comment = ""
  /// Where it was recorded; `nil` for none.
  public var location: MovieLocation?
  /// Further tags, under names of one's own.
  public var tags = MovieTags()

  public init() {}

  static var settings: [Setting<MovieMetadata>] {
    [
      Setting("title", \.title, "name of the movie, which players show"),
      Setting("make", \.make, "maker of the camera"),
      Setting("model", \.model, "model of the camera"),
      Setting("software", \.software, "program that recorded it"),
      Setting("artist", \.artist, "who recorded it"),
      Setting("copyright", \.copyright, "who owns it"),
      Setting("comment", \.comment, "text about it"),
      Setting(
        "location", \.location,
        "where it was recorded, by ISO 6709: latitude, longitude, altitude, such as +48.1372+011.5756+519/"
      ),
      Setting(
        "tags", \.tags, "further ones by names of your own, such as \"scene: 4; take: 2\""),
    ]
  }

  /// Tags by the names that a file has for them.
  func tags(over source: [String: String], in container: MovieContainer) -> [String: String] {
    let isApples = container == .mov || container == .mp4
    var given = [
      ("title", title), ("make", make), ("model", model), ("software", software),
      ("artist", artist), ("copyright", copyright), ("comment", comment),
      (isApples ? "location.ISO6709" : "location", location?.settingText ?? ""),
    ].filter { !$0.1.isEmpty }
    let names = Set(given.map(\.0))
    if isApples {
      given = given.map { (Self.apple + $0.0, $0.1) }
      if !title.isEmpty { given.append(("title", title)) }
    }
    given += tags.all.map { ($0.name, $0.value) }
    // The source's own word for the same.
    let replaced = Set(
      given.map { $0.0.lowercased() } + names.map { $0.lowercased() }
        + names.map { Self.apple + $0.lowercased() } + (location == nil ? [] : Self.places))
    var all = source.filter { !replaced.contains($0.key.lowercased()) }
    if !isApples {
      // Apple's names of a source say the same by the names of all others.
      for (name, value) in all where name.lowercased().hasPrefix(Self.apple) {
        let plain = name == Self.applePlace ? "location" : String(name.dropFirst(Self.apple.count))
        all[name] = nil
        all[plain] = all[plain] ?? value
      }
    }
    for (name, value) in given { all[name] = value }
    return all
  }

  private static let apple = "com.apple.quicktime."
  private static let applePlace = "com.apple.quicktime.location.ISO6709"
  private static let places = ["location", "location-eng", "com.apple.quicktime.location.iso6709"]
}

/// A place on the Earth, as ISO 6709 writes it: `+48.1372+011.5756/`, with an altitude
/// `+48.1372+011.5756+519/`.
public struct MovieLocation: Sendable, Hashable, SettingValue {
  /// Degrees, -90 to 90; north is above 0.
  public let latitude: Double
  /// Degrees, -180 to 180; east is above 0.
  public let longitude: Double
  /// Metres above the sea; `nil` if it is not known.
  public let altitude: Double?

  public static var allowed: String {
    "degrees north and east by ISO 6709, such as +48.1372+011.5756/, or with metres +48.1372+011.5756+519/"
  }

  /// `nil` for degrees or metres beyond the Earth: latitudes of 90, longitudes of 180, altitudes of 100 km.
  public init?(latitude: Double, longitude: Double, altitude: Double? = nil) {
    guard abs(latitude) <= 90, abs(longitude) <= 180, abs(altitude ?? 0) <= 100_000 else {
      return nil
    }
    (self.latitude, self.longitude, self.altitude) = (latitude, longitude, altitude)
  }

  /// `nil` for what is not ISO 6709's form with decimal degrees: a sign each, two and three digits before
  /// the point, and a stroke at the end.
  public init?(settingText text: String) {
    guard text.utf8.last == UInt8(ascii: "/") else { return nil }
    var parts: [String] = []
    for character in text.dropLast() {
      if character == "+" || character == "-" { parts.append("") }
      guard !parts.isEmpty else { return nil }
      parts[parts.count - 1].append(character)
    }
    guard parts.count == 2 || parts.count == 3 else { return nil }
    let numbers = zip(parts, [2, 3, nil]).compactMap { Self.number($0, digits: $1) }
    guard numbers.count == parts.count else { return nil }
    self.init(
      latitude: numbers[0], longitude: numbers[1], altitude: numbers.count > 2 ? numbers[2] : nil)
  }

  /// Degrees to the sixth decimal, 0.1 m; metres to the third.
  public var settingText: String {
    Self.text(latitude, digits: 2, decimals: 6) + Self.text(longitude, digits: 3, decimals: 6)
      + (altitude.map { Self.text($0, digits: 1, decimals: 3) } ?? "") + "/"
  }

  /// A sign, and digits with one point at most.
  private static func number(_ text: String, digits: Int?) -> Double? {
    let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
    guard let whole = parts.first, parts.count <= 2, !whole.isEmpty,
      digits.map({ whole.count == $0 }) ?? true, parts.last?.isEmpty == false,
      parts.allSatisfy({ $0.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } })
    else { return nil }
    return Double(text)
  }

  private static func text(_ number: Double, digits: Int, decimals: Int) -> String {
    var scale: UInt64 = 1
    for _ in 0..<decimals { scale *= 10 }
    let parts = UInt64((number.magnitude * Double(scale)).rounded())
    let whole = String(parts / scale)
    var fraction = String(parts % scale)
    fraction = String(repeating: "0", count: decimals - fraction.count) + fraction
    while fraction.hasSuffix("0") { fraction.removeLast() }
    return (number < 0 && parts > 0 ? "-" : "+")
      + String(repeating: "0", count: max(0, digits - whole.count)) + whole
      + (fraction.isEmpty ? "" : ".\(fraction)")
  }
}

/// Tags of a movie under names of one's own: `scene: 4; take: 2`.
public struct MovieTags: Sendable, Hashable, SettingValue {
  /// One tag, as it was given.
  public struct Tag: Sendable, Hashable {
    /// Letters, digits, `.`, `-` and `_`.
    public let name: String
    public let value: String
  }

  /// All tags, in the order in which they were set.
  public private(set) var all: [Tag] = []

  public static var allowed: String {
    "names and values, such as \"scene: 4; take: 2\": a name has letters, digits, points, - and _, and is "
      + "none that the file has by itself"
  }

  /// No tags.
  public init() {}

  /// Adds a tag, in place of one of that name; names are the same in any case. False, and nothing is added,
  /// for a name that files do not take: one that is empty or has other characters than letters, digits,
  /// `.`, `-` and `_`, or that a file has by itself, such as `creation_time`.
  public mutating func set(_ name: String, _ value: String) -> Bool {
    guard Self.isAllowed(name), !value.isEmpty, !value.utf8.contains(0) else { return false }
    all.removeAll { $0.name.lowercased() == name.lowercased() }
    all.append(Tag(name: name, value: value))
    return true
  }

  /// A value has no semicolon in this form; `set` takes any.
  public init?(settingText text: String) {
    for part in text.split(separator: ";") where !part.allSatisfy({ $0 == " " }) {
      guard let colon = part.firstIndex(of: ":"),
        set(Self.trimmed(part[..<colon]), Self.trimmed(part[part.index(after: colon)...]))
      else { return nil }
    }
  }

  public var settingText: String { all.map { "\($0.name): \($0.value)" }.joined(separator: "; ") }

  private static func trimmed(_ text: Substring) -> String {
    var text = text.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return String(text)
  }

  private static func isAllowed(_ name: String) -> Bool {
    let isPlain = name.utf8.allSatisfy { byte in
      UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
        || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || "._-".utf8.contains(byte)
    }
    return !name.isEmpty && isPlain && !own.contains(name.lowercased())
  }

  /// Names that libavformat or Sprocket write.
  private static let own: Set<String> = [
    "captured_clock", "captured_ns", "compatible_brands", "creation_time", "duration", "encoder",
    "major_brand", "minor_version",
  ]
}
