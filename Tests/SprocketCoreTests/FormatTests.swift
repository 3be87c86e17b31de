import SprocketCore
import TestExpectations
import Testing

@Suite struct FormatTests {
  @Test func aspectsAreInLowestTerms() {
    expectEqual(PixelAspect(64, 54), PixelAspect(32, 27))
    expectEqual(PixelAspect(4, 4), .square)
    expectFalse(PixelAspect.square.isOblong)
    expectEqual(PixelAspect(0, 3), .unknown)
    expectEqual(PixelAspect(3, -1), .unknown)
    expectEqual(PixelAspect(.max, 1).width, .max)
  }

  @Test func deepPlanesAreTwiceAsWideInBytes() {
    for format in PixelFormat.allCases where format.isDeep && format.isPlanar {
      expectEqual(format.imageFormat, format)
      expectEqual(format.planeCount, format.reduced.planeCount)
      for plane in 0..<format.planeCount {
        let (deep, flat) = (
          format.plane(plane, width: 7, height: 5), format.reduced.plane(plane, width: 7, height: 5)
        )
        expectEqual(deep.bytesPerRow, 2 * flat.bytesPerRow)
        expectEqual(deep.rows, flat.rows)
      }
    }
  }

  @Test func imagesKeepTheBitsOfTheirSource() {
    for format in PixelFormat.allCases {
      guard let image = format.imageFormat else { continue }
      expectTrue(image.isPlanar, "\(format)")
      expectEqual(image.bitsPerSample, format.bitsPerSample, "\(format)")
    }
  }

  @Test(arguments: PixelFormat.allCases) func everyFormatIsFoundByItsName(format: PixelFormat) {
    expectEqual(PixelFormat(fourcc: format.fourcc), format)
    let lowercase = format.fourcc.lowercased()
    let isUnique = PixelFormat.allCases.filter { $0.fourcc.lowercased() == lowercase }.count == 1
    expectEqual(PixelFormat(fourcc: lowercase), (isUnique ? format : nil))
  }

  /// `V4L2_PIX_FMT_SRGGB8` to `V4L2_PIX_FMT_SBGGR12P` of linux/videodev2.h.
  @Test func mosaicsHaveV4L2sCodesAndNames() {
    let codes = [
      "8": ["RGGB", "GRBG", "GBRG", "BA81"], "10": ["RG10", "BA10", "GB10", "BG10"],
      "12": ["RG12", "BA12", "GB12", "BG12"], "16": ["RG16", "GR16", "GB16", "BYR2"],
      "10P": ["pRAA", "pgAA", "pGAA", "pBAA"], "12P": ["pRCC", "pgCC", "pGCC", "pBCC"],
    ]
    var found: Set<PixelFormat> = []
    for (depth, codes) in codes {
      for (order, code) in zip(["RGGB", "GRBG", "GBRG", "BGGR"], codes) {
        let format = PixelFormat(fourcc: "S\(order)\(depth)")
        expectEqual(format?.fourcc, code)
        expectEqual(PixelFormat(fourcc: code), format)
        if case .bayer(let layout, _)? = format?.layout {
          expectEqual("\(layout)", order.lowercased())
        }
        if let format { found.insert(format) }
      }
    }
    expectEqual(found, Set(PixelFormat.allCases.filter(\.isBayer)))
    expectEqual(found.count, 24)
    for name in ["PGAA", "pgaa", "PGCC", "pgcc"] { expectNil(PixelFormat(fourcc: name)) }
  }

  /// The last group of packed pixels is whole.
  @Test(arguments: [
    (PixelFormat.bayerRGGB, 8, 7), (.bayerRGGB10, 10, 14), (.bayerRGGB12, 12, 14),
    (.bayerRGGB16, 16, 14), (.bayerRGGB10P, 10, 10), (.bayerRGGB12P, 12, 12),
  ])
  func mosaicsHaveOnePlane(format: PixelFormat, bits: Int, bytesPerRow: Int) {
    #expect(format.plane(0, width: 7, height: 5) == (bytesPerRow, 5))
    expectEqual(format.planeCount, 1)
    expectEqual(format.bitsPerSample, bits)
    expectNil(format.imageFormat)
    expectFalse(format.isPlanar)
    expectEqual(format.isDeep, (bytesPerRow == 14))
  }
}
