/// An object of the library that is freed when this value ends.
@safe
struct Owned<Object>: ~Copyable {
  /// Type of the library's free functions: they take the address of a pointer and set it to null.
  typealias Free = (UnsafeMutablePointer<UnsafeMutablePointer<Object>?>?) -> Void

  let pointer: UnsafeMutablePointer<Object>
  private let free: Free

  /// `nil` if `pointer` is: the library had no memory for the object.
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
