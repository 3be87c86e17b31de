internal import SprocketCore

// Versions of a picture that stages write.
extension LaneWorker {
  /// Prepares the memory of the version that a stage will write: the previous version's memory (in place), a
  /// copy of it, or the version's own.
  func prepareVersion(_ written: VersionIndex, _ slot: UnsafeMutablePointer<FrameStorage>) {
    let version = epoch.plan[written]
    let versions = unsafe slot.pointee.versions
    unsafe versions[written].sensorMap = versions[written.previous].sensorMap
    if version.isInPlace {
      unsafe versions[written].image = versions[written.previous].image
    } else if version.copiesFirst, let planar = version.format.image {
      for plane in 0..<planar.planeCount {
        unsafe versions[written].image.planes[plane].copy(
          from: versions[written.previous].image.planes[plane])
      }
    }
  }

  func deriveLuma(_ written: VersionIndex, _ slot: UnsafeMutablePointer<FrameStorage>) {
    let version = epoch.plan[written]
    let wanted = version.parts.intersection(.anyLuma)
    guard !wanted.isEmpty, let unpacker else { return }
    unsafe unpacker.deriveLuma(slot, version: written, format: version.format, parts: wanted)
  }
}
