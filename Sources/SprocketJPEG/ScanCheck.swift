/// Whether all picture data of an image is there and can be right.
///
/// libjpeg reports only the first of its warnings, oddities and damage alike, so that damage may hide behind
/// an oddity, and it takes much damage for pictures: data that ends before a marker, codes that lead out of
/// a block, DC coefficients that run away. Every scan is read here, and every block of it.
struct ScanCheck: ~Copyable {
  /// A component of the image, and how far it was read.
  struct Component {
    var identifier: UInt8 = 0
    var horizontal = 1
    var vertical = 1
    /// Blocks of a scan that has this component alone.
    var blocks = 0
    var quantizer = 0
    var dc = 0
    var ac = 4
    /// The last DC coefficient.
    var last = 0
    /// A bit for each coefficient whose lowest bit came.
    var complete: UInt64 = 0
    /// Where its blocks lie in `Coefficients`.
    var firstBlock = 0
  }

  let codes = HuffmanCodes()
  var components = InlineArray<4, Component>(repeating: Component())
  private var componentCount = 0
  private var steps = InlineArray<4, Int>(repeating: 1)
  private var restartInterval = 0
  private var isStrict = true
  /// A DC coefficient of the interval is far from what a picture can have.
  private var hasRunAway = false
  var coefficients = Coefficients()

  /// How far a DC coefficient, times its step, may lie beyond those of white and black, 1024 and -1024:
  /// encoders round, and some overshoot at hard edges. A larger value finds less damage.
  private static let overshoot = 256
  /// Divisor of the units of an image: so large a part of them may lie in intervals that have bytes left over
  /// or a DC coefficient out of range. A larger divisor finds damage that is harder to see.
  private static let wrongShare = 100

  /// Whether every block of the image can be read: all codes exist, none leads out of its block, and no
  /// interval ends early. `isStrict`: in nearly all intervals what is left over at the end is padding, and no
  /// DC coefficient is far from what a picture can have. `structure` is the image's own.
  ///
  /// Costs about as much as decoding luma. Allocates for a progressive image alone.
  mutating func isWhole(
    _ jpeg: Span<UInt8>, _ structure: JPEGStructure, isStrict: Bool = true
  ) -> Bool {
    let standard = JPEGHuffmanTables.standardSegment
    guard define(standard.span, 4..<standard.count) else { return false }
    (componentCount, restartInterval, self.isStrict) = (0, 0, isStrict)
    defer { coefficients.release() }
    let end = structure.byteCount
    var next = structure.start + 2
    while let at = nextMarker(jpeg, from: next), at + 4 <= end, jpeg[at + 1] != Marker.endOfImage {
      let length = twoBytes(jpeg, at + 2)
      // The structure has seen the same segments.
      guard length >= 2, at + 2 + length <= end else { return false }
      let body = at + 4..<at + 2 + length
      next = body.upperBound
      switch jpeg[at + 1] {
      case Marker.huffmanTables: guard define(jpeg, body) else { return false }
      case Marker.quantizationTables: guard readSteps(jpeg, body) else { return false }
      case Marker.restartInterval: restartInterval = twoBytes(jpeg, body.lowerBound)
      case Marker.startOfFrameBaseline...Marker.startOfFrameProgressive:
        guard readFrame(jpeg, body, structure) else { return false }
      case Marker.startOfScan:
        guard let scanEnd = readScan(jpeg, body, structure, end) else { return false }
        next = scanEnd
      default: break
      }
    }
    return componentCount > 0 && (!structure.lacksEnd || isComplete)
  }

  /// Whether all coefficients of all components came to their lowest bit: images that leave some out are
  /// in order, but where the end is missing, scans may be, too.
  private var isComplete: Bool {
    for index in 0..<componentCount where components[index].complete != ~0 { return false }
    return true
  }

  /// The components of a frame header's body (T.81, B.2.2).
  private mutating func readFrame(
    _ jpeg: Span<UInt8>, _ body: Range<Int>, _ structure: JPEGStructure
  ) -> Bool {
    componentCount = structure.componentCount
    var blocks = 0
    for index in 0..<componentCount {
      let start = body.lowerBound + 6 + 3 * index
      let factors = Int(jpeg[start + 1])
      var component = Component()
      component.identifier = jpeg[start]
      (component.horizontal, component.vertical) = (factors >> 4, factors & 15)
      component.quantizer = Int(jpeg[start + 2]) & 3
      // The factors of a single component have no meaning (T.81, A.2.2).
      component.blocks = structure.blocks(
        factors: componentCount == 1
          ? structure.maximumFactors : (component.horizontal, component.vertical))
      component.firstBlock = blocks
      blocks += component.blocks
      components[index] = component
    }
    return !structure.isProgressive || coefficients.reserve(blocks)
  }

  /// The tables of a DHT segment's body (T.81, B.2.4.2).
  private mutating func define(_ bytes: Span<UInt8>, _ body: Range<Int>) -> Bool {
    var start = body.lowerBound
    while start + 17 <= body.upperBound {
      let place = Int(bytes[start])
      guard place & 0xEC == 0 else { return false }
      var count = 0
      for index in 1...16 { count += Int(bytes[start + index]) }
      guard start + 17 + count <= body.upperBound,
        codes.define((place >> 4) * 4 + (place & 3), bytes, at: start + 1, symbolCount: count)
      else { return false }
      start += 17 + count
    }
    return true
  }

