/// A scan's header (T.81, B.2.3).
struct Scan {
  enum Kind {
    case sequential, firstDC, refinedDC, firstAC, refinedAC
  }

  let kind: Kind
  let memberCount: Int
  /// Each member's name, and the tables that it uses.
  var selectors = InlineArray<4, (identifier: UInt8, tables: UInt8)>(repeating: (0, 0))
  /// The members' places among the components.
  var members = InlineArray<4, Int>(repeating: 0)
  /// The coefficients of the scan, in zigzag order.
  let first: Int
  let last: Int
  /// Number of bits by which the coefficients are shifted.
  let low: Int

  /// `nil` where there can be no such scan. What sequential images say of their coefficients does not count,
  /// as in libjpeg.
  init?(_ jpeg: Span<UInt8>, _ body: Range<Int>, isProgressive: Bool) {
    let count = Int(jpeg[body.lowerBound])
    guard 1...4 ~= count, body.count == 4 + 2 * count else { return nil }
    memberCount = count
    for index in 0..<count {
      let place = body.lowerBound + 1 + 2 * index
      selectors[index] = (jpeg[place], jpeg[place + 1])
    }
    guard isProgressive else {
      (kind, first, last, low) = (.sequential, 0, 63, 0)
      return
    }
    let place = body.lowerBound + 1 + 2 * count
    let isRefined = jpeg[place + 2] >> 4 != 0
    (first, last, low) = (Int(jpeg[place]), Int(jpeg[place + 1]), Int(jpeg[place + 2] & 15))
    // T.81, G.1.1.1.1: DC alone, or AC of one component; 13 bits at most.
    guard first == 0 ? last == 0 : count == 1 && first <= last && last <= 63,
      low <= 13
    else { return nil }
    kind =
      first == 0 ? (isRefined ? .refinedDC : .firstDC) : (isRefined ? .refinedAC : .firstAC)
  }

  /// A bit for each coefficient of the scan.
  var band: UInt64 { (~0 &>> UInt64(63 - last)) & (~0 &<< UInt64(first)) }
}

extension ScanCheck {
  /// A block of AC coefficients (T.81, G.1.2.2).
  mutating func readFirst(
    _ jpeg: Span<UInt8>, _ end: Int, _ component: Component, _ unit: Int, _ scan: borrowing Scan,
    _ run: inout Int, _ bits: inout EntropyBits
  ) -> Bool {
    if run > 0 {
      run -= 1
      return true
    }
    var known = coefficients[component.firstBlock + unit]
    var at = scan.first
    while at <= scan.last {
      let symbol = bits.readSymbol(jpeg, end, codes, component.ac)
      if symbol < 0 { return false }
      let zeros = symbol >> 4
      if symbol & 15 == 0, zeros < 15 {
        guard let more = bits.read(zeros, jpeg, end) else { return false }
        run = 1 << zeros + more - 1
        break
      }
      at += zeros
      guard at <= scan.last else { return false }
      if symbol & 15 != 0 { known |= 1 << UInt64(at) }
      at += 1
    }
    coefficients[component.firstBlock + unit] = known
    return true
  }

  /// A further bit of a block's AC coefficients (T.81, G.1.2.3).
  mutating func readRefined(
    _ jpeg: Span<UInt8>, _ end: Int, _ component: Component, _ unit: Int, _ scan: borrowing Scan,
    _ run: inout Int, _ bits: inout EntropyBits
  ) -> Bool {
    var known = coefficients[component.firstBlock + unit]
    var at = scan.first
    while run == 0, at <= scan.last {
      let symbol = bits.readSymbol(jpeg, end, codes, component.ac)
      // A coefficient that is new has the size 1.
      if symbol < 0 || symbol & 15 > 1 { return false }
      let isNew = symbol & 15 == 1
      var zeros = symbol >> 4
      if !isNew, zeros < 15 {
        guard let more = bits.read(zeros, jpeg, end) else { return false }
        run = 1 << zeros + more
        break
      }
      while at <= scan.last {
        if known >> UInt64(at) & 1 != 0 {
          guard bits.read(1, jpeg, end) != nil else { return false }
        } else if zeros == 0 {
          break
        } else {
          zeros -= 1
        }
        at += 1
      }
      guard at <= scan.last || !isNew else { return false }
      if isNew { known |= 1 << UInt64(at) }
      at += 1
    }
    if run > 0 {
      let rest = at <= scan.last ? known & scan.band & (~0 &<< UInt64(at)) : 0
      for _ in 0..<rest.nonzeroBitCount {
        guard bits.read(1, jpeg, end) != nil else { return false }
      }
      run -= 1
    }
    coefficients[component.firstBlock + unit] = known
    return true
  }
}
