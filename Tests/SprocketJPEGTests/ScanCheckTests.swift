import SprocketPixels
import TestExpectations
import TestSupport
import Testing

@testable import SprocketJPEG

@Suite struct ScanCheckTests {
  @Test(arguments: ChromaSubsampling.allCases, [(64, 48), (37, 29), (1, 1)])
  func everyEncodedImageIsWhole(subsampling: ChromaSubsampling, size: (Int, Int)) throws {
    for quality in [1, 50, 100] {
      var image = TestImage.smooth(subsampling, width: size.0, height: size.1)
      if quality == 100 {
        for plane in image.planes.indices {
          image.planes[plane] = TestPattern.random.bytes(image.planes[plane].count)
        }
      }
      expectTrue(isWhole(try image.encoded(quality: quality)))
    }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func realImagesAreWhole() throws {
    let photos = TestData.files(in: "photos").filter { $0.hasSuffix(".jpg") }
    for name in photos + ["mjpeg/mjpeg.jpg", "mjpeg/test.mjpeg", "focus/text_motion.jpg"] {
      let jpeg = try TestData.bytes(name)
      expectTrue(isWhole(jpeg), "\(name)")
    }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func findsWhatTheDecoderFindsAndMore() throws {
    // This frame has no extraneous bytes, so that the library's first warning tells all.
    let jpeg = try TestData.bytes("mjpeg/test.mjpeg")
    let structure = try parse(jpeg)
    var decoder = try JPEGDecoder()
    var random = TestRandom(seed: 11)
    let right = try decodeLuma(jpeg, width: 640, height: 480, with: &decoder)
    var (damagedCount, missed, extra, leftOver) = (0, 0, 0, 0)
    for _ in 0..<400 {
      var damaged = jpeg
      let at = Int.random(in: structure.scanOffset..<structure.byteCount - 2, using: &random)
      damaged[at] ^= 1 << UInt8.random(in: 0...7, using: &random)
      guard (try? parse(damaged)) != nil else { continue }
      var isDamaged = false
      do throws(JPEGError) {
        _ = try decodeLuma(damaged, width: 640, height: 480, scale: .eighth, with: &decoder)
      } catch { isDamaged = true }
      let isIntact = isWhole(damaged)
      damagedCount += isDamaged ? 1 : 0
      leftOver += decoder.lastMessage.contains("extraneous") ? 1 : 0
      missed += isDamaged && isIntact ? 1 : 0
      if !isDamaged, !isIntact {
        extra += 1
        let wrong = try decodeLuma(damaged, width: 640, height: 480, with: &decoder)
        expectTrue(wrong != right)
        decoder.verifies = true
        #expect(throws: JPEGError.damagedData) {
          _ = try decodeLuma(damaged, width: 640, height: 480, with: &decoder)
        }
        decoder.verifies = false
      }
    }
    print(
      "of 400 flipped bits: \(damagedCount) damaged, \(leftOver) with bytes left over, \(extra) more"
    )
    expectGreater(damagedCount, 30)
    expectEqual(missed, 0)
    expectGreater(extra, 0)
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func damageBehindExtraneousBytesIsFound() throws {
    // The library's only word on this image is "6 extraneous bytes before marker 0xd1".
    let jpeg = try TestData.bytes("mjpeg/mjpeg.jpg")
    var decoder = try JPEGDecoder()
    _ = try decodeLuma(jpeg, width: 960, height: 720, with: &decoder)
    expectTrue(decoder.lastMessage.contains("extraneous"))
    var cut = jpeg
    // The 300th restart interval loses bytes; its marker stays.
    let markers = jpeg.indices.dropLast().filter { jpeg[$0] == 0xFF && 0xD0...0xD7 ~= jpeg[$0 + 1] }
    cut.removeSubrange(markers[300] - 60..<markers[300] - 10)
    #expect(throws: JPEGError.damagedData) {
      _ = try decodeLuma(cut, width: 960, height: 720, with: &decoder)
    }
    expectTrue(decoder.lastMessage.contains("extraneous"))
  }
}

private func isWhole(_ jpeg: [UInt8]) -> Bool {
  var check = ScanCheck()
  guard let structure = try? JPEGStructure(parsing: jpeg.span) else { return false }
  return check.isWhole(jpeg.span, structure)
}
