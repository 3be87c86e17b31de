import Sprocket
import SprocketCapture
import SprocketStages
import TestExpectations
import Testing

@Suite("Reports of the built-in stages", .serialized) struct ReportTests {
  /// All reports that a program reads, by their public types. This file sees no more than a program does.
  private let reports: [any FrameReport.Type] = [
    AutoExposureReport.self, AutoFocus.Report.self, BracketReport.self, CodesReport.self,
    ExposureReport.self, FocusReport.self, GeometryReport.self, MotionDetection.self,
    MotionReport.self, StabilizeReport.self, UndistortReport.self,
  ]

  @Test("are public types, of all plug-ins", arguments: builtinStages) func arePublic(
    _ plugin: Plugin
  ) {
    for stage in plugin.stages where stage.reportType != NoReport.self {
      expectTrue(
        reports.contains { $0 == stage.reportType },
        "\(stage.name) reports \(stage.reportType): add it here, and make it public")
    }
  }

  /// No `default`: a state that is added is a case here.
  private func word(_ state: AutoExposureReport.State) -> String {
    switch state {
    case .waiting: "waiting"
    case .adjusting: "adjusting"
    case .converged: "converged"
    case .limited: "limited"
    case .locked: "locked"
    case .custom: "custom"
    case .unanswered: "unanswered"
    case .refused: "refused"
    case .lost: "lost"
    }
  }

  private func word(_ state: AutoFocus.Report.State) -> String {
    switch state {
    case .waiting: "waiting"
    case .coarse: "coarse"
    case .fine: "fine"
    case .settling: "settling"
    case .focused: "focused"
    case .resting: "resting"
    case .locked: "locked"
    case .failed: "failed"
    }
  }

  @Test("have words in files, which are the names of their states") func words() {
    func words<Report: FrameReport>(of report: Report.Type) -> [String] {
      for field in Report.fields.map(\.description) {
        if case .word(let words) = field.kind { return words }
      }
      return []
    }
    expectEqual(
      words(of: AutoExposureReport.self), AutoExposureReport.State.allCases.map { word($0) })
    expectEqual(words(of: AutoFocus.Report.self), AutoFocus.Report.State.allCases.map { word($0) })
    expectEqual(words(of: MotionReport.self), ["first", "tracked", "cut", "blank"])
    expectEqual(words(of: FoundCode.self), CodeType.allCases.map(\.rawValue))
  }

  @Test("come with a frame that is lent, and as objects") func arrive() async throws {
    let states = Shared<Set<AutoExposureReport.State>>([])
    let searches = Shared<UInt32>(0)
    let output = VideoDataOutput(reading: []) { frame in
      if let report = frame.report(AutoExposureReport.self) {
        states.change { $0.insert(report.state) }
      }
      if let report = frame.report(AutoFocus.Report.self) {
        searches.change { $0 = max($0, report.searches) }
      }
    }
    let found = Shared<Set<String>>([])
    let metadata = MetadataOutput { objects in
      for object in objects {
        let name =
          switch object.report {
          case let report as AutoExposureReport: "autoexposure \(report.state == .waiting)"
          case let report as AutoFocus.Report: "autofocus \(report.searches)"
          case let report as MotionDetection: "motion \(report.isDark)"
          case let report as StabilizeReport: "stabilize \(report.mode)"
          case is MotionReport: "estimate"
          case let report as ExposureReport: "meter \(report.samples > 0)"
          case let report as FocusReport: "focus \(report.noise < 256)"
          default: "unknown \(object.type)"
          }
        found.change { $0.insert(name) }
      }
    }
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back { $0.exposure = 500 }))
      c.preset = .size(Cameras.large)
      c.stages = [
        .meter(), .autoExposure(), .focus(), .autoFocus(), .motion(),
        .stabilize { $0.mode = .standard },
      ]
      c.add(output)
      c.add(metadata)
    }
    try await session.start()
    await expectTrue(until { states.value.contains(.converged) && searches.value > 0 })
    let wanted: Set<String> = [
      "motion false", "stabilize standard", "meter true", "focus true", "estimate",
      "autofocus 1",
    ]
    await expectTrue(until { found.value.isSuperset(of: wanted) })
    expectFalse(found.value.contains { $0.hasPrefix("unknown") }, "\(found.value)")
    await session.stop()
  }
}
