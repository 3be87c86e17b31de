import Sprocket
import SprocketPipelines
import SprocketStages
import TestExpectations
import Testing

/// The difference of two pipelines, by what it costs.
@Suite struct PipelineChangeTests {
  private func pipeline() -> Pipeline {
    var pipeline = Pipeline(source: Part(SceneSource.kind))
    pipeline.stages = [
      Part("meter", ExposureMeter.Settings()), Part("focus", FocusScore.Settings()),
    ]
    pipeline.outputs = [Part(NullSink.kind), Part(DumpSink.kind)]
    pipeline.outputs["dump"]?[DumpSettings.self]?.path = OutputName("r.mcap")
    return pipeline
  }

  private func change(_ edit: (inout Pipeline) -> Void) throws(RunError) -> PipelineChange {
    var new = pipeline()
    edit(&new)
    return try PipelineChange(from: pipeline(), to: new)
  }

  @Test func whatIsTheSameStays() throws {
    let change = try change { _ in }
    expectTrue(!change.isOfShape && change.settings.isEmpty)
  }

  @Test func liveSettingsBeginNothingAnew() throws {
    let change = try change { $0.stages["meter"]?[ExposureMeter.Settings.self]?.mode = .spot }
    expectFalse(change.isOfShape)
    expectEqual(
      change.settings,
      [SettingsChange("meter", of: ExposureMeter.Settings.self) { $0.mode = .spot }])
  }

  @Test func oneSettingThatIsNotLiveNeedsANewChain() throws {
    let edit = { (pipeline: inout Pipeline) in
      pipeline.stages["meter"]?[ExposureMeter.Settings.self]?.mode = .spot
      pipeline.stages["meter"]?[ExposureMeter.Settings.self]?.samples = 100
    }
    let change = try change(edit)
    expectTrue(change.settings.isEmpty)
    expectEqual(change.stages?["meter"]?[ExposureMeter.Settings.self]?.mode, .spot)
    expectEqual(try self.change { $0.stages.reverse() }.stages?.map(\.id), ["focus", "meter"])
  }

  @Test func aFormatNeedsTheSourceAnewAndKeepsTheChain() throws {
    let change = try change { $0.format.size = FrameSize(64, 48) }
    expectEqual(change.source, Part(SceneSource.kind))
    expectNil(change.stages)
    // A live setting beside it comes with the new chain.
    let both = try self.change { pipeline in
      pipeline.format.size = FrameSize(64, 48)
      pipeline.stages["meter"]?[ExposureMeter.Settings.self]?.mode = .spot
    }
    expectTrue(both.settings.isEmpty && both.stages != nil && both.source != nil)
  }

  /// Live settings of two stages could hold from two frames.
  @Test func settingsOfSeveralStagesComeTogether() throws {
    let change = try change { pipeline in
      pipeline.stages["meter"]?[ExposureMeter.Settings.self]?.mode = .spot
      pipeline.stages["focus"]?[FocusScore.Settings.self]?.window = 0.5
    }
    expectTrue(change.settings.isEmpty && change.stages?.count == 2)
    let beside = try self.change { pipeline in
      pipeline.stages["meter"]?[ExposureMeter.Settings.self]?.mode = .spot
      pipeline.outputs["null"] = nil
    }
    expectTrue(beside.settings.isEmpty && beside.stages?.count == 2)
  }

  @Test func whatIsNamedIsMadeAnew() throws {
    let same = try PipelineChange(
      from: pipeline(), to: pipeline(), anew: ["null", "pairs"], isNewSource: true)
    expectEqual(same.detached, ["null", "pairs"])
    expectEqual(same.attached.map(\.id), ["null"])
    expectEqual(same.source, Part(SceneSource.kind))
  }

  @Test func outputsComeAndGoAlone() throws {
    let change = try change { pipeline in
      pipeline.outputs["null"] = nil
      pipeline.outputs["dump"]?[DumpSettings.self]?.path = OutputName("other.mcap")
      pipeline.outputs.append(Part(MovieSink.kind))
    }
    expectEqual(change.detached, ["null", "dump"])
    expectEqual(change.attached.map(\.id), ["dump", "movie"])
    expectTrue(change.stages == nil && change.source == nil)
  }

  @Test func whatCannotChangeIsRefusedByItsPath() {
    let edits: [(String, (inout Pipeline) -> Void)] = [
      ("sound", { $0.sound.microphones = [Part(SoundParts.none, NoSettings())] }),
      ("sound.codec", { $0.sound.files.codec = .flac }),
      ("until", { $0.asking.until = "motion.score > 1" }),
    ]
    for (path, edit) in edits {
      do throws(RunError) {
        _ = try change(edit)
        expectEqual(path, "accepted")
      } catch {
        expectEqual(error.settings.map(\.description), [path])
      }
    }
  }
}
