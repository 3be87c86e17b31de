public import SprocketCore

/// How stills of frames of one format become PNG, TIFF or DNG files; JPEGs are `JPEGStillPacker`'s.
public struct StillPlan: Sendable {
  private enum Content: Sendable {
    case png(StillRaster)
    case tiff(StillRaster)
    case dng(MosaicStill)
  }

  private let content: Content
  private let facts: StillFacts
  /// What a packer reads of each frame.
  public let parts: FrameParts
  /// Bytes that the largest file takes.
  public let capacity: Int
  /// Bytes that each packer allocates.
  public let packerBytes: Int

  /// `format` is that of the chain's end. Throws where such files cannot hold such frames. `turn` is as for a
  /// ``JPEGStillPacker``.
  public init(
    _ kind: StillFormat, _ format: FrameFormat, of source: SourceDescription, isUntouched: Bool,
    mosaic levels: MosaicLevels, turn: OrientationSetting? = nil
  ) throws(RunError) {
    if kind == .dng {
      let mosaic = try MosaicStill(source.format, levels)
      content = .dng(mosaic)
      facts = StillFacts(source.origin, source.format, turn: turn)
      (parts, capacity) = (.encoded, DNGPacker.capacity(mosaic))
      packerBytes = 17 * mosaic.previewBytes + capacity - mosaic.byteCount
      return
    }
    let raster = try StillRaster(format, source: source.format, isUntouched: isUntouched)
    facts = StillFacts(source.origin, format, turn: turn)
    parts = raster.parts
    if kind == .png {
      content = .png(raster)
      (capacity, packerBytes) = (PNGPacker.capacity(raster), PNGPacker.workingBytes(raster))
    } else {
      content = .tiff(raster)
      (capacity, packerBytes) = (TIFFPacker.capacity(raster), raster.workingBytes)
    }
  }

  public func makePacker() throws(RunError) -> any Packer {
    switch content {
    case .png(let raster): try PNGPacker(raster, facts)
    case .tiff(let raster): TIFFPacker(raster, facts)
    case .dng(let mosaic): DNGPacker(mosaic, facts)
    }
  }
}
