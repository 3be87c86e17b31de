import SprocketCore
import TestExpectations
import Testing

@Suite struct SourceKindTests {
  struct Choices: SourceSettings {
    var startup = 2
    static var settings: [Setting<Self>] {
      [Setting("startup", \.startup, range: 0...10, unit: "frames", "The first frames.")]
    }
  }

  /// Says what it was made with by refusing.
  static let kind = SourceKind("tape", "A tape.", argument: "PATH", Choices.self) {
    (argument, choices) throws(RunError) in
    throw RunError(.failed, "\(argument) \(choices.startup)")
  }

  private func refusal(_ argument: String, _ values: [String: String] = [:]) -> RunError? {
    do throws(RunError) {
      _ = try Self.kind.make(argument: argument, values: values)
      return nil
    } catch {
      return error
    }
  }

  @Test func argumentAndSettingsReachTheSource() {
    expectEqual(refusal("a:b")?.description, "a:b 2")
    expectEqual(refusal("a", ["startup": "7"])?.description, "a 7")
    expectEqual(Self.kind.settings.map(\.name), ["startup"])
    expectEqual(Self.kind.settings.map(\.defaultText), ["2"])
  }

  @Test func anArgumentMayBeOptional() throws {
    let kind = SourceKind("tape", "", argument: "PATH", isArgumentOptional: true, Choices.self) {
      (argument, _) throws(RunError) in throw RunError(.failed, "<\(argument)>")
    }
    expectEqual(kind.usage, "tape[:PATH]")
    expectEqual(Self.kind.usage, "tape:PATH")
    let bare = #expect(throws: RunError.self) { _ = try kind.make() }
    expectEqual(bare?.description, "<>")
    let named = #expect(throws: RunError.self) { _ = try kind.make(argument: "a") }
    expectEqual(named?.description, "<a>")
  }

  @Test func whatDoesNotFitIsRefusedBeforeTheSourceIsMade() {
    let missing = refusal("")
    expectEqual(missing?.code, .usage)
    expectEqual(missing?.description.contains("tape:PATH"), true)
    let unknown = refusal("a", ["start": "7"])
    expectEqual(unknown?.code, .usage)
    expectEqual(unknown?.description.contains("it has: startup"), true)
    let outside = refusal("a", ["startup": "11"])
    expectEqual(outside?.code, .usage)
    expectEqual(outside?.description.contains("0 to 10"), true)
  }
}
