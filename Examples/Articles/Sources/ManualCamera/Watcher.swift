import Sprocket
import SprocketCapture
import Synchronization

/// Keeps what the stages `meter` and `motion` report. Its output calls on a thread of its own.
final class Watcher: Sendable {
  private final class Values: Sendable {
    /// How much brighter than wanted the newest frame is, in EV, and how often the subject has changed.
    let now = Mutex((offset: Double?.none, changes: 0))
  }

  let output: MetadataOutput
  private let values: Values

  init() {
    let values = Values()
    self.values = values
    output = MetadataOutput(types: ["meter", "motion"]) { objects in
      for object in objects {
        if let meter = object.report as? ExposureReport {
          values.now.withLock { $0.offset = meter.offset }
        }
        if let motion = object.report as? MotionDetection, motion.subjectAreaChanged {
          values.now.withLock { $0.changes += 1 }
        }
      }
    }
  }

  var now: (offset: Double?, changes: Int) { values.now.withLock { $0 } }
}
