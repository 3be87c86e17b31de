internal import CSprocketALSA
internal import Glibc

/// A PCM that ALSA's configuration has a name for.
public struct ALSAName: Hashable, Sendable {
  public var name: String
  /// One line.
  public var text: String

  public init(name: String, text: String) {
    self.name = name
    self.text = text
  }

  /// The card that it is about, by its short name; `nil` for `default` and the like.
  public var card: String? {
    name.firstRange(of: "CARD=").map { String(name[$0.upperBound...].prefix { $0 != "," }) }
  }

  /// All names that sound can be captured by; it is not tried whether it can at the moment.
  ///
  /// Cost: reads ALSA's configuration, some milliseconds; opens each card's control.
  ///
  /// The corresponding C function is `snd_device_name_hint`.
  public static func all() -> [ALSAName] {
    sprocket_alsa_be_quiet()
    var hints: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    guard unsafe snd_device_name_hint(-1, "pcm", &hints) >= 0, let hints = unsafe hints else {
      return []
    }
    defer { unsafe _ = snd_device_name_free_hint(hints) }
    var names: [ALSAName] = []
    var index = 0
    while let hint = unsafe hints[index] {
      index += 1
      guard let name = unsafe part("NAME", of: hint) else { continue }
      // Without a direction it has both.
      if unsafe part("IOID", of: hint) == "Output" { continue }
      let lines = (unsafe part("DESC", of: hint) ?? "").split(separator: "\n")
      names.append(ALSAName(name: name, text: lines.joined(separator: ", ")))
    }
    return names
  }

  /// The corresponding C function is `snd_device_name_get_hint`.
  private static func part(_ id: String, of hint: UnsafeMutableRawPointer) -> String? {
    guard let found = unsafe snd_device_name_get_hint(hint, id) else { return nil }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }
}
