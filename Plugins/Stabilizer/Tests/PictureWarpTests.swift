import Glibc
import SprocketTesting
import TestExpectations
import Testing

@testable import Stabilizer

private let formats: [PixelFormat] = [
  .i420, .yuv422p, .yuv444p, .yuv440p, .yuv411p, .grey, .y10, .y16,
  .yuv420p10, .yuv422p12, .yuv444p16,
]
private let sizes = [(1, 1), (3, 2), (16, 16), (17, 33), (48, 20), (101, 67)]

private func warped(_ frame: TestFrame, _ sensorFromStabilized: Similarity) -> [[UInt8]] {
  let format = frame.format
  var warp = PictureWarp(
    format.pixelFormat, width: format.width, height: format.height)
  return frame.edited { warp.warp(&$0, sensorFromStabilized: sensorFromStabilized) }
}

/// The numbers of a plane.
private func slow(_ planes: [[UInt8]], _ index: Int, of frame: TestFrame) -> SlowPlane {
  let format = frame.format
  let size = format.pixelFormat.plane(index, width: format.width, height: format.height)
  let bytes = planes[index].map(Double.init)
  guard format.pixelFormat.isDeep else {
    return SlowPlane(width: size.bytesPerRow, height: size.rows, levels: bytes)
  }
  let words = (0..<bytes.count / 2).map { index -> Double in
    bytes[2 * index] + 256 * bytes[2 * index + 1]
  }
  return SlowPlane(width: size.bytesPerRow / 2, height: size.rows, levels: words)
}

private func geometry(_ frame: TestFrame, _ plane: Int, _ similarity: Similarity) -> PlaneGeometry {
  let pixels = pixelsPerSample(frame.format.pixelFormat, plane: plane)
  return PlaneGeometry(
    similarity, width: frame.format.width, height: frame.format.height, columns: pixels.columns,
    rows: pixels.rows)
}

private func white(_ format: PixelFormat) -> Double {
  Double((1 << format.bitsPerSample) - 1)
}

@Suite struct PictureWarpTests {
  @Test(arguments: formats)
  func leavesAPictureAsItIs(_ format: PixelFormat) {
    for (width, height) in sizes {
      for pattern in TestPattern.allCases {
        let frame = TestFrame(format, width: width, height: height, pattern)
        expectEqual(warped(frame, .identity), frame.planes)
      }
    }
  }

  /// Four pixels are whole samples of chroma, too.
  @Test(arguments: formats)
  func shiftsByWholeSamplesExactly(_ format: PixelFormat) {
    let frame = TestFrame(format, width: 40, height: 36, .random)
    for (x, y) in [(4, 0), (0, -4), (-8, 12), (400, -400)] {
      let result = warped(frame, Similarity(shiftX: Double(x), shiftY: Double(y)))
      for plane in result.indices {
        let pixels = pixelsPerSample(format, plane: plane)
        let (from, to) = (slow(frame.planes, plane, of: frame), slow(result, plane, of: frame))
        for index in to.levels.indices {
          let (column, row) = (index % to.width, index / to.width)
          let expected = from[column + x / pixels.columns, row + y / pixels.rows]
          expectEqual(to.levels[index], expected, "at \(column), \(row) of plane \(plane)")
        }
      }
    }
  }

  @Test func keepsEveryLevelThatIsFlat() {
    var random = TestRandom(seed: 5)
    for level in UInt8.min...UInt8.max {
      let frame = TestFrame(
        width: 37, height: 21, luma: [UInt8](repeating: level, count: 37 * 21))
      expectEqual(warped(frame, randomSimilarity(&random)), frame.planes)
    }
  }

  @Test(arguments: [PixelFormat.y10, .y16])
  func keepsWordsThatAreFlat(_ format: PixelFormat) {
    var random = TestRandom(seed: 6)
    for level in [0, 1, 511, 1023] {
      let word = [UInt8(level & 255), UInt8(level >> 8)]
      let plane = [[UInt8]](repeating: word, count: 37 * 21).flatMap { $0 }
      let frame = TestFrame(format, width: 37, height: 21, planes: [plane])
      expectEqual(warped(frame, randomSimilarity(&random)), frame.planes)
    }
  }

