import SprocketCore
import TestExpectations
import Testing

@Suite struct SourceKindTests {
  struct Choices: SourceSettings {
    var path = InputName("")
    var startup = 2
    static var settings: [Setting<Self>] {
      [
        Setting("path", \.path, "Of the tape."),
        Setting("startup", \.startup, range: 0...10, unit: "frames", "The first frames."),
      ]
    }
  }

  /// Says what it was made with by refusing.
  static let kind = SourceKind("tape", "A tape.", argument: "path", Choices.self) {
    (choices) throws(RunError) in
    throw RunError(.failed, "\(choices.path.path) \(choices.startup)")
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
    expectEqual(Self.kind.settings.map(\.name), ["path", "startup"])
    expectEqual(Self.kind.settings.map(\.defaultText), ["", "2"])
  }

  /// What is allowed and happens to be the default is given, too.
  @Test func anArgumentWithADefaultNeedNotBeGiven() {
    struct Count: SourceSettings {
      var count = 60
      static var settings: [Setting<Self>] {
        [Setting("count", \.count, range: 1...99, "how many")]
      }
    }
    struct None: SourceSettings {
      var count = 0
      static var settings: [Setting<Self>] {
        [Setting("count", \.count, range: 1...99, "how many")]
      }
    }
    func made<Settings: SourceSettings>(_ argument: String, _ type: Settings.Type) -> String? {
      let kind = SourceKind("pulse", "", argument: "count", type) { (settings) throws(RunError) in
        throw RunError(.failed, settings.text(of: "count") ?? "")
      }
      do throws(RunError) {
        _ = try kind.make(argument: argument)
        return nil
      } catch {
        return error.description
      }
    }
    expectEqual(made("60", Count.self), "60")
    expectEqual(made("61", Count.self), "61")
    expectEqual(made("", Count.self), "60")
    expectEqual(made("7", None.self), "7")
    expectTrue(made("", None.self)?.contains("needs more: give pulse:COUNT") ?? false)
  }

  @Test func anArgumentMayBeOptional() throws {
    let kind = SourceKind("tape", "", argument: "path", isArgumentOptional: true, Choices.self) {
      (choices) throws(RunError) in throw RunError(.failed, "<\(choices.path.path)>")
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
    expectEqual(unknown?.description.contains("it has: path, startup"), true)
    let outside = refusal("a", ["startup": "11"])
    expectEqual(outside?.code, .usage)
    expectEqual(outside?.description.contains("0 to 10"), true)
  }
}
