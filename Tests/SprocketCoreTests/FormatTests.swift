import SprocketCore
import Testing

@Suite struct FormatTests {
  @Test func aspectsAreInLowestTerms() {
    #expect(PixelAspect(64, 54) == PixelAspect(32, 27))
    #expect(PixelAspect(4, 4) == .square && !PixelAspect.square.isOblong)
    #expect(PixelAspect(0, 3) == .unknown && PixelAspect(3, -1) == .unknown)
    #expect(PixelAspect(.max, 1).width == .max)
  }

  @Test func deepPlanesAreTwiceAsWideInBytes() {
    for format in PixelFormat.allCases where format.isDeep {
      #expect(format.isPlanar && format.imageFormat == format)
      #expect(format.planeCount == format.reduced.planeCount)
      for plane in 0..<format.planeCount {
        let (deep, flat) = (
          format.plane(plane, width: 7, height: 5), format.reduced.plane(plane, width: 7, height: 5)
        )
        #expect(deep.bytesPerRow == 2 * flat.bytesPerRow && deep.rows == flat.rows)
      }
    }
  }

  @Test(arguments: PixelFormat.allCases) func everyFormatIsFoundByItsName(format: PixelFormat) {
    #expect(PixelFormat(fourcc: format.fourcc) == format)
    #expect(PixelFormat(fourcc: format.fourcc.lowercased()) == format)
  }
}
