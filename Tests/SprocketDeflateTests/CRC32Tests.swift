import SprocketDeflate
import TestExpectations
import TestSupport
import Testing

@Suite struct CRC32Tests {
  static func checksum(_ bytes: [UInt8]) -> CRC32 {
    var checksum = CRC32()
    checksum.update(bytes.span)
    return checksum
  }

  @Test func isTheOneThatZipHas() {
    // The check value of CRC-32/ISO-HDLC in every catalogue.
    expectEqual(Self.checksum(Array("123456789".utf8)).value, 0xCBF4_3926)
    expectEqual(CRC32().value, 0)
    expectEqual(Self.checksum([]), CRC32())
  }

  @Test(arguments: [0, 1, 7, 64, 1000, 65_537]) func piecesJoin(split: Int) {
    for count in [split, split + 1, split + 4096] {
      let bytes = TestPattern.random.bytes(count)
      var joined = Self.checksum(Array(bytes[..<split]))
      joined.append(Self.checksum(Array(bytes[split...])))
      expectEqual(joined, Self.checksum(bytes))
    }
  }

  @Test func manyPiecesJoin() {
    let bytes = TestPattern.random.bytes(10_000, seed: 7)
    var joined = CRC32()
    var updated = CRC32()
    for start in stride(from: 0, to: 10_000, by: 37) {
      let piece = Array(bytes[start..<min(start + 37, 10_000)])
      joined.append(Self.checksum(piece))
      updated.update(piece.span)
    }
    expectEqual(joined, Self.checksum(bytes))
    expectEqual(updated, joined)
  }
}
