import SprocketTIFF
import TestExpectations
import Testing

@Suite struct TIFFTests {
  private func structure(_ make: String, _ orientation: UInt16) -> [UInt8] {
    var tiff = TIFFWriter(capacity: 512)
    let link = tiff.begin()
    tiff.beginDirectory(room: 4, linkedAt: link)
    tiff.add(.make, text: Array(make.utf8).span)
    tiff.add(.orientation, short: orientation)
    tiff.endDirectory()
    return Array(tiff.memory[..<tiff.count])
  }

  /// TIFF 6.0, section 2: header, count, fields of 12 bytes with rising tags, the next directory, values.
  @Test func writesWhatTheFormatSays() {
    let bytes = structure("Sensor", 6)
    let expected: [UInt8] = [
      0x49, 0x49, 42, 0, 8, 0, 0, 0,
      2, 0,
      0x0F, 0x01, 2, 0, 7, 0, 0, 0, 62, 0, 0, 0,
      0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0,
      0, 0, 0, 0,
    ]
    expectEqual(Array(bytes[..<38]), expected)
    expectEqual(Array(bytes[62...]), Array("Sensor".utf8) + [0])
  }

  @Test func textsOfUpToFourBytesLieInTheField() {
    let bytes = structure("abc", 1)
    expectEqual(Array(bytes[18..<22]), Array("abc".utf8) + [0])
  }

  @Test func leavesOutWhatDoesNotFit() {
    var tiff = TIFFWriter(capacity: 60)
    tiff.beginDirectory(room: 2, linkedAt: tiff.begin())
    tiff.add(.make, text: [UInt8](repeating: 65, count: 100).span)
    expectTrue(tiff.isFull)
    tiff.add(.orientation, short: 3)
    tiff.endDirectory()
    let header = TIFFHeader(Array(tiff.memory[..<tiff.count]).span)
    expectNil(header?.make)
    expectEqual(header?.orientation, 3)
  }

  @Test(arguments: [1, 6, 8] as [UInt16])
  func readsBackWhatItWrote(orientation: UInt16) {
    let bytes = structure("Sensor", orientation)
    let header = TIFFHeader(bytes.span)
    expectEqual(header?.orientation, UInt8(orientation))
    expectEqual(header?.make.map { Array(bytes[$0]) }, Array("Sensor".utf8))
    expectNil(header?.model)
  }

  @Test func readsBigEndian() {
    let bytes: [UInt8] = [
      0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0,
    ]
    expectEqual(TIFFHeader(bytes.span)?.orientation, 8)
  }

  @Test(arguments: [0, 9, 255] as [UInt16])
  func orientationsThatDoNotExistAreNotRead(orientation: UInt16) {
    expectNil(TIFFHeader(structure("Sensor", orientation).span)?.orientation)
  }

  /// Each byte of a structure set to each of a few values, and each length: what is read lies in the bytes.
  @Test func believesNoOffset() {
    let whole = structure("Sensor", 6)
    for place in whole.indices {
      for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
        var bytes = whole
        bytes[place] = value
        for count in [bytes.count, place] {
          let header = TIFFHeader(bytes.span.extracting(0..<count))
          for range in [header?.make, header?.model] {
            if let range { expectAtMost(range.upperBound, count) }
          }
        }
      }
    }
  }
}
