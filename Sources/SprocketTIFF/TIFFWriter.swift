/// Writes TIFF's structure, little endian: a header, directories of fields, and the values that do not fit
/// into their fields.
///
/// A directory is written in one pass: `beginDirectory` says how many fields it has at most, fields follow
/// with rising tags, `endDirectory` counts them. Where a directory is linked from is an offset that earlier
/// calls returned. All memory is allocated by `init`: where it is full, fields are left out and `isFull` says
/// so.
///
///     var tiff = TIFFWriter(capacity: 4096)
///     let link = tiff.begin()
///     tiff.beginDirectory(room: 2, linkedAt: link)
///     tiff.add(.orientation, short: 1)
///     let exif = tiff.add(.exifIFD, long: 0)
///     tiff.endDirectory()
///     tiff.beginDirectory(room: 1, linkedAt: exif)
///     ...
public struct TIFFWriter: Sendable {
  /// The file is the first `count` bytes.
  public private(set) var memory: [UInt8]
  /// Bytes that are used.
  public private(set) var count = 0
  /// Something did not fit since `begin`.
  public private(set) var isFull = false
  // The directory that is being written.
  private var start = 0
  private var fieldCount = 0
  private var room = 0

  public init(capacity: Int) { memory = [UInt8](repeating: 0, count: capacity) }

  /// Begins a file. Returns where the first directory is linked.
  @discardableResult
  public mutating func begin() -> Int {
    (count, isFull, fieldCount, room) = (0, false, 0, 0)
    _ = reserve(8)
    // "II" for little endian, and 42.
    (memory[0], memory[1], memory[2], memory[3]) = (0x49, 0x49, 42, 0)
    return 4
  }

  /// Begins a directory of at most `room` fields.
  public mutating func beginDirectory(room: Int, linkedAt link: Int) {
    align(2)
    (start, fieldCount, self.room) = (count, 0, 0)
    guard let place = reserve(2 + 12 * room + 4) else { return }
    for index in place..<count { memory[index] = 0 }
    self.room = room
    set(UInt32(place), at: link)
  }

  /// Ends the directory. Returns where a directory that follows it is linked.
  @discardableResult
  public mutating func endDirectory() -> Int {
    guard room > 0 else { return 4 }
    memory[start] = UInt8(truncatingIfNeeded: fieldCount)
    memory[start + 1] = UInt8(truncatingIfNeeded: fieldCount >> 8)
    return start + 2 + 12 * fieldCount
  }

  // MARK: Fields

  public mutating func add(_ tag: TIFFTag, short value: UInt16) {
    guard let place = field(tag, .short, 1) else { return }
    put(UInt32(value), bytes: 2, at: place)
  }

  /// Returns where the value stands, for `set` and for links to directories.
  @discardableResult
  public mutating func add(_ tag: TIFFTag, long value: UInt32) -> Int {
    guard let place = field(tag, .long, 1) else { return 4 }
    put(value, bytes: 4, at: place)
    return place
  }

  public mutating func add(_ tag: TIFFTag, _ numerator: UInt32, over denominator: UInt32) {
    guard let place = field(tag, .rational, 1) else { return }
    put(numerator, bytes: 4, at: place)
    put(denominator, bytes: 4, at: place + 4)
  }

  /// Numbers as fractions with the denominator 10,000 or, for unsigned ones, 1,000,000.
  public mutating func add(_ tag: TIFFTag, fractions: [Double], isSigned: Bool) {
    guard let place = field(tag, isSigned ? .signedRational : .rational, fractions.count) else {
      return
    }
    let denominator = isSigned ? 10_000.0 : 1_000_000.0
    for index in fractions.indices {
      let number = min(
        max((fractions[index] * denominator).rounded(), -2_147_483_648), 2_147_483_647)
      put(UInt32(bitPattern: Int32(number)), bytes: 4, at: place + 8 * index)
      put(UInt32(denominator), bytes: 4, at: place + 8 * index + 4)
    }
  }

  /// A number as a signed fraction with the denominator 10,000. Allocates nothing.
  public mutating func add(_ tag: TIFFTag, _ number: Double) {
    guard let place = field(tag, .signedRational, 1) else { return }
    let scaled = min(max((number * 10_000).rounded(), -2_147_483_648), 2_147_483_647)
    put(UInt32(bitPattern: Int32(scaled)), bytes: 4, at: place)
    put(10_000, bytes: 4, at: place + 4)
  }

  public mutating func add(_ tag: TIFFTag, shorts: [UInt16]) {
    guard let place = field(tag, .short, shorts.count) else { return }
    for index in shorts.indices { put(UInt32(shorts[index]), bytes: 2, at: place + 2 * index) }
  }

  /// Bytes as they are, of type `byte` or `undefined`.
  public mutating func add(_ tag: TIFFTag, bytes: Span<UInt8>, as type: TIFFType = .undefined) {
    guard let place = field(tag, type, bytes.count) else { return }
    for index in 0..<bytes.count { memory[place + index] = bytes[index] }
  }

  /// A text, without its closing zero.
  public mutating func add(_ tag: TIFFTag, text: Span<UInt8>) {
    guard let place = field(tag, .ascii, text.count + 1) else { return }
    for index in 0..<text.count { memory[place + index] = text[index] }
    memory[place + text.count] = 0
  }

  /// Appends bytes that no field holds, such as a thumbnail. Returns where they begin.
  public mutating func append(_ bytes: Span<UInt8>) -> Int? {
    align(2)
    guard let place = reserve(bytes.count) else { return nil }
    for index in 0..<bytes.count { memory[place + index] = bytes[index] }
    return place
  }

  /// Sets the number of a field that `add(_:long:)` wrote.
  public mutating func set(_ value: UInt32, at place: Int) {
    guard place + 4 <= memory.count else { return }
    put(value, bytes: 4, at: place)
  }

  /// Copies what was written to a place in `bytes`.
  public func copy(to bytes: inout MutableSpan<UInt8>, at place: Int = 0) {
    let written = memory.span
    for index in 0..<count { bytes[place + index] = written[index] }
  }

  // MARK: Memory

  /// Adds a field. Returns where its values belong: in the field, or behind all that was written.
  private mutating func field(_ tag: TIFFTag, _ type: TIFFType, _ valueCount: Int) -> Int? {
    guard fieldCount < room else {
      isFull = true
      return nil
    }
    let place = start + 2 + 12 * fieldCount
    let size = type.size * valueCount
    var values = place + 8
    if size > 4 {
      align(2)
      guard let outside = reserve(size) else { return nil }
      values = outside
      put(UInt32(outside), bytes: 4, at: place + 8)
    }
    put(UInt32(tag.rawValue), bytes: 2, at: place)
    put(UInt32(type.rawValue), bytes: 2, at: place + 2)
    put(UInt32(valueCount), bytes: 4, at: place + 4)
    fieldCount += 1
    return values
  }

  private mutating func align(_ multiple: Int) {
    while !count.isMultiple(of: multiple), count < memory.count {
      memory[count] = 0
      count += 1
    }
  }

  private mutating func reserve(_ size: Int) -> Int? {
    guard size <= memory.count - count else {
      isFull = true
      return nil
    }
    defer { count += size }
    return count
  }

  private mutating func put(_ value: UInt32, bytes: Int, at place: Int) {
    var value = value
    for index in 0..<bytes {
      memory[place + index] = UInt8(truncatingIfNeeded: value)
      value >>= 8
    }
  }
}
