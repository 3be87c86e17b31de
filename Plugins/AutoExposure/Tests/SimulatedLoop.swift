import SprocketCore
import TestSupport

@testable import AutoExposure

/// A camera with a control delay, and the loop that steers it.
struct SimulatedLoop {
  var sensor: SimulatedSensor
  var control: ExposureControl
  /// Frames from a write to the frame of which the source says that it is in force.
  let delay: Int
  /// Frames from there until it is.
  let lag: Int
  var light = 0.0
  private(set) var frame = 0
  private(set) var writes = 0
  /// What the source says is in force, and what is.
  private(set) var told: Double
  private(set) var setting: Double
  private var coming: [(frame: Int, setting: Double)] = []
  private var showing: [(frame: Int, setting: Double)] = []

  init(_ sensor: SimulatedSensor, delay: Int, lag: Int = 0, setting: Double = 0) {
    self.sensor = sensor
    self.delay = delay
    self.lag = lag
    told = setting
    self.setting = setting
    control = ExposureControl(
      range: -14...14, curve: ToneCurve(sensor.declared), isTold: lag == 0)
  }

  /// One frame; returns its setting and light in EV.
  mutating func step() -> Double {
    while let first = coming.first, first.frame <= frame {
      told = first.setting
      coming.removeFirst()
    }
    while let first = showing.first, first.frame <= frame {
      setting = first.setting
      showing.removeFirst()
    }
    let seen = sensor.expose(light + setting)
    let reading = ExposureControl.Reading(
      number: UInt64(frame), offset: seen.offset, clipped: seen.clipped,
      histogram: seen.histogram, setting: told)
    if let wanted = control.next(reading) {
      control.didAsk(wanted, at: UInt64(frame))
      coming.append((frame + delay, wanted))
      showing.append((frame + delay + lag, wanted))
      writes += 1
    }
    frame += 1
    return light + setting
  }
}
