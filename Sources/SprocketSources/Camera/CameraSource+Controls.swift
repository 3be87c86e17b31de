internal import SprocketCore
internal import SprocketV4L2

// Control writes on their way to the driver, and what it says of them.

extension CameraSource {
  /// Makes the writes that have gathered. The driver's answer, or its refusal, rides on the first frame
  /// that can show it.
  func takeWrites() {
    while let write = controls.port.take() {
      let control = controls.writable[Int(write.control)]
      var result: Int64?
      do throws(V4L2Error) {
        result = try device!.set(control, to: Int64(nearest: write.value))
      } catch {}
      controls.wrote(
        write, result: result, flags: device!.flags(of: control.id), at: SourceClock.now())
    }
  }

  /// Reads what frames tell of, at the start.
  func readWatched() {
    for control in controls.watched {
      controls.begin(
        control, value: try? device!.value(of: control),
        flags: device!.flags(of: control.id) ?? control.flags)
    }
  }

  /// What the driver tells of changed controls.
  func takeChanges() {
    while let change = device!.nextChange() { controls.changed(change) }
  }
}
