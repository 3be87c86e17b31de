import SprocketJPEG
import SprocketPixels
import TestExpectations
import TestSupport
import Testing

/// Images that say more than they have.
@Suite struct JPEGBombTests {
  private func fault(_ jpeg: [UInt8]) -> JPEGError? {
    do throws(JPEGError) {
      _ = try parse(jpeg)
      return nil
    } catch {
      return error
    }
  }

  /// The image with another size in its frame header.
  private func resized(_ jpeg: [UInt8], _ width: Int, _ height: Int) throws -> [UInt8] {
    let frame = try #require(
      jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && 0xC0...0xC2 ~= jpeg[$0 + 1] })
    var changed = jpeg
    for (index, side) in [height, width].enumerated() {
      changed[frame + 5 + 2 * index] = UInt8(side >> 8)
      changed[frame + 6 + 2 * index] = UInt8(side & 255)
    }
    return changed
  }

  @Test func aSizeThatTheBytesCannotHaveIsRefused() throws {
    let jpeg = try TestImage.smooth(.yuv420, width: 64, height: 48).encoded(quality: 80)
    expectNil(fault(jpeg))
    expectEqual(fault(try resized(jpeg, 65500, 65500)), .imageTooLarge(width: 65500, height: 65500))
    expectEqual(fault(try resized(jpeg, 16384, 16384)), .missingData)
    expectEqual(fault(try resized(jpeg, 4096, 2160)), .missingData)
  }

  @Test func thePlainestImageHasEnough() throws {
    // Nothing but one value: the least data that an encoder makes.
    for subsampling in ChromaSubsampling.allCases {
      for (width, height) in [(8, 8), (1, 1), (17, 33), (640, 480), (1921, 1081)] {
        let image = TestImage(subsampling, width: width, height: height)
        let jpeg = try image.encoded(quality: 1)
        expectNil(fault(jpeg), "\(subsampling) \(width)x\(height)")
      }
    }
  }

  /// A progressive image of one grey, 64 x 48: a scan of DC values and `scans` more of all else.
  private func progressive(scans: Int) -> [UInt8] {
    let table: [UInt8] = [1] + [UInt8](repeating: 0, count: 16)
    let data = [UInt8](repeating: 0, count: 6)
    var jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0] + [UInt8](repeating: 1, count: 64)
    jpeg += [0xFF, 0xC2, 0, 11, 8, 0, 48, 0, 64, 1, 1, 0x11, 0]
    // In both tables the code 0 means: nothing, up to the end of the block.
    jpeg += [0xFF, 0xC4, 0, 20, 0x00] + table + [0xFF, 0xC4, 0, 20, 0x10] + table
    jpeg += [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 0, 0] + data
    for _ in 0..<scans { jpeg += [0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 0] + data }
    return jpeg + [0xFF, 0xD9]
  }

  @Test func moreThan500ScansAreRefused() throws {
    var decoder = try JPEGDecoder()
    expectNil(fault(progressive(scans: 1)))
    let grey = try decodeLuma(progressive(scans: 1), width: 64, height: 48, with: &decoder)
    expectEqual(grey, [UInt8](repeating: 128, count: 64 * 48))
    expectNil(fault(progressive(scans: 499)))
    expectEqual(fault(progressive(scans: 500)), .tooManyScans)
    // Nor does the decoder go through them: it gives up, and does not merely find them odd.
    #expect(throws: JPEGError.undecodable) {
      _ = try decodeLuma(progressive(scans: 60_000), width: 64, height: 48, with: &decoder)
    }
  }
}
