/// Where the planes of a frame lie in memory that other devices can use (DMABUF).
public struct ExportedPlanes: Sendable, BitwiseCopyable {
  /// Where one plane lies.
  public struct Plane: Sendable, Hashable, BitwiseCopyable {
    /// A file descriptor of the source's: `dup` it to keep the memory. Planes may have the same one.
    public var descriptor: Int32
    /// Bytes from the start of that memory to the plane's first row.
    public var offset: Int
    /// Bytes from one row to the next.
    public var bytesPerRow: Int

    public init(descriptor: Int32, offset: Int, bytesPerRow: Int) {
      self.descriptor = descriptor
      self.offset = offset
      self.bytesPerRow = bytesPerRow
    }
  }

  private var planes = InlineArray<3, Plane>(
    repeating: Plane(descriptor: -1, offset: 0, bytesPerRow: 0))
  /// 0 where the frame lies in no such memory.
  public private(set) var count = 0

  /// No plane: the memory is not exported.
  public init() {}

  /// Adds a plane; a frame has three at most.
  public mutating func append(_ plane: Plane) {
    contract(count < 3, "exports a fourth plane; a frame has three at most")
    planes[count] = plane
    count += 1
  }

  public subscript(index: Int) -> Plane { planes[index] }
}
