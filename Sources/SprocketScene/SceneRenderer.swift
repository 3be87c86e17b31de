import Glibc
package import SprocketCore
package import SprocketPixels

/// All that decides how one frame looks.
package struct SceneMoment: Sendable, Hashable {
  /// Decides the noise: frames of one number are the same, bytes and all.
  package var frame: UInt64 = 0
  package var sceneFromFrame = SceneSimilarity()
  package var exposureMicroseconds = 10_000.0
  package var gain = 1.0
  /// 0 nearest to 1 furthest.
  package var lensPosition = 0.5
  /// By how much the position of best focus differs from the lens's own `focus`.
  package var focusShift = 0.0
  /// On the scene, in EV on top of the sensor's own `light`.
  package var light = 0.0
  package var object = SceneObject()

  package init() {}
}

/// Where the planes of a frame lie in the caller's memory: byte offsets and bytes from row to row.
package struct SceneLayout: Sendable, Hashable {
  /// 4:2:0, 4:2:2, 4:4:4 or gray. A chroma sample is at the centre of its luma samples.
  package let chroma: ChromaSubsampling
  /// Depth of luma samples.
  package let depth: SampleDepth
  package var luma = 0
  package var lumaStride: Int
  package var u = 0
  package var v = 0
  package var chromaStride = 0

  /// Planes of Y, then U, then V; unpadded, except luma if `lumaStride` is given.
  package init(
    width: Int, height: Int, chroma: ChromaSubsampling, depth: SampleDepth = .eight,
    lumaStride: Int? = nil
  ) {
    self.chroma = chroma
    self.depth = depth
    self.lumaStride = lumaStride ?? Self.rowBytes(width, depth)
    guard chroma != .gray else { return }
    chromaStride = chroma.planeWidth(1, imageWidth: width)
    u = self.lumaStride * height
    v = u + chromaStride * chroma.planeHeight(1, imageHeight: height)
  }

  private static func rowBytes(_ width: Int, _ depth: SampleDepth) -> Int {
    depth == .eight ? width : 2 * width
  }

  /// Bytes of all planes, including the padding of the last row.
  func byteCount(width: Int, height: Int) -> Int {
    let lumaEnd = luma + lumaStride * height
    guard chroma != .gray else { return lumaEnd }
    return max(lumaEnd, max(u, v) + chromaStride * chroma.planeHeight(1, imageHeight: height))
  }
}

