import FoundationEssentials
import TestExpectations
import Testing

@testable import SprocketCommandLine

@Suite struct TopTests {
  /// An answer to `status`, with `changes` to its keys.
  private func status(_ changes: [String: String] = [:]) throws -> StatusDocument {
    var keys = [
      "protocol": "1", "version": "\"0.1.0\"", "program": "\"sprocket\"", "name": "\"front\"",
      "pid": "4711", "source": "\"scene\"", "format": "\"MJPG\"", "width": "1280", "height": "720",
      "epochs": "1", "live": "true", "elapsed_s": "10", "frames_per_s": "30", "produced": "300",
      "lost": #"{"missing":2,"startup":5}"#, "ring": #"{"depth":12,"used":3,"free":4}"#,
      "lanes": lanes(frames: 290, work: 2.9, meterWork: 0.58, wait: 0.029),
      "sinks": #"{"movie":{"delivered":280,"missing":2,"behind":1,"unselected":17}}"#,
      "sink_loads": #"[{"name":"movie","work_s":0.56,"wait_s":0.028,"frames":280,"behind":1}]"#,
      "recording": "[]", "errors": "[]", "notes": "[]",
    ]
    keys.merge(changes) { $1 }
    let text = "{" + keys.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    return try JSONDecoder().decode(StatusDocument.self, from: Data(text.utf8))
  }

  /// Two workers unpack and meter.
  private func lanes(frames: Int, work: Double, meterWork: Double, wait: Double) -> String {
    func step(_ name: String, _ work: Double, _ wait: Double, rejected: Int) -> String {
      #"{"name":"\#(name)","work_s":\#(work),"wait_s":\#(wait),"frames":\#(frames),"cpu_s":0.04,"#
        + #""cpu_frames":40,"late":3,"rejected":\#(rejected),"corrupt":0}"#
    }
    return #"[{"workers":2,"behind":1,"steps":["#
      + step("unpack", work, wait, rejected: 0) + "," + step("meter", meterWork, 0, rejected: 7)
      + "]}]"
  }

  private func later() throws -> StatusDocument {
    try status([
      "elapsed_s": "12", "produced": "360",
      "lanes": lanes(frames: 350, work: 3.5, meterWork: 0.7, wait: 0.149),
      "sinks": #"{"movie":{"delivered":330,"missing":2,"behind":1,"unselected":27}}"#,
      "sink_loads": #"[{"name":"movie","work_s":0.66,"wait_s":0.078,"frames":330,"behind":0}]"#,
    ])
  }

  private func near(_ value: Double?, _ expected: Double) -> Bool {
    value.map { abs($0 - expected) < 1e-9 } ?? false
  }

  @Test func ratesAreThoseOfTheTimeBetweenTwoAnswers() throws {
    let run = RunFigures(socket: "s", from: try status(), to: try later())
    expectEqual(run.interval, 2)
    expectEqual(run.rate, 30)
    let lane = try #require(run.lanes.first)
    // 60 frames: 0.6 s of unpacking, 0.12 s of metering, 0.12 s of waiting.
    expectTrue(near(lane.steps[0].work, 10) && near(lane.steps[1].work, 2))
    expectTrue(near(lane.work, 12))
    expectTrue(near(lane.wait, 2))
    // Of two workers for two seconds.
    expectTrue(near(lane.steps[0].busy, 0.15))
    expectTrue(near(lane.busy, 0.18))
    expectEqual(lane.frames, 350)
    expectEqual(lane.behind, 1)
    expectNil(lane.steps[0].cpu)
    expectTrue(near(run.sinks[0].work, 2) && near(run.sinks[0].wait, 1))
    expectTrue(near(run.sinks[0].busy, 0.05))
  }

  @Test func withoutAnEarlierAnswerRatesAreThoseOfTheRun() throws {
    for earlier in [nil, try status(["pid": "1"]), try status(["elapsed_s": "11"])] {
      let run = RunFigures(socket: "s", from: earlier, to: try status())
      expectEqual(run.interval, 10)
      expectEqual(run.rate, 30)
      expectTrue(near(run.lanes[0].steps[0].work, 10) && near(run.lanes[0].steps[0].cpu, 1))
    }
  }

