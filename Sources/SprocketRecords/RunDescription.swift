public import SprocketCore
internal import SprocketMCAP

/// The description of the run that wrote a dump: a metadata record of MCAP.
public enum RunDescription {
  /// The record's name, and the key of the JSON in it.
  public static let name = "sprocket.run"
  public static let key = "pipeline"

  /// The description in a file, as JSON; `nil` where it has none. Throws where it is no MCAP file.
  public static func read(_ path: String) throws(RunError) -> String? {
    do throws(MCAPError) {
      var reader = try MCAPReader.open(path) { false }
      guard let place = reader.metadata.first(where: { $0.name == name }),
        case .metadata(let found) = try reader.record(at: place.offset)
      else { return nil }
      return found.metadata[key]
    } catch {
      throw RunError(.failed, "\(path): \(error)")
    }
  }
}
