import SprocketJPEG
import SprocketPixels
import TestExpectations
import TestSupport
import Testing

@Suite struct JPEGStructureTests {
  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func readsWhatCamerasSend() throws {
    // Sizes, subsampling and tables as the data's notes and ffprobe say; offsets from a hex dump.
    let double = try parse(try TestData.bytes("mjpeg/mjpeg.jpg"))
    expectEqual(double.width, 960)
    expectEqual(double.height, 720)
    expectEqual(double.subsampling, .yuv422)
    expectFalse(double.hasHuffmanTables)
    expectEqual(double.restartInterval, 10)
    expectFalse(double.isProgressive)
    expectEqual(double.scanHeaderOffset, 0xCE)
    expectEqual(double.scanOffset, 0xDC)
    expectEqual(double.byteCount, 122_041)

    let bare = try parse(try TestData.bytes("mjpeg/test.mjpeg"))
    expectEqual(bare.width, 640)
    expectEqual(bare.height, 480)
    expectEqual(bare.subsampling, .yuv422)
    expectFalse(bare.hasHuffmanTables)
    expectGreater(bare.restartInterval, 0)

    let filled = try parse(try TestData.bytes("mjpeg/multiple-0xff-before-eoi.jpg"))
    expectEqual(filled.width, 640)
    expectEqual(filled.height, 480)
    expectEqual(filled.subsampling, .yuv422)
    expectEqual(filled.byteCount, 14_208)
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func readsPhotographs() throws {
    for name in TestData.files(in: "photos") where name.hasSuffix(".jpg") {
      let structure = try parse(try TestData.bytes(name))
      let printed = try Tool.run(
        "ffprobe",
        [
          "-v", "quiet", "-show_entries", "stream=width,height", "-of", "csv=p=0",
          TestData.path(name),
        ])
      expectEqual(
        String(decoding: printed, as: UTF8.self), "\(structure.width),\(structure.height)\n")
    }
  }

  @Test(arguments: [[], [0], [0, 0, 0, 0], [0xFF, 0xFF], [1, 2, 3]] as [[UInt8]])
  func allowsPaddingAfterTheEnd(padding: [UInt8]) throws {
    let jpeg = try TestImage.smooth(.yuv420, width: 40, height: 24).encoded(quality: 80)
    try expectEqual(parse((jpeg + padding)).byteCount, jpeg.count)
  }

  @Test func allowsFillBytesBeforeTheEnd() throws {
    let jpeg = try TestImage.smooth(.gray, width: 40, height: 24).encoded(quality: 80)
    let filled = Array(jpeg.dropLast(2)) + [0xFF, 0xFF, 0xFF, 0xD9]
    try expectEqual(parse(filled).byteCount, filled.count)
  }

  @Test func everyShorterImageIsRejected() throws {
    let jpeg = try TestImage.smooth(.yuv422, width: 48, height: 16).encoded(quality: 75)
    for count in 0..<jpeg.count - 2 {
      let fault = #expect(throws: JPEGError.self) { try parse(Array(jpeg[..<count])) }
      expectEqual(fault, (count < 2 ? .noStartOfImage : .truncated))
    }
    // All picture data is there.
    for count in jpeg.count - 2..<jpeg.count {
      let structure = try parse(Array(jpeg[..<count]))
      expectTrue(structure.lacksEnd && structure.isRepaired)
      expectEqual(structure.byteCount, count)
    }
  }

  @Test(arguments: ["before", "between", "two starts", "header twice", "half an image", "no end"])
  func takesWhatOthersShow(oddity: String) throws {
    let image = TestImage.smooth(.yuv420, width: 48, height: 32)
    let jpeg = try image.encoded(quality: 75)
    let structure = try parse(jpeg)
    let tables = try #require(
      (0..<structure.scanOffset).first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDB })
    // FF00 is no marker.
    let stray: [UInt8] = [0, 0xD8, 7, 0xFF, 0, 0xFF]
    let odd: [UInt8] =
      switch oddity {
      case "before": stray + jpeg
      case "between": jpeg[..<tables] + stray + jpeg[tables...]
      case "two starts": [0xFF, 0xD8] + jpeg
      case "header twice": jpeg[..<structure.scanHeaderOffset] + jpeg
      case "half an image": jpeg[..<tables] + jpeg
      default: jpeg.dropLast(2)
      }
    let found = try parse(odd)
    expectTrue(found.isRepaired)
    expectEqual([found.width, found.height], [48, 32])
    expectEqual(found.lacksEnd, oddity == "no end")
    var decoder = try JPEGDecoder()
    decoder.verifies = true
    var (plain, same) = (image, image)
    try plain.decode(jpeg, with: &decoder)
    try same.decode(odd, with: &decoder)
    expectTrue(plain.planes == same.planes)
    // What is made of it for viewers is the image that it was.
    var output = [UInt8](repeating: 0, count: odd.count + 422)
    var span = output.mutableSpan
    let count = try JPEGHuffmanTables.complete(odd.span, structure: found, into: &span)
    expectTrue(Array(output[..<count]) == jpeg)
  }

  @Test func anotherImageIsNoEndOfOneThatIsCut() throws {
    let jpeg = try TestImage.smooth(.yuv420, width: 160, height: 120).encoded(quality: 75)
    #expect(throws: JPEGError.truncated) { try parse(Array(jpeg.dropLast(40)) + jpeg) }
    let whole = try parse(jpeg.dropLast(2) + jpeg)
    expectTrue(whole.lacksEnd)
    expectEqual(whole.byteCount, jpeg.count - 2)
  }

  @Test func namesWhatIsWrong() throws {
    let jpeg = try TestImage.smooth(.yuv420, width: 48, height: 16).encoded(quality: 75)
    let structure = try parse(jpeg)
    func fault(_ change: (inout [UInt8]) -> Void) -> JPEGError? {
      var changed = jpeg
      change(&changed)
      do {
        _ = try parse(changed)
        return nil
      } catch { return error }
    }
    let frame = try #require(
      (0..<structure.scanOffset).first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
    let tables = try #require(
      (0..<structure.scanOffset).first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDB })
    expectEqual(fault { $0[0] = 0 }, .noStartOfImage)
    expectEqual(
      fault {
        $0[4] = 0
        $0[5] = 1
      }, .brokenSegment(marker: 0xE0, offset: 2))
    expectEqual(
      fault {
        $0[4] = 0xFF
        $0[5] = 0xFF
      }, .truncated)
    expectEqual(
      fault {
        $0[frame + 5] = 0
        $0[frame + 6] = 0
      }, .emptyImage)
    expectEqual(fault { $0[frame + 4] = 12 }, .unsupportedProcess(marker: 0xC0))
    expectEqual(fault { $0[frame + 1] = 0xC9 }, .unsupportedProcess(marker: 0xC9))
    expectEqual(fault { $0[frame + 1] = 0xFE }, .noFrameHeader)
    expectEqual(fault { $0[frame + 9] = 9 }, .brokenSegment(marker: 0xC0, offset: frame))
    expectEqual(fault { $0[frame + 11] = 0 }, .brokenSegment(marker: 0xC0, offset: frame))
    expectEqual(
      fault {
        for at in 0..<structure.scanOffset where $0[at] == 0xFF && $0[at + 1] == 0xDB {
          $0[at + 1] = 0xFE
        }
      }, .noQuantizationTable)
    expectEqual(fault { $0[tables + 1] = 0x01 }, .strayMarker(marker: 0x01, offset: tables))
    expectEqual(
      fault { $0.replaceSubrange(structure.scanHeaderOffset..., with: [0xFF, 0xD9]) }, .noScan)
    expectEqual(
      fault { $0.insert(contentsOf: [0xFF, 0xD3], at: structure.scanOffset + 4) },
      .restartMarkers(offset: structure.scanOffset + 4))
    expectEqual(
      fault { $0.insert(contentsOf: [0xFF, 0xD8], at: structure.scanOffset + 4) },
      .truncated)
    expectEqual(
      fault { $0.insert(contentsOf: jpeg[frame..<frame + 19], at: frame) },
      .twoFrameHeaders(offset: frame + 19))
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func noticesALostPiece() throws {
    let jpeg = try TestData.bytes("mjpeg/mjpeg.jpg")
    var random = TestRandom(seed: 3)
    for _ in 0..<200 {
      // A lost USB packet of 3 kB spans restart markers; losing a multiple of eight goes by count.
      let start = Int.random(in: 300..<118_000, using: &random)
      var lost = jpeg
      lost.removeSubrange(start..<start + 3000)
      #expect(throws: JPEGError.self) { try parse(lost) }
    }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func everyDamagedFileIsRejectedByStructureOrDecoder() throws {
    let files = TestData.files(in: "mjpeg/corrupt_dev")
    expectAtLeast(files.count, 11)
    var decoder = try JPEGDecoder()
    for file in files {
      let jpeg = try TestData.bytes(file)
      do throws(JPEGError) {
        let structure = try parse(jpeg)
        do throws(JPEGError) {
          _ = try decodeLuma(
            jpeg, width: structure.width, height: structure.height, with: &decoder)
          Issue.record("\(file) was taken as undamaged")
        } catch { print("\(file): decoder: \(error)") }
      } catch { print("\(file): structure: \(error)") }
    }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func survivesRandomDamage() throws {
    let jpeg = try TestData.bytes("mjpeg/multiple-0xff-before-eoi.jpg")
    var random = TestRandom(seed: 7)
    var decoder = try JPEGDecoder()
    var image = TestImage(.yuv422, width: 640, height: 480)
    for _ in 0..<300 {
      var damaged = jpeg
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        damaged[Int.random(in: 0..<jpeg.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      if Bool.random(using: &random) {
        damaged.removeLast(Int.random(in: 0..<jpeg.count, using: &random))
      }
      _ = try? parse(damaged)
      _ = try? decodeLuma(damaged, width: 640, height: 480, scale: .quarter, with: &decoder)
      _ = try? image.decode(damaged, with: &decoder)
    }
  }

  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func completesAFrameWithTheStandardTables() throws {
    let jpeg = try TestData.bytes("mjpeg/test.mjpeg")
    let structure = try parse(jpeg)
    expectEqual(JPEGHuffmanTables.standardSegment.count, 420)
    var output = [UInt8](repeating: 0, count: jpeg.count + 420)
    var span = output.mutableSpan
    let count = try JPEGHuffmanTables.complete(jpeg.span, structure: structure, into: &span)
    expectEqual(count, structure.byteCount + 420)
    let completed = Array(output[..<count])
    let again = try parse(completed)
    expectTrue(again.hasHuffmanTables)
    var decoder = try JPEGDecoder()
    try expectEqual(
      decodeLuma(completed, width: 640, height: 480, with: &decoder),
      decodeLuma(jpeg, width: 640, height: 480, with: &decoder))

    var small = [UInt8](repeating: 0, count: count - 1)
    var smallSpan = small.mutableSpan
    #expect(throws: JPEGError.bufferTooSmall(needed: count)) {
      _ = try JPEGHuffmanTables.complete(jpeg.span, structure: structure, into: &smallSpan)
    }
    var same = [UInt8](repeating: 0, count: count)
    var sameSpan = same.mutableSpan
    try expectEqual(
      JPEGHuffmanTables.complete(completed.span, structure: again, into: &sameSpan), count)
    expectEqual(same, completed)
  }

  @Test func theHeaderAloneSaysTheSame() throws {
    let jpeg = try TestImage.smooth(.yuv422, width: 50, height: 30).encoded(quality: 90)
    let whole = try parse(jpeg)
    // Nothing behind the first scan's header is looked at.
    for count in [whole.scanOffset, jpeg.count] {
      let header = try JPEGStructure(headerOf: jpeg.span.extracting(..<count))
      expectEqual(header.byteCount, count)
      expectTrue(header.hasHuffmanTables)
      expectEqual(header.scanHeaderOffset, whole.scanHeaderOffset)
      expectEqual(header.width, 50)
      expectEqual(header.height, 30)
      expectEqual(header.subsampling, .yuv422)
    }
    #expect(throws: JPEGError.self) {
      try JPEGStructure(headerOf: jpeg.span.extracting(..<(whole.scanOffset - 1)))
    }
  }

  @Test func theStandardTablesAreThoseThatTheEncoderWrites() throws {
    // libjpeg writes each of the four tables in a segment of its own.
    let jpeg = try TestImage.smooth(.yuv420, width: 16, height: 16).encoded(quality: 90)
    var tables: [UInt8] = []
    for at in 0..<(try parse(jpeg).scanOffset)
    where jpeg[at] == 0xFF && jpeg[at + 1] == 0xC4 {
      let length = Int(jpeg[at + 2]) << 8 | Int(jpeg[at + 3])
      tables += jpeg[(at + 4)..<(at + 2 + length)]
    }
    expectEqual(tables, Array(JPEGHuffmanTables.standardSegment.dropFirst(4)))
  }
}