  @Test func aStepKeepsItsRateWhenLanesChange() throws {
    let own =
      #"[{"workers":1,"behind":0,"steps":[{"name":"meter","work_s":0.7,"wait_s":0.5,"#
      + #""frames":350,"cpu_s":0,"cpu_frames":0,"late":0,"rejected":0,"corrupt":0}]}]"#
    let run = RunFigures(
      socket: "s", from: try status(), to: try status(["elapsed_s": "12", "lanes": own]))
    expectTrue(near(run.lanes[0].steps[0].work, 2))
  }

  @Test func nothingHasNoMeanAndCountsThatShrinkAreNoRate() throws {
    let less = try status([
      "elapsed_s": "11", "produced": "299",
      "sink_loads": #"[{"name":"movie","work_s":0.1,"wait_s":0,"frames":100,"behind":0}]"#,
    ])
    let run = RunFigures(socket: "s", from: try status(), to: less)
    expectTrue(run.rate == 0 && run.lanes[0].work == nil && run.lanes[0].busy == 0)
    expectTrue(run.sinks[0].work == nil && run.sinks[0].busy == 0)
    let table = TopTable.lines(run)
    expectTrue(table.contains { $0.contains("sink movie") && $0.contains(" - ") })
  }

  @Test func theTableHasALinePerLaneStepAndSink() throws {
    let lines = TopTable.lines(RunFigures(socket: "s", from: try status(), to: try later()))
    func words(_ index: Int) -> [Substring] { lines[index].split(separator: " ") }
    expectEqual(
      lines[0],
      "PID 4711  front  scene 1280x720 MJPG  30.00/s  ring 3/12, 4 free  lost 2 (missing 2)")
    expectEqual(words(1), ["LANE", "WORK", "WAIT", "BUSY", "BEHIND", "FRAMES", "LOST"])
    expectEqual(words(2).joined(separator: " "), "unpack+meter (2) 12.00 ms 2.00 ms 18 % 1 350 6")
    expectEqual(words(3).joined(separator: " "), "unpack 10.00 ms 15 % 350 3")
    expectEqual(words(4).joined(separator: " "), "meter 2.00 ms 3 % 350 3")
    expectEqual(words(5).joined(separator: " "), "sink movie 2.00 ms 1.00 ms 5 % 0 330 3")
    expectTrue(lines.count == 6 && Set(lines[1...].map(\.count)).count == 1)
  }

  @Test func aRecordingShowsItsFileTimeAndSize() throws {
    let file =
      #"[{"recording":1,"sink":"movie","path":"/a/take-2.mov","duration_s":72.5,"#
      + #""bytes":35756442,"frames":{"delivered":5}}]"#
    let head = TopTable.lines(
      RunFigures(socket: "s", from: nil, to: try status(["recording": file])))[0]
    expectTrue(head.hasSuffix("  recording take-2.mov 01:12 34.1 MB"))
  }

  @Test func linesAreCutAndHaveNoControlCharacters() throws {
    let bad = RunFigures(
      socket: "s", from: nil,
      to: try status(["name": #""a\u001b[31mb\nc""#, "source": #""x\u009by""#]))
    let head = TopTable.cut(TopTable.lines(bad)[0], to: 40)
    #expect(head == #"PID 4711  a\u{1B}[31mb\nc  x\u{9B}y 1280x"#.prefix(40))
    expectEqual(TopTable.cut("abc", to: 2), "ab")
    expectEqual(TopTable.cut("abc", to: 80), "abc")
  }

  @Test func numbersAndTimesAreWrittenForPeople() {
    expectEqual(
      [0, 999, 1000, 1_234_567].map { TopTable.grouped($0) }, ["0", "999", "1,000", "1,234,567"])
    expectEqual(
      [0, 59.9, 61, 3600, -1].map { TopTable.clock($0) },
      ["00:00", "00:59", "01:01", "1:00:00", "00:00"])
  }

  @Test func entriesAreInTheSessionsFolderAndElseInThatForTemporaryFiles() {
    expectEqual(
      RunFolder.places(session: "/run/user/7", user: 7),
      ["/run/user/7/sprocket-runs", "/tmp/sprocket-7"])
    expectEqual(RunFolder.places(session: nil, user: 7), ["/tmp/sprocket-7"])
    expectEqual(RunFolder.places(session: "relative", user: 7), ["/tmp/sprocket-7"])
  }
}
