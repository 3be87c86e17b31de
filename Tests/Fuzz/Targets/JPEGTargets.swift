internal import SprocketCodecs
internal import SprocketPixels

@testable import SprocketJPEG

func feedJPEGStructure(_ input: [UInt8]) {
  let bytes = input.span
  _ = EncodedFrame(checking: bytes)
  let header = try? JPEGStructure(headerOf: bytes)
  guard let structure = try? JPEGStructure(parsing: bytes) else { return }
  expect(structure.byteCount <= input.count, "an image is longer than its bytes")
  expect(structure.scanHeaderOffset < structure.scanOffset, "a scan begins before its header")
  expect(structure.scanOffset <= structure.byteCount, "a scan begins behind the image")
  expect(
    header?.width == structure.width && header?.height == structure.height,
    "the header alone says another size than the image")
  var check = ScanCheck()
  _ = check.isWhole(bytes, structure)
  var output = [UInt8](
    repeating: 0, count: input.count + JPEGHuffmanTables.standardSegment.count + 2)
  var span = output.mutableSpan
  let count = try? JPEGHuffmanTables.complete(bytes, structure: structure, into: &span)
  expect(count != nil, "an image has no room where there is enough")
}

/// More pixels take longer to decode, and find no more.
private let mostPixels = 1 << 16

func feedJPEGDecoder(_ input: [UInt8]) {
  let bytes = input.span
  guard var decoder = try? JPEGDecoder(), let header = try? decoder.header(bytes),
    header.width * header.height <= mostPixels
  else { return }
  decoder.verifies = true
  let (width, height) = (header.width, header.height)
  for scale in [JPEGScale.full, .eighth] {
    let luma = FuzzPlane(width: scale.scaled(width), height: scale.scaled(height))
    luma.use { plane in
      try? decoder.decodeLuma(bytes, width: width, height: height, scale: scale, into: plane)
    }
  }
  guard let subsampling = header.subsampling else { return }
  let planes = (0..<3).map { index in
    let plane = min(index, subsampling.planeCount - 1)
    return FuzzPlane(
      width: subsampling.planeWidth(plane, imageWidth: width),
      height: subsampling.planeHeight(plane, imageHeight: height))
  }
  planes[0].use { y in
    planes[1].use { u in
      planes[2].use { v in
        try? decoder.decodePlanes(
          bytes, width: width, height: height, subsampling: subsampling, y: y, u: u, v: v)
      }
    }
  }
}

/// Memory of a plane, no larger than it needs to be.
@safe
final class FuzzPlane {
  private let width: Int
  private let memory: UnsafeMutableBufferPointer<UInt8>

  init(width: Int, height: Int) {
    self.width = width
    unsafe memory = .allocate(capacity: width * height)
    unsafe memory.initialize(repeating: 0xEE)
  }

  deinit { unsafe memory.deallocate() }

  func use(_ body: (MutablePlaneBytes) -> Void) {
    unsafe body(MutablePlaneBytes(memory, stride: width))
  }
}
