import SprocketPixels
import TestExpectations
import Testing

@Suite struct HDRMetadataTests {
  @Test func eachPartIsTheFirstThatIsKnown() {
    let light = HDRMetadata(display: nil, light: HDRMetadata.Light(pixel: 1000, picture: 400))
    let other = HDRMetadata(display: nil, light: HDRMetadata.Light(pixel: 1, picture: 1))
    let display = HDRMetadata(
      display: HDRMetadata.Display(
        red: [1, 2], green: [3, 4], blue: [5, 6], white: [7, 8], brightest: 9, darkest: 10),
      light: nil)
    expectEqual(HDRMetadata(light, nil), light)
    expectEqual(HDRMetadata(nil, light), light)
    expectEqual(HDRMetadata(light, other), light)
    expectEqual(
      HDRMetadata(display, light), HDRMetadata(display: display.display, light: light.light))
    expectTrue(HDRMetadata(nil, nil) == nil)
  }
}
