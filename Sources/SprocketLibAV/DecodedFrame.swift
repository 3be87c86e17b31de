internal import CSprocketLibAV
public import SprocketPixels

/// One plane of a decoded frame, to be read only: the decoder may still need it.
@unsafe
public struct DecodedPlane {
  public let base: UnsafePointer<UInt8>
  /// From the start of a row to the start of the next, in bytes; at least ``bytesPerRow``.
  public let stride: Int
  /// Without padding.
  public let bytesPerRow: Int
  public let rows: Int

  /// The plane's memory, from its first to its last byte.
  public var memory: UnsafeBufferPointer<UInt8> {
    unsafe UnsafeBufferPointer(start: base, count: stride * (rows - 1) + bytesPerRow)
  }
}

/// One decoded frame.
public typealias DecodedFrame = LentMedia<DecodedContent>

public struct DecodedContent {
  let format: PixelFormat
  let color: MediaColor
}

extension LentMedia where Content == DecodedContent {
  public var format: PixelFormat { content.format }
  /// What the file says about the color of this frame's samples.
  public var color: MediaColor { content.color }

  /// What the frame itself says.
  public var hdr: HDRMetadata? { unsafe HDRMetadata(shell.frame) }

  /// In pixels. May change in the middle of a file.
  public var width: Int { unsafe Int(shell.frame.pointee.width) }
  /// In pixels. May change in the middle of a file.
  public var height: Int { unsafe Int(shell.frame.pointee.height) }

  /// Width of a pixel over its height as the frame itself says; `nil` where it does not.
  public var pixelAspect: MediaRational? {
    unsafe MediaRational(aspect: shell.frame.pointee.sample_aspect_ratio)
  }
  /// As the frame itself says; it says progressive, too, where its codec has no word for it.
  public var fieldOrder: MediaDisplay.FieldOrder {
    unsafe shell.frame.pointee.interlaced_frame == 0
      ? .progressive : shell.frame.pointee.top_field_first != 0 ? .topFirst : .bottomFirst
  }

  /// A plane, valid until this value ends, or what ``leak()`` returned is released. `index` is below
  /// ``PixelFormat/planeCount``.
  public func plane(_ index: Int) -> DecodedPlane {
    precondition(
      index >= 0 && index < format.planeCount, "\(format) has \(format.planeCount) planes")
    let frame = unsafe shell.frame
    let base =
      unsafe index == 0
      ? frame.pointee.data.0 : index == 1 ? frame.pointee.data.1 : frame.pointee.data.2
    let stride =
      unsafe index == 0
      ? frame.pointee.linesize.0 : index == 1 ? frame.pointee.linesize.1 : frame.pointee.linesize.2
    guard let base = unsafe base else { preconditionFailure("libavcodec left out a plane") }
    let size = format.planeSize(index, width: width, height: height)
    return unsafe DecodedPlane(
      base: base, stride: Int(stride), bytesPerRow: size.bytesPerRow, rows: size.rows)
  }
}
