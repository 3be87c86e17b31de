internal import SprocketPixels

/// Addresses and strides of an image's planes, in the form that libturbojpeg takes.
@safe
struct PlaneTable {
  private var addresses: InlineArray<3, UnsafeMutablePointer<UInt8>?> = [nil, nil, nil]
  private var strides: InlineArray<3, Int32> = [0, 0, 0]

  /// Traps unless all planes of a `width` by `height` image are given, with
  /// ``ChromaSubsampling/planeWidth(_:imageWidth:)`` by ``ChromaSubsampling/planeHeight(_:imageHeight:)``
  /// samples. The decoder writes to them, so the caller needs write access.
  init(
    _ y: PlaneBytes, _ u: PlaneBytes?, _ v: PlaneBytes?, _ subsampling: ChromaSubsampling,
    width: Int, height: Int
  ) {
    for index in 0..<subsampling.planeCount {
      guard let plane = index == 0 ? y : index == 1 ? u : v else {
        preconditionFailure("an image with chroma needs three planes")
      }
      let (base, stride) = unsafe plane.checked(
        subsampling.planeWidth(index, imageWidth: width),
        subsampling.planeHeight(index, imageHeight: height))
      unsafe addresses[index] = unsafe UnsafeMutablePointer(mutating: base)
      strides[index] = stride
    }
  }

  /// Calls a function of the library with both tables and returns its result.
  mutating func call(
    _ function: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int32>)
      -> Int32
  ) -> Int32 {
    var addressSpan = unsafe addresses.mutableSpan
    var strideSpan = strides.mutableSpan
    return unsafe addressSpan.withUnsafeMutableBufferPointer { addresses in
      unsafe strideSpan.withUnsafeMutableBufferPointer { strides in
        unsafe function(
          addresses.baseAddress.unsafelyUnwrapped, strides.baseAddress.unsafelyUnwrapped)
      }
    }
  }
}