  /// The DC steps of a DQT segment's body (T.81, B.2.4.1).
  private mutating func readSteps(_ bytes: Span<UInt8>, _ body: Range<Int>) -> Bool {
    var start = body.lowerBound
    while start + 65 <= body.upperBound {
      let (isWide, table) = (bytes[start] >> 4 != 0, Int(bytes[start] & 3))
      steps[table] = isWide ? twoBytes(bytes, start + 1) : Int(bytes[start + 1])
      start += isWide ? 129 : 65
    }
    return start == body.upperBound
  }

  /// Reads a scan by the body of its header; returns where the next marker is, `nil` where the scan is
  /// damaged.
  private mutating func readScan(
    _ jpeg: Span<UInt8>, _ body: Range<Int>, _ structure: JPEGStructure, _ end: Int
  ) -> Int? {
    guard var scan = Scan(jpeg, body, isProgressive: structure.isProgressive) else { return nil }
    // Components may share a name: then each means the next one, as in libjpeg-turbo.
    var taken: UInt8 = 0
    for index in 0..<scan.memberCount {
      let (identifier, tables) = scan.selectors[index]
      var place = 0
      while place < componentCount,
        components[place].identifier != identifier || taken & 1 << UInt8(place) != 0
      { place += 1 }
      guard place < componentCount, tables & 0xCC == 0 else { return nil }
      taken |= 1 << UInt8(place)
      scan.members[index] = place
      components[place].dc = Int(tables >> 4)
      components[place].ac = 4 + Int(tables & 3)
    }
    let units =
      scan.memberCount == 1 ? components[scan.members[0]].blocks : structure.interleavedUnits
    var bits = EntropyBits(at: body.upperBound)
    guard readUnits(jpeg, end, units, scan, &bits) else { return nil }
    if scan.low == 0 {
      for index in 0..<scan.memberCount { components[scan.members[index]].complete |= scan.band }
    }
    return scanEnd(jpeg, from: bits.at)
  }

  private mutating func readUnits(
    _ jpeg: Span<UInt8>, _ end: Int, _ units: Int, _ scan: borrowing Scan, _ bits: inout EntropyBits
  ) -> Bool {
    var (unit, wrong) = (0, 0)
    while true {
      for index in 0..<componentCount { components[index].last = 0 }
      hasRunAway = false
      // Blocks of the band that have no coefficient more (T.81, G.1.2.2).
      var run = 0
      let first = unit
      let last = restartInterval == 0 ? units : min(unit + restartInterval, units)
      while unit < last {
        guard readUnit(jpeg, end, unit, scan, &run, &bits) else { return false }
        unit += 1
      }
      guard run == 0 else { return false }
      if !bits.finish(jpeg, end) || hasRunAway { wrong += last - first }
      if unit == units { break }
      guard bits.takeRestart(jpeg, end) else { return false }
    }
    // Encoders may write a marker behind the last interval, too. More than that is data that was left over.
    _ = bits.takeRestart(jpeg, end)
    guard !isStrict || isFill(jpeg, bits.at..<max(bits.at, min(scanEnd(jpeg, from: bits.at), end)))
    else {
      return false
    }
    return !isStrict || wrong * Self.wrongShare <= units
  }

  @inline(__always)
  private mutating func readUnit(
    _ jpeg: Span<UInt8>, _ end: Int, _ unit: Int, _ scan: borrowing Scan, _ run: inout Int,
    _ bits: inout EntropyBits
  ) -> Bool {
    for index in 0..<scan.memberCount {
      let member = scan.members[index]
      let component = components[member]
      let count = scan.memberCount == 1 ? 1 : component.horizontal * component.vertical
      for _ in 0..<count {
        let isRead =
          switch scan.kind {
          case .sequential:
            readDC(jpeg, end, member, 0, &bits) && readAC(jpeg, end, component.ac, &bits)
          case .firstDC: readDC(jpeg, end, member, scan.low, &bits)
          case .refinedDC: bits.read(1, jpeg, end) != nil
          case .firstAC: readFirst(jpeg, end, component, unit, scan, &run, &bits)
          case .refinedAC: readRefined(jpeg, end, component, unit, scan, &run, &bits)
          }
        guard isRead else { return false }
      }
    }
    return true
  }

  @inline(__always)
  private mutating func readDC(
    _ jpeg: Span<UInt8>, _ end: Int, _ member: Int, _ low: Int, _ bits: inout EntropyBits
  ) -> Bool {
    guard let difference = bits.readDifference(jpeg, end, codes, components[member].dc) else {
      return false
    }
    // A difference has 12 bits at most, so that no sum of an image overflows.
    components[member].last &+= difference
    let step = steps[components[member].quantizer]
    let value = abs(components[member].last) &<< low &* step
    if value > 1024 &+ Self.overshoot &+ step { hasRunAway = true }
    return true
  }

  @inline(__always)
  private func readAC(
    _ jpeg: Span<UInt8>, _ end: Int, _ table: Int, _ bits: inout EntropyBits
  ) -> Bool {
    var coefficient = 1
    while coefficient < 64 {
      let symbol = bits.readSymbol(jpeg, end, codes, table)
      if symbol & 15 == 0, symbol != 0xF0 { return true }
      if symbol < 0 { return false }
      // A run of zeros and one coefficient; F0 is sixteen zeros.
      coefficient &+= symbol &>> 4 &+ 1
    }
    return coefficient == 64
  }
}
