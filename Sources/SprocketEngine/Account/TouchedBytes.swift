internal import SprocketCore

/// Bytes that a step reads and writes per frame, from the declarations of the stages. A plane counts once,
/// even if it is read several times. Neighbouring frames are not counted.
package struct TouchedBytes: Sendable {
  package let step: String
  package var read = 0
  package var written = 0

  package init(step: String) { self.step = step }
}

extension Engine {
  /// One entry for unpacking and one per stage, in the chain's order. `source`: bytes of a frame as
  /// delivered. Call before the run is started.
  package func touchedBytes(source: Int) -> [TouchedBytes] {
    epoch.plan.lanes.flatMap(\.steps).compactMap { step in
      var touched = TouchedBytes(step: step.name(stages))
      switch step {
      case .unpack:
        touched.written = own(epoch.plan.versions[0])
        // Planes that are used in the source's memory are not copied.
        touched.read = touched.written > 0 ? source : 0
      case .stage(let index): count(stages[index], index, source: source, &touched)
      case .unpackAsked, .select, .pack, .packSource: return nil
      }
      return touched
    }
  }

  private func count(
    _ stage: ChainStage, _ index: Int, source: Int, _ touched: inout TouchedBytes
  ) {
    let version = epoch.plan.readVersion[index].place
    let format = epoch.plan.versions[version].format
    touched.read = stage.declared.parts.contains(.encoded) ? source : 0
    touched.read += bytes(of: stage.declared.parts, format)
    guard stage.declared.writing != nil else { return }
    let written = epoch.plan.versions[version + 1]
    if !stage.declared.parts.contains(.image), stage.declared.writing != .firstImage {
      touched.read += bytes(of: .image, format)
    }
    touched.written =
      bytes(of: .image, written.format)
      + bytes(of: written.parts.intersection(ownLuma(written)), written.format)
  }

  /// Planes that are copied into the version's own memory.
  private func own(_ version: ChainPlan.Version) -> Int {
    var parts = version.parts.intersection(ownLuma(version))
    let image = version.parts.intersection(.anyReducedImage.union(.image))
    if !version.borrowsImage { parts.formUnion(image) }
    return bytes(of: parts, version.format)
  }

  private func ownLuma(_ version: ChainPlan.Version) -> FrameParts {
    version.borrowsLuma ? FrameParts.anyLuma.subtracting(.luma(.full)) : .anyLuma
  }

  private func bytes(of parts: FrameParts, _ format: FrameFormat) -> Int {
    var sum = 0
    if !parts.isDisjoint(with: .anyReducedImage.union(.image)), let image = format.image {
      let size = format.lumaSize(parts.imageScale)
      sum += image.byteCount(width: size.width, height: size.height)
    }
    for scale in LumaScale.allCases where parts.contains(.luma(scale)) {
      let size = format.lumaSize(scale)
      sum += size.width * size.height
    }
    return sum
  }
}
