import SprocketCore
import SprocketTestMemory
import TestExpectations
import Testing

@testable import SprocketSources

/// Which packets of H.264 and HEVC can be decoded. Units as in ITU-T H.264 and H.265, table 7-1.
struct PacketCourseTests {
  private static let code: [UInt8] = [0, 0, 0, 1]
  private static let sets = code + [0x67, 1, 2, 3] + code + [0x68, 4]
  private static let otherSets = code + [0x67, 9, 2, 3] + code + [0x68, 4]
  private static let refresh = code + [0x65, 0x88, 7, 7]
  private static let predicted = code + [0x41, 0x98, 7, 7]
  /// Slices that refer to no other picture, without a refresh.
  private static let intra = code + [0x41, 0x88, 7, 7]

  private typealias Found = PacketCourse.Found

  private static func found(_ course: inout PacketCourse, _ bytes: [UInt8], _ number: UInt64)
    -> Found
  {
    course.check(bytes.span, number: number, isDamaged: false)
  }

  @Test func packetsAreUsableFromAKeyFrameOnWhileNoneIsLost() {
    var course = PacketCourse(.h264)
    expectEqual(Self.found(&course, Self.predicted, 3), Found(isEarly: true))
    // A key frame without parameter sets cannot be decoded.
    expectEqual(Self.found(&course, Self.refresh, 4), Found(isKey: true, isEarly: true))
    expectEqual(
      Self.found(&course, Self.sets + Self.refresh, 5), Found(isKey: true, lacksSets: false))
    expectEqual(course.parameterSets, Self.sets)
    expectEqual(Self.found(&course, Self.predicted, 6), Found())
    expectEqual(Self.found(&course, Self.predicted, 8), Found(isCorrupt: true))
    expectEqual(Self.found(&course, Self.predicted, 9), Found(isCorrupt: true))
    expectEqual(Self.found(&course, Self.refresh, 10), Found(isKey: true))
    expectEqual(Self.found(&course, Self.predicted, 11), Found())
    // The decoder could not read that one.
    course.lose()
    expectEqual(Self.found(&course, Self.predicted, 12), Found(isCorrupt: true))
    expectEqual(
      Self.found(&course, Self.otherSets + Self.intra, 13), Found(isKey: true, lacksSets: false))
    expectEqual(course.parameterSets, Self.otherSets)
    // This slice type (2) says nothing of the picture's other slices, so the picture is no key frame.
    expectEqual(
      Self.found(&course, Self.sets + Self.code + [0x41, 0xB0, 7], 20),
      Found(isCorrupt: true, lacksSets: false))
    expectEqual(
      Self.found(&course, Self.code + [0x41, 0xA0, 7], 21),
      Found(isCorrupt: true, isBidirectional: true))
  }

  /// Nor is what belongs to a damaged packet.
  @Test func damageIsNeverPassedOn() {
    var course = PacketCourse(.h264)
    _ = Self.found(&course, Self.sets + Self.refresh, 0)
    let damaged = course.check((Self.otherSets + Self.refresh).span, number: 1, isDamaged: true)
    expectEqual(damaged, Found(isCorrupt: true, lacksSets: false))
    expectEqual(Self.found(&course, Self.refresh, 2), Found(isKey: true))
    expectEqual(course.parameterSets, Self.sets)
    for bytes in [[], [0], [0, 0, 1], Self.code, [1, 2, 3, 4, 5]] {
      _ = Self.found(&course, Self.refresh, 10)
      expectTrue(Self.found(&course, bytes, 11).isCorrupt, "\(bytes)")
      expectTrue(Self.found(&course, Self.predicted, 12).isCorrupt, "behind \(bytes)")
    }
    course.restart()
    expectEqual(Self.found(&course, Self.predicted, 13), Found(isEarly: true))
  }

  /// Sets may come in a packet of their own, and one without the other.
  @Test func parameterSetsArePutTogether() {
    var course = PacketCourse(.h264)
    expectEqual(Self.found(&course, Self.sets, 0), Found(isEarly: true, lacksSets: false))
    expectEqual(Self.found(&course, Self.refresh, 1), Found(isKey: true))
    expectEqual(Self.found(&course, Self.predicted, 2), Found())
    expectEqual(Self.found(&course, Self.sets, 3), Found(isCorrupt: true, lacksSets: false))
    expectEqual(Self.found(&course, Self.predicted, 4), Found())
    let part = Self.code + [0x68, 9]
    expectEqual(
      Self.found(&course, part + Self.refresh, 5), Found(isKey: true, lacksSets: false))
    expectEqual(course.parameterSets, Self.code + [0x67, 1, 2, 3] + part)
  }

  /// Anything may come from a device.
  @Test func anyBytesCanBeLookedAt() {
    var random = TestRandom(seed: 5)
    for format in [PixelFormat.h264, .hevc] {
      var course = PacketCourse(format)
      for number in UInt64(0)..<20_000 {
        var bytes =
          format == .h264 ? Self.sets + Self.refresh : [0, 0, 1, 0x42, 1, 0, 0, 1, 0x26, 1, 9]
        for _ in 0..<Int.random(in: 0..<8, using: &random) {
          bytes[Int.random(in: bytes.indices, using: &random)] = .random(
            in: 0...255, using: &random)
        }
        _ = Self.found(
          &course, Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))), number)
        expectAtMost(course.parameterSets.count, 64)
      }
    }
  }

  @Test func hevcHasKeyFramesAndSets() {
    var course = PacketCourse(.hevc)
    let sets = Self.code + [0x40, 1, 5] + Self.code + [0x42, 1, 6] + Self.code + [0x44, 1, 7]
    expectEqual(
      Self.found(&course, sets + Self.code + [0x26, 1, 8], 0), Found(isKey: true, lacksSets: false))
    expectEqual(course.parameterSets, sets)
    expectEqual(Self.found(&course, Self.code + [0x02, 1, 8], 1), Found())
    // A clean random access picture.
    expectEqual(Self.found(&course, Self.code + [0x2A, 1, 8], 9), Found(isKey: true))
  }
}
