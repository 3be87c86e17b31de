/// An object of the library, which frees it when this value ends.
@safe
struct Owned<Object>: ~Copyable {
  /// The library's functions that free take the address of a pointer, which they set to null.
  typealias Free = (UnsafeMutablePointer<UnsafeMutablePointer<Object>?>?) -> Void

  let pointer: UnsafeMutablePointer<Object>
  private let free: Free

  /// `nil` where there is no object: the library had no memory for it.
  init?(_ pointer: UnsafeMutablePointer<Object>?, free: @escaping Free) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = unsafe pointer
    unsafe self.free = unsafe free
  }

  deinit {
    var pointer: UnsafeMutablePointer<Object>? = unsafe pointer
    unsafe free(&pointer)
  }
}
