// Memory that several threads look at: a fixed number of elements (atomics, or structures of
// atomics) at an aligned address. The only file of this module that touches a pointer.

/// A fixed number of elements that never move, the first of them at a multiple of 128 bytes.
///
/// `@unchecked`, because a pointer is not `Sendable`: the table owns its memory, never moves it,
/// and lends elements immutably, so it may be shared whenever an element may.
@safe
struct Table<Element: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
  /// Two lines of 64 bytes: Intel and AMD fetch lines in pairs, some Arm cores have lines of 128.
  static var alignment: Int { 128 }

  let count: Int
  private let base: UnsafeMutablePointer<Element>

  init(count: Int, _ makeElement: (Int) -> Element) {
    self.count = count
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: max(1, count) * MemoryLayout<Element>.stride, alignment: Self.alignment)
    unsafe base = memory.bindMemory(to: Element.self, capacity: count)
    for index in 0..<count {
      unsafe (base + index).initialize(to: makeElement(index))
    }
  }

  deinit {
    unsafe base.deinitialize(count: count)
    unsafe UnsafeMutableRawPointer(base).deallocate()
  }

  subscript(index: Int) -> Element {
    @inline(__always)
    unsafeAddress {
      precondition(index >= 0 && index < count, "No such element in this table")
      return unsafe UnsafePointer(base + index)
    }
  }

  func address(of index: Int) -> UnsafeRawPointer {
    precondition(index >= 0 && index < count, "No such element in this table")
    return unsafe UnsafeRawPointer(base + index)
  }
}
