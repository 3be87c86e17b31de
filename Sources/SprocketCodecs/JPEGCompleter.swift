internal import SprocketJPEG

/// Makes frames of Motion-JPEG into images that every viewer opens: those without Huffman tables get
/// the standard ones, which they mean, and what `JPEGStructure.isRepaired` names is mended. All other bytes
/// stay as the camera made them.
///
/// One instance serves one thread. It allocates when a frame is larger than all before it.
@safe
public struct JPEGCompleter: ~Copyable {
  private var memory = unsafe UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

  public init() {}

  deinit { unsafe memory.deallocate() }

  /// Calls `body` with `jpeg` itself, or with a copy that has tables. An image whose header is broken is
  /// handed on as it is. `hasFieldImages`: it is two images, and each gets them.
  /// `isThorough`: the whole image is looked at, and not only what comes before its first scan and its last
  /// bytes; 70 µs for 500 kB.
  public mutating func complete<Failure: Error>(
    _ jpeg: Span<UInt8>, hasFieldImages: Bool = false, isThorough: Bool = false,
    _ body: (Span<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    guard
      let count = copyWithTables(jpeg, hasFieldImages: hasFieldImages, isThorough: isThorough)
    else {
      return try body(jpeg)
    }
    try body(unsafe Span(_unsafeElements: UnsafeBufferPointer(rebasing: memory[..<count])))
  }

  /// The length of the copy; `nil` where none is needed.
  private mutating func copyWithTables(
    _ jpeg: Span<UInt8>, hasFieldImages: Bool, isThorough: Bool
  ) -> Int? {
    do throws(JPEGError) {
      var structure = try JPEGStructure(headerOf: jpeg)
      let fields = hasFieldImages ? try FieldImages(jpeg) : nil
      if fields == nil, isThorough || !JPEGStructure.endsWithMarker(jpeg) {
        structure = try JPEGStructure(parsing: jpeg)
      }
      let first = fields?.first ?? structure
      guard first.needsMending || fields?.second.needsMending == true else { return nil }
      let needed = jpeg.count + 2 * (JPEGHuffmanTables.standardSegment.count + 2)
      if unsafe memory.count < needed {
        unsafe memory.deallocate()
        // Half as much again: sizes of frames differ.
        unsafe memory = .allocate(capacity: needed + needed / 2)
      }
      var output = unsafe memory.mutableSpan
      if let fields {
        let count = try JPEGHuffmanTables.complete(
          jpeg, structure: fields.first, into: &output)
        var rest = output._mutatingExtracting(count..<output.count)
        return try count
          + JPEGHuffmanTables.complete(
            jpeg.extracting(fields.secondOrigin..<jpeg.count), structure: fields.second, into: &rest
          )
      }
      return try JPEGHuffmanTables.complete(jpeg, structure: structure, into: &output)
    } catch {
      return nil
    }
  }
}

extension JPEGStructure {
  /// There are viewers that do not open such an image.
  fileprivate var needsMending: Bool { !hasHuffmanTables || isRepaired }
}
