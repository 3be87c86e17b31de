import Darkness
import SprocketTesting
import Testing

/// The left half is dark.
private let picture = TestFrame(
  width: 64, height: 32, luma: (0..<64 * 32).map { $0 % 64 < 32 ? 10 : 200 })

@Test func halfIsDark() throws {
  let run = try TestRun(of: TestCamera([picture]), through: [StageChoice(Darkness.plugin)])
  #expect(run.reports(Darkness.Report.self).map(\.share) == [0.5])
}

@Test func allocatesNothing() throws {
  var stage = try StageUnderTest(Darkness(), for: picture)
  _ = stage.process(picture)
  #expect(stage.process(picture).allocations == 0)
}