/// Draws frames of the scene: full-range YUV (JFIF) of any size into the caller's memory.
///
/// What is drawn depends on the texture, the sensor and the moment alone, not on what was drawn
/// before. Nothing is allocated after `init`. One thread at a time.
package struct SceneRenderer: Sendable {
  package let width: Int
  package let height: Int
  package let texture: SceneTexture
  private let lens: SceneLens
  private let sensor: SceneSensor
  private let noise: SceneNoiseTile
  private let seed: UInt64
  private let interruption: SourceInterrupt

  private var table = [UInt32](repeating: 0, count: 2048)
  private var fading = [Int32](repeating: 0, count: 256)
  private var chromaDeviation: Int32 = 0
  private var tabulated: (exposure: Double, gain: Double, light: Double)?
  /// Texture columns of one slanted row, interpolated in y.
  var crossed: [Float]
  var values: [UInt16]
  /// Scratch row of what is before the scene.
  var object: [UInt16]
  /// Scratch rows of chroma: before it is doubled, and the luma that it belongs to.
  private var halved: [UInt16]
  private var shade: [UInt8]

  package init(
    width: Int, height: Int, seed: UInt64, lens: SceneLens = SceneLens(),
    sensor: SceneSensor = SceneSensor(), interruption: SourceInterrupt = SourceInterrupt()
  ) {
    precondition(width > 0 && height > 0, "A frame has a positive size, not \(width)x\(height).")
    self.width = width
    self.height = height
    self.seed = seed
    self.interruption = interruption
    self.lens = lens
    self.sensor = sensor
    texture = SceneTexture(
      frameWidth: width, frameHeight: height, seed: seed, interruption: interruption)
    noise = SceneNoiseTile(width: width, seed: seed)
    crossed = [Float](repeating: 0, count: 2 * width + 24)
    values = [UInt16](repeating: 0, count: width)
    halved = values
    object = values
    shade = [UInt8](repeating: 0, count: width)
  }

  /// Draws one frame, as far as nobody interrupts it. `memory` must reach as far as `layout` says.
  package mutating func draw(
    _ moment: SceneMoment, layout: SceneLayout, into memory: inout MutableSpan<UInt8>
  ) {
    precondition(
      memory.count >= layout.byteCount(width: width, height: height),
      "A \(width)x\(height) frame does not fit \(memory.count) bytes.")
    precondition(
      abs(moment.sceneFromFrame.roll) < 0.8 && (0.5...1.9).contains(moment.sceneFromFrame.scale),
      "The scene is drawn at rolls below 45 degrees and scales of 0.5 to 1.9.")
    tabulate(moment)
    for row in 0..<height where !interruption.isSet { drawLuma(row, moment, layout, &memory) }
    guard layout.chroma != .gray else { return }
    let rows = layout.chroma.planeHeight(1, imageHeight: height)
    for row in 0..<rows where !interruption.isSet { drawChroma(row, moment, layout, &memory) }
  }

  private mutating func tabulate(_ moment: SceneMoment) {
    let (exposure, gain) = (moment.exposureMicroseconds, moment.gain)
    if let tabulated, tabulated == (exposure, gain, moment.light) { return }
    var sensor = sensor
    sensor.light += moment.light
    sensor.fill(&table, exposureMicroseconds: exposure, gain: gain)
    sensor.fillFading(&fading, exposureMicroseconds: exposure, gain: gain)
    chromaDeviation = SceneSensor.chromaDeviation(table)
    tabulated = (exposure, gain, moment.light)
  }

  func sigma(in moment: SceneMoment) -> Double { lens.sigma(in: moment) }

  private mutating func drawLuma(
    _ row: Int, _ moment: SceneMoment, _ layout: SceneLayout, _ memory: inout MutableSpan<UInt8>
  ) {
    let line = line(moment, x: 0, y: Double(row), stride: 1, isHalved: false)
    let count = width
    sample(plane: 0, along: line, count: count, sigma: sigma(in: moment))
    cover(plane: 0, moment, x: 0, y: Double(row), stride: 1)
    let grain = grain(moment, plane: 0, row: row)
    let values = values.span.extracting(first: count)
    let noise = noise.values.span.extracting(grain)
    let first = layout.luma + row * layout.lumaStride
    if layout.depth == .eight {
      var out = memory._mutatingExtracting(first..<first + count)
      exposeRow(values, table: table.span, noise: noise, into: &out)
    } else {
      var out = memory._mutatingExtracting(first..<first + 2 * count)
      exposeDeepRow(
        values, table: table.span, noise: noise, bits: Int32(layout.depth.rawValue), into: &out)
    }
  }

  /// 4:4:4 is sampled as 4:2:2 and doubled: the texture's own chroma has no more detail.
  private mutating func drawChroma(
    _ row: Int, _ moment: SceneMoment, _ layout: SceneLayout, _ memory: inout MutableSpan<UInt8>
  ) {
    let chroma = layout.chroma
    let (across, down) = (chroma.horizontalFactor, chroma.verticalFactor)
    let y = down == 2 ? 2 * Double(row) + 0.5 : Double(row)
    let line = line(moment, x: 0.5, y: y, stride: 2, isHalved: true)
    let half = (width + 1) / 2
    let count = chroma.planeWidth(1, imageWidth: width)
    let luma = layout.luma + min(row * down, height - 1) * layout.lumaStride
    // Of words, the upper 8 bits.
    let isDeep = layout.depth != .eight
    let shift = layout.depth.rawValue - 8
    for column in 0..<count {
      let x = column * across
      shade[column] =
        isDeep
        ? UInt8(
          truncatingIfNeeded: (Int(memory[luma + 2 * x]) | Int(memory[luma + 2 * x + 1]) << 8)
            >> shift)
        : memory[luma + x]
    }
    for plane in 1...2 {
      sample(plane: plane, along: line, count: half, sigma: sigma(in: moment))
      cover(plane: plane, moment, x: 0.5, y: y, stride: 2)
      if chroma == .yuv444 {
        for column in 0..<half { halved[column] = values[column] }
        Self.double(halved, into: &values)
      }
      let first = (plane == 1 ? layout.u : layout.v) + row * layout.chromaStride
      var out = memory._mutatingExtracting(first..<first + count)
      let grain = grain(moment, plane: plane, row: row)
      exposeChromaRow(
        values.span.extracting(first: count), luma: shade.span.extracting(first: count),
        fading: fading.span, noise: noise.values.span.extracting(grain).extracting(first: count),
        deviation: chromaDeviation, into: &out)
    }
  }

  private static func double(_ halved: [UInt16], into values: inout [UInt16]) {
    let half = halved.span.extracting(first: (values.count + 1) / 2)
    var out = values.mutableSpan
    doubleRow(half, into: &out)
  }

  private func grain(_ moment: SceneMoment, plane: Int, row: Int) -> Range<Int> {
    let start = SceneNoiseTile.start(seed: seed, frame: moment.frame, plane: plane, row: row)
    return start..<start + width
  }
}