  /// On noise: neighbours differ by up to all levels, and a 512th of a pixel, by which positions are
  /// rounded, by more than one of them.
  @Test(arguments: formats)
  func equalsItsSlowTwin(_ format: PixelFormat) {
    var random = TestRandom(seed: 7)
    let white = white(format)
    for (width, height) in sizes {
      let frame = TestFrame(format, width: width, height: height, .random)
      let similarity = randomSimilarity(&random)
      let result = warped(frame, similarity)
      for plane in result.indices {
        let geometry = geometry(frame, plane, similarity)
        let expected = slow(frame.planes, plane, of: frame).warpedInTwoPasses(geometry)
        let found = slow(result, plane, of: frame)
        var (worst, squares, count) = (0.0, 0.0, 1.0)
        for index in found.levels.indices {
          let (u, v) = geometry.source(index % found.width, index / found.width)
          guard u > -1, u < Double(found.width), v > -1, v < Double(found.height) else { continue }
          let error = found.levels[index] - min(max(expected.levels[index], 0), white)
          worst = max(worst, abs(error))
          squares += error * error
          count += 1
        }
        expectAtMost(worst, (white == 255 ? 2.5 : 1.5), "\(width)x\(height), plane \(plane)")
        expectLess(squares / count, 0.2, "\(width)x\(height), plane \(plane)")
      }
    }
  }

  /// Two passes are not one: what differs is finer than what cameras resolve.
  @Test func equalsOnePassWhereThePictureIsNotNoise() {
    let waves = (0..<101 * 67).map { index in
      let (x, y) = (Double(index % 101), Double(index / 101))
      return UInt8(128 + 100 * sin(0.9 * x) * cos(0.7 * y))
    }
    let frame = TestFrame(width: 101, height: 67, luma: waves)
    for degrees in [-10.0, -3, 0.5, 8] {
      let similarity = Similarity(
        shiftX: 2.3, shiftY: -1.7, roll: degrees * .pi / 180, scale: 0.7)
      let expected = slow(frame.planes, 0, of: frame)
        .warpedAtOnce(geometry(frame, 0, similarity))
      let found = slow(warped(frame, similarity), 0, of: frame)
      let worst = zip(found.levels, expected.levels).map { abs($0 - $1) }.max() ?? 0
      expectAtMost(worst, 2, "at \(degrees) degrees")
    }
  }

  @Test func goesWhereTheSimilaritySays() {
    // A ramp across and one down, which every kernel keeps.
    let (width, height) = (64, 48)
    let similarity = Similarity(shiftX: 3.25, shiftY: -2.5, roll: 0.1, scale: 0.8)
    for format in formats where format.planeCount == 3 && !format.isDeep {
      let planes = (0..<3).map { plane in
        let size = format.plane(plane, width: width, height: height)
        let pixels = pixelsPerSample(format, plane: plane)
        return (0..<size.bytesPerRow * size.rows).map { index in
          let x: Double = siting(index % size.bytesPerRow, pixels.columns)
          let y: Double = siting(index / size.bytesPerRow, pixels.rows)
          return UInt8(2 * x + y)
        }
      }
      let frame = TestFrame(format, width: width, height: height, planes: planes)
      let result = warped(frame, similarity)
      for plane in 0..<3 {
        let pixels = pixelsPerSample(format, plane: plane)
        let found = slow(result, plane, of: frame)
        for index in found.levels.indices {
          let x = siting(index % found.width, pixels.columns)
          let y = siting(index / found.width, pixels.rows)
          let (u, v) = similarity.apply(x - 31.5, y - 23.5)
          // The ramp ends at the picture's edge.
          guard abs(u) < 20, abs(v) < 14 else { continue }
          let expected = 2 * (u + 31.5) + v + 23.5
          expectLess(abs(found.levels[index] - expected), 1.5, "\(format), plane \(plane)")
        }
      }
    }
  }

  @Test func bearsWhatNoPathPlans() {
    let frame = TestFrame(.i420, width: 50, height: 40, .random)
    let corner = frame.planes.map { $0.first ?? 0 }
    let far = Similarity(shiftX: -1e6, shiftY: -1e6, roll: 0.7, scale: 0.9)
    expectEqual(
      warped(frame, far),
      frame.planes.indices.map { plane in
        [UInt8](repeating: corner[plane], count: frame.planes[plane].count)
      })
    for scale in [0.05, 1, 4] {
      for degrees in [-50.0, 50] {
        _ = warped(frame, Similarity(roll: degrees * .pi / 180, scale: scale * 0.5))
      }
    }
  }
}

/// Up to 12 degrees, and zooms of 0.9 to 2.
private func randomSimilarity(_ random: inout TestRandom) -> Similarity {
  Similarity(
    shiftX: .random(in: -9...9, using: &random), shiftY: .random(in: -9...9, using: &random),
    roll: .random(in: -0.2...0.2, using: &random),
    scale: .random(in: 0.5...1.1, using: &random))
}

/// The pixel coordinate of a sample: the middle of those that it stands for.
private func siting(_ index: Int, _ pixels: Int) -> Double {
  Double(index * pixels) + Double(pixels - 1) / 2
}
