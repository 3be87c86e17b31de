internal import CSprocketJPEG
public import SprocketPixels

/// Encodes planar YUV or gray images as baseline JPEG, one after the other.
///
/// One encoder serves one thread at a time; a worker makes its own and keeps it. Samples are taken to be
/// full range with the matrix of BT.601, as JFIF has it; nothing is converted. Huffman tables are the
/// standard ones and are written.
///
/// Transforms are the accurate integer ones. Left alone, the library takes its fast ones below quality
/// 96, as most programs do. With AVX2 these are not faster: 3.4 ms for 1080p either way at quality 85,
/// and at 95 the accurate ones lose 3 dB less in 1 % fewer bytes (libjpeg-turbo 2.1.5).
@safe
public struct JPEGEncoder: ~Copyable {
  private let handle: tjhandle

  /// The corresponding C function is `tjInitCompress`.
  public init() throws(JPEGError) {
    guard let handle = unsafe tjInitCompress() else { throw .outOfMemory }
    unsafe self.handle = unsafe handle
  }

  deinit { unsafe tjDestroy(handle) }

  /// The most bytes that an image of this size can take, whatever it shows; `nil` for a size that
  /// cannot be encoded.
  ///
  /// The corresponding C function is `tjBufSize`.
  public static func maximumSize(
    width: Int, height: Int, subsampling: ChromaSubsampling
  ) -> Int? {
    // 65500 is libjpeg's JPEG_MAX_DIMENSION.
    guard 1...65500 ~= width, 1...65500 ~= height else { return nil }
    return Int(exactly: tjBufSize(Int32(width), Int32(height), subsampling.code))
  }

  /// Encodes an image into `output`; returns the number of bytes written.
  ///
  /// There must be ``maximumSize(width:height:subsampling:)`` bytes, whatever the result needs:
  /// the library does not check the end of a buffer. `quality` is 1 to 100. The planes must hold
  /// ``ChromaSubsampling/planeWidth(_:imageWidth:)`` by ``ChromaSubsampling/planeHeight(_:imageHeight:)``
  /// samples; for odd sizes, repeat the last column and row there. `u` and `v` are not used for gray.
  ///
  /// The corresponding C function is `tjCompressFromYUVPlanes`.
  public mutating func encode(
    width: Int, height: Int, subsampling: ChromaSubsampling, y: PlaneBytes, u: PlaneBytes? = nil,
    v: PlaneBytes? = nil, quality: Int, into output: inout MutableSpan<UInt8>
  ) throws(JPEGError) -> Int {
    precondition(1...100 ~= quality, "JPEG quality is 1 to 100, not \(quality)")
    guard
      let needed = Self.maximumSize(width: width, height: height, subsampling: subsampling)
    else { throw .encodingFailed }
    guard output.count >= needed else { throw .bufferTooSmall(needed: needed) }

    var table = PlaneTable(y, u, v, subsampling, width: width, height: height)
    var size = UInt(output.count)
    let result = unsafe output.withUnsafeMutableBufferPointer { bytes in
      var base = bytes.baseAddress
      return unsafe table.call { planes, strides in
        unsafe planes.withMemoryRebound(to: UnsafePointer<UInt8>?.self, capacity: 3) { planes in
          unsafe tjCompressFromYUVPlanes(
            handle, planes, Int32(width), strides, Int32(height), subsampling.code, &base, &size,
            Int32(quality), TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT)
        }
      }
    }
    guard result == 0 else { throw .encodingFailed }
    return Int(size)
  }

  /// The library's words for its last complaint on the calling thread. Allocates.
  ///
  /// The corresponding C function is `tjGetErrorStr2`.
  public var lastMessage: String { unsafe String(cString: tjGetErrorStr2(handle)) }
}
