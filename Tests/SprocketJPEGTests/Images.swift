import SprocketJPEG
import SprocketPixels
import TestSupport
import Testing

/// A planar image of a test, with rows of any stride.
struct TestImage {
  var subsampling: ChromaSubsampling
  var width: Int
  var height: Int
  var strides: [Int]
  var planes: [[UInt8]]

  /// An empty one; `padding` bytes are added to every row.
  init(_ subsampling: ChromaSubsampling, width: Int, height: Int, padding: Int = 0) {
    self.subsampling = subsampling
    self.width = width
    self.height = height
    strides = []
    planes = []
    for plane in 0..<subsampling.planeCount {
      let stride = subsampling.planeWidth(plane, imageWidth: width) + padding
      strides.append(stride)
      let rows = subsampling.planeHeight(plane, imageHeight: height)
      planes.append([UInt8](repeating: 0xEE, count: stride * rows))
    }
  }

  /// A smooth picture: JPEG keeps it within a level or two at quality 100.
  static func smooth(
    _ subsampling: ChromaSubsampling, width: Int, height: Int, padding: Int = 0
  ) -> TestImage {
    var image = TestImage(subsampling, width: width, height: height, padding: padding)
    for plane in 0..<subsampling.planeCount {
      for row in 0..<subsampling.planeHeight(plane, imageHeight: height) {
        for column in 0..<subsampling.planeWidth(plane, imageWidth: width) {
          image.planes[plane][row * image.strides[plane] + column] = UInt8(
            truncatingIfNeeded: min(255, 40 + plane * 30 + column + row / 2))
        }
      }
    }
    return image
  }

  func encoded(quality: Int) throws -> [UInt8] {
    var encoder = try JPEGEncoder()
    let size = try #require(
      JPEGEncoder.maximumSize(width: width, height: height, subsampling: subsampling))
    var output = [UInt8](repeating: 0, count: size)
    let buffers = planes.map { TestBuffer($0) }
    defer { withExtendedLifetime(buffers) {} }
    let sources = buffers.indices.map { index in
      unsafe PlaneBytes(UnsafeBufferPointer(buffers[index].memory), stride: strides[index])
    }
    var span = output.mutableSpan
    let count = try encoder.encode(
      width: width, height: height, subsampling: subsampling, y: sources[0],
      u: sources.count > 1 ? sources[1] : nil, v: sources.count > 1 ? sources[2] : nil,
      quality: quality, into: &span)
    return Array(output[..<count])
  }

  /// Decodes `jpeg` into this image's planes.
  mutating func decode(_ jpeg: [UInt8], with decoder: inout JPEGDecoder) throws(JPEGError) {
    let buffers = planes.map { TestBuffer($0) }
    let targets = buffers.indices.map { index in
      unsafe MutablePlaneBytes(buffers[index].memory, stride: strides[index])
    }
    defer { for index in planes.indices { planes[index] = buffers[index].bytes } }
    try decoder.decodePlanes(
      jpeg.span, width: width, height: height, subsampling: subsampling, y: targets[0],
      u: targets.count > 1 ? targets[1] : nil, v: targets.count > 1 ? targets[2] : nil)
  }
}

/// Luma of a JPEG image; `padding` bytes after each row must come back untouched.
func decodeLuma(
  _ jpeg: [UInt8], width: Int, height: Int, scale: JPEGScale = .full, padding: Int = 0,
  with decoder: inout JPEGDecoder
) throws(JPEGError) -> [UInt8] {
  let stride = scale.scaled(width) + padding
  let samples = TestBuffer(count: stride * scale.scaled(height))
  let plane = unsafe MutablePlaneBytes(samples.memory, stride: stride)
  defer { withExtendedLifetime(samples) {} }
  try decoder.decodeLuma(jpeg.span, width: width, height: height, scale: scale, into: plane)
  return samples.bytes
}

/// The structure of `jpeg`.
func parse(_ jpeg: [UInt8]) throws(JPEGError) -> JPEGStructure { try JPEGStructure(jpeg.span) }
