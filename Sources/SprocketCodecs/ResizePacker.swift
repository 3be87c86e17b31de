package import SprocketCore

/// Packs pictures of another size, or parts of pictures: their planes one behind the other, rows without
/// padding.
///
/// One instance serves one thread. Memory is allocated when it is made.
package final class ResizePacker: Packer {
  private var resize: PictureResize

  package init(_ resize: PictureResize) { self.resize = resize }

  package func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    guard bytes.count >= resize.byteCount else { return nil }
    resize.make(of: frame.image, into: &bytes)
    return resize.byteCount
  }
}

/// Packs such pictures as JPEG.
package final class ResizedJPEGPacker: Packer {
  private var resize: PictureResize
  private let packer: JPEGPacker
  private var planes: [UInt8]

  /// `needs` are those of the new pictures. Throws where there is no memory.
  package init(
    _ resize: PictureResize, _ needs: JPEGPacker.Requirements, quality: Int
  ) throws(RunError) {
    self.resize = resize
    packer = try JPEGPacker(needs, quality: quality)
    planes = Array(repeating: 0, count: resize.byteCount)
  }

  package func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    var room = planes.mutableSpan
    resize.make(of: frame.image, into: &room)
    let made = planes
    return packer.pack(planes: made.span, into: &bytes)
  }
}
