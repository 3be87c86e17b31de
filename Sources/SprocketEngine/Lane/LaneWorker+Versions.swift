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

  /// Whether the source delivered whole planes, of which a stage will make the first picture. Where nothing
  /// arrived they have no rows. For other frames, unpacking finds that out.
  func isWhole(_ slot: UnsafeMutablePointer<FrameStorage>, _ format: FrameFormat) -> Bool {
    let pixels = format.pixelFormat
    for index in 0..<pixels.planeCount {
      let size = pixels.plane(index, width: format.width, height: format.height)
      let plane = unsafe slot.pointee.source.planes[index]
      guard unsafe plane.rows >= size.rows, unsafe plane.bytesPerRow >= size.bytesPerRow else {
        return false
      }
    }
    return true
  }

  func deriveLuma(_ written: VersionIndex, _ slot: UnsafeMutablePointer<FrameStorage>) {
    let version = epoch.plan[written]
    let wanted = version.parts.intersection(.anyLuma)
    guard !wanted.isEmpty, let unpacker else { return }
    unsafe unpacker.deriveLuma(slot, version: written, format: version.format, parts: wanted)
  }
}
